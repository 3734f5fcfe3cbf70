import Ledger

/// Leads the log: takes the lead when the ledger is opened, and again after a failure, whenever it is time to try.
///
/// States: *follows* (another leads; that it is time to take the lead is another's word); *leads*; *failed* (the log
/// is tried again from a time on; each reason that differs from the one told before is told).
///
/// Used by the committing thread.
struct Leader {
    private enum State {
        case follows
        case leads
        /// - hasFollowed: whether it has not led since it followed.
        case failed(told: LogError, retryAt: UInt64, hasFollowed: Bool)
    }

    private let log: any BlockLog
    private let hash: HashFunction
    private let retryMilliseconds: UInt64
    private let owed: @Sendable (PlayerID, LogError) -> Void
    private let report: @Sendable (LedgerEvent) -> Void
    private var state = State.leads
    /// The last term in which it took the lead.
    private(set) var term: Term = 0

    /// - Parameter owed: told why a name cannot be erased before somebody mends the log.
    init(
        _ log: any BlockLog, retryMilliseconds: UInt64, hash: @escaping HashFunction,
        owed: @escaping @Sendable (PlayerID, LogError) -> Void, report: @escaping @Sendable (LedgerEvent) -> Void
    ) {
        self.log = log
        self.hash = hash
        self.owed = owed
        self.retryMilliseconds = retryMilliseconds
        self.report = report
    }

    /// Takes the lead: appends a block of the next term, and has names erased that the last block left.
    /// - Parameters:
    ///   - ledger: whose books a ledger that has no block yet is to keep.
    ///   - now: the time, given that of the last block.
    /// - Returns: the block's number, term and hash.
    /// - Throws: ``LogError``, or what is wrong with the last block.
    private mutating func lead(
        _ ledger: BlockRows.LedgerRow, now: (_ last: Timestamp?) -> Timestamp
    ) throws -> LogHead {
        try log.settle()
        return try beginTerm(ledger, now: now).head
    }

    /// Takes the lead of a log that was just settled.
    /// - Parameters: as of ``lead(_:now:)``.
    /// - Returns: the term's first block.
    /// - Throws: ``LogError``, or what is wrong with the last block.
    mutating func beginTerm(
        _ ledger: BlockRows.LedgerRow, now: (_ last: Timestamp?) -> Timestamp
    ) throws -> SealedBlock {
        let sealed = try log.beginTerm { last in
            // Before a block is added: where a name cannot be erased, no try adds another.
            if let last { try log.eraseLastNames(through: last.number, owed: owed) }
            let block = try termBlock(after: last, ledger, now: now)
            var random = MachineRandom()
            return SealedBlock(sealing: block, salts: &random, hash: hash)
        }
        term = sealed.term
        state = .leads
        return sealed
    }

    /// Notes that another leads. The lead is taken by ``leadAgain(after:_:now:_:)``, or by ``beginTerm(_:now:)``, when
    /// that is called.
    mutating func follow() { state = .follows }

    /// Takes the lead when the ledger is opened.
    /// - Parameters: as of ``lead(_:now:)``.
    /// - Returns: what is durable. Where the log cannot be written that can be read all the same.
    /// - Throws: ``LogError``, or what is wrong with the last block.
    mutating func open(
        _ ledger: BlockRows.LedgerRow, now: (_ last: Timestamp?) -> Timestamp
    ) throws -> OpenedLog {
        do {
            return OpenedLog(head: try lead(ledger, now: now))
        } catch let error as LogError where error.leavesReading {
            guard let head = log.head, let last = try log.read(after: head.number - 1, bytesMax: 0).first else {
                throw error
            }
            _ = now(try Block(opening: last, checks: .hashes(hash)).time)
            report(.logFailed(error))
            state = failed(error, hasFollowed: false)
            return OpenedLog(head: head, failure: error)
        }
    }

    /// Takes the lead after a failure, or instead of following, where it is time to try; what it meets is reported.
    /// - Parameters:
    ///   - failure: why nothing is appended any more.
    ///   - takeOver: called with the new head. Where it throws, the log counts as failed still.
    /// - Returns: why the lead could not be taken; `nil` where it was, or was not tried.
    mutating func leadAgain(
        after failure: LogError, _ ledger: BlockRows.LedgerRow, now: (_ last: Timestamp?) -> Timestamp,
        _ takeOver: (LogHead) throws -> Void
    ) -> LogError? {
        var told: LogError?
        var hasFollowed = false
        switch state {
        case .follows: hasFollowed = true
        case .leads:
            told = failure
            report(.logFailed(failure))
        case .failed(let before, let retryAt, let followed):
            if monotonicNanoseconds() < retryAt { return nil }
            (told, hasFollowed) = (before, followed)
        }
        do {
            let head = try lead(ledger, now: now)
            try takeOver(head)
            if told != nil { report(.logWorksAgain(head)) }
            if hasFollowed { report(.promoted(head)) }
            return nil
        } catch {
            let error = error as? LogError ?? LogError(.unknown, "taking the lead: \(error)")
            if error != told { report(.logFailed(error)) }
            state = failed(error, hasFollowed: hasFollowed)
            return error
        }
    }

    private func failed(_ error: LogError, hasFollowed: Bool) -> State {
        .failed(
            told: error, retryAt: monotonicNanoseconds() + retryMilliseconds * 1_000_000, hasFollowed: hasFollowed)
    }

    private func termBlock(
        after last: SealedBlock?, _ ledger: BlockRows.LedgerRow, now: (_ last: Timestamp?) -> Timestamp
    ) throws -> Block {
        guard let last else {
            var rows = BlockRows()
            rows.ledger = ledger
            return Block(
                number: 1, term: 1, time: now(nil), previous: .zero, position: LastNumbers(), rows: rows)
        }
        let before = try Block(opening: last, checks: .hashes(hash))
        return Block(
            number: before.number + 1, term: before.term + 1, time: max(now(before.time), before.time),
            previous: last.hash, position: before.position, rows: BlockRows())
    }
}

/// What the log was found to have when the ledger was opened.
struct OpenedLog {
    /// The last block that is durable; ``LogHead/empty`` where there is none yet.
    var head: LogHead
    /// Why nothing is appended behind it; `nil` where this ledger leads.
    var failure: LogError?
}

extension LogError {
    /// Whether what is durable can be read all the same.
    var leavesReading: Bool {
        switch kind {
        case .notAppended, .unknown, .archived: true
        case .superseded, .corrupt: false
        }
    }
}

extension LogHead {
    /// That of a log without blocks.
    static let empty = LogHead(number: 0, term: 0, hash: .zero)
}
