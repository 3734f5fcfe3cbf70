import AppStore
import AppStoreServer
import Testing

/// What is read from Apple's replies, and what of them is refused.
@Suite struct ReplyTests {
    private static func asked<Result: Sendable>(
        _ body: String, _ call: (AppStoreServerClient) async throws -> Result
    ) async throws -> Result {
        try await withStore(answer: { _, _ in .reply(200, body) }) { client, _ in try await call(client) }
    }

    @Test func aTransactionIsATextThatAVerifierVerifies() async throws {
        let chain = try SandboxChain(notBefore: 1_700_000_000_000, notAfter: 4_000_000_000_000)
        let payload = TransactionPayload(
            transactionID: "2000000849195831", bundleID: "com.example.game", productID: "gems",
            purchaseDate: 1_777_000_000_000, signedDate: 1_777_000_001_000, environment: .sandbox)
        let signed = try chain.sign(payload)
        let jws = try await Self.asked(#"{"signedTransactionInfo":"\#(signed)","new":[{"a":1}]}"#) {
            try await $0.transactionInfo(transactionID: "2000000849195831")
        }
        #expect(jws == signed)
        let verifier = Verifier(
            app: App(bundleID: "com.example.game", environment: .sandbox), anchors: [chain.root])
        let verified = try verifier.verify(transaction: Array(jws.utf8), now: 1_777_000_002_000)
        #expect(verified.payload == payload)
    }

    @Test func anAppTransaction() async throws {
        let jws = try await Self.asked(#"{"signedAppTransactionInfo":"signed"}"#) {
            try await $0.appTransactionInfo(transactionID: "1")
        }
        #expect(jws == "signed")
    }

    @Test func aPageOfTransactions() async throws {
        let body = """
            {"revision":"revision_output","hasMore":false,"bundleId":"com.example","appAppleId":323232,
             "environment":"LocalTesting","signedTransactions":["one","two"]}
            """
        let pages = try await Self.asked(body) { client in
            var pages: [TransactionPage] = []
            for try await page in client.transactionHistory(transactionID: "1") { pages.append(page) }
            return pages
        }
        try #require(pages.count == 1)
        #expect(pages[0].signedTransactions == ["one", "two"] && pages[0].revision == "revision_output")
        #expect(!pages[0].hasMore && pages[0].continuation == "revision_output")
    }

    @Test func aPageOfNotifications() async throws {
        let body = """
            {"paginationToken":null,"hasMore":false,"notificationHistory":[
             {"sendAttempts":[{"attemptDate":1698148900000,"sendAttemptResult":"NO_RESPONSE"},
                              {"attemptDate":1698148950000,"sendAttemptResult":"SUCCESS"}],"signedPayload":"one"},
             {"signedPayload":"two","sendAttempts":[{"attemptDate":1,"sendAttemptResult":"SOMETHING_NEW"}],
              "firstSendAttemptResult":"OTHER"}]}
            """
        let pages = try await Self.asked(body) { client in
            var pages: [NotificationPage] = []
            let query = NotificationHistoryQuery(startDate: 1, endDate: 2)
            for try await page in client.notificationHistory(query) { pages.append(page) }
            return pages
        }
        let notifications = try #require(pages.first).notifications
        #expect(notifications.map(\.signedPayload) == ["one", "two"])
        #expect(notifications[0].sendAttempts.map(\.result) == [.noResponse, .success])
        #expect(notifications[0].sendAttempts.map(\.attemptDate) == [1_698_148_900_000, 1_698_148_950_000])
        #expect(notifications[1].sendAttempts.map(\.result) == [SendAttemptResult(rawValue: "SOMETHING_NEW")])
        #expect(!SendAttemptResult.known.contains(notifications[1].sendAttempts[0].result))
    }

    @Test func aTestNotificationAndWhatBecameOfIt() async throws {
        let token = try await Self.asked(#"{"testNotificationToken":"ce3af791_1"}"#) {
            try await $0.requestTestNotification()
        }
        #expect(token == "ce3af791_1")
        let body = #"{"signedPayload":"p","sendAttempts":[{"attemptDate":5,"sendAttemptResult":"TLS_ISSUE"}]}"#
        let status = try await Self.asked(body) { try await $0.testNotificationStatus(token: token) }
        #expect(status.signedPayload == "p" && status.sendAttempts.map(\.result) == [.tlsIssue])
    }

    @Test func anOrder() async throws {
        let order = try await Self.asked(#"{"status":0,"signedTransactions":["one","two"]}"#) {
            try await $0.lookUpOrder(orderID: "W002182")
        }
        #expect(order.isValid && order.signedTransactions == ["one", "two"])
        let none = try await Self.asked(#"{"status":1}"#) { try await $0.lookUpOrder(orderID: "W002182") }
        #expect(!none.isValid && none.signedTransactions.isEmpty)
    }

    /// Apple answers 200 or 202, with nothing.
    @Test(arguments: [200, 202]) func whatHasNoReplyTakesAnyBody(status: Int) async throws {
        try await withStore(answer: { _, number in .reply(status, number == 1 ? "" : "anything") }) { client, store in
            try await client.finishTransaction(transactionID: "1")
            try await client.setAppAccountToken("7389a31a-fb6d-4569-a2a6-db7d85d84813", originalTransactionID: "1")
            try await client.sendConsumption(
                ConsumptionInformation(
                    deliveryStatus: .other, consumptionPercentage: 0, sampleContentProvided: true), transactionID: "1")
            #expect(store.requests.count == 3)
        }
    }

    @Test(arguments: [
        ("", "the text"), ("[]", "must be an object"), ("{}", "signedTransactionInfo is missing"),
        (#"{"signedTransactionInfo":1}"#, "signedTransactionInfo must be a string"),
        (#"{"signedTransactionInfo":"a""#, "the text"), (#"{"signedTransactionInfo":"a"} x"#, "something follows"),
        (#"{"signedTransactionInfo":"a","signedTransactionInfo":"b"}"#, "is given twice"),
        ("<html>", "no value begins like this"), (String(repeating: "[", count: 100), "the text"),
    ])
    func aReplyThatIsNoneIsNotSentForAgain(body: String, why: String) async throws {
        try await withStore(answer: { _, _ in .reply(200, body) }) { client, store in
            do {
                _ = try await client.transactionInfo(transactionID: "1")
                Issue.record("\(body) was read")
            } catch AppStoreServerError.unreadableReply(let fault) {
                #expect(fault.contains(why), "\(fault)")
            }
            #expect(store.requests.count == 1)
        }
    }

    @Test(arguments: [
        #"{"signedTransactions":["a"]}"#, #"{"hasMore":"no"}"#, #"{"hasMore":false,"signedTransactions":"a"}"#,
        #"{"hasMore":false,"signedTransactions":[1]}"#, #"{"hasMore":false,"revision":5}"#,
    ])
    func aPageThatIsNoneIsRefused(body: String) async throws {
        let fault = await #expect(throws: AppStoreServerError.self) {
            try await Self.asked(body) { for try await _ in $0.refundHistory(transactionID: "1") {} }
        }
        guard case .unreadableReply = fault else { return unexpected(fault) }
    }

    @Test func anOrderOfAnotherStatusIsRefused() async throws {
        await #expect(throws: AppStoreServerError.unreadableReply("status must be 0 or 1")) {
            try await Self.asked(#"{"status":2}"#) { try await $0.lookUpOrder(orderID: "W002182") }
        }
    }

    @Test func aNotificationWithoutItsPayloadIsRefused() async throws {
        let body = #"{"hasMore":false,"notificationHistory":[{"signedPayload":"a"},{"sendAttempts":[]}]}"#
        await #expect(throws: AppStoreServerError.unreadableReply("notificationHistory[1].signedPayload is missing")) {
            try await Self.asked(body) {
                for try await _ in $0.notificationHistory(NotificationHistoryQuery(startDate: 1, endDate: 2)) {}
            }
        }
    }

    @Test func aReplyOfTheLargestSizeIsReadAndALongerOneIsNot() async throws {
        let frame = #"{"signedTransactionInfo":""}"#.utf8.count
        let jws = String(repeating: "x", count: AppStoreServerLimits.replyBytesMax - frame)
        let read = try await Self.asked(#"{"signedTransactionInfo":"\#(jws)"}"#) {
            try await $0.transactionInfo(transactionID: "1")
        }
        #expect(read == jws)
        try await withStore(answer: { _, _ in .reply(200, #"{"signedTransactionInfo":"\#(jws)x"}"#) }) {
            client, store in
            await #expect(throws: AppStoreServerError.replyTooLong) {
                try await client.transactionInfo(transactionID: "1")
            }
            #expect(store.requests.count == 1)
        }
    }
}
