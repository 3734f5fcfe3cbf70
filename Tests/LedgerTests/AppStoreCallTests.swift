import Ledger
import LedgerTestKit
import Testing

/// What Apple was told is recorded, each thing once.
@Suite struct AppStoreCallTests {
    private static let body = Array(#"{"customerConsented":true}"#.utf8)

    private static func asked() throws -> AuditedStore {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        guard
            case .notification = store.ask(
                .notify(notification("ask", jws(1), type: "CONSUMPTION_REQUEST"), account: nil))
        else { throw UnexpectedOutcome(.forgotten(false)) }
        return store
    }

    private static func answer(
        _ number: Int64 = 1, to uuid: String = "ask", _ end: AppStoreCall.End = .accepted
    ) -> AppStoreCall {
        AppStoreCall(
            transaction: TransactionID(number: number), kind: .consumption, notificationUUID: uuid, body: body, end: end
        )
    }

    private static func call(_ kind: AppStoreCall.Kind, _ end: AppStoreCall.End) -> AppStoreCall {
        AppStoreCall(transaction: TransactionID(number: 1), kind: kind, end: end)
    }

    @Test func whatWasToldStandsAmongThePurchasesEvents() throws {
        var store = try Self.asked()
        store.now += 7
        #expect(try store.record(Self.answer()))
        #expect(try store.record(Self.call(.finish, .expired)))
        #expect(try store.record(Self.call(.accountToken, .refused(code: 4_000_183))))
        let row = try #require(store.index.rows.calls.first)
        #expect(row.notification == 1 && row.end == .accepted && row.time == store.now && Array(row.body) == Self.body)
        let events = store.index.events(PurchaseQuery(transaction: TransactionID(number: 1))).events
        #expect(
            events.map(\.kind) == [.signed, .consumptionRequest, .consumptionSent, .finished, .accountTokenSet])
        #expect(events.map(\.end) == [nil, nil, .accepted, .expired, .refused(code: 4_000_183)])
        #expect(events.map(\.body) == [nil, nil, #"{"customerConsented":true}"#, nil, nil])
        #expect(store.index.rows.entries.count == 1)
    }

    @Test(arguments: [AppStoreCall.End.accepted, .expired])
    func afterAFinalEndNothingIsRecorded(end: AppStoreCall.End) throws {
        var store = try Self.asked()
        #expect(try store.record(Self.answer(to: "ask", end)))
        for later in [AppStoreCall.End.accepted, .expired, .refused(code: 1)] {
            #expect(try !store.record(Self.answer(to: "ask", later)))
            store.forget()
        }
        store.restart()
        #expect(try !store.record(Self.answer()))
        #expect(store.index.rows.calls.count == 1)
    }

    @Test func aRefusalIsRecordedOnceAndTheNextEndToo() throws {
        var store = try Self.asked()
        #expect(try store.record(Self.call(.finish, .refused(code: 500))))
        #expect(try !store.record(Self.call(.finish, .refused(code: 500))))
        #expect(try store.record(Self.call(.finish, .refused(code: 4_040_010))))
        #expect(try store.record(Self.call(.finish, .refused(code: 500))))
        #expect(try store.record(Self.call(.finish, .accepted)))
        #expect(try !store.record(Self.call(.finish, .refused(code: 500))))
        #expect(store.index.rows.calls.count == 4)
    }

    /// Whatever Apple was told of a purchase, and in answer to whichever question, is apart.
    @Test func eachKindAndEachQuestionHasItsOwnEnd() throws {
        var store = try Self.asked()
        _ = store.ask(.notify(notification("again", jws(1), type: "CONSUMPTION_REQUEST"), account: nil))
        for call in [
            Self.answer(), Self.answer(to: "again"), Self.call(.finish, .accepted), Self.call(.accountToken, .accepted),
        ] {
            #expect(try store.record(call))
        }
        #expect(store.index.rows.calls.map(\.notification) == [1, 2, nil, nil])
    }

    @Test func whatNobodyKnowsIsRefused() throws {
        var store = try Self.asked()
        try store.credit(jws(2), "ann")
        try store.notify("charge", jws(1))
        #expect(throws: Refusal(.unknownPurchase)) { try store.record(Self.answer(3)) }
        #expect(throws: Refusal(.unknownConsumptionRequest)) { try store.record(Self.answer(to: "none")) }
        // Another purchase's, and no question.
        #expect(throws: Refusal(.unknownConsumptionRequest)) { try store.record(Self.answer(2)) }
        #expect(throws: Refusal(.unknownConsumptionRequest)) { try store.record(Self.answer(to: "charge")) }
        #expect(store.index.rows.calls.isEmpty)
    }
}
