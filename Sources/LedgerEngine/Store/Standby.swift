import Ledger

/// This ledger while it is a standby: its ``Follower`` appends the blocks of the leader, and its
/// ``FollowingBatches`` only read. (Who follows this ledger are its ``Standbys``.)
///
/// States: *follows*, until ``endFollowing()`` (the ledger is to lead, as after a failure) or ``stop()``.
///
/// `endFollowing` is called by the committing thread, the rest by any.
struct Standby: Sendable {
    private let following: Following
    private let follower: Follower
    private let appender: Appender

    init(_ following: Following, _ follower: Follower, _ appender: Appender) {
        self.following = following
        self.follower = follower
        self.appender = appender
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
        _ log: any BlockLog, leader: String, hash: @escaping HashFunction, owed: (PlayerID, LogError) -> Void,
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
