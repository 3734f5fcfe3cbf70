import Ledger

/// A node's part in the log that it shares: it leads, or it follows whichever node leads.
///
/// A node takes the lead when no node leads, and follows again whenever its log fails or another leads, as often as
/// that comes: a leader of a shared log that cannot append is a follower that takes the lead again if nobody else does.
///
/// States: *leads*; *follows*. The state changes within the turn of the committing thread alone (`committing`): who has
/// that turn owns `leading`. Taking the lead, stepping down and handing over wait for the turn, so none of them begins
/// within it: the follower's thread (``LogFollower``) does all three, and any thread may hand over. What says that it
/// is called by the committing thread is called within the turn; the rest by any thread.
final class Leadership: @unchecked Sendable {
    private let node: Node
    private let follower: LogFollower
    private let leading: LeadingBatches
    private let appender: Appender
    private let committing: SoleUse
    private let report: @Sendable (LedgerEvent) -> Void
    private let isLeading = Monitor(false)
    private let owedMilliseconds: UInt64
    /// When names that are owed are looked for next. The follower's thread alone uses it.
    private var owedAt: UInt64 = 0

    /// It follows, until ``begin(appendCurrencies:)`` finds that nobody leads.
    /// - Parameter committing: the turn of whoever commits; others wait for it.
    init(
        _ node: Node, _ follower: LogFollower, _ leading: LeadingBatches, _ appender: Appender, _ committing: SoleUse,
        owedMilliseconds: UInt64, report: @escaping @Sendable (LedgerEvent) -> Void
    ) {
        self.node = node
        self.follower = follower
        self.leading = leading
        self.appender = appender
        self.committing = committing
        self.owedMilliseconds = owedMilliseconds
        self.report = report
    }

    /// Looks once how the log stands, takes the lead where nobody has it, and then looks at an interval.
    /// - Parameter appendCurrencies: called, outside of the turn, whenever this node has taken the lead.
    /// - Throws: ``StoreError`` where the system has no more threads.
    func begin(appendCurrencies: @escaping @Sendable () -> Void) throws {
        try follower.begin { [unowned self] in
            try takeLead()
            appendCurrencies()
        } stepDown: { [unowned self] reason in
            stepDown(reason)
        } handOver: { [unowned self] in
            _ = try handOver()
        } whileLeading: { [unowned self] in
            // Nobody may ask it for anything more, and so find out that its log has failed.
            if appender.failure != nil { committing.during { _ = leadsStill() } }
            try eraseOwedNames()
        }
    }

    /// Whether this node leads.
    var leads: Bool { isLeading.withLock { $0 } }

    /// What whoever asks it to write is answered while it follows.
    var refusal: StoreError { node.refusal }

    /// Whether this node leads; one whose log has failed does no more. Called by the committing thread.
    func leadsStill() -> Bool {
        guard leads else { return false }
        guard let failure = appender.failure else { return true }
        follow(because: failure)
        return false
    }

    /// Looks soon which node leads: this one, which follows, refused what only the leader does.
    func hasten() { follower.hasten() }

    /// Why this node cannot read all that was acknowledged up to now; `nil` where it has that.
    /// Called by the committing thread.
    func lookFault() -> StoreError? {
        do {
            try follower.look()
            return nil
        } catch let error as LogError {
            var fault = StoreError(behind: error)
            fault.isOfRead = true
            return fault
        } catch {
            return error as? StoreError ?? StoreError("\(error)")
        }
    }

    /// Gives the lead to another node, once all that was decided is answered.
    /// - Throws: ``StoreError`` where this node does not lead.
    func handOver() throws(StoreError) -> Handover {
        try committing.during { () throws(StoreError) in
            if leadsStill() { appender.awaitIdle() }
            guard leadsStill() else { throw node.refusal }
            // It takes the lead again only where nobody else does.
            follower.abstain()
            node.log.giveBack()
            follow(because: LogError(.superseded, "it gives the lead to another, as it was asked"))
            return Handover(steppedDown: true, block: appender.head.number)
        }
    }

    /// Reads no further, and takes no lead any more.
    func stop() { follower.stop() }

    /// Lets another node lead at once: this one appends nothing more.
    func giveBack() { node.log.giveBack() }

    /// Takes the lead, which nobody has. Called by the follower's thread.
    private func takeLead() throws {
        // May wait for the store: reads go on meanwhile.
        try node.log.settle()
        let result = committing.during {
            Result {
                // A batch that was decided while this node followed may not be answered yet.
                appender.awaitIdle()
                let end = node.log.head?.number ?? 0
                try follower.check(end: end)
                try follower.read(through: end)
                let first = try leading.beginTerm()
                isLeading.withLock { $0 = true }
                follower.endFollowing()
                report(.leads(first))
            }
        }
        do {
            try result.get()
        } catch {
            // Whoever could lead is not kept from it by who cannot.
            follower.abstain(hasFailed: true)
            node.log.giveBack()
            throw error
        }
    }

    /// Erases, now and then, the names that are owed and can be erased by now. Called by the follower's thread.
    private func eraseOwedNames() throws {
        guard monotonicNanoseconds() >= owedAt else { return }
        owedAt = monotonicNanoseconds() + owedMilliseconds * 1_000_000
        // One turn each: whatever is asked to be written waits for one of them, and not for all.
        for account in try node.log.owed() where eraseOwedName(of: account) { try node.log.paid(account) }
    }

    /// - Returns: whether it is erased.
    private func eraseOwedName(of account: PlayerID) -> Bool {
        committing.during {
            if leadsStill() { appender.awaitIdle() }
            guard leadsStill() else { return false }
            var isOwed = false
            do throws(LogError) {
                try node.log.eraseName(of: account, through: appender.head.number) { _, _ in isOwed = true }
            } catch {
                // The log is to be settled.
                follow(because: error)
                return false
            }
            return !isOwed
        }
    }

    /// Follows, for another node leads. Called by the follower's thread.
    private func stepDown(_ reason: LogError) {
        committing.during {
            guard leads else { return }
            follow(because: appender.failure ?? reason)
        }
    }

    /// Drops the books, and follows from the last block that is durable here: what is in doubt is read, or is not
    /// there, once somebody leads.
    private func follow(because reason: LogError) {
        leading.endTerm(because: reason)
        isLeading.withLock { $0 = false }
        report(.steppedDown(reason))
        follower.follow()
    }
}

extension OpenedLog {
    /// What a node's log has, which another may lead.
    init(following log: any BlockLog, hash: @escaping HashFunction, now: (_ last: Timestamp?) -> Timestamp) throws {
        let last = try log.head.flatMap { try log.read(after: $0.number - 1, bytesMax: 0).first }
        _ = now(try last.map { try Block(opening: $0, checks: .hashes(hash)).time })
        self.init(head: last?.head ?? .empty, failure: LogError(.superseded, "no node is known yet to lead"))
    }
}

extension StoreError {
    /// What a shared log's failure means for the requests that met it: where another node leads, they are told which.
    /// - Parameter adds: whether they add something, which may be there where nobody knows.
    init(_ error: LogError, adds: Bool, of node: Node) {
        let changedNothing = error.kind == .superseded || error.kind == .notAppended || error.kind == .unknown && !adds
        if changedNothing, let leader = try? node.log.standing().leader {
            self.init(.notLeader(address: leader.address), error.description)
        } else if adds {
            self.init(error)
        } else {
            self.init(behind: error)
            isOfRead = true
        }
    }
}
