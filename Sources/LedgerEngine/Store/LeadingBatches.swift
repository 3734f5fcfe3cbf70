import Ledger

/// Batches of a ledger that leads: each is decided on books that have what was decided before, and is made durable
/// while the next one is decided.
///
/// After an append that failed the books are dropped, and read anew from what is durable. While the log does not work
/// they are good for reading.
///
/// Used by the committing thread. (Those of a ledger that follows are ``FollowingBatches``.)
final class LeadingBatches {
    private let log: any BlockLog
    private let ledger: BlockRows.LedgerRow
    private let limits: EngineLimits
    private let now: @Sendable () -> Timestamp
    private let figures: EngineFigures
    private let tables: LiveTables
    private let appender: Appender
    private let standbys: Standbys
    /// Whether it takes the lead again by itself after a failure of the log.
    private let leadsAgain: Bool
    private var leader: Leader
    /// The books; while this ledger follows, its batches are decided on these too.
    var decider: Decider
    /// The last block that erases names, while the projection may not have it.
    private var erasures: BlockNumber?

    init(
        _ log: any BlockLog, _ leader: Leader, _ decider: Decider, _ tables: LiveTables, _ appender: Appender,
        _ standbys: Standbys, _ configuration: Engine.Configuration, leadsAgain: Bool, figures: EngineFigures,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.log = log
        self.leader = leader
        self.decider = decider
        self.tables = tables
        self.appender = appender
        self.standbys = standbys
        ledger = configuration.ledger
        limits = configuration.limits
        self.leadsAgain = leadsAgain
        self.figures = figures
        self.now = now
    }

    /// The last term in which it took the lead.
    var term: Term { leader.term }

    /// - Parameter isBelievedToWork: whether the batch was made up in the belief that it can be made durable.
    func commit<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, isBelievedToWork: Bool,
        _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        do throws(StoreError) {
            if let lack = standbys.fault() { throw lack }
            try recover()
            // It has failed since: books that are good for reading lack the catalog's products, and would refuse
            // what must only be sent again.
            if isBelievedToWork, let failure = appender.failure { throw StoreError(behind: failure) }
            try storeFaults { try tables.projector.awaitRoom() }
            try projectErasures()
            try takeNewTables()
            let begin = monotonicNanoseconds()
            let (result, block, places) = try decider.decide(
                needs, each: each, term: leader.term, projected: tables.projector.projected,
                failure: appender.failure, damaged: noteDamage, decide)
            figures.decision.note(monotonicNanoseconds() - begin)
            let number = appender.submit(
                Appender.Batch(block: block, places: places) { failure in
                    done(failure.map { .failure($0) } ?? .success(result))
                }, isLast: isLast)
            if let number { decider.note(decidedOf: number) }
            if block?.rows.erasures.isEmpty == false { erasures = number }
        } catch {
            noteDamage(error)
            // Nothing was decided; but what was decided before is answered first.
            appender.submit(
                Appender.Batch(block: nil) { failure in done(.failure(failure ?? error)) }, isLast: isLast)
        }
    }

    /// After names were erased nothing is decided before the tables know it: a player who has left memory is looked
    /// for there by name.
    private func projectErasures() throws(StoreError) {
        guard let number = erasures else { return }
        appender.awaitIdle()
        if appender.failure == nil {
            try standbys.await(number)
            try storeFaults { try tables.projector.bring(to: number) }
        }
        erasures = nil
    }

    /// After the projection was made anew nothing is decided on what the one before made believe.
    private func takeNewTables() throws(StoreError) {
        guard tables.damage.isRenewed else { return }
        appender.awaitIdle()
        if appender.failure != nil { return }
        try readBooks()
        _ = tables.damage.takeRenewal()
    }

    private func noteDamage(_ error: StoreError) {
        guard appender.failure == nil else { return }
        tables.damage.note(error, isOfRequest: true)
    }

    // MARK: The lead

    /// Takes the lead of a log that was just settled, and has the books read anew.
    /// - Returns: the term's first block.
    /// - Throws: ``LogError``, or what is wrong with the last block.
    func beginTerm() throws -> LogHead {
        let first = try leader.beginTerm(ledger) { [now] _ in now() }
        tables.projector.add(first)
        goOn(behind: first.head)
        return first.head
    }

    /// The lead was taken: goes on behind the term's first block, on books that are read anew.
    private func goOn(behind head: LogHead) {
        appender.restart(at: head)
        standbys.feed.committed(through: head.number)
        decider.lose()
    }

    /// Drops the books, and appends nothing more: another leads.
    func endTerm(because reason: LogError) {
        appender.beginReading(because: reason)
        decider.lose()
        erasures = nil
        leader.follow()
    }

    // MARK: Failures

    /// After a failure: settles what is in doubt, and reads the books anew from what is durable. While the log does
    /// not work the books are good for reading.
    func recover() throws(StoreError) {
        guard let failure = appender.failure else {
            if decider.isLost { try readBooks() }
            return
        }
        // The next look at its role has it follow.
        if !leadsAgain { throw StoreError(behind: failure) }
        appender.beginReading()
        let refusal = leader.leadAgain(after: failure, ledger, now: { [now] _ in now() }) { head in
            // A block in doubt may have turned out to be there, so the projector reads all of it from the log.
            try addMissingBlocks(to: head)
            goOn(behind: head)
        }
        if let refusal { appender.fail(because: refusal) }
        if !decider.isCurrent(at: appender.head.number) { try readBooks() }
    }

    /// Hands the projector what was appended since the last block that it was given.
    private func addMissingBlocks(to head: LogHead) throws {
        // All of them are read before the first is handed over: where one cannot be read, none was.
        var missing: [SealedBlock] = []
        try log.readPages(
            after: appender.head.number, through: head.number, bytesMax: limits.projectionStepBytes
        ) { missing += $0 }
        for block in missing {
            standbys.hold(until: block.number, safe: { [projector = tables.projector] in projector.add(block) })
        }
    }

    /// Has books that know nothing but what is durable.
    func readBooks() throws(StoreError) {
        decider.lose()
        let head = appender.head
        try standbys.await(head.number)
        let state = try storeFaults {
            try tables.projector.bring(to: head.number)
            return try tables.projection.state()
        }
        // A block that erases names is in the tables by now, or was never appended.
        erasures = nil
        try decider.read(state, of: head, mayAdd: appender.failure == nil)
    }
}
