package import Ledger

/// A store that is opened on a thread of its own. Until it is open, every request is answered that it is not yet, and
/// how far it is: tables that are made anew from a long log take minutes.
///
/// States: *opening*; *open* (all goes to the store itself); *failed* (nothing more can be asked, and ``close()``
/// throws why).
package final class OpeningStore: Store {
    private enum State {
        case opening(progress: String)
        case open(any Store)
        case failed(any Error)
    }

    /// Thrown by whoever opens, to end it, when the store is to be closed before it is open.
    private struct Abandoned: Error {}

    package let engine: String
    private let state = Monitor(State.opening(progress: "the ledger is being opened"))
    private let isAbandoned = Monitor(false)
    private let thread = OwnThread()

    /// - Parameters:
    ///   - engine: as the store will name itself.
    ///   - failed: told what keeps the store from opening, if something does.
    ///   - open: opens it; it says now and then how far it is, and ends by the error that this throws.
    package init(
        engine: String, failed: @escaping @Sendable (any Error) -> Void,
        open: @escaping @Sendable (_ progress: @escaping @Sendable (String) throws -> Void) throws -> any Store
    ) throws {
        self.engine = engine
        try thread.begin("ledger-open") { [self] in
            do {
                let store = try open { [self] progress in
                    if isAbandoned.withLock({ $0 }) { throw Abandoned() }
                    state.withLock { $0 = .opening(progress: progress) }
                }
                state.withLock { $0 = .open(store) }
            } catch {
                state.withLock { $0 = .failed(error) }
                if !(error is Abandoned) { failed(error) }
            }
            state.wakeAll()
        }
    }

    /// Waits until it is open, but not longer than a time.
    /// - Returns: whether it is open.
    /// - Throws: what keeps it from opening.
    package func wait(milliseconds: UInt64) throws -> Bool {
        let end = monotonicNanoseconds() + milliseconds * 1_000_000
        let result: Result<Bool, any Error> = state.waitOrUntil { state in
            switch state {
            case .open: .ready(.success(true))
            case .failed(let error): .ready(.failure(error))
            case .opening: monotonicNanoseconds() >= end ? .ready(.success(false)) : .waitUntil(end)
            }
        }
        return try result.get()
    }

    private func store() throws(StoreError) -> any Store {
        switch state.withLock({ $0 }) {
        case .open(let store): return store
        case .opening(let progress): throw StoreError(.notReady, progress)
        case .failed(let error): throw StoreError(.notReady, "the ledger cannot be opened: \(error)")
        }
    }

    package func time(at clock: Timestamp) -> Timestamp { (try? store())?.time(at: clock) ?? clock }

    package func fault() -> StoreError? { (try? store())?.fault() }

    package func commit<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        do throws(StoreError) {
            try store().commit(needs, each: each, isLast: isLast, decide, done: done)
        } catch {
            done(.failure(error))
        }
    }

    package func history(_ query: HistoryQuery) throws -> HistoryPage { try store().history(query) }

    package func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot> {
        try store().lots(query, at: time)
    }

    package func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView> {
        try store().holds(query, at: time)
    }

    package func balances(
        _ account: AccountName, currency: CurrencyCode?, asOf: Timestamp
    ) throws -> [CurrencyBalance] {
        try store().balances(account, currency: currency, asOf: asOf)
    }

    package func report(_ query: ReportQuery) throws -> ReportPage { try store().report(query) }

    package func journal(_ query: JournalQuery) throws -> JournalPage { try store().journal(query) }

    package func purchase(_ query: PurchaseQuery) throws -> PurchaseView { try store().purchase(query) }

    package func find(_ query: FindQuery) throws -> Finding { try store().find(query) }

    package func closing(through time: Timestamp) throws -> PeriodClosing? { try store().closing(through: time) }
    package func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork { try store().appStoreWork(query) }

    package func blocks(_ query: BlocksQuery) throws -> BlocksPage { try store().blocks(query) }

    package func promote() throws(StoreError) -> Promotion { try store().promote() }

    package func stepDown() throws -> Handover { try store().stepDown() }

    package func projectedState() throws -> ProjectedState { try store().projectedState() }

    package var standing: StoreStanding {
        var standing = StoreStanding()
        switch state.withLock({ $0 }) {
        case .open(let store): return store.standing
        case .opening(let progress): standing.state = .opening(progress: progress)
        case .failed(let error): standing.state = .failed("\(error)")
        }
        return standing
    }

    package func projectedFigures() throws -> ProjectedFigures? { try store().projectedFigures() }

    /// Ends the opening, or closes what was opened.
    /// - Throws: what kept the store from opening.
    package func close() throws {
        isAbandoned.withLock { $0 = true }
        thread.join()
        switch state.withLock({ $0 }) {
        case .open(let store): try store.close()
        case .failed(let error): if !(error is Abandoned) { throw error }
        case .opening: preconditionFailure("the opening has ended")
        }
    }
}
