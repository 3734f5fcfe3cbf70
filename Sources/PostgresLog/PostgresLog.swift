#if Postgres
package import Ledger
import Synchronization

/// The log for several nodes: a table of a PostgreSQL server, one row a block (docs: PostgresLog.md).
///
/// What holds at every moment, whatever fails:
/// 1. A block is inserted by one statement that commits by itself. `append` returns only when the server said so, with
///    no warning, after waiting for the standbys that it is told to wait for.
/// 2. A number is inserted once: the table's primary key is the fence. No clock, no lease and no session's end is
///    needed for the chain to be one chain.
/// 3. Of a statement that the server refused, nothing is there. Of one whose end was not heard, nobody knows, until a
///    later block stands: then what is not before it never will be.
/// 4. `settle` makes this node the leader, by a commit that waits for the standbys, in a new session, after the former
///    leader's session was ended. `lead` then appends the block of its term.
/// 5. A lease is counted by the leader from before the statement that renewed it was sent, and by a challenger from
///    after it first saw that renewal, each by its own monotonic clock; taking the lead and renewing it are updates of
///    the same row. So while a lease runs, nobody else leads.
package final class PostgresLog: SharedLog {
    package let engine: String

    private let configuration: PostgresLogConfiguration
    let schema: PostgresSchema
    private let writer: Mutex<PostgresWriter?>
    private let reader: Mutex<PostgresReader?>
    private let known = Mutex(Known())
    private let keeper: LeaseKeeper
    private let now: @Sendable () -> UInt64
    private let watch: Watch

    /// What this node knows of the lease of another that leads, whoever looks.
    private final class Watch: Sendable {
        private let lease = Mutex(LeaseWatch())
        private let now: @Sendable () -> UInt64

        init(_ now: @escaping @Sendable () -> UInt64) { self.now = now }

        /// - Parameters:
        ///   - leader: the row, as it was just read.
        ///   - own: what this process took last.
        ///   - asked: when it was not read yet.
        func see(_ leader: PostgresLeader, own: PostgresTaking, asked: UInt64) -> LeaseWatch.Finding {
            lease.withLock { $0.see(leader, isOwn: leader.taking == own, asked: asked, now: now()) }
        }
    }

    /// What is known without asking the server or waiting for a session.
    private struct Known {
        var head: LogHead?
        /// Whether only blocks up to the head are handed out: those behind it are this node's own, and in doubt.
        var isBound = false
        /// The last block that is not lost with the server, where nodes require a synchronous standby.
        var safe: BlockNumber = 0
        /// Until when this node leads for certain.
        var leaseEnd: UInt64 = 0
        /// By which this node had the lead last.
        var taking = PostgresTaking()
    }

    private init(
        _ configuration: PostgresLogConfiguration, _ schema: PostgresSchema, version: Int, _ head: LogHead?,
        _ reader: sending PostgresReader, _ writer: sending PostgresWriter, _ watch: Watch,
        now: @escaping @Sendable () -> UInt64
    ) {
        self.watch = watch
        self.configuration = configuration
        self.schema = schema
        engine = "PostgreSQL \(version / 10_000).\(version % 10_000)"
        self.reader = Mutex(reader)
        self.writer = Mutex(writer)
        self.now = now
        keeper = LeaseKeeper()
        // What is there at the start is believed.
        known.withLock { ($0.head, $0.safe) = (head, head?.number ?? 0) }
        if configuration.right == .leading {
            keeper.begin(everyMilliseconds: max(1, configuration.leaseMilliseconds / 8)) { [weak self] in
                guard let self else { return false }
                renewWhereIdle()
                return true
            }
        }
    }

    /// Whether there is a log in the schema, of whichever ledger.
    /// - Throws: ``LogError`` `unknown` where the server cannot be asked.
    package static func isThere(_ configuration: PostgresLogConfiguration) throws(LogError) -> Bool {
        let schema = PostgresSchema(name: configuration.schema)
        do throws(PostgresFault) {
            let session = try PostgresConnection(configuration.settings(writing: configuration.right == .leading))
            try session.run(configuration.beginning(writing: false), milliseconds: configuration.answerMilliseconds)
            return try session.run(schema.isThere, milliseconds: configuration.answerMilliseconds).flag(0, 0)
        } catch {
            throw error.reading("looking for the schema \(configuration.schema)")
        }
    }

    /// Makes a log without blocks, in a schema of its own, which must not be there yet.
    /// - Parameter identity: whose ledger it is: SHA-256 of bundle id and environment.
    /// - Throws: ``LogError`` `notAppended`, or `unknown` where the server's answer did not come.
    package static func create(_ configuration: PostgresLogConfiguration, identity: Digest) throws(LogError) {
        let schema = PostgresSchema(name: configuration.schema)
        do throws(PostgresFault) {
            let session = try PostgresConnection(configuration.settings(writing: true))
            try session.run(configuration.beginning(writing: true), milliseconds: configuration.answerMilliseconds)
            let found = try session.run(schema.compressions, milliseconds: configuration.answerMilliseconds)
            try session.run(
                schema.making(
                    identity: identity.hexadecimal, partitionBlocks: configuration.partitionBlocks,
                    compression: found.count == 1 && found.flag(0, 0) ? "lz4" : nil),
                milliseconds: configuration.answerMilliseconds)
        } catch {
            throw error.error("making the schema \(configuration.schema)")
        }
    }

    /// Opens a log. It follows until ``settle()``.
    /// - Parameter now: a monotonic clock, in nanoseconds.
    /// - Throws: ``LogError``: `corrupt` where what is there is not this ledger, `unknown` where the server cannot be
    ///   reached.
    package static func open(
        _ configuration: PostgresLogConfiguration, identity: Digest, hash: @escaping HashFunction,
        now: (@Sendable () -> UInt64)? = nil
    ) throws(LogError) -> PostgresLog {
        let now = now ?? boottimeNanoseconds
        let schema = PostgresSchema(name: configuration.schema)
        let reader = PostgresReader(configuration, schema, hash: hash)
        do throws(PostgresFault) {
            let rows = try reader.run(schema.ledger)
            guard rows.count == 1, rows.number(0, 0) == PostgresSchema.format else {
                throw PostgresFault(
                    .decided(.corrupt),
                    "the ledger has no form, or one that this version does not know")
            }
            guard Digest(Array(rows.bytes(0, 1))) == identity else {
                throw PostgresFault(
                    .decided(.corrupt),
                    "the schema \(schema.name) has the ledger of another app or environment")
            }
            let head = try LogHead(try reader.run(schema.head), schema) { words in
                PostgresFault(.decided(.corrupt), words)
            }
            // What is wrong with its numbers is told by whoever looks at it next, and may be mended meanwhile.
            let leader = PostgresLeader(try reader.run(schema.leader))
            if let moved = leader.flatMap(configuration.refusal) { throw PostgresFault(.decided(.corrupt), moved) }
            let partitionBlocks = try rows.number(
                0, 2, in: PostgresRanges.partitionBlocks, "\(schema.name).ledger.partition_blocks")
            let watch = Watch(now)
            let writer = PostgresWriter(
                configuration, schema, partitionBlocks: partitionBlocks, now: now, see: watch.see)
            return PostgresLog(
                configuration, schema, version: reader.serverVersion, head, reader, writer, watch, now: now)
        } catch {
            switch error.code {
            case PostgresCode.undefinedTable, PostgresCode.undefinedSchema:
                throw LogError(.corrupt, "there is no ledger in the schema \(schema.name)")
            default: throw error.reading("opening the schema \(schema.name)")
            }
        }
    }

    /// The last block that is known to be durable. Of a log that follows, the last that was read.
    package var head: LogHead? { known.withLock { $0.head } }

    /// Who leads, as the server that is read says.
    /// - Throws: ``LogError`` `unknown` where it cannot be read now.
    package func leader() throws(LogError) -> PostgresLeader? {
        try reading("asking who leads") { (reader) throws(PostgresFault) in
            try PostgresLeader(checked: try reader.run(schema.leader), schema)
        }
    }

    package var mayLead: Bool { configuration.right == .leading }

    /// Whether what others append is handed out only once a synchronous standby has it.
    private var isWary: Bool { configuration.requireSynchronousStandby && mayLead }

    package func standing() throws(LogError) -> LogStanding {
        let milliseconds = min(configuration.answerMilliseconds, PostgresLogLimits.lookMilliseconds)
        let (before, isBound, safe) = known.withLock { ($0.taking, $0.isBound, $0.safe) }
        let found = try reader.withLock(withinMilliseconds: milliseconds) { (reader) throws(LogError) in
            guard let reader else { throw closed }
            do throws(PostgresFault) {
                let asked = now()
                let rows = try reader.run(schema.standing, milliseconds: milliseconds)
                guard let leader = try PostgresLeader(checked: rows, schema) else {
                    throw PostgresFault(.decided(.corrupt), "the table \(schema.name).leader has no row")
                }
                if let moved = configuration.refusal(of: leader) { throw PostgresFault(.decided(.unknown), moved) }
                let block = try rows.number(
                    0, 8, in: 0...PostgresRanges.blockNumbers.upperBound, "\(schema.name).block.id of the last block")
                // Who leads hands out only what it knows to be safe.
                if isWary, !isBound, block > safe {
                    try reader.awaitStandby(since: reader.sessions, milliseconds: milliseconds)
                }
                let weight = try rows.number(0, 9, in: PostgresRanges.weights, "\(schema.name).leader.weight")
                return (leader, asked, block, Int(weight), rows.text(0, 10))
            } catch {
                throw error.reading("asking how the log stands")
            }
        }
        guard let (leader, asked, block, weight, wantedBy) = found else {
            throw LogError(.unknown, "asking how the log stands: what was read before is not answered")
        }
        let taking = known.withLock { known in
            if !isBound { known.safe = max(known.safe, block) }
            return known.taking
        }
        let isOver = watch.see(leader, own: taking, asked: asked) == .over
        if known.withLock({ $0.isBound }), isOther(leader, since: before) {
            // Where its session waits for an answer, a later look does it.
            _ = writer.withLock(withinMilliseconds: PostgresLogLimits.confirmMilliseconds) { writer in
                guard let writer, writer.taking == taking else { return }
                writer.follow()
                note(writer)
            }
        }
        let isOther = isOther(leader, since: before)
        let other = LogLeader(node: leader.node, address: leader.address, weight: weight)
        return LogStanding(
            leader: isOver || !isOther ? nil : other, block: block, taking: leader.taking.words,
            wantedBy: wantedBy.isEmpty || wantedBy == configuration.node ? nil : wantedBy)
    }

    /// Whether the row is of another's taking than this process's last, also where its term is no higher.
    /// - Parameter before: what this process had taken before the row was read. Where it has taken the lead since, the
    ///   row may be older than that.
    private func isOther(_ leader: PostgresLeader, since before: PostgresTaking) -> Bool {
        let taking = known.withLock { $0.taking }
        return leader.taking != taking && (taking == before || leader.reign > taking.reign)
    }

    package func askForLead() throws(LogError) {
        guard let leader = try leader(), leader.leaseMilliseconds > 0 else { return }
        try inSession("asking for the lead") { (session) throws(PostgresFault) in
            _ = try session.run(schema.askForLead, [.number(leader.reign), .text(configuration.node)])
        }
    }

    /// Does something small in a writing session of its own, whether or not this node leads.
    func inSession(
        _ doing: String, _ body: (WritingSession) throws(PostgresFault) -> Void
    ) throws(LogError) {
        do throws(PostgresFault) { try body(try WritingSession(configuration, schema)) } catch {
            throw error.reading(doing)
        }
    }

    /// Asks something in the session that reads.
    func reading<Answer: Sendable>(
        _ doing: String, _ body: (PostgresReader) throws(PostgresFault) -> Answer
    ) throws(LogError) -> Answer {
        try reader.withLock { (reader) throws(LogError) in
            guard let reader else { throw closed }
            do throws(PostgresFault) { return try body(reader) } catch { throw error.reading(doing) }
        }
    }

    package func settle() throws(LogError) {
        try write { (writer) throws(LogError) in try writer.settle() }
    }

    package func append(_ block: SealedBlock) throws(LogError) {
        try write { (writer) throws(LogError) in try writer.append(block) }
    }

    package func append(_ blocks: [SealedBlock]) throws(LogError) {
        try write { (writer) throws(LogError) in try writer.append(blocks) }
    }

    package func redact(_ number: BlockNumber, _ redactable: [UInt8]) throws(LogError) {
        try write { (writer) throws(LogError) in try writer.redact(number, redactable) }
    }

    package func confirmLead() throws(LogError) {
        // Without the writer's lock: nobody is to wait here for an append.
        if now() < known.withLock({ $0.leaseEnd }) { return }
        // Whoever renews the lease has the lock, and may wait for a server that does not answer.
        let isConfirmed = try writer.withLock(withinMilliseconds: PostgresLogLimits.confirmMilliseconds) {
            (writer) throws(LogError) in
            guard let writer else { throw closed }
            defer { note(writer) }
            try writer.confirmLead()
            return true
        }
        guard isConfirmed != nil else {
            throw LogError(.unknown, "the lead is not confirmed: the lease is over, and its renewal is not answered")
        }
    }

    /// Does something with the writer, and notes what is known then.
    private func write(_ body: (PostgresWriter) throws(LogError) -> Void) throws(LogError) {
        try writer.withLock { (writer) throws(LogError) in
            guard let writer else { throw closed }
            defer { note(writer) }
            try body(writer)
        }
    }

    private func note(_ writer: PostgresWriter) {
        known.withLock { known in
            known.taking = writer.taking
            switch writer.state {
            case .leads:
                known.head = writer.head
                known.safe = max(known.safe, writer.head?.number ?? 0)
                known.isBound = true
                known.leaseEnd = writer.lease.end
            case .inDoubt:
                known.isBound = true
                known.leaseEnd = 0
            case .follows:
                known.isBound = false
                known.leaseEnd = 0
            }
        }
    }

    /// Renews the lease of a leader that appends nothing. Whoever appends has the lock, and renews it by that.
    private func renewWhereIdle() {
        _ = writer.withLockIfAvailable { writer in
            guard let writer else { return }
            // What went wrong is told by the next append, or by whoever confirms the lead.
            try? writer.renewIfDue()
            note(writer)
        }
    }

    package func read(after number: BlockNumber, bytesMax: Int) throws(LogError) -> [SealedBlock] {
        let last = known.withLock { $0.isBound ? $0.head?.number ?? 0 : isWary ? $0.safe : nil }
        let blocks = try reader.withLock { (reader) throws(LogError) in
            guard let reader else { throw closed }
            return try reader.read(after: number, bytesMax: bytesMax, through: last)
        }
        if let block = blocks.last {
            known.withLock { known in
                if !known.isBound, block.number > known.head?.number ?? 0 { known.head = block.head }
            }
        }
        return blocks
    }

    package func checkRedactable(_ number: BlockNumber) throws(LogError) {
        try reader.withLock { (reader) throws(LogError) in
            guard let reader else { throw closed }
            do throws(PostgresFault) {
                let rows = try reader.run(schema.redactableBytes, [.number(number)])
                guard rows.count == 1 else {
                    throw PostgresFault(.decided(.corrupt), "it is not there")
                }
            } catch {
                throw error.reading("looking at block \(number) in \(schema.name).block")
            }
        }
    }

    package func giveBack() {
        writer.withLock { writer in
            guard let writer else { return }
            writer.release()
            note(writer)
        }
    }

    /// Gives the lead back, and notes durably where the ledger is from now on; no node leads it here then, nor reads.
    /// - Parameter place: what it is called, without a password; empty where the ledger is here again.
    /// - Throws: ``LogError``: `superseded` where another led meanwhile, or appended something.
    package func note(movedTo place: String) throws(LogError) {
        try write { (writer) throws(LogError) in try writer.note(movedTo: place) }
    }

    package func close() {
        keeper.stop()
        writer.withLock { writer in
            writer?.release()
            writer = nil
        }
        reader.withLock { $0 = nil }
    }

    private var closed: LogError { LogError(.notAppended, "the log is closed") }
}
#endif
