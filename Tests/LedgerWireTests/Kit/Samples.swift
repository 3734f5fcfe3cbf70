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

    /// Every method, with each optional member given and left out.
    static func requests() throws -> [Request] {
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
        return [
            .ping, .info, .authenticate(token: "täken"),
            .credit(signedTransaction: Array("a.b.c".utf8), account: nil),
            .credit(signedTransaction: Array("a.b.c".utf8), account: try account("Ämil\u{2028}\"\\")),
            .notify(signedPayload: Array("d.e.f".utf8), account: nil),
            .notify(signedPayload: [], account: player),
            .purchase(try transaction("2000000849195831")), .purchase(try transaction("0")),
            .consumption(ConsumptionQuery(transaction: try transaction("12"))),
            .consumption(
                ConsumptionQuery(
                    transaction: try transaction("12"), sampleContentProvided: true, deliveryStatus: .wrongItem,
                    refundPreference: .grantFull)),
            .spend(try spend()), .spend(full), .spend(several), .grant(free), .grant(noted),
            .grant(expiring),
            .reverse(Reversal(key: try key("r"), spendKey: try key("018f-k"))),
            .reverse(
                Reversal(key: try key("r"), spendKey: try key("a"), operation: 63, debits: several.debits)),
            .hold(
                Hold(
                    key: try key("h"), account: player, currency: gems, amount: try amount(Limits.amountMax),
                    timeoutMilliseconds: Limits.holdMillisecondsMax)),
            .capture(Capture(key: try key("c"), holdKey: try key("h"))),
            .capture(Capture(key: try key("c"), holdKey: try key("a"), operation: 0, amount: try amount(1))),
            .release(Release(key: try key("l"), holdKey: try key("h"))),
            .release(Release(key: try key("l"), holdKey: try key("a"), operation: 5)),
            .atomic(try atomic()), .forget(player),
            .journal(JournalQuery(after: 0), waitMilliseconds: 0),
            .journal(
                JournalQuery(after: Int64.max, limit: Limits.journalPageMax),
                waitMilliseconds: Limits.journalWaitMillisecondsMax),
            .balance(account: player, currency: nil, asOf: nil),
            .balance(account: player, currency: gems, asOf: 1_767_225_600_000),
            .history(HistoryQuery(account: player)),
            .history(HistoryQuery(account: player, currency: gems, limit: 1, before: Int64.max)),
            .report(kind: .trial, asOf: nil, currency: nil, limit: Limits.reportPageDefault, after: nil),
            .report(kind: .balances, asOf: 0, currency: gems, limit: Limits.reportPageMax, after: "12.3"),
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
            sample(try journalPage()), sample(try historyPage()),
        ]
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
                    transfers: []),
            ], next: 9)
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
                PurchaseView.Event(time: 5, signedDate: 4, revoked: 0, entry: 9),
                PurchaseView.Event(time: 6, signedDate: 5, revoked: 33_333, entry: nil),
                PurchaseView.Event(
                    kind: .consumptionRequest, time: 7, signedDate: 6, revoked: nil, entry: nil, reason: "OTHER"),
                PurchaseView.Event(kind: .assigned, time: 8, signedDate: nil, revoked: nil, entry: 10),
            ])
    }

    static func historyPage() throws -> HistoryPage {
        let gems = try currency("gems")
        return HistoryPage(
            entries: [
                HistoryEntry(
                    entry: 9, time: 10, kind: .spend, key: try key("k"), note: "n", transaction: nil,
                    transfers: [
                        .init(
                            debit: .wallet, credit: .spent, currency: gems, amount: try amount(5), lot: 3, debtLot: nil)
                    ], balances: try balances()),
                HistoryEntry(
                    entry: 8, time: 9, kind: .credit, key: nil, note: nil, transaction: try transaction("12"),
                    transfers: [
                        .init(
                            debit: .wallet, credit: .receivable, currency: gems, amount: try amount(5), lot: 3,
                            debtLot: 2)
                    ], balances: []),
            ], next: 8)
    }
}
