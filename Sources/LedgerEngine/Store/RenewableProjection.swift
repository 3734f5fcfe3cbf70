package import Ledger

/// Tables that can be made anew from the log while they are in use: because something of them is damaged, or because
/// somebody outside keeps them from being written.
///
/// The new tables are made beside those in use by a thread of their own, which reads the log from its first block on.
/// When they have what the others have, all uses wait for a moment, and the new ones take the others' place. Until
/// then the others go on: whatever of them is not damaged can be used.
///
/// States: *in use*; *being made anew*, still in use; *in exchange* (whoever wants to use them waits). Where tables
/// cannot be made or opened it is tried again, for as long as it takes. Where the new ones are damaged again soon, or
/// the log does not make any, what is wrong may be the log's, which no renewal mends: the next one waits, twice as long
/// each time.
///
/// `apply` is called by one thread at a time, everything else by any.
final class RenewableProjection: Projection {
    private struct State {
        /// `nil` while there are none that could be opened.
        var tables: (any Projection)?
        var users = 0
        var isInExchange = false
        var isBeingRenewed = false
        var isStopped = false
        /// When the tables in use were made, if they were made anew.
        var renewedAt: UInt64?
        /// How often they had to be made anew again soon, or could not be made of the log, one after the other.
        var repetitions = 0
        /// The last block that the tables have.
        var applied: BlockNumber
    }

    private let renewal: TableRenewal
    private let log: any BlockLog
    private let limits: EngineLimits
    private let monitor: Monitor<State>
    private let thread = OwnThread()
    /// Told of what begins and of what keeps it from its end.
    private let report: @Sendable (LedgerEvent) -> Void
    /// Told of each exchange.
    private let exchanged = Monitor<@Sendable (BlockNumber) -> Void>({ _ in })
    let engine: String

    /// - Parameter tables: those in use, open.
    /// - Throws: ``StoreError``
    init(
        _ tables: any Projection, _ renewal: TableRenewal, log: any BlockLog, limits: EngineLimits,
        report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        self.renewal = renewal
        self.log = log
        self.limits = limits
        self.report = report
        engine = tables.engine
        monitor = Monitor(State(tables: tables, applied: try tables.state().head?.number ?? 0))
    }

    /// Has `body` told of each exchange, with the block that the tables have, before anybody uses the new ones.
    func whenExchanged(_ body: @escaping @Sendable (BlockNumber) -> Void) { exchanged.withLock { $0 = body } }

    // MARK: Renewing

    /// Has the tables made anew, unless they are already.
    func renew(because reason: String) {
        let wait: UInt64? = monitor.withLock { state in
            if state.isBeingRenewed || state.isStopped { return nil }
            state.isBeingRenewed = true
            let lasted = state.renewedAt.map { (monotonicNanoseconds() - $0) / 1_000_000 }
            guard let lasted, lasted <= limits.renewalRetryMillisecondsMax else {
                state.repetitions = 0
                return 0
            }
            return nextWait(&state)
        }
        guard let wait else { return }
        report(
            wait == 0
                ? .tablesBeingRenewed(reason: reason) : .renewalPutOff(reason: reason, seconds: (wait + 999) / 1_000))
        do {
            thread.join()
            try thread.begin("ledger-renew") { [self] in
                if wait > 0 {
                    if isStopped(within: wait) { return }
                    report(.tablesBeingRenewed(reason: reason))
                }
                makeAnew()
            }
        } catch {
            monitor.withLock { $0.isBeingRenewed = false }
            report(.renewalFailed("\(error)"))
        }
    }

    /// - Returns: the milliseconds after which the next of several attempts begins.
    private func nextWait(_ state: inout State) -> UInt64 {
        defer { state.repetitions += 1 }
        let longest = limits.renewalRetryMillisecondsMax
        return min(longest, limits.renewalRepeatMilliseconds << min(UInt64(state.repetitions), 20))
    }

    /// Waits, but not for longer than it runs.
    private func isStopped(within milliseconds: UInt64) -> Bool {
        let end = monotonicNanoseconds() + milliseconds * 1_000_000
        return monitor.waitOrUntil { state in
            if state.isStopped { return .ready(true) }
            return monotonicNanoseconds() >= end ? .ready(false) : .waitUntil(end)
        }
    }

    private func makeAnew() {
        beNicer(by: limits.renewalNiceness)
        TimeSlices.ofGivingWay.ask()
        while true {
            var wait = limits.renewalRetryMilliseconds
            do {
                return try makeAndExchange()
            } catch {
                if monitor.withLock({ $0.isStopped }) { return }
                report(.renewalFailed("\(error)"))
                if (error as? StoreError)?.kind == .corrupt { wait = monitor.withLock { nextWait(&$0) } }
            }
            if isStopped(within: wait) { return }
        }
    }

    private struct Stopped: Error {}

    private func makeAndExchange() throws {
        let new = try renewal.make()
        do {
            // Nearly all of it while the others are in use, the rest while nobody is.
            for _ in 0..<3 { try catchUp(new, to: monitor.withLock { $0.applied }) }
            try exchange(for: new)
        } catch {
            try? new.close()
            throw error
        }
    }

    private func catchUp(_ new: any Projection, to block: BlockNumber) throws {
        try new.catchUp(with: log, to: block, stepBytesMax: limits.projectionStepBytesMax) { _ in
            if monitor.withLock({ $0.isStopped }) { throw Stopped() }
        }
    }

    private func exchange(for new: any Projection) throws {
        monitor.withLock { $0.isInExchange = true }
        defer {
            monitor.withLock { $0.isInExchange = false }
            monitor.wakeAll()
        }
        let (old, applied): ((any Projection)?, BlockNumber) = monitor.wait { state in
            guard state.users == 0 else { return nil }
            defer { state.tables = nil }
            return (state.tables, state.applied)
        }
        do {
            try catchUp(new, to: applied)
            try new.close()
        } catch {
            monitor.withLock { $0.tables = old }
            throw error
        }
        // What is damaged may not even be closed in order; nothing of it is needed any more.
        try? old?.close()
        try renewal.replace()
        let opened = try renewal.open()
        monitor.withLock { state in
            state.tables = opened
            state.isBeingRenewed = false
            state.renewedAt = monotonicNanoseconds()
        }
        exchanged.withLock({ $0 })(applied)
    }

    // MARK: Using

    private func use<Result>(_ body: (any Projection) throws -> Result) throws -> Result {
        let tables: (any Projection)? = monitor.wait { state -> (any Projection)?? in
            if state.isInExchange { return nil }
            if state.tables != nil { state.users += 1 }
            return .some(state.tables)
        }
        guard let tables else { throw StoreError("the tables are being made anew") }
        defer {
            monitor.withLock { $0.users -= 1 }
            monitor.wakeAll()
        }
        return try body(tables)
    }

    func state() throws -> ProjectedState { try use { try $0.state() } }

    func apply(_ blocks: [SealedBlock]) throws {
        do {
            try applyOnce(blocks)
        } catch {
            // Tables that cannot be written may be about to be exchanged; the new ones can.
            if monitor.withLock({ $0.isInExchange }) { return try applyOnce(blocks) }
            guard let error = error as? StoreError, error.kind == .corrupt else {
                renewIfAsked()
                throw error
            }
            renew(because: "\(error)")
            throw StoreError("the tables are damaged, and are being made anew: \(error)")
        }
        renewIfAsked()
    }

    private func applyOnce(_ blocks: [SealedBlock]) throws {
        try use { tables in
            try tables.apply(blocks)
            if let last = blocks.last { monitor.withLock { $0.applied = last.number } }
        }
    }

    private func renewIfAsked() {
        if let reason = try? use({ $0.reasonForRenewal }) ?? nil { renew(because: reason) }
    }

    func load(_ needs: Needs, into books: inout Books) throws -> StoreError? {
        do { return try use { try $0.load(needs, into: &books) } } catch {
            renewIfAsked()
            throw error
        }
    }

    func history(_ query: HistoryQuery) throws -> HistoryPage { try use { try $0.history(query) } }

    func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot> {
        try use { try $0.lots(query, at: time) }
    }

    func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView> {
        try use { try $0.holds(query, at: time) }
    }

    func balances(
        _ account: AccountName, currency: CurrencyCode?, asOf: Timestamp
    ) throws -> [CurrencyBalance] {
        try use { try $0.balances(account, currency: currency, asOf: asOf) }
    }

    func report(_ query: ReportQuery) throws -> ReportPage { try use { try $0.report(query) } }

    func journal(_ query: JournalQuery) throws -> JournalPage { try use { try $0.journal(query) } }

    func figures() throws -> ProjectedFigures? { try use { try $0.figures() } }

    func checkNext() throws -> Bool { try use { try $0.checkNext() } }

    func find(_ query: FindQuery) throws -> Finding { try use { try $0.find(query) } }

    func closing(through time: Timestamp) throws -> PeriodClosing? { try use { try $0.closing(through: time) } }
    func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork { try use { try $0.appStoreWork(query) } }

    func purchase(_ query: PurchaseQuery) throws -> PurchaseView { try use { try $0.purchase(query) } }

    /// Ends what is being made.
    func stop() {
        monitor.withLock { $0.isStopped = true }
        monitor.wakeAll()
        thread.join()
    }

    /// Ends what is being made, and closes the tables.
    func close() throws {
        stop()
        let tables = monitor.withLock { state in
            defer { state.tables = nil }
            return state.tables
        }
        try tables?.close()
    }
}

/// How tables are made anew beside those in use.
package struct TableRenewal: Sendable {
    /// Makes empty tables beside those in use.
    package var make: @Sendable () throws -> any Projection
    /// Puts the tables that were made, which are closed, in place of the others, which are closed too.
    package var replace: @Sendable () throws -> Void
    /// Opens the tables that are in place.
    package var open: @Sendable () throws -> any Projection

    package init(
        make: @escaping @Sendable () throws -> any Projection, replace: @escaping @Sendable () throws -> Void,
        open: @escaping @Sendable () throws -> any Projection
    ) {
        self.make = make
        self.replace = replace
        self.open = open
    }
}
