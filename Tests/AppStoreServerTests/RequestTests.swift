import AppStore
import AppStoreServer
import Testing

/// Each call's method, path, query, headers and body, as Apple documents them.
@Suite struct RequestTests {
    /// What one call sends, whatever it makes of the answer.
    private static func sent(
        by call: @escaping @Sendable (AppStoreServerClient) async throws -> Void
    ) async throws -> TestStore.Request {
        try await withStore(retries: .none, answer: { _, _ in .reply(404, refusal(4_040_010)) }) { client, store in
            await #expect(throws: AppStoreServerError.self) { try await call(client) }
            try #require(store.requests.count == 1)
            return store.requests[0]
        }
    }

    private static let id = "2000000849195831"

    private static func read<Page>(_ pages: Pages<Page>) async throws {
        for try await _ in pages {}
    }

    @Test func transactionInfo() async throws {
        let request = try await Self.sent { _ = try await $0.transactionInfo(transactionID: Self.id) }
        #expect(request.method == .GET && request.body.isEmpty)
        #expect(request.target == "/inApps/v1/transactions/2000000849195831")
    }

    @Test func appTransactionInfo() async throws {
        let request = try await Self.sent { _ = try await $0.appTransactionInfo(transactionID: Self.id) }
        #expect(request.method == .GET && request.body.isEmpty)
        #expect(request.target == "/inApps/v1/transactions/appTransactions/2000000849195831")
    }

    @Test func transactionHistoryWithoutAFilter() async throws {
        let request = try await Self.sent { try await Self.read($0.transactionHistory(transactionID: Self.id)) }
        #expect(request.method == .GET && request.body.isEmpty)
        #expect(request.target == "/inApps/v2/history/2000000849195831")
    }

    @Test func transactionHistoryWithEveryFilter() async throws {
        var query = TransactionHistoryQuery()
        query.startDate = 1_698_148_900_000
        query.endDate = 1_698_148_950_000
        query.productIDs = ["com.example.1", "com.example.gems & coins+ü"]
        query.productTypes = [.consumable, .autoRenewable]
        query.ownership = .familyShared
        query.order = .ascending
        query.revoked = false
        query.subscriptionGroupIdentifiers = ["20614829", "20614830"]
        let request = try await Self.sent { [query] in
            try await Self.read($0.transactionHistory(transactionID: Self.id, query: query, after: "revision/1="))
        }
        #expect(request.path == "/inApps/v2/history/2000000849195831")
        let expected = """
            revision=revision%2F1%3D&startDate=1698148900000&endDate=1698148950000&productId=com.example.1\
            &productId=com.example.gems%20%26%20coins%2B%C3%BC&productType=CONSUMABLE&productType=AUTO_RENEWABLE\
            &inAppOwnershipType=FAMILY_SHARED&sort=ASCENDING&revoked=false&subscriptionGroupIdentifier=20614829\
            &subscriptionGroupIdentifier=20614830
            """
        #expect(request.target.split(separator: "?").last.map { String($0) } == expected)
    }

    @Test func refundHistory() async throws {
        let first = try await Self.sent { try await Self.read($0.refundHistory(transactionID: Self.id)) }
        #expect(first.method == .GET && first.target == "/inApps/v2/refund/lookup/2000000849195831")
        let next = try await Self.sent { try await Self.read($0.refundHistory(transactionID: Self.id, after: "abc_1")) }
        #expect(next.target == "/inApps/v2/refund/lookup/2000000849195831?revision=abc_1")
    }

    @Test func orderLookup() async throws {
        let request = try await Self.sent { _ = try await $0.lookUpOrder(orderID: "MM5TTTVWJH") }
        #expect(request.method == .GET && request.target == "/inApps/v1/lookup/MM5TTTVWJH")
    }

    @Test func finishTransaction() async throws {
        let request = try await Self.sent { try await $0.finishTransaction(transactionID: Self.id) }
        #expect(request.method == .POST && request.body.isEmpty)
        #expect(request.target == "/inApps/v1/transactions/2000000849195831/finish")
        #expect(request.headers.first(name: "Content-Type") == nil)
    }

    @Test func setAppAccountToken() async throws {
        let token = "7389a31a-fb6d-4569-a2a6-db7d85d84813"
        let request = try await Self.sent { try await $0.setAppAccountToken(token, originalTransactionID: Self.id) }
        #expect(request.method == .PUT)
        #expect(request.target == "/inApps/v1/transactions/2000000849195831/appAccountToken")
        #expect(request.body == #"{"appAccountToken":"7389a31a-fb6d-4569-a2a6-db7d85d84813"}"#)
        #expect(request.headers.first(name: "Content-Type") == "application/json")
    }

    @Test func consumption() async throws {
        let information = ConsumptionInformation(
            deliveryStatus: .delivered, consumptionPercentage: 50_000, refundPreference: .grantProrated,
            sampleContentProvided: false)
        let request = try await Self.sent { try await $0.sendConsumption(information, transactionID: Self.id) }
        #expect(request.method == .PUT)
        #expect(request.target == "/inApps/v2/transactions/consumption/2000000849195831")
        let expected = """
            {"customerConsented":true,"consumptionPercentage":50000,"deliveryStatus":"DELIVERED",\
            "refundPreference":"GRANT_PRORATED","sampleContentProvided":false}
            """
        #expect(request.body == expected)
        #expect(request.headers.first(name: "Content-Type") == "application/json")
    }

    @Test func notificationHistory() async throws {
        let query = NotificationHistoryQuery(
            startDate: 1_698_148_900_000, endDate: 1_698_148_950_000,
            filter: .type(.subscribed, subtype: .initialBuy), onlyFailures: true)
        let first = try await Self.sent { try await Self.read($0.notificationHistory(query)) }
        #expect(first.method == .POST && first.target == "/inApps/v1/notifications/history")
        let expected = """
            {"startDate":1698148900000,"endDate":1698148950000,"notificationType":"SUBSCRIBED",\
            "notificationSubtype":"INITIAL_BUY","onlyFailures":true}
            """
        #expect(first.body == expected)
        let ofOne = NotificationHistoryQuery(startDate: 1, endDate: 2, filter: .transactionID(Self.id))
        let next = try await Self.sent { try await Self.read($0.notificationHistory(ofOne, after: "a b")) }
        #expect(next.target == "/inApps/v1/notifications/history?paginationToken=a%20b")
        #expect(next.body == #"{"startDate":1,"endDate":2,"transactionId":"2000000849195831"}"#)
    }

    @Test func testNotification() async throws {
        let request = try await Self.sent { _ = try await $0.requestTestNotification() }
        #expect(request.method == .POST && request.target == "/inApps/v1/notifications/test" && request.body.isEmpty)
    }

    @Test func testNotificationStatus() async throws {
        let token = "ce3af791-365e-4c60-841b-1674b43c1609_1656711609000"
        let request = try await Self.sent { _ = try await $0.testNotificationStatus(token: token) }
        #expect(request.method == .GET && request.target == "/inApps/v1/notifications/test/\(token)")
    }

    @Test func everyRequestAcceptsJSONAndIsAuthorised() async throws {
        let request = try await Self.sent { _ = try await $0.transactionInfo(transactionID: Self.id) }
        #expect(request.headers["Accept"] == ["application/json"])
        #expect(request.headers["User-Agent"] == ["currency-ledger"])
        #expect(request.headers["Authorization"].count == 1)
        _ = try TestJWS(request.token)
    }

    /// Any of these would lead to another path, or to none.
    @Test(arguments: [
        "", "..", "1/finish", "1?a=b", "1#a", "1%2F", " 1", "1\r\n", "ü", String(repeating: "1", count: 257),
    ])
    func anIDThatIsNoneIsNotSent(id: String) async throws {
        try await withStore(answer: { _, _ in .reply(200, "{}") }) { client, store in
            await #expect(throws: AppStoreServerError.self) { try await client.finishTransaction(transactionID: id) }
            await #expect(throws: AppStoreServerError.self) {
                try await Self.read(client.refundHistory(transactionID: id))
            }
            await #expect(throws: AppStoreServerError.self) {
                try await client.setAppAccountToken("a", originalTransactionID: id)
            }
            #expect(store.requests.isEmpty)
        }
    }

    @Test func aFilterOfTooManyValuesIsNotSent() async throws {
        var query = TransactionHistoryQuery()
        query.productIDs = Array(repeating: "a", count: AppStoreServerLimits.filterValuesMax)
        try await withStore(answer: { _, _ in .reply(200, #"{"hasMore":false}"#) }) { [query] client, store in
            try await Self.read(client.transactionHistory(transactionID: Self.id, query: query))
            #expect(store.requests.count == 1)
            var longer = query
            longer.productIDs.append("a")
            await #expect(throws: AppStoreServerError.invalidArgument("a filter has at most 50 values")) {
                try await Self.read(client.transactionHistory(transactionID: Self.id, query: longer))
            }
            #expect(store.requests.count == 1)
        }
    }
}
