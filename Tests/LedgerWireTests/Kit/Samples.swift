import Ledger
import LedgerWire
import StrictJSON
import Testing

/// Valid values, requests and replies of every kind.
enum Samples {
    static func account(_ text: String) throws -> AccountName { try #require(AccountName(text)) }
    static func currency(_ text: String) throws -> CurrencyCode { try #require(CurrencyCode(text)) }
    static func key(_ text: String) throws -> RequestKey { try #require(RequestKey(text)) }
    static func amount(_ units: Int64) throws -> Amount { try #require(Amount(units)) }
    static func transaction(_ text: String) throws -> TransactionID { try #require(TransactionID(text)) }

    static func standby(_ text: String) throws -> StandbyName { try #require(StandbyName(text)) }
    static let zeros = [UInt8](repeating: 0, count: 32)

    static func token() throws -> AppAccountToken {
        try #require(AppAccountToken("7E3FB204-14E0-4D0B-9D0E-C6E3E2A1B0AF"))
    }

    static func balances() throws -> [CurrencyBalance] {
        [
            CurrencyBalance(
                currency: try currency("gems"),
                balance: Balance(available: 450, held: 3, debt: 0, paid: 400, version: 7)),
            CurrencyBalance(
                currency: try currency("tickets"),
                balance: Balance(available: 0, held: 0, debt: 12, paid: 0, version: 2)),
        ]
    }

    static func spend() throws -> Spend {
        Spend(
            key: try key("018f-k"), account: try account("player-1"),
            debits: [CurrencyAmount(currency: try currency("gems"), amount: try amount(50))])
    }

    /// A request, and how a client writes it.
    struct Asked {
        var message: Message.Asked
        var write: (_ writer: inout RequestWriter, _ id: RequestID?) -> Void
        var writeFor: (_ writer: inout RequestWriter, _ ledger: LedgerName) -> Void

        var method: LedgerWire.Method { message.method }

        init<Params, Result>(_ typed: TypedMethod<Params, Result>, _ params: Params, _ request: Request) {
            message = Message.Asked(typed.method, request)
            write = { writer, id in writer.write(typed, params, id: id) }
            writeFor = { writer, ledger in writer.write(typed, params, id: .integer(1), ledger: ledger) }
        }
    }

    private static func operation<Params>(
        _ typed: TypedMethod<Params, some WireValue>, _ params: Params, _ operation: KeyedOperation
    ) -> Asked { Asked(typed, params, .ledger(.keyed(operation))) }

    private static func authenticate(_ authentication: Authentication) -> Asked {
        Asked(Methods.authenticate, authentication, .authenticate(authentication))
    }

    private static func blocks(_ query: BlocksQuery) -> Asked { Asked(Methods.blocks, query, .ledger(.blocks(query))) }
    private static func spend(_ spend: Spend) -> Asked { operation(Methods.spend, spend, .spend(spend)) }
    private static func grant(_ grant: Grant) -> Asked { operation(Methods.grant, grant, .grant(grant)) }

    private static func reverse(_ reversal: Reversal) -> Asked {
        operation(Methods.reverse, reversal, .reverse(reversal))
    }

    private static func capture(_ capture: Capture) -> Asked {
        operation(Methods.capture, capture, .capture(capture))
    }

    private static func release(_ release: Release) -> Asked {
        operation(Methods.release, release, .release(release))
    }

    private static func credit(_ credit: Credit) -> Asked { Asked(Methods.credit, credit, .ledger(.credit(credit))) }
    private static func notify(_ notify: Notify) -> Asked { Asked(Methods.notify, notify, .ledger(.notify(notify))) }

    private static func consumption(_ query: ConsumptionQuery) -> Asked {
        Asked(Methods.consumption, query, .ledger(.consumption(query)))
    }

    private static func adjust(_ adjustment: Adjustment) -> Asked {
        let approved = ApprovedAdjustment(adjustment, approval: "a token")
        return Asked(Methods.adjust, approved, .ledger(.adjust(approved)))
    }

    private static func importLots(_ lots: [ImportedLot], usedUp: [UsedUpPurchase] = []) throws -> Asked {
        let carried = LotImport(key: try key("i"), account: try account("player"), lots: lots, usedUp: usedUp)
        return Asked(Methods.importLots, carried, .ledger(.importLots(carried)))
    }

    /// What is left of a purchase.
    static func imported(
        _ number: String, _ units: Int64, price: Int64, of currency: String = "gems", on date: Timestamp = 5
    ) throws -> ImportedLot {
        ImportedLot(
            currency: try #require(CurrencyCode(currency)), amount: try #require(Amount(units)),
            purchase: ImportedPurchase(
                transaction: try transaction(number), product: "gems500", price: price, priceCurrency: "EUR",
                purchaseDate: date))
    }

    private static func usedUp(_ number: String) throws -> UsedUpPurchase {
        UsedUpPurchase(transaction: try transaction(number), product: "gems500", purchaseDate: 5)
    }

    private static func external(_ purchase: ExternalPurchase) -> Asked {
        Asked(Methods.external, purchase, .ledger(.external(purchase)))
    }

    private static func identity(_ source: String, _ identifier: String) throws -> ExternalIdentity {
        try #require(ExternalIdentity(source: source, identifier: identifier))
    }

    private static func consent(_ consent: Consent) -> Asked {
        Asked(Methods.consent, consent, .ledger(.consent(consent)))
    }

    private static func journal(_ query: JournalQuery) -> Asked {
        Asked(Methods.journal, query, .ledger(.journal(query)))
    }

    private static func find(_ query: FindQuery) -> Asked { Asked(Methods.find, query, .ledger(.find(query))) }

    private static func balance(_ query: BalanceQuery) -> Asked {
        Asked(Methods.balance, query, .ledger(.balance(query)))
    }

    private static func history(_ query: HistoryQuery) -> Asked {
        Asked(Methods.history, query, .ledger(.history(query)))
    }

    private static func lots(_ query: OpenItemsQuery) -> Asked { Asked(Methods.lots, query, .ledger(.lots(query))) }
    private static func holds(_ query: OpenItemsQuery) -> Asked { Asked(Methods.holds, query, .ledger(.holds(query))) }

    private static func report(_ request: ReportRequest) -> Asked {
        Asked(Methods.report, request, .ledger(.report(request)))
    }

    /// Every method, with each optional member given and left out.
    static func requests() throws -> [Asked] {
        let player = try account("player-1")
        let gems = try currency("gems")
        var full = try spend()
        full.note = "a \"sword\"\n of ⚔️ \u{1} \\"
        full.funds = .paid
        full.expectedVersion = 0
        full.minimumRemaining = Limits.amountMax
        var several = try spend()
        several.debits.append(
            CurrencyAmount(currency: try currency("tickets"), amount: try amount(Limits.amountMax)))
        let free = Grant(key: try key(" ~"), account: player, currency: gems, amount: try amount(1))
        var noted = free
        noted.note = ""
        var expiring = free
        expiring.expiresAt = 1_767_225_600_000
        let hold = Hold(
            key: try key("h"), account: player, currency: gems, amount: try amount(Limits.amountMax),
            timeoutMilliseconds: Limits.holdMillisecondsMax)
        let jws = Array("a.b.c".utf8)
        let guest = try token()
        func link(moves: Bool) -> Link { Link(token: guest, account: player, moves: moves) }
        return [
            Asked(Methods.ping, NoParams(), .ping), Asked(Methods.head, NoParams(), .ledger(.head)),
            Asked(Methods.info, NoParams(), .info), Asked(Methods.reload, NoParams(), .reload),
            authenticate(Authentication(token: "täken")),
            authenticate(Authentication(token: "t", isDirect: true, client: "eu-game-1")),
            credit(Credit(signedTransaction: jws)),
            credit(Credit(signedTransaction: jws, account: try account("Ämil\u{2028}\"\\"))),
            notify(Notify(signedPayload: jws)), notify(Notify(signedPayload: [], account: player)),
            Asked(
                Methods.purchase, PurchaseQuery(transaction: try transaction("2000000849195831")),
                .ledger(.purchase(PurchaseQuery(transaction: try transaction("2000000849195831"))))),
            Asked(
                Methods.purchase,
                PurchaseQuery(transaction: try transaction("0"), limit: Limits.purchasePageMax, before: 7),
                .ledger(
                    .purchase(
                        PurchaseQuery(transaction: try transaction("0"), limit: Limits.purchasePageMax, before: 7)))),
            consumption(ConsumptionQuery(transaction: try transaction("12"))),
            consumption(
                ConsumptionQuery(
                    transaction: try transaction("12"), sampleContentProvided: true, deliveryStatus: .wrongItem,
                    refundPreference: .grantFull)),
            spend(try spend()), spend(full), spend(several), grant(free), grant(noted), grant(expiring),
            reverse(Reversal(key: try key("r"), spendKey: try key("018f-k"))),
            reverse(Reversal(key: try key("r"), spendKey: try key("a"), operation: 63, debits: several.debits)),
            operation(Methods.hold, hold, .hold(hold)),
            capture(Capture(key: try key("c"), holdKey: try key("h"))),
            capture(Capture(key: try key("c"), holdKey: try key("a"), operation: 0, amount: try amount(1))),
            release(Release(key: try key("l"), holdKey: try key("h"))),
            release(Release(key: try key("l"), holdKey: try key("a"), operation: 5)),
            Asked(Methods.atomic, try atomic(), .ledger(.atomic(try atomic()))),
            blocks(BlocksQuery(standby: try standby("b-1.example:7117"), after: 0, hash: zeros, durable: 0)),
            blocks(
                BlocksQuery(
                    standby: try standby("_"), after: Limits.amountMax, hash: Array(1...32), durable: 7,
                    waitMilliseconds: Limits.blocksWaitMillisecondsMax, bytesMax: Limits.blocksPageBytesMax)),
            Asked(Methods.promote, NoParams(), .ledger(.promote)),
            Asked(Methods.stepDown, NoParams(), .ledger(.stepDown)),
            external(
                ExternalPurchase(
                    identity: try identity("shop", "o-1"), account: player, product: "gems500", purchaseDate: 7)),
            external(
                ExternalPurchase(
                    identity: try identity("play.store", String(repeating: "é", count: 256)), account: player,
                    product: "gems500", quantity: Limits.quantityMax, price: 0, priceCurrency: "EUR",
                    purchaseDate: Limits.amountMax, revoked: 100_000)),
            adjust(
                Adjustment(
                    key: try key("a"), account: player, currency: gems, lotClass: .paid, units: -Limits.amountMax,
                    reason: "why")),
            adjust(
                Adjustment(
                    key: try key("a"), account: player, currency: gems, lotClass: .free, units: 1,
                    reason: String(repeating: "x", count: 256))),
            try importLots([
                try imported("1", 5, price: 990), try imported("1", 7, price: 0, of: "gold"),
                try imported("4611686018427387903", Limits.amountMax, price: Limits.amountMax, on: Limits.amountMax),
                ImportedLot(currency: gems, amount: try #require(Amount(1))),
            ]),
            try importLots(
                (1...Limits.importedLotsMax).map { try imported("\($0)", 1, price: Int64($0)) }),
            try importLots([try imported("1", 5, price: 990)], usedUp: [try usedUp("2"), try usedUp("3")]),
            try importLots([], usedUp: (1...Limits.importedLotsMax).map { try usedUp("\($0)") }),
            Asked(Methods.close, ClosePeriod(through: 0), .ledger(.close(ClosePeriod(through: 0)))),
            Asked(
                Methods.close, ClosePeriod(through: Limits.amountMax),
                .ledger(.close(ClosePeriod(through: Limits.amountMax)))),
            Asked(Methods.forget, ForgetQuery(player), .ledger(.forget(player))),
            Asked(Methods.link, link(moves: false), .ledger(.link(link(moves: false)))),
            Asked(Methods.relink, link(moves: true), .ledger(.link(link(moves: true)))),
            consent(Consent(key: try key("y"), account: player, consumption: true)),
            consent(Consent(key: try key("n"), account: player, consumption: false)),
            journal(JournalQuery(after: 0)),
            journal(
                JournalQuery(
                    after: Limits.amountMax, limit: Limits.journalPageMax,
                    waitMilliseconds: Limits.journalWaitMillisecondsMax)),
            find(.account(player)), find(.token(try token())), find(.key(try key(" ~"))),
            find(.transaction(try transaction("2000000849195831"))),
            balance(BalanceQuery(account: player)),
            balance(BalanceQuery(account: player, currency: gems, asOf: 1_767_225_600_000)),
            history(HistoryQuery(account: player)),
            lots(OpenItemsQuery(account: player)),
            lots(OpenItemsQuery(account: player, currency: gems, limit: 1, before: Limits.amountMax)),
            holds(OpenItemsQuery(account: player)),
            holds(OpenItemsQuery(account: player, currency: gems, limit: 1_000, before: 1)),
            history(HistoryQuery(account: player, currency: gems, limit: 1, before: Limits.amountMax)),
            report(ReportRequest(kind: .trial)),
            report(ReportRequest(kind: .notifications, asOf: 9, from: 1, after: "notifications.1.2")),
            report(ReportRequest(kind: .consumptionRequests)),
            report(ReportRequest(kind: .closings, asOf: 9, after: "closings.1.2")),
            report(ReportRequest(kind: .consumptionRequests, scope: .all, limit: 1)),
            report(ReportRequest(kind: .sales, asOf: 9, from: 1, dates: .effective, after: "sales.0.2")),
            report(ReportRequest(kind: .deferred, asOf: 9, from: 9, currency: gems)),
            report(ReportRequest(kind: .lots, scope: .all)), report(ReportRequest(kind: .journal, from: 0)),
            report(
                ReportRequest(
                    kind: .balances, asOf: 0, currency: gems, limit: Limits.reportPageMax, after: "balances.12.3")),
        ]
    }

    /// One operation of each kind, under the atomic's key.
    static func atomic() throws -> Atomic {
        let own = try key("basket")
        let player = try account("player-1")
        let gems = try currency("gems")
        var spend = try spend()
        spend.key = own
        spend.minimumRemaining = 1
        return Atomic(
            key: own,
            operations: [
                .spend(spend), .reverse(Reversal(key: own, spendKey: try key("s"), debits: spend.debits)),
                .grant(
                    Grant(
                        key: own, account: try account("Ä\"2"), currency: gems, amount: try amount(3), note: "n",
                        expiresAt: 0)),
                .hold(
                    Hold(key: own, account: player, currency: gems, amount: try amount(2), timeoutMilliseconds: 1)),
                .capture(Capture(key: own, holdKey: try key("h"), operation: 2, amount: try amount(1))),
                .release(Release(key: own, holdKey: try key("h"), operation: 1)),
            ])
    }

    static func drawn() throws -> [DrawnLot] {
        [
            DrawnLot(
                currency: try currency("gems"), amount: try amount(5), lot: 3, transaction: try transaction("12")),
            DrawnLot(currency: try currency("gems"), amount: try amount(1), lot: 4, transaction: nil),
        ]
    }

    /// Results of the game's operations and of the journal, each with its reading: `nil` where it is refused, else
    /// whether what was read is written and read again as the same.
    static func results() throws -> [(json: [UInt8], reread: ([UInt8]) -> Bool?)] {
        func sample<Value: WireValue & Equatable>(_ value: Value) -> (json: [UInt8], reread: ([UInt8]) -> Bool?) {
            func json(_ value: Value) -> [UInt8] {
                var writer = JSONWriter()
                writer.write(value)
                return writer.bytes
            }
            return (
                json(value),
                { bytes in
                    guard let read = try? Value(json: bytes) else { return nil }
                    return (try? Value(json: json(read))) == read
                }
            )
        }
        let (own, lots) = (try balances(), try drawn())
        return [
            sample(SpendReceipt(entry: 1, replayed: false, drawn: lots, balances: own)),
            sample(GrantReceipt(entry: 1, replayed: true, balances: own)),
            sample(ReversalReceipt(entry: 1, replayed: false, returned: lots, balances: own)),
            sample(HoldReceipt(entry: 1, replayed: true, expiresAt: 2, balances: own)),
            sample(CaptureReceipt(entry: 1, replayed: false, drawn: lots, balances: own)),
            sample(ReleaseReceipt(entry: 1, replayed: true, balances: own)),
            sample(
                AtomicReceipt(
                    entry: 1, replayed: false,
                    results: [.spend(drawn: lots), .grant, .hold(expiresAt: 3), .reverse(returned: lots)],
                    balances: [AccountBalances(account: try account("player-1"), balances: own)])),
            sample(try journalPage()), sample(try historyPage()), sample(try lotsPage()), sample(try holdsPage()),
        ] + (try findings().map { sample($0) })
    }

    static func journalPage() throws -> JournalPage {
        let player = try account("player-1")
        let gems = try currency("gems")
        return JournalPage(
            entries: [
                JournalEntry(
                    entry: 8, time: 9, kind: .credit, key: nil, note: nil, transaction: try transaction("12"),
                    transfers: [
                        .init(
                            transfer: 20, account: player, debit: .purchased, credit: .wallet, currency: gems,
                            amount: try amount(5), lot: 20, debtLot: nil),
                        .init(
                            transfer: 21, account: player, debit: .wallet, credit: .receivable, currency: gems,
                            amount: try amount(2), lot: 20, debtLot: 7),
                    ]),
                JournalEntry(
                    entry: 9, time: 10, kind: .holdExpiry, key: try key("k"), note: "n\n", transaction: nil,
                    actor: "eu \"1\"",
                    transfers: []),
            ], next: 9)
    }

    /// One of each kind, of each as it can be.
    static func findings() throws -> [Finding] {
        let player = try account("player-1")
        let bought = try journalPage().entries[0]
        let purchase = Finding.Purchase(
            transaction: try transaction("12"), product: "com.example.gems", account: player, entry: bought)
        var unassigned = purchase
        (unassigned.account, unassigned.entry) = (nil, nil)
        let refusal = Refusal(.insufficientFunds(currency: try currency("gems"), available: 7), operation: 3)
        return [
            .unknown, .account(Finding.Account(name: player)),
            .account(
                Finding.Account(
                    name: player, isLinked: true,
                    consent: Finding.Account.Consent(consumption: false, time: 9, actor: "pipeline"))),
            .purchase(purchase), .purchase(unassigned),
            .request(Finding.Request(key: try key("k"), answer: .posted(bought))),
            .request(
                Finding.Request(
                    key: try key("k"),
                    answer: .recorded(ConsentReceipt(consumption: true, time: 9, replayed: false)))),
            .request(Finding.Request(key: try key("i"), answer: .usedUp(3))),
            .request(Finding.Request(key: try key("k"), answer: .refused(refusal))),
        ]
    }

    static func purchaseReceipt() throws -> PurchaseReceipt {
        PurchaseReceipt(
            outcome: .reversed, transaction: try transaction("2000000849195831"), account: try account("player-1"),
            posted: [PostedAmount(currency: try currency("gems"), units: -500)], balances: try balances(), entry: 42,
            finish: true)
    }

    static func purchaseView() throws -> PurchaseView {
        PurchaseView(
            transaction: try transaction("2000000849195831"), state: .partlyRevoked, account: try account("player-1"),
            product: "com.example.gems", quantity: 3, purchaseDate: 1_767_225_600_000, price: 4_990,
            priceCurrency: "EUR", revoked: 33_333,
            grants: [
                PurchaseView.Grant(
                    lot: 7, currency: try currency("gems"), granted: 1_500, spent: 100, held: 1, revoked: 499, debt: 2,
                    writtenOff: 3, repaid: 4, remaining: 891)
            ], consumption: 6_666,
            events: [
                PurchaseView.Event(number: 4, time: 5, signedDate: 4, revoked: 0, entry: 9),
                PurchaseView.Event(number: 5, time: 6, signedDate: 5, revoked: 33_333, entry: nil),
                PurchaseView.Event(
                    number: 6, kind: .consumptionRequest, time: 7, signedDate: 6, revoked: nil, entry: nil,
                    reason: "OTHER"),
                PurchaseView.Event(number: 7, kind: .assigned, time: 8, signedDate: nil, revoked: nil, entry: 10),
                PurchaseView.Event(
                    number: 8, kind: .consumptionSent, time: 9, signedDate: nil, revoked: nil, entry: nil,
                    end: .refused(code: 4_000_006), body: #"{"a":1}"#),
                PurchaseView.Event(
                    number: 9, kind: .finished, time: 9, signedDate: nil, revoked: nil, entry: nil, end: .accepted),
            ], next: 4)
    }

    static func lotsPage() throws -> OpenItemsPage<OpenLot> {
        let gems = try currency("gems")
        return OpenItemsPage(
            entry: 12,
            items: [
                OpenLot(
                    lot: 9, currency: gems, lotClass: .paid, time: 7, transaction: try transaction("12"),
                    product: "com.example.gems", granted: 500, remaining: 20, held: 30, debt: 0),
                OpenLot(
                    lot: 3, currency: try currency("tickets"), lotClass: .free, time: 5, granted: 4, remaining: 0,
                    debt: 4, expiresAt: 99),
            ], next: 3)
    }

    static func holdsPage() throws -> OpenItemsPage<OpenHoldView> {
        let gems = try currency("gems")
        return OpenItemsPage(
            entry: 12,
            items: [
                OpenHoldView(
                    key: try key("h\\"), operation: 0, entry: 11, time: 8, currency: gems, amount: 30, expiresAt: 99,
                    actor: "eu \"1\""),
                OpenHoldView(key: try key("k"), entry: 10, time: 7, currency: gems, amount: 5, expiresAt: 98),
            ], next: nil)
    }

    static func historyPage() throws -> HistoryPage {
        let gems = try currency("gems")
        return HistoryPage(
            entries: [
                HistoryEntry(
                    entry: 9, time: 10, kind: .spend, key: try key("k"), note: "n", transaction: nil,
                    actor: "game",
                    transfers: [
                        .init(
                            debit: .wallet, credit: .spent, currency: gems, amount: try amount(5), change: -5, lot: 3,
                            debtLot: nil)
                    ], balances: try balances()),
                HistoryEntry(
                    entry: 8, time: 9, kind: .credit, key: nil, note: nil, transaction: try transaction("12"),
                    product: "com.example.gems", quantity: 3, price: 4_990, priceCurrency: "EUR",
                    transfers: [
                        .init(
                            debit: .wallet, credit: .receivable, currency: gems, amount: try amount(5), change: -5,
                            lot: 3, debtLot: 2)
                    ], balances: []),
            ], next: 8)
    }
}
