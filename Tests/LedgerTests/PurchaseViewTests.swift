import Ledger
import Testing

/// What `purchase` tells.
@Suite struct PurchaseViewTests {
    @Test func aViewFollowsThePurchase() throws {
        var store = AuditedStore()
        store.now = 1_000
        try store.credit(jws(1, "starter", quantity: 2, signed: 10, price: 4_990), "ann")
        var view = try store.view(1)
        #expect(view.state == .standing && view.revoked == 0 && view.consumption == 0)
        #expect(view.account == "ann" && view.product == "starter" && view.quantity == 2)
        #expect(view.purchaseDate == 1_000 && view.price == 4_990 && view.priceCurrency == "EUR")
        #expect(view.grants.map(\.currency) == ["coins", "gems", "tickets"])
        #expect(view.grants.map(\.granted) == [60, 2_000, 10] && view.grants.map(\.lot) == [1, 2, 3])

        try store.spend("s", "ann", 1_500)
        store.now = 2_000
        try store.notify("n", jws(1, "starter", quantity: 2, signed: 20, revoked: 50_000))
        view = try store.view(1)
        #expect(view.state == .partlyRevoked && view.revoked == 50_000)
        #expect(
            view.grants[1]
                == PurchaseView.Grant(
                    lot: 2, currency: "gems", granted: 2_000, spent: 1_500, held: 0, revoked: 1_000, debt: 500,
                    writtenOff: 0, repaid: 0, remaining: 0))
        #expect(view.consumption == 25_000)

        store.now = 3_000
        try store.credit(jws(1, "starter", quantity: 2, signed: 30, revoked: 100_000), "ann")
        try store.credit(jws(1, "starter", quantity: 2, signed: 15, revoked: 33_333), "ann")
        #expect(try store.view(1).state == .revoked)
        #expect(
            try store.view(1).events == [
                PurchaseView.Event(number: 1, time: 1_000, signedDate: 10, revoked: 0, entry: 1),
                PurchaseView.Event(number: 2, time: 2_000, signedDate: 20, revoked: 50_000, entry: 3),
                PurchaseView.Event(number: 3, time: 3_000, signedDate: 30, revoked: 100_000, entry: 4),
            ])
    }

    /// A block says of each thing when it was, but not what came first at one time.
    @Test func whatOneBatchTellsIsToldInOneOrder() throws {
        var store = AuditedStore()
        store.now = 1_000
        var asked = notification("a", jws(1), type: "CONSUMPTION_REQUEST")
        asked.reason = "OTHER"
        _ = store.commit([
            .notify(asked, account: nil), .credit(jws(1), account: "ann"),
            .notify(notification("b", jws(1, signed: 3), type: "REFUND_DECLINED"), account: nil),
            .credit(jws(1, signed: 5, revoked: 50_000), account: "ann"),
            // Neither of these tells anything of it.
            .notify(notification("c", jws(1), type: "REFUND"), account: nil), .credit(jws(1), account: "ann"),
        ])
        try store.credit(jws(1, signed: 6), "ann")
        #expect(
            try store.view(1).events == [
                PurchaseView.Event(number: 1, time: 1_000, signedDate: 1, revoked: 0, entry: nil),
                PurchaseView.Event(number: 2, time: 1_000, signedDate: 3, revoked: 0, entry: nil),
                PurchaseView.Event(number: 3, time: 1_000, signedDate: 5, revoked: 50_000, entry: 2),
                PurchaseView.Event(number: 4, kind: .assigned, time: 1_000, signedDate: nil, revoked: nil, entry: 1),
                PurchaseView.Event(
                    number: 5, kind: .consumptionRequest, time: 1_000, signedDate: 1, revoked: nil, entry: nil,
                    reason: "OTHER"),
                PurchaseView.Event(
                    number: 6, kind: .refundDeclined, time: 1_000, signedDate: 3, revoked: nil, entry: nil),
                PurchaseView.Event(number: 7, time: 1_000, signedDate: 6, revoked: 0, entry: 3),
            ])
    }

    /// Within a batch the time goes on where a report closes a period.
    @Test func aBlockTellsWhatCameEarlierFirst() {
        var rows = BlockRows()
        for (id, time) in [(7, 10), (8, 20)] as [(Int64, Timestamp)] {
            rows.evidence.append(
                BlockRows.EvidenceRow(
                    id: id, transaction: 1, isFirst: id == 7, signedDate: time, revoked: 0, time: time, entry: nil,
                    header: 1, payload: [], signature: []))
        }
        for (id, type) in [(3, "REFUND_DECLINED"), (4, "REFUND")] as [(Int64, String)] {
            rows.notifications.append(
                BlockRows.NotificationRow(
                    id: id, uuid: "n\(id)", type: type, subtype: nil, signedDate: 5, reason: nil, time: 10,
                    transaction: 1, header: 1, payload: [], nested: nil, signature: []))
        }
        #expect(rows.purchaseEvents.map(\.record) == [3, 8])
        #expect(rows.purchaseEvents.map(\.kind) == [.refundDeclined, .signed])
    }

    @Test func eventsAreToldAsTheyCameThoughTheClockIsSetBack() throws {
        var store = AuditedStore()
        for (time, signed) in [(1_000, 1), (500, 2), (700, 3)] as [(Timestamp, Timestamp)] {
            store.now = time
            try store.notify("n\(signed)", jws(1, signed: signed))
        }
        let events = try store.view(1).events
        #expect(events.map(\.number) == [1, 2, 3] && events.map(\.signedDate) == [1, 2, 3])
        #expect(events.map(\.time) == [1_000, 500, 700])
    }

    @Test func anAccountThatComesWithANewerJWSIsToldWithIt() throws {
        var store = AuditedStore()
        try store.notify("n", jws(1))
        try store.credit(jws(1, signed: 2), "ann")
        let events = try store.view(1).events
        #expect(events.map(\.kind) == [.signed, .signed] && events.map(\.entry) == [nil, 1])
    }

    /// Thousandths of a percent, rounded down, every currency weighing the same.
    @Test(
        arguments: [
            ([0], 0), ([1], 1_000), ([33], 33_000), ([100], 100_000), ([1, 0], 500), ([100, 1], 50_500),
            ([100, 100], 100_000),
        ] as [([Int64], Int64)])
    func consumptionIsSpentOfGranted(spent: [Int64], consumption: Int64) throws {
        let codes: [CurrencyCode] = ["coins", "gems"]
        let settings = Dictionary(uniqueKeysWithValues: codes.map { ($0, CurrencySettings()) })
        let grants = Dictionary(uniqueKeysWithValues: codes.prefix(spent.count).map { ($0, 100 as Amount) })
        var store = AuditedStore(Catalog(currencies: settings, products: ["p": [.always(grants)]]))
        try store.credit(jws(1, "p"), "ann")
        for (code, units) in zip(codes, spent) {
            if let amount = Amount(units) { try store.spend(RequestKey(code.text)!, "ann", amount, of: code) }
        }
        #expect(try store.view(1).consumption == consumption)
        store.checkpoint()
        store.forget()
        #expect(try store.view(1).consumption == consumption)
    }

    /// Units that were given back and spent again were consumed once.
    @Test func consumptionNeverExceedsTheWhole() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.spend("a", "ann", 100)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        try store.grant("b", "ann", 100)
        try store.credit(jws(1, signed: 3), "ann")
        try store.spend("c", "ann", 60)
        #expect(try store.view(1).grants[0].spent == 160)
        #expect(try store.view(1).consumption == 100_000)
    }

    @Test func aLargeLotsConsumptionDoesNotOverflow() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "gemsMax"), "ann")
        try store.spend("a", "ann", Amount(Limits.amountMax - 1)!)
        #expect(try store.view(1).consumption == 99_999)
    }
}
