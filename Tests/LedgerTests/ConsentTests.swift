import Ledger
import LedgerTestKit
import Testing

/// Whether Apple may be told how much a player consumed.
@Suite struct ConsentTests {
    private let guest = AppAccountToken("5f0e8c2a-0000-4000-8000-00000000000d")!

    @Test func theNewestConsentCountsAndTheEarlierOnesStay() throws {
        var store = AuditedStore()
        #expect(store.player("ann")?.consent == nil)
        let given = try store.consent("k1", "ann", true)
        #expect(given.consumption && given.time == store.now && !given.replayed)
        store.now += 5
        try store.consent("k2", "ann", false)
        #expect(store.player("ann")?.consent?.consumption == false)
        #expect(store.index.rows.consents.map(\.consumption) == [true, false])
        #expect(store.index.rows.consents.map(\.time) == [given.time, given.time + 5])
    }

    /// A repetition that comes late must not give again what was withdrawn meanwhile.
    @Test func aLateRepetitionChangesNothing() throws {
        var store = AuditedStore()
        var given = try store.consent("k1", "ann", true)
        try store.consent("k2", "ann", false)
        given.replayed = true
        store.now += 1_000
        #expect(try store.consent("k1", "ann", true) == given)
        #expect(store.player("ann")?.consent?.consumption == false && store.index.rows.consents.count == 2)
        #expect(throws: Refusal(.keyReused)) { try store.consent("k1", "ann", false) }
        #expect(throws: Refusal(.keyReused)) { try store.consent("k1", "bob", true) }
        #expect(throws: Refusal(.keyReused)) { try store.spend("k1", "ann", 1) }
    }

    @Test(arguments: [true, false])
    func withALinkTheLaterWordCounts(guestIsLater: Bool) throws {
        var store = AuditedStore()
        try store.consent("k1", guestIsLater ? "ann" : guest.account, true)
        try store.consent("k2", guestIsLater ? guest.account : "ann", false)
        try store.link(guest, to: "ann")
        store.checkpoint()
        store.forget()
        #expect(store.player("ann")?.consent?.consumption == false)
        try store.consent("k3", guest.account, true)
        #expect(store.player("ann")?.consent?.consumption == true)
        #expect(store.index.rows.consents.last.map { store.index.name($0.account) } == "ann")
        store.restart(fromGenesis: true)
        #expect(store.player("ann")?.consent?.consumption == true)
    }
}
