import Ledger

/// Follows a shared log while another node leads it: reads the blocks after the last one that is here, checks that they
/// continue the chain, and hands them to the tables.
///
/// Its thread looks at an interval how the log stands. Where no node leads it has this one take the lead, and where
/// another leads though this one did, it has this one step down. Whoever reads looks before by itself (``look()``): so
/// a read sees every block that was acknowledged before it was asked, whichever node it is asked of, and one that
/// cannot look is not answered. The interval only bounds how far the tables are behind, and how soon a lead that was
/// given back is taken. It is short while the log changes or somebody waits for it, and longer while this node leads,
/// or nothing happens (``EngineLimits``).
///
/// States: *follows*; *leads* (nothing is read); *stopped*.
///
/// ``look()`` and ``read(through:)`` are called from any thread; one at a time reads.
final class LogFollower: Sendable {
    private struct State {
        var leads = false
        var isStopped = false
        /// When it is looked next; the end of time while it is being looked, unless another look is wanted behind it.
        var nextAt: UInt64 = 0
        /// Before when it is not looked again, however much is asked.
        var notBefore: UInt64 = 0
        /// Until when it looks often.
        var activeUntil: UInt64 = 0
        /// Until when it leaves the lead to others.
        var abstainsUntil: UInt64 = 0
        /// How often in a row it took the lead and could not lead.
        var failures = 0
        /// Why it could not look, and until when that is believed.
        var unseen: (reason: any Error, until: UInt64)?
        /// Since which taking of the lead the log is known to have the last block that was read from it; `nil` where
        /// that is to be looked at.
        var comparedTaking: String?
        /// Until when it leaves a lead that nobody has to the node that asked for it; `nil` where somebody leads.
        var yieldsUntil: UInt64?
        /// What was told last.
        var told: LogError?
        var toldLeader: LogLeader?
    }

    private let node: Node
    private let log: any SharedLog
    private let appender: Appender
    private let projector: Projector
    private let blocks: Feed
    private let entries: Feed?
    private let limits: EngineLimits
    private let hash: HashFunction
    private let report: @Sendable (LedgerEvent) -> Void
    private let state = Monitor(State())
    private let reading = Monitor(())
    private let thread = OwnThread()

    /// - Parameters:
    ///   - blocks: told the number of each block that is here.
    ///   - entries: told the last entry of each block; nobody where it is `nil`.
    init(
        _ node: Node, appender: Appender, projector: Projector, blocks: Feed, entries: Feed?, limits: EngineLimits,
        hash: @escaping HashFunction, report: @escaping @Sendable (LedgerEvent) -> Void
    ) {
        self.node = node
        log = node.log
        self.appender = appender
        self.projector = projector
        self.blocks = blocks
        self.entries = entries
        self.limits = limits
        self.hash = hash
        self.report = report
        node.status.note(block: appender.head.number)
    }

    /// Looks once, and then at an interval on a thread of its own.
    /// - Parameters:
    ///   - takeLead: takes the lead, which nobody has. Where it throws, it is tried again.
    ///   - stepDown: follows, for another node leads. Does nothing where this one does not lead.
    ///   - handOver: gives the lead to another, which has asked for it.
    ///   - whileLeading: does what a leader does beside that, after each look that finds nothing else to do.
    func begin(
        takeLead: @escaping @Sendable () throws -> Void, stepDown: @escaping @Sendable (LogError) -> Void,
        handOver: @escaping @Sendable () throws -> Void, whileLeading: @escaping @Sendable () throws -> Void
    ) throws {
        let round = { @Sendable [self] in self.round(takeLead, stepDown, handOver, whileLeading) }
        round()
        try thread.begin("ledger-follow") { [self] in
            while awaitRound() { round() }
        }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        state.wakeAll()
        thread.join()
    }

    /// This node leads.
    func endFollowing() {
        state.withLock { state in
            state.leads = true
            state.failures = 0
            state.told = nil
            state.toldLeader = nil
        }
        node.lead()
    }

    /// This node leads no more.
    func follow() {
        state.withLock { state in
            state.leads = false
            state.comparedTaking = nil
            state.nextAt = 0
        }
        // What it could not read while it led, it looks at again.
        node.note(fault: nil)
        node.follow(nil)
        noteActivity()
        state.wakeAll()
    }

    /// Looks soon, and often for a while: something is asked of this node that only the leader does.
    func hasten() {
        noteActivity()
        let isSooner = state.withLock { state in
            defer { state.nextAt = min(state.nextAt, state.notBefore) }
            return state.notBefore < state.nextAt
        }
        if isSooner { state.wakeAll() }
    }

    /// Leaves the lead to others for a while.
    /// - Parameter hasFailed: whether it took the lead and could not lead: then for longer each time.
    func abstain(hasFailed: Bool = false) {
        state.withLock { state in
            let doubled = limits.nodeAbstainMilliseconds << UInt64(min(state.failures, 16))
            if hasFailed { state.failures += 1 }
            let milliseconds = min(doubled, limits.nodeAbstainMillisecondsMax)
            state.abstainsUntil = monotonicNanoseconds() + milliseconds * 1_000_000
        }
    }

    // MARK: Reading

    /// Has every block here that was acknowledged before this was called.
    /// What kept it from that is believed for a moment: where the store does not answer, not each has to wait for it.
    /// - Throws: ``LogError`` where the log cannot be read now, ``StoreError`` where the tables cannot be written.
    func look() throws {
        if let unseen = state.withLock({ $0.unseen }), monotonicNanoseconds() < unseen.until { throw unseen.reason }
        do {
            try reading.withLock { _ in
                let standing = try log.standing()
                // A lead that nobody has is not left to the next look.
                if standing.leader == nil { hasten() }
                // Nobody reads further meanwhile.
                try check(end: standing.block)
                try compare(standing.taking)
                try readOn(through: standing.block)
            }
            node.note(fault: nil)
        } catch {
            noteFault(error)
            let until = monotonicNanoseconds() + limits.logRetryMilliseconds * 1_000_000
            state.withLock { $0.unseen = (error, until) }
            throw error
        }
    }

    /// Has every block here up to one.
    func read(through number: BlockNumber) throws { try reading.withLock { _ in try readOn(through: number) } }

    private func readOn(through number: BlockNumber) throws {
        if appender.head.number < number { noteActivity() }
        while appender.head.number < number {
            let read = try log.read(after: appender.head.number, bytesMax: limits.followBytesMax)
            if read.isEmpty { throw LogError(.unknown, "block \(appender.head.number + 1) is not read") }
            for block in read { try hand(block) }
        }
    }

    /// - Throws: ``LogError`` where the log ends before what was read from it.
    func check(end number: BlockNumber) throws(LogError) {
        guard appender.head.number <= number else {
            let error = LogError(
                .unknown,
                "the log ends with block \(number), and block \(appender.head.number) was read from it before")
            node.note(fault: error)
            throw error
        }
    }

    /// Looks whether the log has the last block that was read from it. That is not done again while nobody takes the
    /// lead anew and nothing goes wrong.
    /// - Throws: ``LogError`` `corrupt` where it has another, `unknown` where it has none, as a replica that is behind.
    private func compare(_ taking: String) throws(LogError) {
        if state.withLock({ $0.comparedTaking == taking }) { return }
        let head = appender.head
        if head.number > 0 {
            guard let block = try log.read(after: head.number - 1, bytesMax: 0).first else {
                throw LogError(.unknown, "block \(head.number) was read before, and is not there now")
            }
            guard block.hash == head.hash else {
                throw LogError(
                    .corrupt,
                    """
                    the log has another block \(head.number) than was read from it before: it lost blocks, or is \
                    another ledger's; stop this node and move its tables away
                    """)
            }
        }
        state.withLock { $0.comparedTaking = taking }
    }

    /// What kept this node from reading the log: while that is not what it was, nothing is passed on either.
    private func noteFault(_ error: any Error) {
        state.withLock { $0.comparedTaking = nil }
        if let error = error as? LogError, error.kind == .corrupt { node.note(fault: error) }
    }

    private func noteActivity() {
        state.withLock { $0.activeUntil = monotonicNanoseconds() + limits.nodeActiveMilliseconds * 1_000_000 }
    }

    private func hand(_ sealed: SealedBlock) throws {
        let head = appender.head
        guard sealed.number == head.number + 1, sealed.previous == head.hash, sealed.term >= head.term else {
            throw LogError(
                .corrupt,
                """
                block \(sealed.number) does not continue block \(head.number), which was read before: the log lost \
                blocks; stop this node and move its tables away
                """)
        }
        let block: Block
        do throws(BlockError) {
            block = try Block(opening: sealed, checks: .hashes(hash))
        } catch {
            throw LogError(.corrupt, "block \(sealed.number): \(error)")
        }
        try projector.awaitRoom()
        projector.add(sealed)
        appender.advance(to: sealed.head)
        node.status.note(block: sealed.number)
        blocks.committed(through: sealed.number)
        entries?.committed(through: block.position.entry)
    }

    // MARK: The thread

    private func awaitRound() -> Bool {
        state.waitOrUntil { state in
            if state.isStopped { return .ready(false) }
            return monotonicNanoseconds() >= state.nextAt ? .ready(true) : .waitUntil(state.nextAt)
        }
    }

    private func round(
        _ takeLead: () throws -> Void, _ stepDown: (LogError) -> Void, _ handOver: () throws -> Void,
        _ whileLeading: () throws -> Void
    ) {
        var waitMilliseconds = limits.nodeLookMilliseconds
        var hasFailed = false
        state.withLock { state in
            state.nextAt = .max
            state.notBefore = monotonicNanoseconds() + limits.nodeLookMilliseconds * 1_000_000
        }
        do {
            let standing = try log.standing()
            let (leads, mayLead) = state.withLock { ($0.leads, mayTake(standing, &$0)) }
            if leads {
                if let leader = standing.leader {
                    stepDown(LogError(.superseded, "node \(leader.node) leads, at \(leader.address)"))
                    waitMilliseconds = 0
                } else if standing.wantedBy != nil || cannotServe {
                    try handOver()
                } else {
                    waitMilliseconds = limits.nodeIdleLookMilliseconds
                    try whileLeading()
                }
            } else if standing.leader == nil, mayLead {
                node.follow(nil)
                do {
                    try checkMayServe(standing)
                } catch {
                    // It may have the lead still, of which it made no use, and would keep others from it.
                    log.giveBack()
                    throw error
                }
                // What is behind the last block here is read when it is settled: it may be in doubt until then.
                try takeLead()
                // Where its first block failed it has followed again.
                hasFailed = !state.withLock { $0.leads }
            } else {
                // Before anything is passed on to whoever leads.
                if standing.block < appender.head.number { try look() } else { try compare(standing.taking) }
                node.follow(standing.leader)
                try read(through: standing.block)
                node.note(fault: nil)
                node.status.note(block: appender.head.number, leaderBlock: standing.block)
                tell(standing.leader)
                if standing.leader != nil, mayLead, node.wantsLead {
                    try log.askForLead()
                    noteActivity()
                }
                if isQuiet(standing) { waitMilliseconds = limits.nodeIdleLookMilliseconds }
            }
        } catch let error as LogError {
            noteFault(error)
            // That another was quicker is what it is told by the next look.
            if error.kind != .superseded {
                tell(error)
                hasFailed = true
            }
        } catch {
            tell(LogError(.unknown, "\(error)"))
            hasFailed = true
        }
        if hasFailed { waitMilliseconds = limits.logRetryMilliseconds }
        state.withLock { state in
            let at = monotonicNanoseconds() + waitMilliseconds * 1_000_000
            if hasFailed { (state.nextAt, state.notBefore) = (at, at) }
            // Another look may be wanted since it began.
            state.nextAt = min(state.nextAt, at)
        }
    }

    /// Whether it could lead: who lacks blocks of this log, or cannot read them, would keep others from leading.
    private func checkMayServe(_ standing: LogStanding) throws {
        if standing.block < appender.head.number { try look() }
        try compare(standing.taking)
        if projector.failsSince != nil { throw LogError(.notAppended, "this node's tables cannot be written") }
    }

    /// Whether nobody waits for what another leader appends, and nothing happens.
    private func isQuiet(_ standing: LogStanding) -> Bool {
        guard standing.leader != nil, standing.wantedBy == nil, blocks.count == 0, entries?.count ?? 0 == 0 else {
            return false
        }
        return state.withLock { monotonicNanoseconds() >= $0.activeUntil }
    }

    /// Whether its tables have failed for so long that another node is to lead.
    private var cannotServe: Bool {
        guard let since = projector.failsSince else { return false }
        return monotonicNanoseconds() >= since + limits.nodeTablesMilliseconds * 1_000_000
    }

    /// Whether this node may take the lead, where nobody has it.
    private func mayTake(_ standing: LogStanding, _ state: inout State) -> Bool {
        let now = monotonicNanoseconds()
        if standing.leader != nil {
            state.yieldsUntil = nil
        } else if standing.wantedBy != nil, state.yieldsUntil == nil {
            state.yieldsUntil = now + limits.nodeYieldMilliseconds * 1_000_000
        }
        return log.mayLead && !state.isStopped && now >= state.abstainsUntil && now >= state.yieldsUntil ?? 0
    }

    private func tell(_ error: LogError) {
        let isNew = state.withLock { state in
            if state.leads || state.isStopped { return false }
            defer { state.told = error }
            return state.told != error
        }
        if state.withLock({ !$0.leads && !$0.isStopped }) { node.status.enter(.connecting("\(error)")) }
        if isNew { report(.logNotFollowed(error)) }
    }

    private func tell(_ leader: LogLeader?) {
        let isNew = state.withLock { state in
            let isNew = leader != nil && (state.toldLeader != leader || state.told != nil)
            if isNew { (state.toldLeader, state.told) = (leader, nil) }
            return isNew
        }
        if isNew, let leader { report(.followsNode(leader, block: appender.head.number)) }
    }
}
