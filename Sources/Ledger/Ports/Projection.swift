/// Tables that are computed from blocks and from nothing else: what decisions load that is not in memory, and what is
/// read. A projection can be thrown away and computed anew.
///
/// `apply` is called from one thread, `load` from another, the reads from any; all may block, and none waits for
/// another.
package protocol Projection: AnyObject, Sendable {
    /// The engine's name and version, for `info`.
    var engine: String { get }

    /// What the tables hold: everything up to one block, and nothing of a later one.
    /// - Throws: ``StoreError``
    func state() throws -> ProjectedState

    /// Brings the tables forward by the blocks after the last one applied, in their order, all of them or none.
    /// - Throws: ``StoreError``; then the tables are as they were.
    func apply(_ blocks: [SealedBlock]) throws

    /// Brings what a batch needs from the tables into the books. What is in the books already is newer and stays.
    /// - Returns: why somebody of whom something has expired was left out, where a row of theirs does not fit: nobody
    ///   asks for them by name, and the others are not to wait for them.
    /// - Throws: ``StoreError`` where a row cannot be read, or does not fit. Then the books have some of the rest.
    @discardableResult
    func load(_ needs: Needs, into books: inout Books) throws -> StoreError?

    /// One page of an account's entries, newest first.
    /// - Throws: ``StoreError``
    func history(_ query: HistoryQuery) throws -> HistoryPage

    /// One page of what lots an account has open, newest first, as they are once everything is posted that has expired
    /// by a time: what is posted later is not told.
    /// - Throws: ``StoreError``
    func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot>

    /// The same of holds.
    /// - Throws: ``StoreError``
    func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView>

    /// An account's balances as of a time that is past.
    /// - Throws: ``StoreError``
    func balances(_ account: AccountName, currency: CurrencyCode?, asOf: Timestamp) throws -> [CurrencyBalance]

    /// One page of a report as of a time that is past.
    /// - Throws: ``StoreError``
    func report(_ query: ReportQuery) throws -> ReportPage

    /// One page of the journal, oldest first.
    /// - Throws: ``StoreError``
    func journal(_ query: JournalQuery) throws -> JournalPage

    /// A purchase that was recorded, with a page of its events.
    /// - Throws: ``StoreError``
    func purchase(_ query: PurchaseQuery) throws -> PurchaseView

    /// What something is and whose.
    /// - Throws: ``StoreError``
    func find(_ query: FindQuery) throws -> Finding

    /// The period that was closed by name up to exactly this time; `nil` where none was.
    /// - Throws: ``StoreError``
    func closing(through time: Timestamp) throws -> PeriodClosing?

    /// What there may be to tell Apple.
    /// - Throws: ``StoreError``
    func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork

    /// What an operator watches of what the tables hold; `nil` where nobody counts it.
    /// - Throws: ``StoreError``
    func figures() throws -> ProjectedFigures?

    /// Compares the next part of the tables with what is kept of them: whether their rows are those that were written.
    /// What is found is from then on not believed by any call. Called by one thread, which is no other call's.
    /// - Returns: whether there is more.
    /// - Throws: ``StoreError`` `corrupt` for what does not fit, after which there may be more; `unavailable` where it
    ///   must be left for a while.
    func checkNext() throws -> Bool

    /// Why these tables should be made anew though nothing of them is damaged; `nil` where they can be gone on with.
    var reasonForRenewal: String? { get }

    /// Gives the tables' files or connections back. Nothing may be called after it.
    /// - Throws: ``StoreError``
    func close() throws
}

extension Projection {
    package var reasonForRenewal: String? { nil }

    package func checkNext() throws -> Bool { false }

    package func figures() throws -> ProjectedFigures? { nil }
}

/// What an operator watches of what tables hold, as of the last block that they have.
package struct ProjectedFigures: Sendable {
    package var currencies: [CurrencyCode] = []
    package var totals = Totals(currencies: 0)
    package var position = LastNumbers()
    /// As many as are counted, at the most.
    package var openHolds: Int64 = 0
    /// Purchases that no account has claimed; so many at the most too.
    package var unassignedPurchases: Int64 = 0
    /// When the first hold or lot runs out of which that is not posted; `nil` where none does.
    package var nextExpiry: Timestamp?
    /// When the last notification of the App Store came; `nil` where none did.
    package var newestNotification: Timestamp?
    /// Pages of the write-ahead log, and how often it was copied into the tables since these were opened.
    package var walPages = 0
    package var checkpoints = 0

    package init() {}
}

/// What a projection holds, and what books over it begin with.
package struct ProjectedState: Sendable {
    /// The block up to which the tables are exact; `nil` where they are empty.
    package var head: LogHead?
    /// That block's time.
    package var time: Timestamp = 0
    package var position = LastNumbers()
    /// The end of the last period that was closed.
    package var closedThrough: Timestamp = -1
    package var periods = Books.Periods()
    package var currencies: [CurrencyCode] = []
    package var totals = Totals(currencies: 0)
    /// The header segments of JWS by their SHA-256.
    package var headers: [Digest: HeaderID] = [:]
    package var actors: [String: ActorID] = [:]
    /// The catalog that the blocks name last; `nil` where none does.
    package var catalog: BlockRows.CatalogRow?

    package init() {}
}
