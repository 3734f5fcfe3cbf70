#if Postgres
import Ledger

/// The session that leads. One thread at a time uses it: `PostgresLog` has it under a lock.
///
/// States: *follows* (it never led, or another leads), *leads*, *in doubt* (an append, a redaction or a renewal threw).
/// Only ``settle()`` goes to *leads*. It begins a new session each time, so no statement of an earlier one can be taken
/// for one of this.
final class PostgresWriter {
    enum State: Hashable {
        case follows
        /// - isProven: whether a block was appended since: only then is every block before it the last of its number.
        case leads(isProven: Bool)
        case inDoubt
    }

    private let configuration: PostgresLogConfiguration
    private let schema: PostgresSchema
    private let now: @Sendable () -> UInt64
    /// Notes the leader's row, and says what is known of its lease since it was first seen so.
    private let see: @Sendable (PostgresLeader, _ own: PostgresTaking, _ asked: UInt64) -> LeaseWatch.Finding

    private(set) var state = State.follows
    private(set) var head: LogHead?
    private var session: WritingSession?
    /// That of this process which was the last.
    private(set) var taking = PostgresTaking()
    private(set) var lease: Lease
    private var partitions: PartitionMaker

    /// - Parameter now: a monotonic clock, in nanoseconds.
    init(
        _ configuration: PostgresLogConfiguration, _ schema: PostgresSchema, partitionBlocks: Int64,
        now: @escaping @Sendable () -> UInt64,
        see: @escaping @Sendable (PostgresLeader, _ own: PostgresTaking, _ asked: UInt64) -> LeaseWatch.Finding
    ) {
        self.see = see
        self.configuration = configuration
        self.schema = schema
        partitions = PartitionMaker(schema, blocks: partitionBlocks, now: now)
        self.now = now
        lease = Lease(milliseconds: configuration.leaseMilliseconds, begin: 0)
    }

    private var reign: Int64 { taking.reign }
    /// What a renewal says.
    private var renewal: [PostgresConnection.Value] {
        [
            .number(reign), .text(configuration.node), .text(configuration.address),
            .number(Int64(configuration.leaseMilliseconds)), .number(Int64(configuration.weight)),
        ]
    }

    // MARK: - Leading

    /// Takes the lead, where nobody has it, or whoever had it was not heard of for a whole lease.
    func settle() throws(LogError) {
        guard configuration.right == .leading else {
            throw LogError(.superseded, "this node has no right to lead")
        }
        let hasFollowed = state == .follows
        session = nil
        do throws(PostgresFault) {
            let session = try WritingSession(configuration, schema)
            try checkStandbys(session)
            let former = try awaitLead(session)
            try end(former, session)
            try take(former, session)
            self.session = session
        } catch {
            throw doubt(error, "taking the lead", hasFollowed: hasFollowed)
        }
    }

    private func refuse(_ words: String) -> PostgresFault { PostgresFault(.decided(.notAppended), words) }

    private func follow(_ leader: PostgresLeader) -> PostgresFault {
        PostgresFault(.decided(.superseded), "node \(leader.node) leads, at \(leader.address)")
    }

    /// Refuses where what is acknowledged would be on one machine only.
    private func checkStandbys(_ session: WritingSession) throws(PostgresFault) {
        guard configuration.requireSynchronousStandby else { return }
        let rows = try session.run(schema.standbys)
        guard rows.count == 1, rows.flag(0, 0) else {
            throw refuse("a synchronous standby is required, and the server's synchronous_standby_names is empty")
        }
        guard rows.flag(0, 1) else {
            throw refuse(
                rows.flag(0, 2)
                    ? "a synchronous standby is required, and none is connected"
                    : "a synchronous standby is required, and this role is not shown whether one is connected: "
                        + "it needs pg_read_all_stats")
        }
    }

    /// Waits until nobody leads.
    private func awaitLead(_ session: WritingSession) throws(PostgresFault) -> PostgresLeader {
        while true {
            let asked = now()
            let leader = try leader(session)
            if let moved = configuration.refusal(of: leader) { throw refuse(moved) }
            switch see(leader, taking, asked) {
            case .over: return leader
            case .renewed: throw follow(leader)
            case .runs:
                pause(milliseconds: min(PostgresLogLimits.watchMilliseconds, Int(leader.leaseMilliseconds) / 8 + 1))
            }
        }
    }

    private func leader(_ session: WritingSession) throws(PostgresFault) -> PostgresLeader {
        guard let leader = try PostgresLeader(checked: try session.run(schema.leader), schema) else {
            throw refuse("the table \(schema.name).leader has no row")
        }
        return leader
    }

    /// Ends the session of a leader that stalls, which may hold a lock that no time of the server's ends. Where this
    /// role may not, the chain is as safe, and that lock is waited for.
    private func end(_ former: PostgresLeader, _ session: WritingSession) throws(PostgresFault) {
        guard former.backendPID != 0 else { return }
        do throws(PostgresFault) {
            _ = try session.run(
                schema.end,
                [
                    .number(former.backendPID), .time(former.backendStart),
                    .number(PostgresLogLimits.endingMilliseconds), .number(former.reign), .number(former.renewals),
                ])
        } catch {
            guard error.code == PostgresCode.privilege || error.kind == .warned else { throw error }
        }
    }

    private func take(_ former: PostgresLeader, _ session: WritingSession) throws(PostgresFault) {
        let begin = now()
        let taken = try session.commit(
            schema.take,
            [
                .number(former.reign), .number(former.renewals), .text(configuration.node),
                .text(configuration.address), .number(Int64(configuration.leaseMilliseconds)),
                .number(Int64(configuration.weight)),
            ])
        guard taken.count == 1 else { throw follow(try leader(session)) }
        taking = PostgresTaking(
            reign: taken.number(0, 0), backendPID: taken.number(0, 1), backendStart: taken.number(0, 2))
        do throws(PostgresFault) {
            head = try LogHead(try session.run(schema.head), schema, refuse)
            try partitions.begin(at: (head?.number ?? 0) + 1, session)
        } catch {
            // Otherwise everybody waits for the lease of a node that does not lead.
            release(session)
            throw error
        }
        lease = Lease(milliseconds: configuration.leaseMilliseconds, begin: begin)
        state = .leads(isProven: false)
    }

    /// Renews the lease, unless that was done a moment ago.
    func renewIfDue() throws(LogError) {
        guard case .leads = state, let session, lease.isDue(at: now()) else { return }
        let begin = now()
        do throws(PostgresFault) {
            guard try session.commit(schema.renew, renewal).changed == 1 else { throw superseded() }
            lease.renew(begin)
        } catch {
            throw doubt(error, "renewing the lease")
        }
    }

    /// Renews the lease where it may have run out.
    /// - Throws: ``LogError`` where this node cannot say that it leads.
    func confirmLead() throws(LogError) {
        guard case .leads = state else { throw notSettled("the lead is not confirmed") }
        if now() >= lease.end { try renewIfDue() }
    }

    /// Another node took the lead after this one: what was in doubt here is there by now, or never will be.
    func follow() {
        session = nil
        state = .follows
    }

    /// Gives the lead back, as far as that is possible. What is in doubt keeps nobody from leading: the next leader
    /// settles it.
    func release() {
        if state != .follows, let session { release(session) }
        session = nil
        state = .follows
    }

    /// It waits for no standby: where it is lost with this server, the next leader waits for the lease.
    private func release(_ session: WritingSession) {
        try? session.run("SET synchronous_commit = local")
        _ = try? session.run(schema.release, [.number(reign)])
    }

    /// Gives the lead back, and notes where the ledger is from now on: no node leads here then.
    /// - Parameter place: empty where it is here again.
    /// - Throws: ``LogError``: `superseded` where another led meanwhile, or appended something.
    func note(movedTo place: String) throws(LogError) {
        guard case .leads = state, let session else { throw notSettled("that the ledger was moved is not noted") }
        do throws(PostgresFault) {
            guard try session.commit(schema.move, [.number(reign), .text(place)]).changed == 1 else {
                throw superseded()
            }
            let last = try LogHead(try session.run(schema.head), schema, refuse)
            guard last == head else {
                throw PostgresFault(
                    .decided(.superseded), "block \(last?.number ?? 0) of another leader has come meanwhile")
            }
        } catch {
            throw doubt(error, "noting that the ledger was moved")
        }
        follow()
    }

    // MARK: - Appending

    func append(_ block: SealedBlock) throws(LogError) {
        let number = block.number
        guard case .leads(let isProven) = state, let session else {
            throw notSettled("block \(number) was not appended")
        }
        if let error = refusal(of: block) {
            state = .inDoubt
            throw error
        }
        do throws(PostgresFault) {
            try partitions.make(of: number, session)
            try partitions.makeNext(after: number, session)
            let begin = now()
            let renews = lease.isDue(at: begin)
            let statement = insertion(of: block, renews: renews)
            guard try session.commit(statement.text, statement.values).changed == 1 else {
                throw try reason(block, session)
            }
            if renews { lease.renew(begin) }
        } catch {
            if error.code == PostgresCode.unique { throw taken(number, isProven: isProven, session) }
            throw doubt(error, "appending block \(number)")
        }
        head = block.head
        state = .leads(isProven: true)
    }

    /// Appends blocks that follow each other in one transaction, all of them or none.
    func append(_ blocks: [SealedBlock]) throws(LogError) {
        guard let first = blocks.first, let last = blocks.last else { return }
        if blocks.count == 1 { return try append(first) }
        guard case .leads(let isProven) = state, let session else {
            throw notSettled("block \(first.number) was not appended")
        }
        let former = head
        for block in blocks {
            if let error = refusal(of: block) {
                (head, state) = (former, .inDoubt)
                throw error
            }
            head = block.head
        }
        head = former
        var number = first.number
        do throws(PostgresFault) {
            for number in stride(from: first.number, to: last.number, by: Int(partitions.blocks)) {
                try partitions.make(of: number, session)
            }
            try partitions.make(of: last.number, session)
            try partitions.makeNext(after: last.number, session)
            let begin = now()
            let renews = lease.isDue(at: begin)
            try session.transaction { () throws(PostgresFault) in
                for block in blocks {
                    number = block.number
                    let statement = insertion(of: block, renews: renews && number == first.number)
                    let isInserted = try session.run(statement.text, statement.values).changed == 1
                    if !isInserted { throw try reason(block, session) }
                }
            }
            try session.awaitStandby()
            if renews { lease.renew(begin) }
        } catch {
            if error.code == PostgresCode.unique { throw taken(number, isProven: isProven, session) }
            throw doubt(error, "appending blocks \(first.number) to \(last.number)")
        }
        head = last.head
        state = .leads(isProven: true)
    }

    /// Why a block is not appended that does not follow the last one.
    private func refusal(of block: SealedBlock) -> LogError? {
        let last = head ?? LogHead(number: 0, term: 0, hash: .zero)
        let number = block.number
        if number <= last.number { return LogError(.superseded, "block \(number) is there already") }
        if number > last.number + 1 {
            return LogError(.notAppended, "block \(number) does not follow block \(last.number)")
        }
        if head != nil, block.previous != last.hash {
            return LogError(.superseded, "block \(number) continues another block than block \(last.number)")
        }
        if block.byteCount > PostgresLogLimits.blockBytesMax {
            return LogError(.notAppended, "block \(number) has \(block.byteCount) bytes, which are too many")
        }
        return nil
    }

    private func insertion(
        of block: SealedBlock, renews: Bool
    ) -> (text: PostgresConnection.Statement, values: [PostgresConnection.Value]) {
        var values: [PostgresConnection.Value] = [
            .number(block.number), .number(block.term), .bytes(block.previous.bytes), .bytes(block.hash.bytes),
            .bytes(block.body), .bytes(block.redactable), .flag(configuration.requireSynchronousStandby),
        ]
        if renews { values += renewal }
        return (renews ? schema.appendRenewing : schema.append, values)
    }

    /// Why a statement inserted nothing.
    private func reason(_ block: SealedBlock, _ session: WritingSession) throws(PostgresFault) -> PostgresFault {
        let rows = try session.run(schema.refusal, [.number(block.number), .number(reign)])
        guard rows.count == 1 else { return refuse("the table \(schema.name).leader has no row") }
        if !rows.flag(0, 0) { return superseded(by: rows) }
        if block.number > 1, rows.isNull(0, 3) || !rows.bytes(0, 3).elementsEqual(block.previous.bytes) {
            return PostgresFault(
                .decided(.superseded),
                "the server does not have block \(block.number - 1), which was acknowledged: it lost blocks")
        }
        return refuse(
            configuration.requireSynchronousStandby
                ? "a synchronous standby is required, and the server's synchronous_standby_names is empty"
                : "the server inserted nothing, and nothing says why")
    }

    /// A block stands at the number already: that of another leader, or, where nothing was appended since the lead was
    /// taken, one of which nobody knew: its commit waited for a standby, and it could not be seen.
    private func taken(_ number: BlockNumber, isProven: Bool, _ session: WritingSession) -> LogError {
        state = .inDoubt
        do throws(PostgresFault) {
            let rows = try session.run(schema.refusal, [.number(number), .number(reign)])
            guard rows.count == 1, rows.flag(0, 0), !isProven else {
                state = .follows
                return LogError(.superseded, "block \(number) of another leader is there already")
            }
            return LogError(.notAppended, "block \(number) is there, which was in doubt when the lead was taken")
        } catch {
            return LogError(.notAppended, "block \(number) is there already; asking who leads: \(error.words)")
        }
    }

    private func superseded(by rows: PostgresRows? = nil) -> PostgresFault {
        let words = rows.map { "node \($0.text(0, 1)) leads, at \($0.text(0, 2))" } ?? "another node leads"
        return PostgresFault(.decided(.superseded), words)
    }

    /// After a fault only ``settle()`` helps.
    /// - Parameter hasFollowed: whether nothing of this node's own can be in doubt.
    private func doubt(_ fault: PostgresFault, _ doing: String, hasFollowed: Bool = false) -> LogError {
        let isFollowing = hasFollowed || fault.kind == .decided(.superseded)
        state = isFollowing ? .follows : .inDoubt
        return fault.error(doing)
    }

    private func notSettled(_ what: String) -> LogError { LogError(.notAppended, "\(what): the log was not settled") }

    // MARK: - Redacting

    func redact(_ number: BlockNumber, _ redactable: [UInt8]) throws(LogError) {
        guard case .leads = state, let session else { throw notSettled("block \(number) was not redacted") }
        guard number > 0, number <= head?.number ?? 0 else {
            throw LogError(.notAppended, "there is no block \(number) to redact")
        }
        let changed: Int
        do throws(PostgresFault) {
            let values: [PostgresConnection.Value] = [.number(number), .bytes(redactable), .number(reign)]
            changed = try session.commit(schema.redact, values).changed
            if changed == 0 {
                let leader = try leader(session)
                if leader.taking != taking { throw follow(leader) }
            }
        } catch {
            let doing = "redacting block \(number)"
            // The row is damaged, and the server took the statement back: whoever leads goes on, and the name is owed.
            if PostgresCode.isOfDamage(error.code) { throw error.error(doing) }
            throw doubt(error, doing)
        }
        guard changed == 1 else {
            throw LogError(.notAppended, "block \(number)'s redactable part has another count of bytes")
        }
    }
}

extension PostgresLeader {
    /// The row as it is; `nil` where there is none.
    init?(_ rows: PostgresRows) {
        guard rows.count == 1 else { return nil }
        reign = rows.number(0, 0)
        node = rows.text(0, 1)
        address = rows.text(0, 2)
        leaseMilliseconds = rows.number(0, 3)
        renewals = rows.number(0, 4)
        backendPID = rows.number(0, 5)
        backendStart = rows.number(0, 6)
        movedTo = rows.text(0, 7)
    }
}
#endif
