import Ledger
import Testing

/// What players bring along from other books.
@Suite struct ImportTests {
    /// What is left of a purchase.
    private static func lot(
        _ transaction: TransactionID, _ units: Amount, price: Int64 = 990, of currency: CurrencyCode = "gems",
        on date: Timestamp = 500, product: String = "gems100"
    ) -> ImportedLot {
        ImportedLot(
            currency: currency, amount: units,
            purchase: ImportedPurchase(
                transaction: transaction, product: product, price: price, priceCurrency: "EUR", purchaseDate: date))
    }

    private static func gift(_ units: Amount, of currency: CurrencyCode = "gems") -> ImportedLot {
        ImportedLot(currency: currency, amount: units)
    }

    @Test func aPurchaseIsAnEntryOfItsOwnAndTheOldestIsSpentFirst() throws {
        var store = AuditedStore()
        let lots = [Self.gift(7), Self.lot(2, 50, on: 900), Self.lot(1, 30, price: 400, on: 300)]
        let receipt = try store.importLots("i", "ann", lots[0], lots[1], lots[2])
        #expect(receipt == ImportReceipt(entry: 1, entries: 3, replayed: false))
        let rows = store.index.rows
        #expect(rows.entries.map(\.kind) == [.imported, .imported, .imported])
        #expect(rows.entries.map(\.transaction) == [1, 2, nil] && rows.entries.map(\.key) == ["i", nil, nil])
        #expect(rows.lots.map(\.price) == [400, 990, 0] && rows.lots.map(\.lotClass) == [.paid, .paid, .free])
        #expect(rows.purchases.map(\.facts.source) == [.imported, .imported])
        #expect(store.total(.imported) == 87 && store.total(.purchased) == 0 && store.total(.granted) == 0)
        // In another order it is the same, and again after a restart.
        for _ in 0..<2 {
            let again = try store.importLots("i", "ann", lots[2], lots[0], lots[1])
            #expect(again == ImportReceipt(entry: 1, entries: 3, replayed: true))
            store.restart()
        }
        #expect(throws: Refusal(.keyReused)) { try store.importLots("i", "ann", lots[0]) }
        let spent = try store.spend("s", "ann", 47)
        #expect(spent.drawn.map(\.transaction) == [nil, 1, 2] && spent.drawn.map(\.amount.units) == [7, 30, 10])
        let view = try store.view(2)
        #expect(view.source == .imported && view.price == 990 && view.events.map(\.kind) == [.stated])
    }

    @Test func whatWasBoughtTogetherIsOnePurchase() throws {
        var store = AuditedStore()
        let receipt = try store.importLots(
            "i", "ann", Self.lot(1, 5, price: 37, of: "tickets", product: "starter"),
            Self.lot(1, 800, price: 953, product: "starter"))
        #expect(receipt.entries == 1)
        let purchase = try #require(store.index.rows.purchases.first)
        #expect(purchase.facts.price == 990 && purchase.grants.map(\.units) == [800, 5])
        #expect(store.index.rows.lots.map(\.price) == [953, 37])
        // What cost nothing is free, and its id is known all the same.
        _ = try store.importLots("j", "ann", Self.lot(2, 3, price: 0))
        #expect(try store.balance("ann").paid == 800 && store.balance("ann").available == 803)
        #expect(try store.credit(jws(2, price: 0), "ann").outcome == .alreadyCredited)
    }

    @Test func aReplayedJWSCreditsNothingAndARefundTakesTheLotBack() throws {
        var store = AuditedStore()
        _ = try store.importLots("i", "ann", Self.lot(1, 60, on: 500))
        // Other books say what is left, not how many were bought, and when to the second.
        let replayed = try store.credit(jws(1, quantity: 3, purchased: 999, signed: 600), "ann")
        #expect(replayed.outcome == .alreadyCredited && replayed.posted.isEmpty)
        #expect(try store.notify("u", jws(1, quantity: 3, signed: 500)).purchase?.outcome == .alreadyCredited)
        store.restart()
        try store.spend("s", "ann", 20)
        let refunded = try store.notify("r", jws(1, quantity: 3, signed: 700, revoked: 100_000)).purchase
        #expect(refunded?.outcome == .reversed && refunded?.posted == [.posted("gems", -60)])
        #expect(try store.standing("ann") == [0, 20])
        let back = try store.credit(jws(1, quantity: 3, signed: 800), "ann")
        #expect(back.outcome == .reinstated && back.posted == [.posted("gems", 60)])
        #expect(try store.standing("ann") == [40, 0])
        #expect(try store.view(1).events.map(\.kind) == [.stated, .signed, .signed, .signed])
    }

    @Test func aPurchaseOfWhichNothingIsLeftIsKnownForEver() throws {
        var store = AuditedStore()
        let usedUp = [
            UsedUpPurchase(transaction: 4, product: "gems100", purchaseDate: 300),
            UsedUpPurchase(transaction: 3, product: "gems100", purchaseDate: 200),
        ]
        let receipt = try store.importLots("i", "ann", Self.gift(7), Self.lot(5, 10), usedUp: usedUp)
        #expect(receipt == ImportReceipt(entry: 1, entries: 2, usedUp: 2, replayed: false))
        #expect(store.index.rows.entries.map(\.transaction) == [5, nil])
        #expect(store.index.rows.purchases.map(\.facts.transaction) == [5, 3, 4])
        let another = UsedUpPurchase(transaction: 6, product: "gems100", purchaseDate: 1)
        let nothing = ImportReceipt(entry: nil, entries: 0, usedUp: 1, replayed: false)
        #expect(try store.importLots("k", "ben", usedUp: [another]) == nothing)
        store.restart()
        #expect(
            try store.importLots("i", "ann", Self.lot(5, 10), Self.gift(7), usedUp: usedUp.reversed()).replayed)
        #expect(throws: Refusal(.keyReused)) { try store.importLots("i", "ann", Self.lot(5, 10), Self.gift(7)) }
        #expect(throws: Refusal(.purchaseConflict(member: "transactionId"))) {
            try store.importLots("l", "ann", usedUp: [usedUp[0]])
        }
        // One that a JWS credited is as well known.
        try store.credit(jws(7), "ben")
        store.restart()
        let known = UsedUpPurchase(transaction: 7, product: "gems100", purchaseDate: 1)
        #expect(throws: Refusal(.purchaseConflict(member: "transactionId"))) {
            try store.importLots("m", "ben", usedUp: [known])
        }
        #expect(throws: Refusal(.futurePurchase)) {
            try store.importLots(
                "l", "ann", usedUp: [.init(transaction: 8, product: "p", purchaseDate: Limits.amountMax)])
        }
        #expect(try store.credit(jws(4), "ann").outcome == .alreadyCredited)
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(4), "ben") }
        // There is nothing to take back, and nothing to give back.
        let refunded = try store.notify("r", jws(3, signed: 700, revoked: 100_000)).purchase
        #expect(refunded?.outcome == .reversed && refunded?.posted.isEmpty == true)
        #expect(try store.credit(jws(3, signed: 800), "ann").posted.isEmpty)
        #expect(try store.standing("ann") == [17, 0])
        let view = try store.view(3)
        #expect(view.source == .imported && view.grants.isEmpty && view.consumption == 100_000)
        #expect(view.events.map(\.kind) == [.stated, .signed, .signed])
    }

    @Test func aRefusalPostsNothingAndIsNotKept() throws {
        var store = AuditedStore()
        try store.credit(jws(9), "ben")
        let entries = store.index.rows.entries.count
        let conflict = Refusal(.purchaseConflict(member: "transactionId"))
        #expect(throws: conflict) { try store.importLots("i", "ann", Self.lot(1, 5), Self.lot(9, 5)) }
        #expect(throws: Refusal(.unknownCurrency(currency: "coals"))) {
            try store.importLots("i", "ann", Self.lot(1, 5), Self.gift(1, of: "coals"))
        }
        #expect(throws: Refusal(.futurePurchase)) {
            try store.importLots("i", "ann", Self.lot(1, 5, on: Limits.amountMax))
        }
        let most = try #require(Amount(Limits.amountMax))
        #expect(throws: Refusal(.balanceLimit(currency: "gems"))) {
            try store.importLots("i", "ann", Self.lot(1, most), Self.gift(1))
        }
        #expect(throws: conflict) { try store.importLots("k", "ben", Self.lot(9, 5)) }
        #expect(store.index.rows.entries.count == entries && store.index.rows.accounts.count == 1)
        _ = try store.importLots("i", "ann", Self.lot(1, 5))
        #expect(throws: conflict) { try store.importLots("l", "ann", Self.lot(1, 5)) }
        #expect(try store.balance("ann").available == 5)
    }

    @Test func anImportPaysDebtsAndFollowsLinks() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.spend("s", "ann", 100)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        _ = try store.importLots("i", "ann", Self.lot(2, 70), Self.gift(50))
        #expect(try store.standing("ann") == [20, 0])
        let token = try #require(AppAccountToken("a0000000-0000-4000-8000-000000000001"))
        try store.link(token, to: "ann")
        _ = try store.importLots("j", token.account, Self.lot(3, 8))
        #expect(try store.importLots("j", token.account, Self.lot(3, 8)).replayed)
        #expect(try store.standing("ann") == [28, 0])
    }
}
