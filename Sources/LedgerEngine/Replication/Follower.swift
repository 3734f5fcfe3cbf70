import Ledger

/// Follows a leader: asks it for the blocks after the last one that is durable here, checks that they continue the
/// chain, appends them to the log, has the names erased that they say are, and hands them to the tables.
///
/// A question for the blocks after one says which block is durable here: that is all the acknowledgement there is. The
/// next question is asked when all of a page is durable; only while the leader has more than a page is it asked before
/// that, so that the leader reads and sends while this appends.
///
/// States: *connecting* (again and again, with waits that grow; or the leader's blocks came without names that none of
/// them erases, see ``UnprovenErasures``); *following*; *ended* (an operator has to look); *stopped*. What a single
/// connection says does not end it: only when the next connection says the same.
///
/// Its thread is the only one that uses the log's writer, until it is stopped.
final class Follower: Sendable {
    /// What the leader sent cannot be what it has: it is asked again on another connection.
    struct Garbled: Error, CustomStringConvertible {
        var description: String
    }

    private struct Stopped: Error {}

    private struct State {
        var isStopped = false
        /// Nothing is appended, for the ledger is about to lead.
        var isHeld = false
        /// What of the log's names is to be proven yet; `nil` where its log was not read for that yet.
        var unproven: UnprovenErasures?
        /// Which blocks of the log could not be read for that, in words.
        var unread: [String] = []
        /// Closed to end a wait for the leader.
        var connection: (any LeaderConnection)?
        var fault: FollowingFault?
    }

    /// What was told last of a loss, and when.
    private struct Told {
        var reason: String?
        var at: UInt64 = 0
        /// Whether it is over is still to be told.
        var isOpen = true
    }

    /// What the thread knows from one connection to the next.
    private struct Attempts {
        var waitMilliseconds: UInt64
        /// What would end it, where the last connection said so.
        var suspected: FollowingFault?
        var told = Told()
        /// An append threw.
        var mustSettle = false
        /// Whether the log was read for names that differ from what its blocks say, as far as that is noted.
        var hasReadNames = false
        /// What is noted of the log's names.
        var noted: NamesMark.Reason?
        /// Whether names are in the log still that its blocks erase.
        var owes = false
        /// Whether it was told that more is noted than is so.
        var hasToldOfMark = false
    }

    private let following: Following
    private let ledger: BlockRows.LedgerRow
    let log: any BlockLog
    let appender: Appender
    private let projector: Projector
    private let standbys: Standbys
    private let entries: Feed?
    private let names: NamesMark?
    private let owed: @Sendable (PlayerID, LogError) -> Void
    private let limits: EngineLimits
    private let hash: HashFunction
    private let report: @Sendable (LedgerEvent) -> Void
    private let state = Monitor(State())
    private let thread = OwnThread()

    /// - Parameters:
    ///   - ledger: whose books this ledger keeps.
    ///   - entries: told the last entry of each block; nobody where it is `nil`.
    ///   - names: where it is noted that names of the log may be unproven; nowhere where it is `nil`.
    ///   - owed: told why a name cannot be erased before somebody mends the log.
    init(
        _ following: Following, _ ledger: BlockRows.LedgerRow, log: any BlockLog, appender: Appender,
        projector: Projector, standbys: Standbys, entries: Feed?, names: NamesMark?, limits: EngineLimits,
        hash: @escaping HashFunction, owed: @escaping @Sendable (PlayerID, LogError) -> Void,
        report: @escaping @Sendable (LedgerEvent) -> Void
    ) {
        self.names = names
        self.owed = owed
        self.following = following
        self.ledger = ledger
        self.log = log
        self.appender = appender
        self.projector = projector
        self.standbys = standbys
        self.entries = entries
        self.limits = limits
        self.hash = hash
        self.report = report
        following.status.note(block: appender.head.number)
    }

    var leader: String { following.leader }

    /// Why it does not go on; `nil` where it does.
    var fault: FollowingFault? { state.withLock { $0.fault } }

    /// - Parameter mustSettle: whether the log has to be settled before anything is appended.
    func begin(mustSettle: Bool) throws {
        try thread.begin("ledger-follow") { [self] in serve(mustSettle: mustSettle) }
    }

    /// Ends it: once this has returned, nothing more is appended, and no block more is said to be durable here.
    func stop() {
        let connection = state.withLock { state in
            state.isStopped = true
            return state.connection
        }
        connection?.close()
        state.wakeAll()
        thread.join()
    }

    /// Appends nothing more, until ``release()``: the ledger is to lead.
    /// - Returns: why it must not, or not yet; then it goes on.
    func hold() -> String? {
        let head = appender.head.number
        return state.withLock { state in
            guard let unproven = state.unproven else { return "this standby has not read its own log yet" }
            if !state.unread.isEmpty {
                return "\(state.unread.joined(separator: "; ")): so nobody can say whether this standby has the blocks "
                    + "that erase all names that are gone. Stop it and mend its log, as the page Backup says; or move "
                    + "its folder away and start with --create, while there is a leader"
            }
            if let fault = unproven.faultOfAll(at: head) {
                return "\(fault): this standby lacks blocks that its leader had, or that leader is not to be believed"
            }
            state.isHeld = true
            return nil
        }
    }

    /// It follows still.
    func release() { state.withLock { $0.isHeld = false } }

    // MARK: Connections

    private func serve(mustSettle: Bool) {
        var attempts = Attempts(waitMilliseconds: limits.followRetryMillisecondsMin, mustSettle: mustSettle)
        while !state.withLock({ $0.isStopped }) {
            do {
                try settleOwnLog(&attempts)
                try readOwnNames(&attempts)
                let connection = following.connection()
                let isStopped = state.withLock { state in
                    state.connection = connection
                    return state.isStopped
                }
                defer {
                    connection.close()
                    state.withLock { $0.connection = nil }
                }
                if isStopped { return }
                try follow(connection, &attempts)
            } catch let fault as FollowingFault {
                if fault == attempts.suspected { return end(fault) }
                attempts.suspected = fault
                note("\(fault)", &attempts.told)
            } catch let error as LogError {
                if error.kind == .corrupt || error.kind == .superseded { return end(.log(error)) }
                attempts.mustSettle = true
                note("\(error)", &attempts.told)
            } catch {
                note("\(error)", &attempts.told)
            }
            pause(&attempts)
        }
    }

    private func end(_ fault: FollowingFault) {
        state.withLock { $0.fault = fault }
        following.status.enter(.stopped("\(fault)"))
        following.ended(fault)
    }

    /// Tells a reason that differs from the last one soon, and the same one now and then.
    private func note(_ reason: String, _ told: inout Told) {
        if state.withLock({ $0.isStopped }) { return }
        following.status.enter(.connecting(reason))
        let now = monotonicNanoseconds()
        let restMilliseconds =
            told.reason == reason ? limits.followReportMilliseconds : limits.followReportMillisecondsMin
        if told.reason != nil, now < told.at + restMilliseconds * 1_000_000 { return }
        told = Told(reason: reason, at: now)
        report(.leaderLost(reason))
    }

    private func pause(_ attempts: inout Attempts) {
        let until = monotonicNanoseconds() + attempts.waitMilliseconds * 1_000_000
        attempts.waitMilliseconds = min(attempts.waitMilliseconds * 2, limits.followRetryMillisecondsMax)
        state.waitOrUntil { state in
            state.isStopped || monotonicNanoseconds() >= until ? .ready(()) : .waitUntil(until)
        }
    }

    private func checkIsNotStopped() throws {
        if state.withLock({ $0.isStopped }) { throw Stopped() }
    }

    private func owe(_ account: PlayerID, _ error: LogError, _ attempts: inout Attempts) {
        owed(account, error)
        attempts.owes = true
    }

    /// Reads its own log, where it is noted that its names may differ from what its blocks say. Of blocks that cannot
    /// be read nobody can say: it goes on, and does not lead.
    private func readOwnNames(_ attempts: inout Attempts) throws {
        if attempts.hasReadNames { return }
        attempts.noted = try names?.read()
        let head = appender.head.number
        var differences = NameDifferences()
        if attempts.noted != nil {
            differences = try log.nameDifferences(through: head, bytesMax: limits.followBytesMax) { _ in
                try checkIsNotStopped()
            }
        }
        for account in differences.owed {
            try checkIsNotStopped()
            try log.eraseName(of: account, through: head) { owe($0, $1, &attempts) }
        }
        if attempts.noted == .accepted {
            // Of blocks that cannot be read only what they erase is still of interest.
            if !differences.unread.isEmpty { attempts.owes = true }
            state.withLock { $0.unproven = UnprovenErasures() }
        } else {
            if !differences.unread.isEmpty { try noteUnproven(&attempts) }
            state.withLock { [differences] in
                $0.unproven = differences.unproven
                $0.unread = differences.unread
            }
        }
        for words in differences.unread { report(.nameOwed(words)) }
        attempts.hasReadNames = true
    }

    private func noteUnproven(_ attempts: inout Attempts) throws {
        if attempts.noted == .unproven { return }
        try names?.write(.unproven)
        attempts.noted = .unproven
    }

    /// Has no more noted of the log's names than is so. Where that fails, the next start reads the log for nothing.
    private func noteWhatIsLeft(_ attempts: inout Attempts) {
        let isProven = state.withLock { $0.unproven?.isEmpty == true && $0.unread.isEmpty }
        let left: NamesMark.Reason? = !attempts.owes ? nil : attempts.noted == .accepted ? .accepted : .owed
        guard let names, isProven, left != attempts.noted else { return }
        do {
            try names.write(left)
            attempts.noted = left
        } catch {
            if !attempts.hasToldOfMark { report(.namesMarkLeft("\(names.place): \(error)")) }
            attempts.hasToldOfMark = true
        }
    }

    /// After an append, or an erasure, that threw: what is there after all goes to the tables too.
    private func settleOwnLog(_ attempts: inout Attempts) throws {
        guard attempts.mustSettle else { return }
        try log.settle()
        guard let head = log.head else { return attempts.mustSettle = false }
        try log.eraseLastNames(through: head.number) { owe($0, $1, &attempts) }
        try log.readPages(
            after: appender.head.number, through: head.number, bytesMax: limits.followBytesMax
        ) { blocks in
            for sealed in blocks { hand(sealed, try Block(opening: sealed, checks: .hashes(hash))) }
        }
        attempts.mustSettle = false
    }

    // MARK: One connection

    private func follow(_ connection: any LeaderConnection, _ attempts: inout Attempts) throws {
        let other = try connection.open()
        guard other == ledger else { throw FollowingFault.otherLedger(leader: leader, other, own: ledger) }
        connection.ask(query(after: appender.head, durable: appender.head.number))
        var isFollowing = false
        while true {
            let page: BlocksPage
            do {
                page = try connection.answer()
            } catch let mismatch as ChainMismatch {
                throw try difference(connection, mismatch.head)
            }
            following.status.hear()
            let blocks = try check(page)
            let isBehind = blocks.last.map { $0.sealed.number < page.head } ?? false
            if isBehind, let last = blocks.last?.sealed.head {
                connection.ask(query(after: last, durable: appender.head.number))
            }
            for (sealed, block) in blocks { try append(sealed, block, leaderBlock: page.head, &attempts) }
            following.status.note(block: appender.head.number, leaderBlock: page.head)
            if let fault = unprovenFault(leaderBlock: page.head) {
                note("\(fault)", &attempts.told)
                attempts.told.isOpen = true
                isFollowing = false
            } else if !isFollowing {
                if attempts.told.isOpen { report(.follows(block: appender.head.number)) }
                attempts.told.isOpen = false
                following.status.enter(.following)
                isFollowing = true
            }
            noteWhatIsLeft(&attempts)
            attempts.suspected = nil
            attempts.waitMilliseconds = limits.followRetryMillisecondsMin
            if !isBehind { connection.ask(query(after: appender.head, durable: appender.head.number)) }
        }
    }

    func query(after head: LogHead, durable: BlockNumber) -> BlocksQuery {
        BlocksQuery(
            standby: following.name, after: head.number, hash: head.hash.bytes, durable: durable,
            waitMilliseconds: limits.followWaitMilliseconds, bytesMax: limits.followBytesMax)
    }

    /// The blocks of a page, every byte of which was compared with a hash: each continues the one before, the first the
    /// last one that is here.
    private func check(_ page: BlocksPage) throws -> [(sealed: SealedBlock, block: Block)] {
        var blocks: [(sealed: SealedBlock, block: Block)] = []
        var head = appender.head
        for given in page.blocks {
            do {
                guard let own = Digest(given.hash) else { throw Garbled(description: "a hash is none") }
                let sealed = try SealedBlock(body: given.body, redactable: given.redactable, hash: own)
                guard sealed.number == head.number + 1, sealed.previous == head.hash, sealed.term >= head.term else {
                    throw Garbled(description: "block \(sealed.number) does not continue block \(head.number)")
                }
                let block = try Block(opening: sealed, checks: .hashes(hash))
                if let other = block.rows.ledger, other != ledger {
                    throw FollowingFault.otherLedger(leader: leader, other, own: ledger)
                }
                blocks.append((sealed, block))
                head = sealed.head
            } catch let error as BlockError {
                throw Garbled(
                    description: "what came from the leader as block \(head.number + 1) is not believed: \(error)")
            }
        }
        guard page.head >= head.number else {
            throw Garbled(description: "the leader's last block is \(page.head), and it gave block \(head.number)")
        }
        return blocks
    }

    private func append(
        _ sealed: SealedBlock, _ block: Block, leaderBlock: BlockNumber, _ attempts: inout Attempts
    ) throws {
        try checkIsNotStopped()
        try projector.awaitRoom()
        let isUnproven = try state.withLock { state in
            if state.isStopped || state.isHeld { throw Stopped() }
            state.unproven?.addNameless(of: block, leaderBlock: leaderBlock)
            return state.unproven?.isEmpty == false
        }
        if isUnproven { try noteUnproven(&attempts) }
        try log.append(sealed)
        // Before another is appended: so only the last block can have some left to do after a crash.
        try log.eraseNames(block) { owe($0, $1, &attempts) }
        hand(sealed, block)
    }

    /// What is wrong with names that came erased, where the leader has given all that it had then.
    private func unprovenFault(leaderBlock: BlockNumber) -> String? {
        let head = appender.head.number
        let fault = state.withLock { state in
            state.unproven?.date(leaderBlock: leaderBlock)
            return state.unproven?.fault(at: head)
        }
        return fault.map { "\($0), though the leader had no other: it is not believed to be the ledger's" }
    }

    /// A block that is durable here can be read.
    private func hand(_ sealed: SealedBlock, _ block: Block) {
        state.withLock { $0.unproven?.prove(by: block) }
        projector.add(sealed)
        appender.advance(to: sealed.head)
        following.status.note(block: sealed.number)
        standbys.feed.committed(through: sealed.number)
        entries?.committed(through: block.position.entry)
    }
}
