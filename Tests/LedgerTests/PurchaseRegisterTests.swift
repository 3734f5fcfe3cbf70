import Ledger
import Testing

/// A purchase as a register ordered by `signedDate`.
@Suite struct PurchaseRegisterTests {
    /// One JWS and what it does to a purchase of 100 gems.
    struct Step: Sendable {
        var signed: Timestamp
        var revoked: Int64
        var outcome: PurchaseOutcome
        var posted: Int64
        var available: Int64

        init(_ signed: Timestamp, _ revoked: Int64, _ outcome: PurchaseOutcome, _ posted: Int64, _ available: Int64) {
            self.signed = signed
            self.revoked = revoked
            self.outcome = outcome
            self.posted = posted
            self.available = available
        }
    }

    static let lives: [[Step]] = [
        [.init(1, 0, .credited, 100, 100), .init(1, 0, .alreadyCredited, 0, 100)],
        // A refund, and the purchase's own JWS once more.
        [
            .init(1, 0, .credited, 100, 100), .init(2, 100_000, .reversed, -100, 0),
            .init(1, 0, .alreadyReversed, 0, 0), .init(2, 100_000, .alreadyReversed, 0, 0),
        ],
        // A refund that comes first.
        [.init(2, 100_000, .reversed, 0, 0), .init(1, 0, .alreadyReversed, 0, 0)],
        // A refund reversed, then told of late.
        [
            .init(1, 0, .credited, 100, 100), .init(2, 100_000, .reversed, -100, 0), .init(3, 0, .reinstated, 100, 100),
            .init(2, 100_000, .alreadyCredited, 0, 100),
        ],
        [.init(3, 0, .credited, 100, 100), .init(2, 100_000, .alreadyCredited, 0, 100)],
        // Parts: each JWS says how much is revoked in all.
        [
            .init(1, 0, .credited, 100, 100), .init(2, 33_333, .reversed, -33, 67),
            .init(3, 66_667, .reversed, -33, 34), .init(4, 33_333, .reinstated, 33, 67),
            .init(5, 100_000, .reversed, -67, 0), .init(4, 33_333, .alreadyReversed, 0, 0),
        ],
        [.init(2, 33_333, .reversed, 67, 67), .init(1, 0, .alreadyReversed, 0, 67)],
        // Of two signed in the same millisecond the one that revokes more counts.
        [.init(1, 0, .credited, 100, 100), .init(1, 100_000, .reversed, -100, 0)],
        [.init(1, 100_000, .reversed, 0, 0), .init(1, 0, .alreadyReversed, 0, 0)],
        // Signed anew: the same, but a refund from before it no longer counts.
        [
            .init(1, 0, .credited, 100, 100), .init(5, 0, .alreadyCredited, 0, 100),
            .init(3, 100_000, .alreadyCredited, 0, 100), .init(6, 100_000, .reversed, -100, 0),
        ],
    ]

    @Test(arguments: lives)
    func theNewestJWSSaysWhatStands(life: [Step]) throws {
        var store = AuditedStore()
        for step in life {
            let receipt = try store.credit(jws(1, signed: step.signed, revoked: step.revoked), "ann")
            #expect(receipt.outcome == step.outcome)
            #expect(receipt.posted == (step.posted == 0 ? [] : [.posted("gems", step.posted)]))
            #expect(receipt.balances.map(\.balance.available) == [step.available])
            #expect(receipt.account == "ann" && receipt.finish)
        }
    }

    @Test(arguments: lives)
    func aNotificationDoesWhatACreditDoes(life: [Step]) throws {
        var store = AuditedStore()
        for (number, step) in life.enumerated() {
            let signed = jws(1, signed: step.signed, revoked: step.revoked)
            let receipt = try store.notify("\(number)", signed, "ann")
            #expect(receipt.purchase?.outcome == step.outcome)
            #expect(receipt.purchase?.posted == (step.posted == 0 ? [] : [.posted("gems", step.posted)]))
            #expect(receipt.purchase?.balances.map(\.balance.available) == [step.available])
        }
    }

    @Test(arguments: lives)
    func everyOrderOfALifeEndsTheSame(life: [Step]) throws {
        var ends: Set<[Int64]> = []
        for order in [life, life.reversed()] {
            var store = AuditedStore()
            for step in order { try store.credit(jws(1, signed: step.signed, revoked: step.revoked), "ann") }
            let balance = try store.balance("ann")
            ends.insert([balance.available, balance.debt, store.total(.purchased), store.total(.refunded)])
        }
        #expect(ends.count == 1)
    }

    /// units × (100000 − revoked) / 100000, rounded up in the player's favour.
    @Test(
        arguments: [
            (1, 0, 1), (1, 1, 1), (1, 99_999, 1), (1, 100_000, 0),
            // One, two and three of three refunded: Apple states 33333, and what stands of 300 is 200.001.
            (300, 33_333, 201), (300, 66_666, 101), (300, 66_667, 100), (300, 100_000, 0),
            (3, 33_333, 3), (3, 66_667, 1), (1_000, 10_000, 900), (7, 14_286, 6),
            (Limits.amountMax, 50_000, 4_503_599_627_370_496), (Limits.amountMax, 0, Limits.amountMax),
        ] as [(Int64, Int64, Int64)])
    func partialRevocationsRoundInThePlayersFavour(units: Int64, revoked: Int64, standing: Int64) {
        #expect(PurchaseRegister.standing(of: units, revoked: revoked) == standing)
    }

    @Test func aShareIsOfTheFullQuantity() throws {
        var store = AuditedStore()
        #expect(try store.credit(jws(1, quantity: 3), "ann").posted == [.posted("gems", 300)])
        #expect(
            try store.credit(jws(1, quantity: 3, signed: 2, revoked: 33_333), "ann").posted == [.posted("gems", -99)])
        #expect(
            try store.credit(jws(1, quantity: 3, signed: 3, revoked: 66_667), "ann").posted == [.posted("gems", -101)])
        #expect(try store.credit(jws(2, quantity: 10), "ann").posted == [.posted("gems", 1_000)])
        #expect(try store.standing("ann") == [1_100, 0])
    }

    /// A share too small to take a whole unit is news, but no posting.
    @Test func aRevocationThatRoundsToNothingPostsNoEntry() throws {
        var store = AuditedStore()
        let first = try store.credit(jws(1, "gems1"), "ann")
        let receipt = try store.credit(jws(1, "gems1", signed: 2, revoked: 50_000), "ann")
        #expect(receipt.outcome == .reversed)
        #expect(receipt.posted.isEmpty)
        #expect(receipt.entry == first.entry)
        #expect(store.index.rows.entries.count == 1)
        #expect(store.index.rows.evidence.map(\.entry) == [1, nil])
        #expect(try store.view(1).state == .partlyRevoked)
    }

    @Test func aBundleGrantsSeveralCurrenciesInOneEntry() throws {
        var store = AuditedStore()
        let receipt = try store.credit(jws(1, "starter", quantity: 2), "ann")
        #expect(receipt.posted == [.posted("coins", 60), .posted("gems", 2_000), .posted("tickets", 10)])
        #expect(receipt.balances.map(\.currency) == ["coins", "gems", "tickets"])
        #expect(store.index.rows.entries.count == 1)
        let refund = try store.credit(jws(1, "starter", quantity: 2, signed: 2, revoked: 50_000), "ann")
        #expect(refund.posted == [.posted("coins", -30), .posted("gems", -1_000), .posted("tickets", -5)])
        #expect(store.index.rows.entries.count == 2)
    }

    @Test(
        arguments: [(0, 100), (1_999, 100), (2_000, 120), (2_999, 120), (3_000, 150), (9_999, 150)] as [(Int64, Int64)])
    func thePurchaseDateChoosesTheOffer(purchased: Timestamp, gems: Int64) throws {
        var store = AuditedStore()
        let receipt = try store.credit(jws(1, "growing", purchased: purchased), "ann")
        #expect(receipt.posted == [.posted("gems", gems)])
    }

    @Test func whatTheCatalogGrantedAtFirstIsKept() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.notify("2", jws(2))
        let changed = Catalog(
            currencies: ["gems": CurrencySettings(), "stars": CurrencySettings()],
            products: ["gems100": [.always(["gems": 999, "stars": 1])]])
        store.restart(changed)
        #expect(try store.credit(jws(1, signed: 2, revoked: 50_000), "ann").posted == [.posted("gems", -50)])
        #expect(try store.credit(jws(1, signed: 3), "ann").posted == [.posted("gems", 50)])
        #expect(try store.credit(jws(2), "ann").posted == [.posted("gems", 100)])
        #expect(try store.credit(jws(3), "ann").posted == [.posted("gems", 999), .posted("stars", 1)])
        store.restart(Catalog(currencies: [:], products: [:]))
        #expect(try store.credit(jws(1, signed: 4, revoked: 100_000), "ann").posted == [.posted("gems", -100)])
        #expect(throws: Refusal(.unknownProduct(product: "gems100"))) { try store.credit(jws(4), "ann") }
    }

    /// Sales and refunds stand in the books in full, whichever message came first.
    @Test func aRefundThatComesFirstLeavesTheSameTotals() throws {
        var inOrder = AuditedStore()
        try inOrder.credit(jws(1), "ann")
        try inOrder.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        var refundFirst = AuditedStore()
        let receipt = try refundFirst.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        #expect(receipt.entry == 1 && receipt.finish)
        try refundFirst.credit(jws(1), "ann")
        #expect(inOrder.books.totals == refundFirst.books.totals)
        #expect(refundFirst.total(.purchased) == 100 && refundFirst.total(.refunded) == -100)
        #expect(refundFirst.index.rows.entries.map(\.kind) == [.refund])
        #expect(refundFirst.index.rows.evidence.count == 1)
    }

    /// What is in memory of a purchase does not grow with what is told of it.
    @Test func aRegisterHasOneSizeHoweverOftenThePurchaseIsSigned() {
        var books = Books(
            catalog: .standard, known: [], position: LastNumbers(), totals: Totals(currencies: 0), hash: testHash)
        func told(_ dates: ClosedRange<Timestamp>) -> Int {
            for date in dates {
                let signed = jws(1, signed: date, revoked: date % 2 * 50_000)
                let declined = notification("n\(date)", signed, type: "REFUND_DECLINED")
                _ = books.decide(.credit(signed, account: "ann"), at: 10_000 + date)
                _ = books.decide(.notify(declined, account: nil), at: 10_000 + date)
            }
            return "\(books.purchases)".utf8.count
        }
        let few = told(1_000...1_001)
        let many = told(1_002...6_001)
        #expect(books.rows.evidence.count == 5_002 && books.rows.notifications.count == 5_002)
        // The numbers in it have become longer.
        #expect(many <= few + 20)
    }
}
