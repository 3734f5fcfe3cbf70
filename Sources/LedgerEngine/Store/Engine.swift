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
/// ``Leader`` takes the lead of the log at the start and after each failure.
///
/// Roles: *leads*; *follows* (a ``Follower`` appends the blocks of another ledger that leads). What follows is in the
/// same state as what cannot append after a failure: its books know what is durable, and are read. Only that what is
/// durable grows meanwhile, so they are read anew whenever it has, and the tables stay as they are while a batch is
/// decided. ``promote()`` ends it: then the lead is taken as after a failure.
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
/// the parts.
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

        var ledger: BlockRows.LedgerRow { BlockRows.LedgerRow(bundleID: bundleID, environment: environment) }
    }

    private let log: any BlockLog
    private let projection: any Projection
    /// The same, where it can be made anew.
    private let renewable: RenewableProjection?
    private let configuration: Configuration
    private let clock: LedgerClock
    private let now: @Sendable () -> Timestamp
    private let report: @Sendable (LedgerEvent) -> Void
    private let appender: Appender
    private let projector: Projector
    private let checker: TableChecker
    private let standbys: Standbys
    /// The same, where nobody else stops it.
    private let ownStandbys: Standbys?
    private let role: Monitor<Role>
    private let following: Following?

    // The committing thread's, whichever that is.
    private let committing = SoleUse()
    private var leader: Leader
    private var decider: Decider
    /// The last block that erases names, while the projection may not have it.
    private var erasures: BlockNumber?
    /// Whether the next batch was made up in the belief that it can be made durable; `nil` where nobody asked.
    private var isBelievedToWork: Bool?
    /// What is known of damage of the projection.
    private let damage: TableDamage

    private enum Role {
        case leads
        case follows(Follower)

        var follower: Follower? {
            switch self {
            case .leads: nil
            case .follows(let follower): follower
            }
        }
    }

    /// Takes the lead of the log, or follows, and brings the projection to its head.
    /// - Parameters:
    ///   - projection: of this log, or an empty one.
    ///   - renewal: how it is made anew while it is in use; `nil` where it cannot be.
    ///   - following: where it is a standby.
    ///   - standbys: who follows it; nobody where it is `nil`.
    ///   - entries: while it follows: told the last entry of each block.
    ///   - now: the clock, in milliseconds since the UNIX epoch.
    ///   - catchingUp: told, before each step in which the projection is brought to the head, which block it has and
    ///     which is the head; what it throws ends the opening.
    /// - Throws: ``StoreError`` or ``LogError``: what keeps it from working.
    package init(
        log: any BlockLog, projection: any Projection, renewal: TableRenewal? = nil, configuration: Configuration,
        following: Following? = nil, standbys: Standbys? = nil, entries: Feed? = nil, hash: @escaping HashFunction,
        now: @escaping @Sendable () -> Timestamp,
        catchingUp: (BlockNumber, _ head: BlockNumber) throws -> Void = { _, _ in },
        report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        self.log = log
        self.configuration = configuration
        self.report = report
        self.following = following
        // Before a block is added: a log that went back in time is left as it is.
        try projection.check(against: log)
        var leader = Leader(
            log, retryMilliseconds: configuration.limits.logRetryMilliseconds, hash: hash, report: report)
        var clock: LedgerClock?
        func begin(after last: Timestamp?) -> Timestamp {
            let own = LedgerClock(after: last, clock: now(), accepts: configuration.acceptsClock, report: report)
            clock = own
            return own.time(at: now())
        }
        let head: LogHead
        var failure: LogError?
        var mustSettle = false
        if let following {
            do {
                try log.settle()
                // A crash between an append and its erasures may have left some.
                if let head = log.head { try log.eraseLastNames(through: head.number) }
            } catch let error as LogError where error.kind == .notAppended || error.kind == .unknown {
                // What is durable can be read all the same.
                report(.logFailed(error))
                mustSettle = true
            }
            let last = try log.head.map { try log.read(after: $0.number - 1, bytesMax: 0) } ?? []
            _ = begin(after: try last.first.map { try Block(opening: $0, checks: .hashes(hash)).time })
            leader.follow()
            head = last.first?.head ?? LogHead(number: 0, term: 0, hash: .zero)
            failure = LogError(.superseded, "this is a standby of \(following.leader)")
        } else {
            do {
                (head, _) = try leader.lead(configuration.ledger, now: begin)
            } catch let error as LogError where error.kind == .notAppended || error.kind == .unknown {
                // What is durable can be read all the same.
                guard let durable = log.head, let last = try log.read(after: durable.number - 1, bytesMax: 0).first
                else { throw error }
                _ = begin(after: try Block(opening: last, checks: .hashes(hash)).time)
                leader.begin(after: error)
                (head, failure) = (durable, error)
            }
        }
        guard let clock else { throw StoreError("the log was led without a block of its own") }
        self.leader = leader
        self.clock = clock
        self.now = { clock.time(at: now()) }
        try projection.catchUp(
            with: log, to: head.number, stepBytesMax: configuration.limits.projectionStepBytesMax
        ) { try catchingUp($0, head.number) }
        let renewable = try renewal.map {
            try RenewableProjection(projection, $0, log: log, limits: configuration.limits, report: report)
        }
        let damage = TableDamage(renewable, report: report)
        self.damage = damage
        self.renewable = renewable
        let projection = renewable ?? projection
        self.projection = projection
        let projector = try Projector(projection, projected: head.number, limits: configuration.limits) {
            report($0.map { .projectionFailed($0) } ?? .projectionWorksAgain)
        }
        self.projector = projector
        checker = try TableChecker(projection, limits: configuration.limits) { error in
            damage.note(error, isOfRequest: false)
        }
        renewable?.whenExchanged { [checker] block in
            checker.checkAnew()
            let failures = damage.end()
            projector.retry()
            report(.tablesRenewed(block: block, failures: failures))
        }
        ownStandbys = standbys == nil ? try Standbys() : nil
        guard let standbys = standbys ?? ownStandbys else { preconditionFailure("it makes its own") }
        self.standbys = standbys
        standbys.feed.committed(through: head.number)
        let appender = try Appender(
            log, head: head, failure: failure, standbys: standbys, limits: configuration.limits, hash: hash
        ) { projector.add($0) }
        self.appender = appender
        decider = Decider(projection, configuration, hash: hash, now: self.now)
        let follower = try following.map {
            Follower(
                $0, configuration.ledger, log: log, appender: appender, projector: projector, standbys: standbys,
                entries: try entries ?? Feed(), limits: configuration.limits, hash: hash, report: report)
        }
        role = Monitor(follower.map { .follows($0) } ?? .leads)
        do {
            if let follower {
                try follower.begin(mustSettle: mustSettle)
            } else {
                try readBooks()
                // The catalog's new currencies are in a block before anything uses them.
                if failure == nil { try run(Needs()) { _ in } }
                standbys.begin()
            }
        } catch {
            checker.stop()
            appender.stop()
            projector.stop()
            renewable?.stop()
            ownStandbys?.stop()
            throw error
        }
    }

    package func time(at clock: Timestamp) -> Timestamp { self.clock.time(at: clock) }

    package var engine: String { "\(log.engine), \(projection.engine)" }

    // MARK: Committing

    package func fault() -> StoreError? {
        committing.during {
            if let follower { return follower.refusal }
            do throws(StoreError) {
                try recover()
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
            if follower != nil { return commitFollowing(needs, each: each, isLast: isLast, decide, done: done) }
            let isBelievedToWork = self.isBelievedToWork.take() ?? false
            do throws(StoreError) {
                if let lack = standbys.fault() { throw lack }
                try recover()
                // It has failed since: books that are good for reading lack the catalog's products, and would refuse
                // what must only be sent again.
                if isBelievedToWork, let failure = appender.failure { throw StoreError(behind: failure) }
                try storeFaults { try projector.awaitRoom() }
                try projectErasures()
                try takeNewTables()
                let (result, block) = try decider.decide(
                    needs, each: each, term: leader.term, projected: projector.projected, failure: appender.failure,
                    damaged: noteDamage, decide)
                if block?.rows.erasures.isEmpty == false { erasures = block?.number }
                appender.submit(
                    Appender.Batch(block: block) { failure in done(failure.map { .failure($0) } ?? .success(result)) },
                    isLast: isLast)
            } catch {
                noteDamage(error)
                // Nothing was decided; but what was decided before is answered first.
                appender.submit(
                    Appender.Batch(block: nil) { failure in done(.failure(failure ?? error)) }, isLast: isLast)
            }
        }
    }

    /// A batch of a standby: it only reads, on books of the last block that the tables have, which stay as they are
    /// meanwhile.
    private func commitFollowing<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        var outcome: Swift.Result<Result, StoreError>
        do throws(StoreError) {
            try storeFaults { try projector.bringToLast() }
            projector.hold()
            defer { projector.release() }
            try readFollowedBooks()
            let (result, block) = try decider.decide(
                needs, each: each, term: leader.term, projected: decider.decided, failure: appender.failure,
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
    private func readFollowedBooks() throws(StoreError) {
        if damage.takeRenewal() { decider.lose() }
        let state = try storeFaults { try projection.state() }
        let head = state.head ?? LogHead(number: 0, term: 0, hash: .zero)
        if !decider.isCurrent(at: head.number) { try decider.read(state, of: head, mayAdd: false) }
    }

    /// After names were erased nothing is decided before the tables know it: a player who has left memory is looked
    /// for there by name.
    private func projectErasures() throws(StoreError) {
        guard let number = erasures else { return }
        appender.awaitIdle()
        if appender.failure == nil {
            try standbys.await(number)
            try storeFaults { try projector.bring(to: number) }
        }
        erasures = nil
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

    // MARK: Failures

    /// After a failure: settles what is in doubt, and reads the books anew from what is durable. While the log does
    /// not work the books are good for reading.
    private func recover() throws(StoreError) {
        guard let failure = appender.failure else {
            if decider.isLost { try readBooks() }
            return
        }
        appender.beginReading()
        leader.leadAgain(after: failure, configuration.ledger, now: { [now] _ in now() }) { head in
            // A block in doubt may have turned out to be there, so the projector reads all of it from the log.
            try addMissingBlocks(to: head)
            appender.restart(at: head)
            standbys.feed.committed(through: head.number)
            decider.lose()
        }
        if !decider.isCurrent(at: appender.head.number) { try readBooks() }
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
        for block in missing {
            standbys.hold(until: block.number, adds: false, safe: { [projector] in projector.add(block) }, done: nil)
        }
    }

    /// Has books that know nothing but what is durable.
    private func readBooks() throws(StoreError) {
        decider.lose()
        let head = appender.head
        try standbys.await(head.number)
        let state = try storeFaults {
            try projector.bring(to: head.number)
            return try projection.state()
        }
        // A block that erases names is in the tables by now, or was never appended.
        erasures = nil
        try decider.read(state, of: head, mayAdd: appender.failure == nil)
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

    package func purchase(_ query: PurchaseQuery) throws -> PurchaseView { try read { try $0.purchase(query) } }

    package func find(_ query: FindQuery) throws -> Finding { try read { try $0.find(query) } }

    package func projectedState() throws -> ProjectedState { try read { try $0.state() } }

    /// Reads the projection when it has everything that was done before.
    private func read<Page>(_ body: (any Projection) throws -> Page) throws -> Page {
        do {
            try projector.bringToLast()
            return try body(projection)
        } catch let error as StoreError {
            noteDamage(error)
            throw error
        }
    }

    package func blocks(_ query: BlocksQuery) throws -> BlocksPage {
        let head = log.head ?? LogHead(number: 0, term: 0, hash: .zero)
        guard let hash = Digest(query.hash), query.after <= head.number else {
            throw Fault.chainMismatch(head: head.number)
        }
        var blocks: [SealedBlock] = []
        if query.after < head.number {
            do throws(LogError) {
                blocks = try log.read(after: query.after, bytesMax: query.bytesMax)
            } catch {
                throw StoreError(error)
            }
        }
        guard hash == blocks.first?.previous ?? head.hash else { throw Fault.chainMismatch(head: head.number) }
        standbys.note(query.standby, durable: query.durable)
        return BlocksPage(
            blocks: blocks.map {
                BlocksPage.Block(hash: $0.hash.bytes, body: $0.body, redactable: $0.redactable)
            }, head: head.number)
    }

    private func noteDamage(_ error: StoreError) {
        guard appender.failure == nil || follower != nil else { return }
        damage.note(error, isOfRequest: true)
    }

    /// After the projection was made anew nothing is decided on what the one before made believe.
    private func takeNewTables() throws(StoreError) {
        guard damage.isRenewed else { return }
        appender.awaitIdle()
        if appender.failure != nil { return }
        try readBooks()
        _ = damage.takeRenewal()
    }

    // MARK: Following

    private var follower: Follower? { role.withLock { $0.follower } }

    package func promote() throws(StoreError) -> Promotion {
        try committing.during { () throws(StoreError) in
            let follower = follower
            if let follower { try end(follower) }
            do throws(StoreError) {
                try recover()
            } catch  where appender.failure == nil {
                // It leads; only that the standbys that it needs are not there yet, or something like it.
            }
            if let failure = appender.failure { throw StoreError(behind: failure) }
            return Promotion(promoted: follower != nil, block: appender.head.number, term: leader.term)
        }
    }

    private func end(_ follower: Follower) throws(StoreError) {
        guard appender.head.number > 0 else {
            throw StoreError(.notReady, "this standby has no block yet: to lead it would begin another ledger")
        }
        do {
            try following?.promoting()
        } catch {
            throw StoreError("that this ledger leads from now on could not be noted, so it follows still: \(error)")
        }
        follower.stop()
        following?.status.enter(.promoted)
        appender.awaitIdle()
        role.withLock { $0 = .leads }
        standbys.begin()
    }

    // MARK: The end

    package func close() throws {
        checker.stop()
        let follower = follower
        follower?.stop()
        appender.stop()
        projector.stop()
        ownStandbys?.stop()
        decider.lose()
        log.close()
        try projection.close()
        if let fault = follower?.fault { throw fault }
    }
}

extension Follower {
    /// What a standby answers to whoever asks it to write.
    fileprivate var refusal: StoreError { StoreError(.notLeader(address: leader), "this is a standby of \(leader)") }
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
