import AppStoreServer
import Testing

/// Pages, one after the other.
@Suite struct PagingTests {
    /// A history of so many purchases, 20 a page; a revision is the number of the last one before it.
    @Sendable private static func page(of request: TestStore.Request, count: Int) -> TestStore.Answer {
        let revision = request.target.split(separator: "?revision=").dropFirst().first.flatMap { Int($0) } ?? 0
        let last = min(revision + 20, count)
        let transactions = (revision..<last).map { #""t\#($0)""# }.joined(separator: ",")
        return .reply(
            200, #"{"signedTransactions":[\#(transactions)],"revision":"\#(last)","hasMore":\#(last < count)}"#)
    }

    @Test func everyPageIsAskedForInTurn() async throws {
        try await withStore(answer: { request, _ in Self.page(of: request, count: 45) }) { client, store in
            var read: [String] = []
            var requestsBefore: [Int] = []
            for try await page in client.transactionHistory(transactionID: "1") {
                // Nothing is asked for ahead of its time.
                requestsBefore.append(store.requests.count)
                read += page.signedTransactions
            }
            #expect(read == (0..<45).map { "t\($0)" })
            #expect(requestsBefore == [1, 2, 3])
            let targets = store.requests.map(\.target)
            #expect(
                targets == [
                    "/inApps/v2/history/1", "/inApps/v2/history/1?revision=20", "/inApps/v2/history/1?revision=40",
                ])
        }
    }

    @Test func anEndIsTheEnd() async throws {
        try await withStore(answer: { request, _ in Self.page(of: request, count: 0) }) { client, store in
            var pages = client.refundHistory(transactionID: "1").makeAsyncIterator()
            let first = try await pages.next()
            #expect(first?.signedTransactions == [])
            for _ in 0..<2 { #expect(try await pages.next() == nil) }
            #expect(store.requests.count == 1)
        }
    }

    @Test func aHistoryIsReadOnFromWhereItWasLeft() async throws {
        try await withStore(answer: { request, _ in Self.page(of: request, count: 45) }) { client, _ in
            var first = client.refundHistory(transactionID: "1").makeAsyncIterator()
            let revision = try await first.next()?.revision
            #expect(revision == "20")
            var rest: [String] = []
            for try await page in client.refundHistory(transactionID: "1", after: revision) {
                rest += page.signedTransactions
            }
            #expect(rest == (20..<45).map { "t\($0)" })
        }
    }

    @Test func aPageThatFailedIsAskedForAgain() async throws {
        try await withStore(
            retries: .none,
            answer: { request, number in
                number == 2 ? .reply(500, refusal(5_000_000)) : Self.page(of: request, count: 45)
            }
        ) { client, store in
            var pages = client.refundHistory(transactionID: "1").makeAsyncIterator()
            let first = try await pages.next()
            #expect(first?.revision == "20")
            await #expect(throws: AppStoreServerError.self) { try await pages.next() }
            #expect(try await pages.next()?.signedTransactions.first == "t20")
            #expect(store.requests.map(\.target)[1...] == [store.requests[1].target, store.requests[1].target])
        }
    }

    @Test func notificationsHaveTheirOwnToken() async throws {
        try await withStore(answer: { _, number in
            .reply(
                200,
                number == 1
                    ? #"{"notificationHistory":[{"signedPayload":"a"}],"hasMore":true,"paginationToken":"x"}"#
                    : #"{"notificationHistory":[{"signedPayload":"b"}],"hasMore":false}"#)
        }) { client, store in
            let query = NotificationHistoryQuery(startDate: 1, endDate: 2)
            var read: [String] = []
            for try await page in client.notificationHistory(query) { read += page.notifications.map(\.signedPayload) }
            #expect(read == ["a", "b"])
            #expect(store.requests.map(\.target).last == "/inApps/v1/notifications/history?paginationToken=x")
            #expect(store.requests.map(\.body) == Array(repeating: #"{"startDate":1,"endDate":2}"#, count: 2))
        }
    }

    /// One that leads round in a circle is followed once.
    @Test func aPageThatLeadsBackIsRefused() async throws {
        let places = ["a", "b", "c"]
        try await withStore(answer: { _, number in
            .reply(
                200, #"{"signedTransactions":[],"hasMore":true,"revision":"\#(places[(number - 1) % places.count])"}"#)
        }) { client, store in
            await #expect(throws: AppStoreServerError.self) {
                for try await _ in client.refundHistory(transactionID: "1") {}
            }
            #expect(store.requests.count == 4)
        }
    }

    /// Otherwise a broken server would be asked for the same page for ever.
    @Test(arguments: [
        #"{"hasMore":true}"#, #"{"hasMore":true,"revision":null}"#, #"{"hasMore":true,"revision":"here"}"#,
    ])
    func aPageThatLeadsNowhereIsRefused(body: String) async throws {
        try await withStore(answer: { _, _ in .reply(200, body) }) { client, store in
            await #expect(
                throws: AppStoreServerError.unreadableReply("there are more pages, and it does not say where")
            ) {
                for try await _ in client.refundHistory(transactionID: "1", after: "here") {}
            }
            #expect(store.requests.count == 1)
        }
    }
}
