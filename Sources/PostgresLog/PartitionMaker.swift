#if Postgres
import Ledger

/// Makes the partitions of the table of blocks, each before the first block that stands in it.
struct PartitionMaker {
    private let schema: PostgresSchema
    /// How many blocks stand in one.
    let blocks: Int64
    private let now: @Sendable () -> UInt64
    /// The last block for which there is a partition, as far as this session knows.
    private var partitionedThrough: BlockNumber = 0
    /// When the next partition may be tried again that could not be made.
    private var nextPartitionAt: UInt64 = 0

    /// - Parameter now: a monotonic clock, in nanoseconds.
    init(_ schema: PostgresSchema, blocks: Int64, now: @escaping @Sendable () -> UInt64) {
        self.schema = schema
        self.blocks = blocks
        self.now = now
    }

    /// Begins in a new session, which is asked whether there is a partition of this block.
    mutating func begin(at number: BlockNumber, _ session: WritingSession) throws(PostgresFault) {
        partitionedThrough = 0
        try make(of: number, session)
    }

    /// Makes the partition of a block, where there is none.
    mutating func make(of number: BlockNumber, _ session: WritingSession) throws(PostgresFault) {
        guard number > partitionedThrough else { return }
        try make((number - 1) / blocks, PostgresLogLimits.lockMilliseconds, session)
    }

    /// Makes the next partition while there is a quarter of this one left. Attaching it waits for whoever has the
    /// table (an ANALYZE, say), and all appends wait with it: so it is given up soon, and not tried at each block.
    mutating func makeNext(after number: BlockNumber, _ session: WritingSession) throws(PostgresFault) {
        let next = (number + blocks / 4) / blocks
        guard next * blocks >= partitionedThrough, now() >= nextPartitionAt else { return }
        do throws(PostgresFault) {
            try make(next, PostgresLogLimits.nextPartitionLockMilliseconds, session)
        } catch {
            if error.kind == .lost { throw error }
            nextPartitionAt = now() + PostgresLogLimits.nextPartitionMilliseconds * 1_000_000
        }
    }

    private mutating func make(
        _ partition: Int64, _ lockMilliseconds: Int, _ session: WritingSession
    ) throws(PostgresFault) {
        if try !session.run(schema.partitionIsThere, [.number(partition)]).flag(0, 0) {
            do throws(PostgresFault) {
                try session.run(
                    // For this transaction only.
                    "SET LOCAL lock_timeout = \(lockMilliseconds); "
                        + schema.makingPartition(partition, blocks: blocks))
            } catch {
                guard error.code == PostgresCode.duplicateTable else { throw error }
            }
        }
        partitionedThrough = (partition + 1) * blocks
    }
}
#endif
