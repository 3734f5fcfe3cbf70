#if Postgres
import Ledger

/// The session that reads blocks. One thread at a time uses it: `PostgresLog` has it under a lock. It begins anew
/// where it was lost.
///
/// A node that may lead reads from the primary alone, and from nowhere while there is none: a standby may be behind.
/// A node that asked it how the log stands would answer what is out of date, and take a former leader for the leader.
/// Any other node reads from wherever the URI says, which may be a standby.
final class PostgresReader {
    private let configuration: PostgresLogConfiguration
    private let schema: PostgresSchema
    private let hash: HashFunction
    private var session: PostgresConnection?
    /// How many sessions were begun: the next may be one of another server.
    private(set) var sessions = 0

    init(_ configuration: PostgresLogConfiguration, _ schema: PostgresSchema, hash: @escaping HashFunction) {
        self.configuration = configuration
        self.schema = schema
        self.hash = hash
    }

    /// Carries a statement out, in a new session where the one that there is was lost.
    /// - Parameter milliseconds: how long its answer is waited for; `nil`: as long as the configuration says. After
    ///   that it is not tried again.
    func run(
        _ statement: PostgresConnection.Statement, _ values: [PostgresConnection.Value] = [],
        milliseconds: Int? = nil
    ) throws(PostgresFault) -> PostgresRows {
        let milliseconds = milliseconds ?? configuration.answerMilliseconds
        let end = boottimeNanoseconds() + UInt64(milliseconds) * 1_000_000
        var attempts = 0
        while true {
            attempts += 1
            let session = try begun(milliseconds)
            do throws(PostgresFault) {
                return try session.run(statement, values, milliseconds: milliseconds)
            } catch {
                // A standby ends a read that is in the way of what it replays with 40001.
                let mayHelp = error.kind == .lost || error.isOfTwoTransactions || error.isOfShutdown
                guard mayHelp, boottimeNanoseconds() < end,
                    attempts < (error.isOfTwoTransactions ? PostgresLogLimits.attemptsMax : 2)
                else {
                    throw error
                }
            }
        }
    }

    /// The session, which is begun where there is none that can be used.
    private func begun(_ milliseconds: Int) throws(PostgresFault) -> PostgresConnection {
        if let session, session.isUsable { return session }
        session = nil
        let begun = try PostgresConnection(configuration.settings(writing: configuration.right == .leading))
        try begun.run(configuration.beginning(writing: false), milliseconds: milliseconds)
        session = begun
        sessions += 1
        return begun
    }

    /// Waits until a synchronous standby has whatever this server shows. What a commit that was ended in its wait for
    /// the standby did is shown too, and lost where this server is.
    /// - Parameters:
    ///   - sessions: what ``sessions`` was when that was read: of another server the answer would say nothing.
    ///   - milliseconds: how long each answer is waited for.
    func awaitStandby(since sessions: Int, milliseconds: Int) throws(PostgresFault) {
        let hasAll = try schema.awaitStandby(try run(schema.replication, milliseconds: milliseconds)) {
            () throws(PostgresFault) in
            try run(schema.replication, milliseconds: milliseconds)
        }
        guard hasAll, sessions == self.sessions else {
            throw PostgresFault(
                .decided(.unknown), "a synchronous standby is required, and none has the last block that is there")
        }
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
            let count = try countThatFits(after, bytesMax - bytes, through: last ?? .max, isFirst: blocks.isEmpty)
            guard count > 0 else { return blocks }
            let rows = try read(schema.read, after, through: after + count)
            for row in 0..<rows.count {
                let block = try block(rows, row, number: after + BlockNumber(row) + 1, after: blocks.last)
                bytes += block.byteCount
                blocks.append(block)
            }
            if BlockNumber(rows.count) < count {
                // Whoever follows asks for the block after the last; whoever leads, for one that is there.
                if last != nil { throw corrupt(after + BlockNumber(rows.count) + 1, "it is not there") }
                return blocks
            }
            if bytes >= bytesMax { return blocks }
        }
    }

    /// How many blocks are to be read in one step: they are not sent before it is known that they fit.
    private func countThatFits(
        _ after: BlockNumber, _ bytesMax: Int, through last: BlockNumber, isFirst: Bool
    ) throws(LogError) -> Int64 {
        let rows = min(Int64(max(0, bytesMax) / PostgresLogLimits.readRowBytes), PostgresLogLimits.readRowsMax)
        let end = min(last, after + max(rows, 1))
        guard after < end else { return 0 }
        if isFirst, end == after + 1 { return 1 }
        let sizes = try read(schema.sizes, after, through: end)
        var bytes = 0
        for row in 0..<sizes.count {
            let number = after + BlockNumber(row) + 1
            guard sizes.number(row, 0) == number else {
                throw corrupt(number, "block \(sizes.number(row, 0)) stands in its place")
            }
            bytes += Int(sizes.number(row, 1))
            if bytes > bytesMax { return isFirst ? max(Int64(row), 1) : Int64(row) }
        }
        // Of a leader's log, those that are missing are missed by whoever reads them.
        return last == .max ? Int64(sizes.count) : end - after
    }

    private func read(
        _ statement: PostgresConnection.Statement, _ after: BlockNumber, through last: BlockNumber
    ) throws(LogError) -> PostgresRows {
        do {
            return try run(statement, [.number(after), .number(last)])
        } catch {
            throw error.reading("reading block \(after + 1)")
        }
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
        let term = rows.number(row, 1)
        guard PostgresRanges.blockTerms.contains(term) else { throw corrupt(number, "its row names term \(term)") }
        return SealedBlock(
            number: number, term: term, previous: previous, hash: stored, body: Array(body),
            redactable: Array(rows.bytes(row, 5)))
    }

    private func corrupt(_ number: BlockNumber, _ words: String) -> LogError {
        LogError(.corrupt, "block \(number) in \(schema.name).block: \(words)")
    }
}
#endif
