public import LedgerWire

/// The protocol's methods. Each throws a ``WireError`` or a ``ClientError``.
extension LedgerClient {
    /// Whether the server answers.
    public func ping() async throws {
        _ = try await call(Methods.ping, NoParams())
    }

    /// Gives the connection the name and the roles of a token, from here on.
    public func authenticate(token: String) async throws -> Identity {
        try await call(Methods.authenticate, Authentication(token: token), token: token)
    }

    /// What the server says of itself.
    public func info() async throws -> ServerInfo { try await call(Methods.info, NoParams()) }

    /// Posts a signed transaction, as StoreKit 2 or the App Store Server API gives it.
    /// - Parameters:
    ///   - account: the player; needed where the purchase has no `appAccountToken`, else equal to it.
    ///   - ledger: the one of the server's ledgers that it is for, which refuses another app's purchase and one of
    ///     another environment; `nil` for the one whose app and environment the purchase claims.
    public func credit(
        signedTransaction: String, account: AccountName? = nil, ledger: LedgerName? = nil
    ) async throws -> PurchaseReceipt {
        try await call(
            Methods.credit, Credit(signedTransaction: Array(signedTransaction.utf8), account: account), ledger: ledger)
    }

    /// Posts the `signedPayload` of an App Store Server Notification V2.
    /// - Parameters:
    ///   - account: the player, where the purchase in it has no `appAccountToken`.
    ///   - ledger: the one of the server's ledgers that it is for, which refuses one of another app or environment;
    ///     `nil` for the one whose app and environment it claims.
    public func notify(
        signedPayload: String, account: AccountName? = nil, ledger: LedgerName? = nil
    ) async throws -> NotificationReceipt {
        try await call(
            Methods.notify, Notify(signedPayload: Array(signedPayload.utf8), account: account), ledger: ledger)
    }

    /// Everything the ledger knows of one purchase, with its newest events. Pass the view's `next` as `before` for the
    /// page of earlier events.
    /// - Parameters:
    ///   - limit: at most this many events, 1 … ``Limits/purchasePageMax``.
    ///   - before: only events before the one of this number; the newest where it is `nil`.
    ///   - ledger: the one of the server's ledgers that is asked; `nil` for the connection's.
    public func purchase(
        _ transaction: TransactionID, limit: Int = Limits.purchasePageDefault, before: Int64? = nil,
        ledger: LedgerName? = nil
    ) async throws -> PurchaseView {
        try await call(
            Methods.purchase, PurchaseQuery(transaction: transaction, limit: limit, before: before), ledger: ledger)
    }

    /// The body of Apple's Send Consumption Information V2 for a purchase whose customer has consented to it.
    public func consumption(_ query: ConsumptionQuery) async throws -> ConsumptionBody {
        try await call(Methods.consumption, query)
    }

    /// Posts a purchase of another store than the App Store, or what became of it: once by the store and its id.
    public func external(_ purchase: ExternalPurchase) async throws -> PurchaseReceipt {
        try await call(Methods.external, purchase)
    }

    /// Makes a token, under which an app buys, an account's. What the token's own wallets had moves there.
    /// - Throws: ``WireError`` `account_mismatch` where the token is linked to another account.
    public func link(_ token: AppAccountToken, to account: AccountName) async throws -> LinkReceipt {
        try await call(Methods.link, Link(token: token, account: account))
    }

    /// Makes a token this account's from now on, also where it is linked to another. What it had, and what came under
    /// it until now, stays where it is.
    ///
    /// The client does not send it again once it may have been carried out: the token may be linked to yet another
    /// account by then.
    public func relink(_ token: AppAccountToken, to account: AccountName) async throws -> LinkReceipt {
        try await call(Methods.relink, Link(token: token, account: account, moves: true))
    }

    /// Records whether a player consents to Apple being told how much of their purchases was consumed.
    public func consent(_ consent: Consent) async throws -> ConsentReceipt {
        try await call(Methods.consent, consent)
    }

    /// Debits a player's wallets, all or nothing.
    public func spend(_ spend: Spend) async throws -> SpendReceipt { try await call(Methods.spend, spend) }

    /// Gives a spend or a capture back, or a part of it, into the lots it came from.
    public func reverse(_ reversal: Reversal) async throws -> ReversalReceipt {
        try await call(Methods.reverse, reversal)
    }

    /// Sets currency aside, until it is captured or released, or its time is over.
    public func hold(_ hold: Hold) async throws -> HoldReceipt { try await call(Methods.hold, hold) }

    /// Spends a hold, or so much of it and gives the rest back.
    public func capture(_ capture: Capture) async throws -> CaptureReceipt { try await call(Methods.capture, capture) }

    /// Gives a hold back.
    public func release(_ release: Release) async throws -> ReleaseReceipt { try await call(Methods.release, release) }

    /// Gives free currency.
    public func grant(_ grant: Grant) async throws -> GrantReceipt { try await call(Methods.grant, grant) }

    /// Does several operations, of any accounts, all or none. The ``WireError`` of a refusal has the detail
    /// `operation`, the index of the one that was refused.
    public func atomic(_ atomic: LedgerTypes.Atomic) async throws -> AtomicReceipt {
        try await call(Methods.atomic, atomic)
    }

    /// A player's balances, now or as of a time that is past.
    public func balance(
        _ account: AccountName, currency: CurrencyCode? = nil, asOf: Timestamp? = nil
    ) async throws -> AccountBalances {
        try await call(Methods.balance, BalanceQuery(account: account, currency: currency, asOf: asOf))
    }

    /// A page of a player's history, newest first.
    public func history(_ query: HistoryQuery) async throws -> HistoryPage { try await call(Methods.history, query) }

    /// A page of a player's lots that are open, newest first: what is left of what they bought and were given, until
    /// when, and what of it is set aside or owed.
    public func lots(_ query: OpenItemsQuery) async throws -> OpenItemsPage<OpenLot> {
        try await call(Methods.lots, query)
    }

    /// A page of a player's holds that are open, newest first.
    public func holds(_ query: OpenItemsQuery) async throws -> OpenItemsPage<OpenHoldView> {
        try await call(Methods.holds, query)
    }

    /// What an account's name, a token, a key or a transaction id is to the ledger, and whose.
    public func find(_ query: FindQuery) async throws -> Finding { try await call(Methods.find, query) }

    /// The last block that is durable, with all that this client wrote before, and signed where the service has a key.
    public func head() async throws -> ChainHead { try await call(Methods.head, NoParams()) }

    /// Corrects a wallet by hand.
    /// - Parameter approval: the token of somebody else with the role `finance`, who approves it.
    public func adjust(_ adjustment: Adjustment, approval: String) async throws -> AdjustmentReceipt {
        try await call(Methods.adjust, ApprovedAdjustment(adjustment, approval: approval))
    }

    /// Posts what a player has left by the books that a game kept before. Needs the role `admin`. A refusal is not kept
    /// with the key: the same import can be sent again when its reason is gone.
    /// - Throws: ``WireError`` `purchase_conflict` where the ledger knows one of its purchases already.
    public func importLots(_ carried: LotImport) async throws -> ImportReceipt {
        try await call(Methods.importLots, carried)
    }

    /// Closes the period up to a time for ever: nothing is posted in it any more. The same period has the same answer
    /// whenever it is asked for.
    /// - Parameter through: the last millisecond of the period, which is past.
    /// - Throws: ``WireError`` `period_closed` where a later time is closed already, and no period ends at this one.
    public func closePeriod(through: Timestamp) async throws -> ClosingReceipt {
        try await call(Methods.close, ClosePeriod(through: through))
    }

    /// A page of a report. Pass the page's `asOf` and `next` (as `after`) for the next page.
    /// - Parameters:
    ///   - asOf: entries up to and with this time count; now where it is `nil`.
    ///   - from: only what was recorded at this time or later. Of reports of a period (``ReportKind/isOfPeriods``).
    ///   - dates: by which dates it is cut. Of `sales` and `revenue` only.
    ///   - scope: which are listed. Of `consumption_requests` and `lots` only.
    ///   - currency: only this one; all where it is `nil`. Of reports whose rows are of one currency each.
    ///   - limit: at most this many rows, 1 … ``Limits/reportPageMax``.
    public func report(
        _ kind: ReportKind, asOf: Timestamp? = nil, from: Timestamp? = nil, dates: ReportDates = .posted,
        scope: ReportScope = .open, currency: CurrencyCode? = nil, limit: Int = Limits.reportPageDefault,
        after: String? = nil
    ) async throws -> ReportPage {
        try await call(
            Methods.report,
            ReportRequest(
                kind: kind, asOf: asOf, from: from, dates: dates, scope: scope, currency: currency, limit: limit,
                after: after))
    }

    /// A page of the journal, oldest first. Pass the page's `next` as `after` for the next one, now or later.
    ///
    /// Later calls of this client wait as long as this one does, within their own timeouts: who follows the journal
    /// has a client for it.
    /// - Parameters:
    ///   - after: only entries after this one; 0 for the start.
    ///   - limit: at most this many entries, 1 … ``Limits/journalPageMax``.
    ///   - wait: where no entry is newer yet, how long the first one is waited for, at most
    ///     ``Limits/journalWaitMillisecondsMax``; then the page is empty.
    ///   - skipTransfers: so many transfers of the page's first entry are left out.
    public func journal(
        after: EntryID, limit: Int = Limits.journalPageDefault, wait: Duration = .zero, skipTransfers: Int = 0
    ) async throws -> JournalPage {
        let longest = Duration.milliseconds(Limits.journalWaitMillisecondsMax)
        let milliseconds = Int64(min(max(wait, .zero), longest) / .milliseconds(1))
        let query = JournalQuery(
            after: after, limit: limit, waitMilliseconds: milliseconds, skipTransfers: skipTransfers)
        // What the server was asked to wait is no silence.
        return try await call(Methods.journal, query, waitMilliseconds: milliseconds)
    }

    /// Erases an account's name for ever; its entries, lots and sums stay. Whoever has that name from now on is another
    /// account.
    ///
    /// The client does not send it again once it may have been carried out, as after `outcome_unknown` or a connection
    /// that was lost: another account may have the name by then, and would be forgotten too.
    /// - Returns: whether there was an account of that name.
    public func forget(_ account: AccountName) async throws -> Bool {
        try await call(Methods.forget, ForgetQuery(account)).erased
    }

    /// Has a standby lead: from now on it follows nobody and takes writes.
    public func promote() async throws -> Promotion { try await call(Methods.promote, NoParams()) }

    /// Has the node that leads give the lead to another.
    public func stepDown() async throws -> Handover { try await call(Methods.stepDown, NoParams()) }

    /// Has the service read its configuration again: catalogs, tokens, certificates and what else can change while it
    /// runs hold from then on, all of it or nothing.
    public func reload() async throws -> ReloadReport { try await call(Methods.reload, NoParams()) }

    /// Blocks of the chain, for a standby.
    package func blocks(_ query: BlocksQuery) async throws -> BlocksPage {
        // What the server was asked to wait is no silence.
        try await call(Methods.blocks, query, waitMilliseconds: query.waitMilliseconds)
    }

    /// Every entry after this one (0 for the start), oldest first, each once, and then the new ones as they are
    /// posted.
    public func entries(after: EntryID) -> JournalFollower { JournalFollower(client: self, after: after) }
}
