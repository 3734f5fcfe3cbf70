package import Ledger

/// One ledger, as the sequencer and the readers see it: decides batches on the books and makes them durable, and reads.
package protocol Store: AnyObject, Sendable {
    /// The engines' names and versions, for `info`.
    var engine: String { get }

    /// The time of what is decided when the wall clock says `clock`: that time, unless it is unreasonably far ahead.
    func time(at clock: Timestamp) -> Timestamp

    /// Why nothing can be made durable at this moment: then batches that add nothing still go on. Called by the thread
    /// that commits, before it does. May block.
    func fault() -> StoreError?

    /// Runs one batch: has what `needs` names in the books, lets `decide` decide on them, and makes everything that it
    /// added durable as one block, or as part of one. A batch that adds nothing writes nothing.
    ///
    /// Called from one thread at a time, and may block. It may return before the block is durable, so that the next
    /// batch is decided meanwhile; `done` is then called from another thread. Batches are done in the order in which
    /// they were decided.
    /// - Parameters:
    ///   - needs: of the whole batch.
    ///   - each: the needs of each part of the batch, in their order: asked for only where something that the batch
    ///     needs is damaged. Without parts the batch fails.
    ///   - isLast: whether the caller has nothing else to decide now.
    ///   - decide: given the books, and for each part why it cannot be decided; nothing where all can.
    ///   - done: called once, when the block and all blocks before it are durable, or with the ``StoreError`` that kept
    ///     it from being so; then all state that the batch touched is dropped.
    func commit<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void)

    /// One page of an account's entries, newest first, as of the last commit. May be called from any thread, and may
    /// block.
    /// - Throws: ``StoreError``
    func history(_ query: HistoryQuery) throws -> HistoryPage

    /// One page of what lots an account has open, newest first, as of the last commit, without what has expired by a
    /// time, posted or not. May be called from any thread, and may block.
    /// - Throws: ``StoreError``
    func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot>

    /// The same of holds.
    /// - Throws: ``StoreError``
    func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView>

    /// An account's balances as of a time that is past.
    /// - Throws: ``StoreError``
    func balances(_ account: AccountName, currency: CurrencyCode?, asOf: Timestamp) throws -> [CurrencyBalance]

    /// One page of a report as of a time that is past. May be called from any thread, and may block.
    /// - Throws: ``StoreError``
    func report(_ query: ReportQuery) throws -> ReportPage

    /// One page of the journal, oldest first, of what is committed. May be called from any thread, and may block.
    /// - Throws: ``StoreError``
    func journal(_ query: JournalQuery) throws -> JournalPage

    /// A purchase that was recorded, with a page of its events, as of the last commit. May be called from any thread,
    /// and may block.
    /// - Throws: ``StoreError``
    func purchase(_ query: PurchaseQuery) throws -> PurchaseView

    /// What something is and whose, as of the last commit. May be called from any thread, and may block.
    /// - Throws: ``StoreError``
    func find(_ query: FindQuery) throws -> Finding

    /// The period that was closed by name up to exactly this time, as of the last commit; `nil` where none was. May be
    /// called from any thread, and may block.
    /// - Throws: ``StoreError``
    func closing(through time: Timestamp) throws -> PeriodClosing?

    /// What there may be to tell Apple, as of the last commit. May be called from any thread, and may block.
    /// - Throws: ``StoreError``
    func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork

    /// Blocks of the log after one, of which a standby says that it has it: the store notes that. May be called from
    /// any thread, and may block.
    /// - Throws: ``StoreError``; ``Fault/chainMismatch(head:)`` where that block is not one of the log.
    func blocks(_ query: BlocksQuery) throws -> BlocksPage

    /// Has a standby lead: from now on it follows nobody. Called by the thread that commits, between batches. May
    /// block.
    /// - Throws: ``StoreError`` where it does not lead, at least not yet.
    func promote() throws(StoreError) -> Promotion

    /// Gives the lead back, so that another node takes it, when everything that was decided is durable. May be called
    /// from any thread, and may block.
    /// - Throws: ``StoreError``
    func stepDown() throws -> Handover

    /// What the tables hold, of one moment, and with all that was committed before: the last block with what the books
    /// add up to there. May be called from any thread, and may block.
    /// - Throws: ``StoreError``
    func projectedState() throws -> ProjectedState

    /// How it is. May be called from any thread, and does not block.
    var standing: StoreStanding { get }

    /// What an operator watches of what the tables hold, without waiting for the last commits; `nil` where nobody
    /// counts it. May be called from any thread, and may block.
    /// - Throws: ``StoreError``
    func projectedFigures() throws -> ProjectedFigures?

    /// Makes everything durable and closes. Nothing may be called after it.
    /// - Throws: ``StoreError``
    func close() throws
}

extension Store {
    package var standing: StoreStanding { StoreStanding() }

    package func projectedFigures() throws -> ProjectedFigures? { nil }

    /// Commits a batch that has no parts.
    package func commit<Result: Sendable>(
        _ needs: Needs, isLast: Bool, _ decide: (inout Books) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        commit(needs, each: { [] }, isLast: isLast, { books, _ in decide(&books) }, done: done)
    }
}
