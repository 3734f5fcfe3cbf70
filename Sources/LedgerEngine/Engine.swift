package import Ledger

/// One ledger in operation: decides batches on the books in memory, makes them durable as blocks of the log, and keeps
/// the projection behind it.
///
/// ```
/// commit ── load what is not in memory ── decide ──┬─ encode ── hash ── append ── done
///              (projection)              next batch┘                       └── project ── reads
/// ```
///
/// Invariants:
/// 1. A batch is done after its block is durable, and after every batch before it. A read-only batch is done after
///    whatever it may have seen is durable.
/// 2. What the projection does not have is in memory (``Unprojected``), so every decision sees the head of the chain.
/// 3. After an append that failed nothing that was decided on its books is ever shown: they are dropped and read anew.
/// 4. A read sees every batch that was done before the read began.
///
/// `commit` is called from one thread, which owns everything that is not in one of the parts.
package final class Engine: Store, @unchecked Sendable {
    /// Whose ledger it is, and how it is run.
    package struct Configuration: Sendable {
        package var bundleID: String
        package var environment: String
        package var catalog: Catalog
        /// Whether an operator says that the wall clock is right, however far it is ahead of the last block.
        package var acceptsClock: Bool
        package var limits: EngineLimits

        package init(
            bundleID: String, environment: String, catalog: Catalog, acceptsClock: Bool = false,
            limits: EngineLimits = EngineLimits()
        ) {
            self.bundleID = bundleID
            self.environment = environment
            self.catalog = catalog
            self.acceptsClock = acceptsClock
            self.limits = limits
        }
    }

    /// What an operator is told.
    package enum Event: Sendable {
        case projectionFailed(StoreError)
        case projectionWorksAgain
        /// What the projection has is not what was written. Said once.
        case tablesDamaged(StoreError)
        case logFailed(LogError)
        case logWorksAgain(LogHead)
        /// The wall clock is too far ahead to be believed: entries go on from this time.
        case clockHeldBack(clock: Timestamp, time: Timestamp)
        case clockReasonable
    }

    private let log: any BlockLog
    private let projection: any Projection
    private let configuration: Configuration
    private let hash: HashFunction
    private let clock: LedgerClock
    private let now: @Sendable () -> Timestamp
    private let report: @Sendable (Event) -> Void
    private let appender: Appender
    private let projector: Projector

    // The committing thread's.
    private var books: Books?
    private var unprojected = Unprojected(projected: JournalPosition())
    private var cache: PlayerCache
    /// The last block that was decided, and its time.
    private var decided: BlockNumber
    private var time: Timestamp
    private var term: Term
    /// Until when the log is not tried again after it failed; 0 while it works.
    private var retryAt: UInt64 = 0
    /// The failure that was reported last.
    private var reported: LogError?
    /// Whether it was said that the projection is damaged.
    private let damage = Monitor(false)

    /// Takes the lead of the log, and brings the projection to its head.
    /// - Parameters:
    ///   - projection: of this log, or an empty one.
    ///   - now: the clock, in milliseconds since the UNIX epoch.
    ///   - catchingUp: told, before each step in which the projection is brought to the head, which block it has and
    ///     which is the head; what it throws ends the opening.
    /// - Throws: ``StoreError`` or ``LogError``: what keeps it from working.
    package init(
        log: any BlockLog, projection: any Projection, configuration: Configuration, hash: @escaping HashFunction,
        now: @escaping @Sendable () -> Timestamp,
        catchingUp: (BlockNumber, _ head: BlockNumber) throws -> Void = { _, _ in },
        report: @escaping @Sendable (Event) -> Void
    ) throws {
        self.log = log
        self.projection = projection
        self.configuration = configuration
        self.hash = hash
        self.report = report
        // Before a block is added: a log that went back in time is left as it is.
        try projection.check(against: log)
        var clock: LedgerClock?
        let led = try Engine.lead(log, configuration, hash) { last in
            let own = LedgerClock(
                after: last, clock: now(), accepts: configuration.acceptsClock, report: report)
            clock = own
            return own.time(at: now())
        }
        guard let clock else { throw StoreError("the log was led without a block of its own") }
        self.clock = clock
        self.now = { clock.time(at: now()) }
        try projection.catchUp(with: log, to: led.head.number) { try catchingUp($0, led.head.number) }
        let projector = try Projector(projection, projected: led.head.number, limits: configuration.limits) {
            report($0.map { .projectionFailed($0) } ?? .projectionWorksAgain)
        }
        self.projector = projector
        appender = try Appender(
            log, head: led.head, batchesMax: configuration.limits.batchesAheadMax, hash: hash
        ) { projector.add($0) }
        decided = led.head.number
        term = led.head.term
        time = led.time
        cache = PlayerCache(playersMax: configuration.limits.cachedPlayersMax)
        do {
            try readBooks()
            // The catalog's new currencies are journaled before anything uses them.
            try run(Needs()) { _ in }
        } catch {
            appender.stop()
            projector.stop()
            throw error
        }
    }

    package func time(at clock: Timestamp) -> Timestamp { self.clock.time(at: clock) }

    package var engine: String { "\(log.engine), \(projection.engine)" }

    // MARK: Committing

    package func fault() -> StoreError? {
        do throws(StoreError) {
            try recover()
            return appender.failure.map { StoreError(behind: $0) }
        } catch {
            return error
        }
    }

    package func commit<Result: Sendable>(
        _ needs: Needs, isLast: Bool, _ decide: (inout Books) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        appender.awaitRoom()
        do throws(StoreError) {
            try recover()
            try faults { try projector.awaitRoom() }
            let (result, block) = try decideBatch(needs, decide)
            appender.submit(
                Appender.Batch(block: block) { failure in done(failure.map { .failure($0) } ?? .success(result)) },
                isLast: isLast)
        } catch {
            // Nothing was decided; but what was decided before is answered first.
            appender.submit(
                Appender.Batch(block: nil) { failure in done(.failure(failure ?? error)) }, isLast: isLast)
        }
    }

    /// Commits one batch and waits until it is done.
    /// - Throws: ``StoreError``
    @discardableResult
    package func run<Result: Sendable>(_ needs: Needs, _ decide: (inout Books) -> Result) throws -> Result {
        let result = Monitor<Swift.Result<Result, StoreError>?>(nil)
        commit(needs, isLast: true, decide) { done in
            result.withLock { $0 = done }
            result.wakeAll()
        }
        return try result.wait { $0 }.get()
    }

    private func decideBatch<Result>(
        _ needs: Needs, _ decide: (inout Books) -> Result
    ) throws(StoreError) -> (Result, Block?) {
        guard var books = books.take() else { throw StoreError("the ledger is closed") }
        unprojected.release(through: projector.projected, of: decided, from: &books)
        do throws(StoreError) {
            try faults { try load(needs, into: &books) }
        } catch {
            forgetLoaded(&books)
            self.books = consume books
            noteDamage(error)
            throw error
        }
        let result = decide(&books)
        let rows = books.takeJournal()
        guard !rows.isEmpty else {
            forgetLoaded(&books, rows)
            self.books = consume books
            return (result, nil)
        }
        if let failure = appender.failure {
            // What was decided is dropped with its books. The answers of reads that only found something due are good:
            // it stays due.
            if rows.isOnlyWhatFellDue { return (result, nil) }
            throw StoreError(behind: failure)
        }
        decided += 1
        time = max(time, books.latestTime(now()))
        let block = Block(
            number: decided, term: term, time: time, previous: .zero, position: books.position, rows: rows)
        unprojected.add(closers: books.takeClosers())
        cache.add(lots: rows.lots.count)
        forgetLoaded(&books, rows)
        unprojected.turn(after: decided, of: &books)
        self.books = consume books
        return (result, block)
    }

    /// Has in the books what a batch needs: the newest that there is of it.
    private func load(_ needs: Needs, into books: inout Books) throws {
        unprojected.load(needs, into: &books)
        if unprojected.hasReferences && !(needs.spends.isEmpty && needs.holds.isEmpty) {
            var named = Needs()
            named.keys = needs.spends + needs.holds
            try projection.load(named, into: &books)
            unprojected.loadReferences(needs, into: &books)
        }
        try projection.load(needs, into: &books)
    }

    /// What was loaded for a batch is found again where it was, unless the batch changed it.
    private func forgetLoaded(_ books: inout Books, _ rows: Journal = Journal()) {
        let loaded = books.takeLoaded()
        cache.add(lots: loaded.lots)
        defer { cache.bound(&books, projected: unprojected.projected) }
        if loaded.isEmpty { return }
        for key in loaded.keys { books.forget(key) }
        for uuid in loaded.notifications { books.forget(notification: uuid) }
        if !loaded.transactions.isEmpty {
            let changed = Set(rows.evidence.map(\.transaction))
                .union(rows.assignments.map(\.transaction)).union(rows.notifications.compactMap(\.transaction))
            for transaction in loaded.transactions where !changed.contains(transaction) { books.forget(transaction) }
        }
        if !loaded.references.isEmpty {
            let changed = Set(rows.transfers.compactMap(\.reference))
            for reference in loaded.references where !changed.contains(reference) {
                books.forget(reference: reference)
            }
        }
        for player in loaded.borrowers {
            books.forgetClosedLots(of: player, through: unprojected.projected.transfer)
        }
    }

    // MARK: Taking the lead, and failures

    /// After a failure: settles what is in doubt, and reads the books anew from what is durable. While the log does
    /// not work the books are good for reading.
    private func recover() throws(StoreError) {
        guard let failure = appender.failure else {
            if books == nil { try readBooks() }
            return
        }
        appender.beginReading()
        let clock = monotonicNanoseconds()
        if clock >= retryAt {
            if retryAt == 0 { tell(failure) }
            do {
                let led = try Engine.lead(log, configuration, hash) { _ in now() }
                // A block in doubt may have turned out to be there, so the projector reads all of it from the log.
                try addMissingBlocks(to: led.head)
                appender.restart(at: led.head)
                term = led.head.term
                books = nil
                retryAt = 0
                reported = nil
                report(.logWorksAgain(led.head))
            } catch {
                if let error = error as? LogError { tell(error) }
                retryAt = clock + configuration.limits.logRetryMilliseconds * 1_000_000
            }
        }
        if books == nil || decided != appender.head.number { try readBooks() }
    }

    /// Reports a failure that is another than the one reported last.
    private func tell(_ failure: LogError) {
        if reported == failure { return }
        reported = failure
        report(.logFailed(failure))
    }

    /// Hands the projector what was appended since the last block that it was given.
    private func addMissingBlocks(to head: LogHead) throws {
        var missing: [SealedBlock] = []
        var next = appender.head.number
        while next < head.number {
            let blocks = try log.read(after: next, bytesMax: configuration.limits.projectionStepBytes)
            guard let last = blocks.last else {
                throw LogError(.corrupt, "block \(next + 1) is missing from the log, which ends at \(head.number)")
            }
            missing += blocks
            next = last.number
        }
        for block in missing { projector.add(block) }
    }

    /// Books that know nothing but what is durable.
    private func readBooks() throws(StoreError) {
        books = nil
        let head = appender.head
        let state = try faults {
            try projector.bring(to: head.number)
            return try projection.state()
        }
        guard let projected = state.head, projected.number == head.number, projected.hash == head.hash else {
            throw StoreError(
                .corrupt, "the projection is of block \(state.head?.number ?? 0), the log's is \(head.number)")
        }
        decided = head.number
        time = max(time, state.time)
        unprojected = Unprojected(projected: state.position)
        cache = PlayerCache(playersMax: configuration.limits.cachedPlayersMax)
        books = Books(
            catalog: configuration.catalog, known: state.currencies, position: state.position, totals: state.totals,
            closedThrough: state.closedThrough, headers: state.headers, actors: state.actors, hash: hash)
    }

    private static func lead(
        _ log: any BlockLog, _ configuration: Configuration, _ hash: @escaping HashFunction,
        _ now: (_ last: Timestamp?) -> Timestamp
    ) throws -> (head: LogHead, time: Timestamp) {
        var time: Timestamp = 0
        let block = try log.lead { last in
            var block = Block(
                number: 1, term: 1, time: 0, previous: .zero, position: JournalPosition(), rows: Journal())
            if let last {
                let before = try Block(opening: last, checks: .hashes(hash))
                block.number = before.number + 1
                block.term = before.term + 1
                block.time = max(now(before.time), before.time)
                block.previous = last.hash
                block.position = before.position
            } else {
                block.time = now(nil)
                block.rows.ledger = Journal.LedgerRow(
                    bundleID: configuration.bundleID, environment: configuration.environment)
            }
            time = block.time
            var random = SystemRandomNumberGenerator()
            return SealedBlock(sealing: block, salts: &random, hash: hash)
        }
        return (block.head, time)
    }

    // MARK: Reading

    package func history(_ query: HistoryQuery) throws -> HistoryPage { try read { try $0.history(query) } }

    package func balances(
        _ account: AccountName, currency: CurrencyCode?, asOf: Timestamp
    ) throws -> [CurrencyBalance] {
        try read { try $0.balances(account, currency: currency, asOf: asOf) }
    }

    package func report(_ query: ReportQuery) throws -> ReportPage { try read { try $0.report(query) } }

    package func journal(_ query: JournalQuery) throws -> JournalPage { try read { try $0.journal(query) } }

    /// Reads the projection when it has everything that was done before.
    private func read<Page>(_ body: (any Projection) throws -> Page) throws -> Page {
        do {
            try projector.bring(to: appender.head.number)
            return try body(projection)
        } catch let error as StoreError {
            noteDamage(error)
            throw error
        }
    }

    private func noteDamage(_ error: StoreError) {
        guard error.kind == .corrupt, appender.failure == nil else { return }
        let isFirst = damage.withLock { isSaid in
            defer { isSaid = true }
            return !isSaid
        }
        if isFirst { report(.tablesDamaged(error)) }
    }

    // MARK: The end

    package func close() throws {
        appender.stop()
        projector.stop()
        books = nil
        log.close()
        try projection.close()
    }
}

/// Turns whatever is thrown into a store's failure.
private func faults<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
    do {
        return try body()
    } catch let error as StoreError {
        throw error
    } catch let error as LogError {
        throw StoreError(error)
    } catch {
        throw StoreError("\(error)")
    }
}
