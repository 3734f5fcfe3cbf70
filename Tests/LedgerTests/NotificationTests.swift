import Ledger
import Testing

/// Notifications are recorded once, by their uuid.
@Suite struct NotificationTests {
    @Test func oneWithoutAPurchaseIsRecordedOnce() throws {
        var store = AuditedStore()
        let first = try store.notify("n", nil)
        #expect(
            first
                == NotificationReceipt(
                    type: "ONE_TIME_CHARGE", subtype: nil, uuid: "n", duplicate: false, purchase: nil))
        #expect(try store.notify("n", nil, "ann").duplicate)
        #expect(try !store.notify("N", nil).duplicate)
        #expect(store.index.rows.notifications.map(\.uuid) == ["n", "N"])
        #expect(store.index.rows.entries.isEmpty && store.index.rows.accounts.isEmpty)
    }

    @Test func aTypeThatNobodyKnowsIsKept() throws {
        var store = AuditedStore()
        var signed = notification("n", nil, type: "SOMETHING_NEW")
        signed.subtype = "OF_A_KIND"
        guard case .notification(let receipt) = store.ask(.notify(signed, account: nil)) else {
            Issue.record("it is not acknowledged")
            return
        }
        #expect(receipt.type == "SOMETHING_NEW" && receipt.subtype == "OF_A_KIND" && !receipt.duplicate)
        #expect(store.index.rows.notifications.map(\.subtype) == ["OF_A_KIND"])
    }

    @Test func aDuplicateSaysWhatStandsNow() throws {
        var store = AuditedStore()
        #expect(try store.notify("n", jws(1), "ann").purchase?.outcome == .credited)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        let again = try store.notify("n", jws(1))
        #expect(again.duplicate)
        #expect(again.purchase?.outcome == .alreadyReversed)
        #expect(again.purchase?.account == "ann" && again.purchase?.posted == [])
        #expect(store.index.rows.notifications.count == 1)
    }

    @Test func oneThatWasRefusedCanBeSentAgain() throws {
        var store = AuditedStore()
        #expect(throws: Refusal(.unknownProduct(product: "stars"))) { try store.notify("n", jws(1, "stars"), "ann") }
        store.restart(Catalog(currencies: ["gems": CurrencySettings()], products: ["stars": [.always(["gems": 7])]]))
        let receipt = try store.notify("n", jws(1, "stars"), "ann")
        #expect(!receipt.duplicate && receipt.purchase?.outcome == .credited)
    }

    @Test func theSameUUIDTwiceInABatchIsRecordedOnce() {
        var store = AuditedStore()
        let command = Command.notify(notification("n", jws(1)), account: "ann")
        let outcomes = store.commit([command, command])
        #expect(store.index.rows.notifications.count == 1)
        guard case .notification(let second) = outcomes[1] else { return }
        #expect(second.duplicate && second.purchase?.outcome == .alreadyCredited)
        #expect(store.auditor.problems.isEmpty)
    }
}
