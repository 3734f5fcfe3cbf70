import Ledger

/// This ledger while it is a standby: its ``Follower`` appends the blocks of the leader, and batches only read. (Who
/// follows this ledger are its ``Standbys``.)
///
/// The log, the tables and the books are in the state in which they are after a failure of the log: the appender adds
/// nothing, and the books know what is durable. Only that what is durable grows meanwhile. So the books are read anew
/// whenever it has, and the tables stay as they are while a batch is decided.
///
/// States: *follows*, until ``endFollowing()`` (the ledger is to lead, as after a failure) or ``stop()``.
///
/// `commit` and `endFollowing` are called by the committing thread, the rest by any.
struct Standby: Sendable {
    private let following: Following
    private let follower: Follower
    private let projection: any Projection
    private let projector: Projector
    private let appender: Appender
    private let damage: TableDamage

    init(
        _ following: Following, _ follower: Follower, _ projection: any Projection, _ projector: Projector,
        _ appender: Appender, _ damage: TableDamage
    ) {
        self.following = following
        self.follower = follower
        self.projection = projection
        self.projector = projector
        self.appender = appender
        self.damage = damage
    }

    /// Settles the log of a ledger that is to follow.
    /// - Parameters:
    ///   - leader: the leader's address.
    ///   - owed: told why a name cannot be erased before somebody mends the log.
    ///   - now: given the time of the last block.
    /// - Returns: what is durable. Where the log cannot be written that can be read all the same, and the log has to be
    ///   settled before anything is appended.
    /// - Throws: ``LogError``, or what is wrong with the last block.
    static func open(
        _ log: any BlockLog, leader: String, hash: @escaping HashFunction, owed: (LogError) -> Void,
        report: (LedgerEvent) -> Void, now: (_ last: Timestamp?) -> Timestamp
    ) throws -> (opened: OpenedLog, mustSettle: Bool) {
        var mustSettle = false
        do {
            try log.settle()
            // A crash between an append and its erasures may have left some.
            if let head = log.head { try log.eraseLastNames(through: head.number, owed: owed) }
        } catch let error as LogError where error.leavesReading {
            report(.logFailed(error))
            mustSettle = true
        }
        let last = try log.head.flatMap { try log.read(after: $0.number - 1, bytesMax: 0).first }
        _ = now(try last.map { try Block(opening: $0, checks: .hashes(hash)).time })
        let opened = OpenedLog(
            head: last?.head ?? .empty, failure: LogError(.superseded, "this is a standby of \(leader)"))
        return (opened, mustSettle)
    }

    /// What is answered to whoever asks it to write.
    var refusal: StoreError {
        StoreError(.notLeader(address: following.leader), "this is a standby of \(following.leader)")
    }

    /// Why it does not go on; `nil` where it does.
    var fault: FollowingFault? { follower.fault }

    /// Decides a batch on books of the last block that the tables have.
    func commit<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, on decider: inout Decider,
        _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        var outcome: Swift.Result<Result, StoreError>
        do throws(StoreError) {
            try storeFaults { try projector.bringToLast() }
            projector.hold()
            defer { projector.release() }
            try readBooks(&decider)
            let (result, block, _) = try decider.decide(
                needs, each: each, term: 0, projected: decider.decided, failure: appender.failure,
                damaged: noteDamage, decide)
            precondition(block == nil, "a standby made a block")
            outcome = .success(result)
        } catch {
            noteDamage(error)
            outcome = .failure(error)
        }
        appender.submit(
            Appender.Batch(block: nil) { [outcome] failure in done(failure.map { .failure($0) } ?? outcome) },
            isLast: isLast)
    }

    /// Has books of the block that the tables have, while these stay as they are.
    private func readBooks(_ decider: inout Decider) throws(StoreError) {
        if damage.takeRenewal() { decider.lose() }
        let state = try storeFaults { try projection.state() }
        let head = state.head ?? .empty
        if !decider.isCurrent(at: head.number) { try decider.read(state, of: head, mayAdd: false) }
    }

    private func noteDamage(_ error: StoreError) { damage.note(error, isOfRequest: true) }

    /// Follows no more, also after a restart, for the ledger is to lead. Once this has returned nothing is appended but
    /// by who leads, and everything that was asked is answered.
    /// - Throws: ``StoreError`` where it follows still.
    func endFollowing() throws(StoreError) {
        guard appender.head.number > 0 else {
            throw StoreError(.notReady, "this standby has no block yet: to lead it would begin another ledger")
        }
        if let fault = follower.hold() { throw StoreError(.notReady, fault) }
        do {
            try following.promoting()
        } catch {
            follower.release()
            throw StoreError("that this ledger leads from now on could not be noted, so it follows still: \(error)")
        }
        follower.stop()
        following.status.enter(.promoted)
        appender.awaitIdle()
    }

    /// Appends nothing more, for the ledger is to be closed.
    func stop() { follower.stop() }
}
