import Ledger
import Testing

/// What a refund takes: the purchase's own lot, then whatever else is there; then it is debt, or written off.
@Suite struct RefundTests {
    /// A transfer as a test reads it.
    private func transfers(_ store: AuditedStore, ofEntry entry: EntryID) -> [String] {
        store.index.rows.transfers.filter { $0.entry == entry }.map {
            "\($0.debit.kind.name)→\($0.credit.kind.name) \($0.amount) lot \($0.lot)"
                + ($0.debtLot.map { " for \($0)" } ?? "")
        }
    }

    @Test func refundBeforeSpendTakesTheLot() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        let receipt = try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        #expect(transfers(store, ofEntry: 2) == ["wallet→refunded 100 lot 1"])
        #expect(receipt.entry == 2)
        #expect(try store.balance("ann") == Balance(version: 2))
    }

    @Test func refundAfterSpendBecomesDebt() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.spend("s", "ann", 80)
        let receipt = try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        #expect(receipt.posted == [.posted("gems", -100)])
        #expect(transfers(store, ofEntry: 3) == ["wallet→refunded 20 lot 1", "receivable→refunded 80 lot 1"])
        #expect(try store.standing("ann") == [0, 80])
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 0))) { try store.spend("t", "ann", 1) }
    }

    @Test func refundTakesTheOwnLotBeforeOlderOnes() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.credit(jws(2), "ann")
        try store.credit(jws(2, signed: 2, revoked: 100_000), "ann")
        #expect(transfers(store, ofEntry: 3) == ["wallet→refunded 100 lot 2"])
    }

    @Test func refundOfASpentLotTakesWhatElseIsThere() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.credit(jws(2), "ann")
        try store.grant("g", "ann", 30)
        try store.spend("s", "ann", 110, funds: .paid)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        #expect(
            transfers(store, ofEntry: 5) == [
                "receivable→refunded 100 lot 1", "wallet→receivable 30 lot 3 for 1", "wallet→receivable 70 lot 2 for 1",
            ])
        #expect(try store.balance("ann") == Balance(available: 20, paid: 20, version: 5))
        #expect(store.total(.receivable) == 0)
        let other = try store.view(2).grants[0]
        #expect([other.spent, other.repaid, other.remaining] == [10, 70, 20])
    }

    @Test func refundOfAPurchaseWhoseUnitsPaidADebt() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.spend("s", "ann", 100)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        try store.credit(jws(2), "ann")
        #expect(try store.standing("ann") == [0, 0])
        try store.credit(jws(2, signed: 2, revoked: 100_000), "ann")
        #expect(try store.standing("ann") == [0, 100])
        // The first refund reversed pays the debt that is left of the second.
        try store.credit(jws(1, signed: 3), "ann")
        #expect(try store.standing("ann") == [0, 0])
        #expect(try store.view(2).grants[0].debt == 0)
    }

    @Test func laterCreditsPayTheOldestDebtFirst() throws {
        var store = AuditedStore()
        for id in [1, 2] as [TransactionID] { try store.credit(jws(id), "ann") }
        try store.spend("s", "ann", 200)
        try store.credit(jws(2, signed: 2, revoked: 60_000), "ann")
        try store.credit(jws(1, signed: 2, revoked: 50_000), "ann")
        #expect(try store.standing("ann") == [0, 110])
        try store.grant("g", "ann", 70)
        #expect(
            transfers(store, ofEntry: 6) == [
                "granted→wallet 70 lot 7", "wallet→receivable 50 lot 7 for 1", "wallet→receivable 20 lot 7 for 2",
            ])
        #expect(try store.standing("ann") == [0, 40])
        try store.credit(jws(3), "ann")
        #expect(transfers(store, ofEntry: 7) == ["purchased→wallet 100 lot 10", "wallet→receivable 40 lot 10 for 2"])
        #expect(try store.balance("ann") == Balance(available: 60, paid: 60, version: 7))
    }

    @Test func aCreditThatIsPartlyRevokedPaysDebtsWithWhatStands() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.spend("s", "ann", 50)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        let receipt = try store.credit(jws(2, signed: 2, revoked: 40_000), "ann")
        #expect(receipt.posted == [.posted("gems", 60)])
        #expect(
            transfers(store, ofEntry: 4) == [
                "purchased→wallet 100 lot 5", "wallet→refunded 40 lot 5", "wallet→receivable 50 lot 5 for 1",
            ])
        #expect(try store.standing("ann") == [10, 0])
    }

    @Test func oneCurrencysDebtIsNotPaidByAnother() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "starter"), "ann")
        try store.spend("s", "ann", 5, of: "tickets")
        try store.credit(jws(1, "starter", signed: 2, revoked: 100_000), "ann")
        #expect(try store.standing("ann", "tickets") == [0, 5])
        #expect(try store.standing("ann", "gems") == [0, 0])
        try store.grant("g", "ann", 100)
        #expect(try store.standing("ann", "tickets") == [0, 5])
        try store.grant("h", "bob", 100, of: "tickets")
        #expect(try store.standing("ann", "tickets") == [0, 5])
    }

    /// What was written off was never taken, so it does not come back into the wallet either.
    @Test func whatWasWrittenOffIsReinstatedAlsoWhereTheWalletIsFull() throws {
        var store = AuditedStore(
            Catalog(
                currencies: ["coins": CurrencySettings(refundShortfall: .writtenOff)],
                products: [
                    "coins100": [.always(["coins": 100])], "coinsMax": [.always(["coins": Amount(Limits.amountMax)!])],
                ]))
        try store.credit(jws(1, "coins100"), "ann")
        try store.spend("s", "ann", 100, of: "coins")
        try store.credit(jws(1, "coins100", signed: 2, revoked: 100_000), "ann")
        try store.credit(jws(2, "coinsMax"), "ann")
        #expect(try store.credit(jws(1, "coins100", signed: 3), "ann").outcome == .reinstated)
        #expect(try store.standing("ann", "coins") == [Limits.amountMax, 0])
        #expect(store.total(.writtenOff, "coins") == 0)
    }

    @Test func whereThePlayerOwesNothingTheShortfallIsWrittenOff() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "coins100"), "ann")
        try store.spend("s", "ann", 80, of: "coins")
        let receipt = try store.credit(jws(1, "coins100", signed: 2, revoked: 100_000), "ann")
        #expect(receipt.posted == [.posted("coins", -100)])
        #expect(transfers(store, ofEntry: 3) == ["wallet→refunded 20 lot 1", "written_off→refunded 80 lot 1"])
        #expect(try store.standing("ann", "coins") == [0, 0])
        #expect(try store.view(1).grants[0].writtenOff == 80)
        try store.grant("g", "ann", 50, of: "coins")
        #expect(try store.standing("ann", "coins") == [50, 0])
    }

    @Test func onlyWhatNoLotHasIsWrittenOff() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "coins100"), "ann")
        try store.spend("s", "ann", 100, of: "coins")
        try store.grant("g", "ann", 30, of: "coins")
        try store.credit(jws(1, "coins100", signed: 2, revoked: 100_000), "ann")
        #expect(
            transfers(store, ofEntry: 4) == [
                "written_off→refunded 70 lot 1", "receivable→refunded 30 lot 1", "wallet→receivable 30 lot 3 for 1",
            ])
        #expect(try store.standing("ann", "coins") == [0, 0])
        #expect(store.total(.writtenOff, "coins") == 70)
    }

    /// An entry that only writes off changes no balance of the wallet.
    @Test func writingOffIsNoChangeOfTheWallet() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "coins100"), "ann")
        try store.spend("s", "ann", 100, of: "coins")
        try store.credit(jws(1, "coins100", signed: 2, revoked: 100_000), "ann")
        #expect(try store.balance("ann", "coins").version == 2)
        try store.credit(jws(1, "coins100", signed: 3), "ann")
        #expect(try store.balance("ann", "coins").version == 2)
    }

    @Test func aDebtStaysOneWhenTheSettingChanges() throws {
        var store = AuditedStore()
        for id in [1, 2] as [TransactionID] { try store.credit(jws(id), "ann") }
        try store.spend("s", "ann", 200)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        store.restart(Catalog(currencies: ["gems": CurrencySettings(refundShortfall: .writtenOff)], products: [:]))
        try store.credit(jws(2, signed: 2, revoked: 50_000), "ann")
        #expect(try store.standing("ann") == [0, 100])
        #expect(store.total(.writtenOff) == 50)
        store.restart(.standard)
        try store.credit(jws(2, signed: 3, revoked: 100_000), "ann")
        #expect(try store.standing("ann") == [0, 150])
        // Half of what was written off and half of what was owed for it comes back.
        try store.credit(jws(2, signed: 4), "ann")
        #expect(try store.standing("ann") == [0, 100])
        #expect(store.total(.writtenOff) == 0)
        try store.grant("g", "ann", 130)
        #expect(try store.standing("ann") == [30, 0])
    }
}
