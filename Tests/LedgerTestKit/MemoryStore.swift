package import Ledger
import LedgerEngine
import NIOConcurrencyHelpers

/// A complete store in memory: the journal's rows in arrays, and everything it gives back made from them. What a
/// commit may forget is loaded again from the rows, and a batch that fails is dropped with all state, as on a disk.
///
/// `journal` is used only under `lock`. (The port's result need not be `Sendable`, which a `Mutex` would ask for.)
package final class MemoryStore: Store, @unchecked Sendable {
    private let lock = NIOLock()
    private var journal: MemoryJournal

    package init(_ catalog: Catalog = .small) { journal = MemoryJournal(catalog) }

    package var engine: String { "memory" }

    package func time(at clock: Timestamp) -> Timestamp { clock }

    package func fault() -> StoreError? { nil }

    package func commit<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        done(Swift.Result { () throws(StoreError) in try whileOpen { journal.commit(needs) { decide(&$0, []) } } })
    }

    /// Decides a batch and loses it, as a commit that fails does.
    package func lose<Result>(_ needs: Needs, _ decide: (inout Books) -> Result) throws(StoreError) {
        try whileOpen { journal.lose(needs, decide) }
    }

    package func history(_ query: HistoryQuery) throws -> HistoryPage {
        try whileOpen { journal.history(query) }
    }

    package func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot> {
        try whileOpen { journal.lots(query, at: time) }
    }

    package func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView> {
        try whileOpen { journal.holds(query, at: time) }
    }

    package func balances(
        _ account: AccountName, currency: CurrencyCode?, asOf: Timestamp
    ) throws -> [CurrencyBalance] {
        try whileOpen { journal.balances(account, currency: currency, asOf: asOf) }
    }

    package func report(_ query: ReportQuery) throws -> ReportPage {
        try whileOpen { journal.report(query) }
    }

    package func journal(_ query: JournalQuery) throws -> JournalPage {
        try whileOpen { journal.journal(query) }
    }

    package func purchase(_ query: PurchaseQuery) throws -> PurchaseView {
        try whileOpen { journal.purchase(query) }
    }

    package func find(_ query: FindQuery) throws -> Finding {
        try whileOpen { journal.find(query) }
    }

    package func closing(through time: Timestamp) throws -> PeriodClosing? {
        try whileOpen { journal.closings.first { $0.through == time } }
    }

    package func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork {
        try whileOpen { journal.appStoreWork(query) }
    }

    package func blocks(_ query: BlocksQuery) throws -> BlocksPage {
        guard query.after == 0 else { throw Fault.chainMismatch(head: 1) }
        let block = BlocksPage.Block(hash: Array(repeating: 7, count: 32), body: [1, 2, 3], redactable: [4])
        return BlocksPage(blocks: [block], head: 1)
    }

    package func promote() throws(StoreError) -> Promotion { Promotion(promoted: false, block: 1, term: 1) }
    package func stepDown() throws -> Handover { Handover(steppedDown: false, block: 1) }

    /// It has no chain: its last block is always the same.
    package func projectedState() throws -> ProjectedState {
        var state = ProjectedState()
        state.head = LogHead(number: 1, term: 1, hash: .zero)
        return state
    }

    package func close() throws {
        try whileOpen { journal.isClosed = true }
    }

    private func whileOpen<Result>(_ body: () -> Result) throws(StoreError) -> Result {
        lock.lock()
        defer { lock.unlock() }
        guard !journal.isClosed else { throw StoreError("the store is closed") }
        return body()
    }

    // MARK: For tests

    package var isClosed: Bool { lock.withLock { journal.isClosed } }

    /// Every row that was committed.
    package var rows: BlockRows { lock.withLock { journal.rows } }

    /// How many batches added something to the journal.
    package var blocks: Int { lock.withLock { journal.blocks } }
}
