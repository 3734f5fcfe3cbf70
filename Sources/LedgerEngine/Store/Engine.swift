package import Ledger

/// The store over a log and a projection: decides batches on the books in memory, makes them durable as blocks of the
/// log, and keeps the projection behind it.
///
/// ```
/// commit ── load what is not in memory ── decide ──┬─ encode ── hash ── append ── done
///              (projection)              next batch┘                       └── project ── reads
///          '----------- Decider -----------'       '------ Appender ------''- Projector -'
/// ```
///
/// While it leads, ``LeadingBatches`` do that, otherwise ``FollowingBatches``; the projection, with what is done to it,
/// is ``LiveTables``. ``Leader`` takes the lead of the log at the start and after each failure.
///
/// Roles: *leads*; *follows* (it is a ``Standby`` of another ledger that leads); *shares* (it is a ``Node`` of a shared
/// log that another node leads: ``Leadership``). ``promote()`` ends following: then the lead is taken as after a
/// failure. What leads and what follows, by role:
///
/// | role | type | is | used by |
/// |---|---|---|---|
/// | all | ``Leader`` | takes the lead of a log of any kind, and again after a failure | the committing thread |
/// | *leads* | ``LeadingBatches`` | batches that may add something, and the books | the committing thread |
/// | *follows*, *shares* | ``FollowingBatches`` | batches that only read | the committing thread |
/// | *follows* | ``Following`` | a value: whom a standby follows, and how it connects | any thread |
/// | *follows* | ``Follower`` | asks that leader for blocks, and appends them to the own log | a thread of its own |
/// | *shares* | ``LogLeader`` | a value: another node that leads the shared log | any thread |
/// | *shares* | `PostgresLeader` | a value: the row of a log in PostgreSQL that says so | the log's sessions |
/// | *shares* | ``LogFollower`` | looks who leads, and reads what that one appends | a thread of its own; who reads |
/// | *shares* | ``Leadership`` | changes the role: takes the lead, steps down, hands over | both, by turns |
///
/// Invariants:
/// 1. A batch is done after its block is durable, and after every batch before it. A read-only batch is done after
///    whatever it may have seen is durable.
/// 2. What the projection does not have is in memory (``Unprojected``), so every decision sees the head of the chain.
/// 3. After an append that failed nothing that was decided on its books is ever shown: they are dropped and read anew.
/// 4. A read sees every batch that was done before the read began.
/// 5. Where standbys are required, nothing is done before as many have every block that it may have seen; and while it
///    runs the tables get no block before that.
///
/// `fault` and `commit` are called by one thread at a time, which is checked; it owns everything that is not in one of
/// the parts. A node's ``LogFollower`` changes the role on its own thread: the lock in `committing` keeps that and the
/// committing thread apart.
package final class Engine: Store, @unchecked Sendable {
    /// Whose ledger it is, and how it is run.
    package struct Configuration: Sendable {
        package var bundleID: String
        package var environment: String
        package var catalog: CatalogInForce
        /// Whether an operator says that the wall clock is right, however far it is ahead of the last block.
        package var acceptsClock: Bool
        package var limits: EngineLimits

        package init(
            bundleID: String, environment: String, catalog: Catalog, acceptsClock: Bool = false,
            limits: EngineLimits = EngineLimits()
        ) {
            self.init(
                bundleID: bundleID, environment: environment, following: CatalogInForce(.init(catalog)),
                acceptsClock: acceptsClock, limits: limits)
        }

        /// - Parameter catalog: which others may replace.
        package init(
            bundleID: String, environment: String, following catalog: CatalogInForce, acceptsClock: Bool = false,
            limits: EngineLimits = EngineLimits()
        ) {
            self.bundleID = bundleID
            self.environment = environment
            self.catalog = catalog
            self.acceptsClock = acceptsClock
            self.limits = limits
        }

        var ledger: BlockRows.LedgerRow { BlockRows.LedgerRow(bundleID: bundleID, environment: environment) }
    }

    private let log: any BlockLog
    private let tables: LiveTables
    private let clock: LedgerClock
    private let report: @Sendable (LedgerEvent) -> Void
    private let appender: Appender
    private let standbys: Standbys
    /// The same, where nobody else stops it.
    private let ownStandbys: Standbys?
    /// This ledger as a standby; `nil` where it leads, or is a node.
    private let asStandby: Monitor<Standby?>
    private let following: FollowingBatches
    /// Of a node.
    private let leadership: Leadership?

    /// The turn of the committing thread, whichever that is; of a node, also of whoever changes the role.
    private let committing: SoleUse
    private let leading: LeadingBatches
    /// Whether the next batch was made up in the belief that it can be made durable; `nil` where nobody asked.
    private var isBelievedToWork: Bool?

    /// Takes the lead of the log, or follows, and brings the projection to its head.
    /// - Parameters:
    ///   - projection: of this log, or an empty one.
    ///   - renewal: how it is made anew while it is in use; `nil` where it cannot be.
    ///   - following: where it is a standby.
    ///   - node: where it is a node of a shared log, which is `log`.
    ///   - standbys: who follows it; nobody where it is `nil`.
    ///   - entries: while it follows: told the last entry of each block.
    ///   - names: where it is noted that what is erased in the log may differ from what its blocks say; nowhere where
    ///     it is `nil`.
    ///   - figures: where it counts.
    ///   - now: the clock, in milliseconds since the UNIX epoch.
    ///   - readingNames: told, while the log is read for names that differ from what its blocks say, which block was
    ///     read and which is the head; what it throws ends the opening.
    ///   - catchingUp: told, before each step in which the projection is brought to the head, which block it has and
    ///     which is the head; what it throws ends the opening.
    /// - Throws: ``StoreError`` or ``LogError``: what keeps it from working.
    package init(
        log: any BlockLog, projection: any Projection, renewal: TableRenewal? = nil, configuration: Configuration,
        following: Following? = nil, node: Node? = nil, standbys: Standbys? = nil, entries: Feed? = nil,
        names: NamesMark? = nil, figures: EngineFigures = EngineFigures(), hash: @escaping HashFunction,
        now: @escaping @Sendable () -> Timestamp,
        readingNames: (BlockNumber, _ head: BlockNumber) throws -> Void = { _, _ in },
        catchingUp: (BlockNumber, _ head: BlockNumber) throws -> Void = { _, _ in },
        report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        precondition(node.map { $0.log === log } ?? true, "a node of another log")
        precondition(node == nil || following == nil, "a node is no standby")
        self.log = log
        let committing = SoleUse(waits: node != nil)
        self.committing = committing
        self.report = report
        // Before a block is added: a log that went back in time is left as it is.
        try projection.check(against: log)
        let owed: @Sendable (PlayerID, LogError) -> Void = { account, error in
            report(.nameOwed("\(error)"))
            if let node {
                do throws(LogError) { try node.log.owe(account) } catch { report(.owedNameNotNoted("\(error)")) }
            }
            guard let names else { return }
            do { try names.owe() } catch { report(.owedNameNotNoted("\(names.place): \(error)")) }
        }
        var leader = Leader(
            log, retryMilliseconds: configuration.limits.logRetryMilliseconds, hash: hash, owed: owed, report: report)
        var clock: LedgerClock?
        func begin(after last: Timestamp?) -> Timestamp {
            let own = LedgerClock(after: last, clock: now(), accepts: configuration.acceptsClock, report: report)
            clock = own
            return own.time(at: now())
        }
        let opened: OpenedLog
        var mustSettle = false
        if let following {
            leader.follow()
            (opened, mustSettle) = try Standby.open(
                log, leader: following.leader, hash: hash, owed: owed, report: report, now: begin)
        } else if node != nil {
            leader.follow()
            opened = try OpenedLog(following: log, hash: hash, now: begin)
        } else {
            let differences = try names?.differences(in: log, configuration.limits, readingNames, report)
            opened = try leader.open(configuration.ledger, now: begin)
            let head = opened.head.number
            if let names, let differences, opened.failure == nil {
                try names.settle(
                    differences, in: log, through: head, { try readingNames(head, head) }, report, owed: owed)
            }
        }
        let head = opened.head
        guard let clock else { throw StoreError("the log was opened without a look at the time") }
        self.clock = clock
        let ledgerNow: @Sendable () -> Timestamp = { clock.time(at: now()) }
        try projection.catchUp(
            with: log, to: head.number, stepBytesMax: configuration.limits.projectionStepBytesMax
        ) { try catchingUp($0, head.number) }
        let tables = try LiveTables(
            projection, through: head.number, renewal: renewal, log: log, limits: configuration.limits, report: report)
        self.tables = tables
        ownStandbys = standbys == nil ? try Standbys() : nil
        guard let standbys = standbys ?? ownStandbys else { preconditionFailure("it makes its own") }
        self.standbys = standbys
        standbys.feed.committed(through: head.number)
        let appender = try Appender(
            log, head: head, failure: opened.failure, standbys: standbys, limits: configuration.limits,
            figures: figures, hash: hash, owed: owed,
            told: { error, adds in
                guard let node else { return StoreError(error) }
                node.endLeading()
                return StoreError(error, adds: adds, of: node)
            }
        ) { [projector = tables.projector] in projector.add($0) }
        self.appender = appender
        self.following = FollowingBatches(tables, appender)
        let decider = Decider(
            log, tables.projection, configuration, figures: figures, hash: hash, now: ledgerNow, report: report)
        let leading = LeadingBatches(
            log, leader, decider, tables, appender, standbys, configuration, leadsAgain: node == nil,
            figures: figures, now: ledgerNow)
        self.leading = leading
        let follower = following.map {
            Follower(
                $0, configuration.ledger, log: log, appender: appender, projector: tables.projector, standbys: standbys,
                entries: entries, names: names, limits: configuration.limits, hash: hash, owed: owed, report: report)
        }
        if let following, let follower {
            asStandby = Monitor(Standby(following, follower, appender))
        } else {
            asStandby = Monitor(nil)
        }
        leadership = node.map {
            let follower = LogFollower(
                $0, appender: appender, projector: tables.projector, blocks: standbys.feed, entries: entries,
                limits: configuration.limits, hash: hash, report: report)
            return Leadership(
                $0, follower, leading, appender, committing,
                owedMilliseconds: configuration.limits.nodeOwedMilliseconds, report: report)
        }
        do {
            if let follower {
                try follower.begin(mustSettle: mustSettle)
            } else if let leadership {
                // The catalog's new currencies are in a block before anything uses them; where that fails, in a later
                // one.
                try leadership.begin { [unowned self] in _ = try? run(Needs()) { _ in } }
            } else {
                try leading.readBooks()
                if opened.failure == nil { try appendCurrencies() }
                // Before the first block with currencies there is nothing to be read.
                if let failure = appender.failure, try tables.projection.state().currencies.isEmpty { throw failure }
                standbys.begin()
            }
        } catch {
            tables.checker.stop()
            appender.stop()
            tables.abandon()
            ownStandbys?.stop()
            throw error
        }
    }

    /// Has the catalog's new currencies in a block before anything uses them.
    private func appendCurrencies() throws {
        do {
            try run(Needs()) { _ in }
        } catch  where appender.failure != nil {
            // What is durable can be read all the same, and they are in the first block that can be appended.
        }
    }

    package func time(at clock: Timestamp) -> Timestamp { self.clock.time(at: clock) }

    package var engine: String { "\(log.engine), \(tables.projection.engine)" }

    // MARK: Committing

    package func fault() -> StoreError? {
        committing.during {
            if let standby { return standby.refusal }
            if let leadership, !leadership.leadsStill() {
                isBelievedToWork = false
                return leadership.refusal
            }
            do throws(StoreError) {
                try leading.recover()
                let failure = appender.failure
                isBelievedToWork = failure == nil
                return standbys.fault() ?? failure.map { StoreError(behind: $0) }
            } catch {
                isBelievedToWork = false
                return error
            }
        }
    }

    package func commit<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        committing.during {
            appender.awaitRoom()
            let isBelievedToWork = self.isBelievedToWork.take() ?? false
            if standby != nil {
                return following.commit(needs, each: each, isLast: isLast, on: &leading.decider, decide, done: done)
            }
            if let leadership, !leadership.leadsStill() {
                // What reads nothing was refused, or is about to be: whoever asked will ask again.
                if !needs.isRead { leadership.hasten() }
                return following.commit(
                    needs, each: each, isLast: isLast, on: &leading.decider,
                    fault: isBelievedToWork ? leadership.refusal : needs.isRead ? leadership.lookFault() : nil, decide,
                    done: done)
            }
            leading.commit(
                needs, each: each, isLast: isLast, isBelievedToWork: isBelievedToWork, decide, done: done)
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

    // MARK: Reading

    package func history(_ query: HistoryQuery) throws -> HistoryPage { try read { try $0.history(query) } }

    package func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot> {
        try read { try $0.lots(query, at: time) }
    }

    package func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView> {
        try read { try $0.holds(query, at: time) }
    }

    package func balances(
        _ account: AccountName, currency: CurrencyCode?, asOf: Timestamp
    ) throws -> [CurrencyBalance] {
        try read { try $0.balances(account, currency: currency, asOf: asOf) }
    }

    package func report(_ query: ReportQuery) throws -> ReportPage { try read { try $0.report(query) } }

    package func journal(_ query: JournalQuery) throws -> JournalPage { try read { try $0.journal(query) } }

    package func purchase(_ query: PurchaseQuery) throws -> PurchaseView { try read { try $0.purchase(query) } }

    package func find(_ query: FindQuery) throws -> Finding { try read { try $0.find(query) } }

    package func closing(through time: Timestamp) throws -> PeriodClosing? {
        try read { try $0.closing(through: time) }
    }

    package func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork {
        try read { try $0.appStoreWork(query) }
    }

    package func projectedState() throws -> ProjectedState {
        let state = try read { try $0.state() }
        // A start brings the tables to the log's head, of which no standby may have the end.
        if let head = state.head { try standbys.checkIsSafe(head.number) }
        return state
    }

    /// Reads the projection when it has everything that was done before.
    private func read<Page>(_ body: (any Projection) throws -> Page) throws -> Page {
        do {
            return try tables.read(body)
        } catch let error as StoreError {
            if appender.failure == nil || !isLeading {
                tables.damage.note(error, isOfRequest: true)
            }
            throw error
        }
    }

    package func blocks(_ query: BlocksQuery) throws -> BlocksPage { try standbys.blocks(query, of: log) }

    // MARK: The role

    private var standby: Standby? { asStandby.withLock { $0 } }

    /// Whether this ledger leads; asked by any thread.
    private var isLeading: Bool { leadership.map { $0.leads } ?? (standby == nil) }

    package func promote() throws(StoreError) -> Promotion {
        try committing.during { () throws(StoreError) in
            if let leadership {
                guard leadership.leadsStill() else { throw leadership.refusal }
                return Promotion(promoted: false, block: appender.head.number, term: leading.term)
            }
            let standby = standby
            if let standby {
                try standby.endFollowing()
                asStandby.withLock { $0 = nil }
                standbys.begin()
            }
            do throws(StoreError) {
                try leading.recover()
            } catch  where appender.failure == nil {
                // It leads; only that the standbys that it needs are not there yet, or something like it.
            }
            if let failure = appender.failure { throw StoreError(behind: failure) }
            return Promotion(promoted: standby != nil, block: appender.head.number, term: leading.term)
        }
    }

    package func stepDown() throws -> Handover {
        try leadership?.handOver() ?? Handover(steppedDown: false, block: appender.head.number)
    }

    // MARK: How it is

    package var standing: StoreStanding {
        var standing = StoreStanding()
        standing.leads = isLeading
        standing.block = appender.head.number
        if standing.leads { standing.logFailure = appender.failure }
        (standing.projected, standing.unprojectedBytes, standing.projectionFailure) = tables.projector.standing
        standing.lacksStandbys = standbys.isLacking
        return standing
    }

    package func projectedFigures() throws -> ProjectedFigures? { try tables.projection.figures() }

    // MARK: The end

    package func close() throws {
        tables.checker.stop()
        let standby = standby
        standby?.stop()
        leadership?.stop()
        appender.stop()
        // Another node may lead while the tables are brought up to here.
        leadership?.giveBack()
        tables.projector.stop()
        ownStandbys?.stop()
        leading.decider.lose()
        log.close()
        try tables.projection.close()
        if let fault = standby?.fault { throw fault }
    }
}

/// Turns whatever is thrown into a store's failure.
func storeFaults<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
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
