#if Postgres
import Ledger

/// The session that reads blocks. One thread at a time uses it: `PostgresLog` has it under a lock. It may be one with a
/// standby, and begins anew where it was lost.
final class PostgresReader {
    private let configuration: PostgresLogConfiguration
    private let schema: PostgresSchema
    private let hash: HashFunction
    private var session: PostgresConnection?
    /// Whether the session is one with the primary.
    private var isOfPrimary = false

    init(_ configuration: PostgresLogConfiguration, _ schema: PostgresSchema, hash: @escaping HashFunction) {
        self.configuration = configuration
        self.schema = schema
        self.hash = hash
    }

    /// Carries a statement out, in a new session where the one that there is was lost.
    /// - Parameter primary: whether only the primary will do, which alone has the leader's last block for certain.
    func run(
        _ statement: PostgresConnection.Statement, _ values: [PostgresConnection.Value] = [], primary: Bool
    ) throws(PostgresFault) -> PostgresRows {
        var attempts = 0
        while true {
            attempts += 1
            let session = try session(primary: primary)
            do throws(PostgresFault) {
                return try session.run(statement, values, milliseconds: configuration.answerMilliseconds)
            } catch {
                // A standby ends a read that is in the way of what it replays with 40001.
                let mayHelp = error.kind == .lost || error.isOfTwoTransactions || error.isOfShutdown
                guard mayHelp, attempts < (error.isOfTwoTransactions ? PostgresLogLimits.attemptsMax : 2) else {
                    throw error
                }
            }
        }
    }

    /// A node that may lead reads from the primary, where there is one: a standby may be behind.
    private func session(primary: Bool) throws(PostgresFault) -> PostgresConnection {
        if let session, session.isUsable, isOfPrimary || !primary { return session }
        session = nil
        do {
            isOfPrimary = primary || configuration.right == .leading
            session = try PostgresConnection(configuration.settings(writing: isOfPrimary))
        } catch {
            guard isOfPrimary, !primary else { throw error }
            isOfPrimary = false
            session = try PostgresConnection(configuration.settings(writing: false))
        }
        guard let session else { throw PostgresFault(.lost, "no session was begun") }
        try session.run(configuration.beginning(writing: false), milliseconds: configuration.answerMilliseconds)
        return session
    }

    /// The version of the server that was read last, as 150018 for 15.18; 0 where none was.
    var serverVersion: Int { session?.serverVersion ?? 0 }

    /// Blocks in their order.
    /// - Parameter last: the last block that is given; `nil`: the last that is there.
    /// - Throws: ``LogError``, as of `BlockLog.read`.
    func read(
        after number: BlockNumber, bytesMax: Int, through last: BlockNumber?
    ) throws(LogError) -> [SealedBlock] {
        var blocks: [SealedBlock] = []
        var bytes = 0
        while true {
            let after = max(0, number) + BlockNumber(blocks.count)
            let end = min(last ?? .max, after + rowsMax(bytesMax - bytes, isFirst: blocks.isEmpty))
            guard after < end else { return blocks }
            let rows: PostgresRows
            do {
                rows = try run(
                    schema.read,
                    [.number(after), .number(end), .number(Int64(bytesMax - bytes)), .flag(blocks.isEmpty)],
                    primary: last != nil)
            } catch {
                throw error.reading("reading block \(after + 1)")
            }
            for row in 0..<rows.count {
                let block = try block(rows, row, number: after + BlockNumber(row) + 1, after: blocks.last)
                bytes += block.byteCount
                blocks.append(block)
            }
            if blocks.isEmpty, last != nil { throw corrupt(after + 1, "it is not there") }
            if BlockNumber(rows.count) < end - after || bytes >= bytesMax { return blocks }
        }
    }

    /// How many rows are looked at, of which those are sent that fit.
    private func rowsMax(_ bytes: Int, isFirst: Bool) -> Int64 {
        let rows = Int64(max(0, bytes) / PostgresLogLimits.readRowBytes)
        return min(max(rows, isFirst ? 1 : 0), PostgresLogLimits.readRowsMax)
    }

    private func block(
        _ rows: PostgresRows, _ row: Int, number: BlockNumber, after last: SealedBlock?
    ) throws(LogError) -> SealedBlock {
        guard rows.number(row, 0) == number else {
            throw corrupt(number, "block \(rows.number(row, 0)) stands in its place")
        }
        let body = rows.bytes(row, 4)
        guard let previous = Digest(Array(rows.bytes(row, 2))), let stored = Digest(Array(rows.bytes(row, 3))),
            Digest(of: body, hash) == stored
        else { throw corrupt(number, "its body does not have its hash") }
        guard last == nil || last?.hash == previous else {
            throw corrupt(number, "it does not continue the block before it")
        }
        return SealedBlock(
            number: number, term: rows.number(row, 1), previous: previous, hash: stored, body: Array(body),
            redactable: Array(rows.bytes(row, 5)))
    }

    private func corrupt(_ number: BlockNumber, _ words: String) -> LogError {
        LogError(.corrupt, "block \(number) in \(schema.name).block: \(words)")
    }
}
#endif
