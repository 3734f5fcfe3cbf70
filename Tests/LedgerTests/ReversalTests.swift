import Ledger
import Testing

/// A spend goes back into the lots it came from.
@Suite struct ReversalTests {
    private func gems(_ amount: Amount) -> [CurrencyAmount] { [CurrencyAmount(currency: "gems", amount: amount)] }

    /// Lots 1 (free 10), 2 (paid 100), 3 (free 20); the spend draws 10, 20 and 5.
    private func spent() throws -> AuditedStore {
        var store = AuditedStore()
        try store.grant("g1", "ann", 10)
        try store.credit(jws(1), "ann")
        try store.grant("g2", "ann", 20)
        try store.spend("s", "ann", 35)
        return store
    }

    @Test func theNewestDrawnGoesBackFirst() throws {
        var store = try spent()
        let first = try store.reverse("r1", "s", gems(7))
        #expect(first.returned.map { [$0.lot, $0.amount.units] } == [[2, 5], [3, 2]])
        #expect(first.returned.map(\.transaction) == [1, nil])
        #expect(store.transfers(ofEntry: 5) == ["spent→wallet 5 lot 2 of 4", "spent→wallet 2 lot 3 of 4"])
        #expect(store.index.entry(5).kind == .reversal)
        let rest = try store.reverse("r2", "s")
        #expect(rest.returned.map { [$0.lot, $0.amount.units] } == [[3, 18], [1, 10]])
        #expect(try store.balance("ann") == Balance(available: 130, paid: 100, version: 6))
        #expect(store.total(.spent) == 0)
        #expect(try store.view(1).grants[0].spent == 0)
    }

    @Test func nothingGoesBackTwiceWhateverTheStoreForgot() throws {
        var store = try spent()
        try store.reverse("r1", "s", gems(30))
        store.checkpoint()
        store.forget()
        #expect(throws: Refusal(.alreadyReversed(currency: "gems", reversible: 5))) {
            try store.reverse("r2", "s", gems(6))
        }
        store.restart()
        try store.reverse("r3", "s", gems(5))
        #expect(throws: Refusal(.alreadyReversed(currency: "gems", reversible: 0))) { try store.reverse("r4", "s") }
        #expect(throws: Refusal(.alreadyReversed(currency: "gems", reversible: 0))) {
            try store.reverse("r5", "s", gems(1))
        }
        #expect(try store.reverse("r1", "s", gems(30)).replayed)
        #expect(try store.standing("ann") == [130, 0])
    }

    @Test func aRefusalIsStickyThoughTheStateHasChanged() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10)
        #expect(throws: Refusal(.unknownSpend)) { try store.reverse("r", "s") }
        try store.spend("s", "ann", 5)
        #expect(throws: Refusal(.unknownSpend, replayed: true)) { try store.reverse("r", "s") }
        try store.reverse("all", "s")
        #expect(throws: Refusal(.alreadyReversed(currency: "gems", reversible: 0))) { try store.reverse("r2", "s") }
        #expect(throws: Refusal(.keyReused)) { try store.reverse("r2", "g") }
        store.restart()
        #expect(throws: Refusal(.alreadyReversed(currency: "gems", reversible: 0), replayed: true)) {
            try store.reverse("r2", "s")
        }
    }

    @Test func onlySpendsAndCapturesCanBeNamed() throws {
        var store = try spent()
        #expect(throws: Refusal(.unknownSpend)) { try store.reverse("a", "g1") }
        #expect(throws: Refusal(.unknownSpend)) { try store.reverse("b", "s", operation: 0) }
        #expect(throws: Refusal(.unknownSpend)) { try store.reverse("c", "c") }
        try store.hold("h", "ann", 5)
        #expect(throws: Refusal(.unknownSpend)) { try store.reverse("d", "h") }
        try store.capture("cap", "h", 3)
        #expect(try store.reverse("e", "cap").returned.map(\.amount) == [3])
        #expect(throws: Refusal(.unknownSpend)) { try store.reverse("f", "e") }
        #expect(try store.standing("ann") == [95, 0])
    }

    @Test func currenciesThatWereNotDrawnCannotGoBack() throws {
        var store = try spent()
        let tickets = CurrencyAmount(currency: "tickets", amount: 1)
        let stars = CurrencyAmount(currency: "stars", amount: 1)
        #expect(throws: Refusal(.alreadyReversed(currency: "tickets", reversible: 0))) {
            try store.reverse("a", "s", [stars, tickets])
        }
        #expect(throws: Refusal(.unknownCurrency(currency: "stars"))) {
            try store.reverse("b", "s", gems(1) + [stars])
        }
        #expect(try store.standing("ann") == [95, 0])
    }

    @Test func severalCurrenciesGoBackTogether() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "starter"), "ann")
        let debits = [CurrencyAmount(currency: "tickets", amount: 5)] + gems(400)
        try store.spend(Spend(key: "s", account: "ann", debits: debits))
        let receipt = try store.reverse("r", "s")
        #expect(receipt.returned.map(\.currency) == ["tickets", "gems"])
        #expect(receipt.balances.map(\.balance.available) == [5, 1_000])
    }

    /// The spent lot was refunded meanwhile: what comes back pays that debt first.
    @Test func whatComesBackPaysTheLotsOwnDebt() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.spend("s", "ann", 80)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        #expect(try store.standing("ann") == [0, 80])
        try store.reverse("r", "s", gems(50))
        #expect(store.transfers(ofEntry: 4) == ["spent→wallet 50 lot 1 of 2", "wallet→receivable 50 lot 1 for 1"])
        #expect(try store.standing("ann") == [0, 30])
        try store.reverse("r2", "s")
        #expect(try store.standing("ann") == [0, 0])
    }

    @Test func whatHasExpiredMeanwhileExpiresInTheSameEntry() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10, expiresAt: store.now + 100)
        try store.credit(jws(1), "ann")
        try store.spend("s", "ann", 30)
        store.now += 100
        let receipt = try store.reverse("r", "s")
        #expect(receipt.returned.map { [$0.lot, $0.amount.units] } == [[2, 20], [1, 10]])
        #expect(
            store.transfers(ofEntry: 4) == [
                "spent→wallet 20 lot 2 of 3", "spent→wallet 10 lot 1 of 3", "wallet→expired 10 lot 1",
            ])
        #expect(try store.standing("ann") == [100, 0])
        #expect(store.total(.expired) == -10)
    }

    @Test func aWalletThatIsFullTakesNothingBack() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10)
        try store.spend("s", "ann", 10)
        try store.credit(jws(1, "gemsMax"), "ann")
        #expect(throws: Refusal(.balanceLimit(currency: "gems"))) { try store.reverse("r", "s") }
        // More than can go back is no question of room.
        #expect(throws: Refusal(.unknownSpend)) { try store.reverse("q", "x", gems(11)) }
        try store.spend("t", "ann", 10)
        #expect(try store.reverse("r2", "s").returned.count == 1)
        #expect(throws: Refusal(.balanceLimit(currency: "gems"), replayed: true)) { try store.reverse("r", "s") }
    }

    @Test func spendsRecordTheOrderUnderWhichLotsWereChosen() throws {
        var store = AuditedStore(.catalog(gems: .dearestFirst))
        try store.grant("g", "ann", 10)
        try store.spend("s", "ann", 5)
        try store.hold("h", "ann", 2)
        try store.capture("c", "h", 1)
        #expect(store.index.rows.transfers.map(\.spendOrder) == [nil, .dearestFirst, .dearestFirst, nil, nil])
        #expect(SpendOrder.allCases.map { SpendOrder(number: $0.number) } == SpendOrder.allCases)
        #expect(SpendOrder(number: 0) == nil && SpendOrder(number: 5) == nil)
    }
}
