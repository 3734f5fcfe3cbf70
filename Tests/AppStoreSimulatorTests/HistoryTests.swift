import AppStore
import AppStoreServer
import Testing

@testable import AppStoreSimulator

/// Histories, page by page.
@Suite struct HistoryTests {
    private static func pages(_ pages: Pages<TransactionPage>) async throws -> [TransactionPage] {
        var read: [TransactionPage] = []
        for try await page in pages { read.append(page) }
        return read
    }

    private static func ids(_ store: Store, _ pages: [TransactionPage]) throws -> [String] {
        try pages.flatMap(\.signedTransactions).map { try store.read($0).transactionID }
    }

    @Test func aCustomersTransactionsComeTwentyAPage() async throws {
        try await Store.run { store in
            var bought: [String] = []
            for _ in 0..<45 {
                bought.append(try await store.buy { $0.customer = "a" }.transactionID)
                try await store.buy { $0.customer = "b" }
            }
            let pages = try await Self.pages(store.client.transactionHistory(transactionID: bought[7]))
            #expect(
                pages.map(\.signedTransactions.count) == [20, 20, 5] && pages.map(\.hasMore) == [true, true, false])
            #expect(try Self.ids(store, pages) == bought)

            // The last page leads to what comes later.
            let revision = try #require(pages.last?.revision)
            let later = try await store.buy { $0.customer = "a" }.transactionID
            let more = try await Self.pages(
                store.client.transactionHistory(transactionID: bought[0], after: revision))
            #expect(try Self.ids(store, more) == [later])
            let none = try await Self.pages(
                store.client.transactionHistory(transactionID: bought[0], after: more.last?.revision))
            #expect(none.map(\.signedTransactions.count) == [0] && none.last?.revision == more.last?.revision)

            var query = TransactionHistoryQuery()
            query.order = .descending
            let back = try await Self.pages(store.client.transactionHistory(transactionID: bought[0], query: query))
            #expect(try Self.ids(store, back) == [later] + bought.reversed())
            for (query, token) in [(query, revision), (TransactionHistoryQuery(), "nonsense")] {
                let refused = try await refusal {
                    let pages = store.client.transactionHistory(transactionID: bought[0], query: query, after: token)
                    for try await _ in pages {}
                }
                #expect(refused.code == .invalidRequestRevision)
            }
        }
    }

    @Test func whatIsChangedComesAgain() async throws {
        try await Store.run { store in
            let first = try await store.buy().transactionID
            let second = try await store.buy().transactionID
            let revision = try await Self.pages(store.client.transactionHistory(transactionID: first)).last?.revision
            try await store.commands.perform(.refund(.init(transactionID: first)))
            let changed = try await Self.pages(
                store.client.transactionHistory(transactionID: second, after: revision))
            #expect(try Self.ids(store, changed) == [first])
        }
    }

    @Test func aHistoryIsLimitedByWhatTheQuerySays() async throws {
        try await Store.run { store in
            let gems = try await store.buy().transactionID
            let sword = try await store.buy("com.example.game.sword") { $0.type = .nonConsumable }.transactionID
            let pass = try await store.buy("com.example.game.pass") { $0.type = .autoRenewableSubscription }
            try await store.commands.perform(.refund(.init(transactionID: gems)))
            func found(_ change: (inout TransactionHistoryQuery) -> Void) async throws -> Set<String> {
                var query = TransactionHistoryQuery()
                change(&query)
                let pages = try await Self.pages(store.client.transactionHistory(transactionID: gems, query: query))
                return Set(try Self.ids(store, pages))
            }
            #expect(try await found { _ in } == [gems, sword, pass.transactionID])
            #expect(try await found { $0.productIDs = ["com.example.game.sword", Store.product] } == [gems, sword])
            #expect(try await found { $0.productTypes = [.consumable, .nonConsumable] } == [gems, sword])
            #expect(try await found { $0.revoked = true } == [gems])
            #expect(try await found { $0.revoked = false } == [sword, pass.transactionID])
            #expect(try await found { $0.ownership = .familyShared } == [])
            let group = try #require(try store.read(pass.signedTransaction).subscriptionGroupIdentifier)
            #expect(try await found { $0.subscriptionGroupIdentifiers = [group] } == [pass.transactionID])
            #expect(try await found { $0.endDate = SystemTime.now() - 3_600_000 } == [])
            #expect(try await found { $0.startDate = SystemTime.now() - 3_600_000 }.count == 3)
            let refused = try await refusal {
                _ = try await found {
                    $0.startDate = 2
                    $0.endDate = 1
                }
            }
            #expect(refused.code?.rawValue == 4_000_013)
        }
    }

    @Test func refundsComeInTheirOrderAndReversedOnesNot() async throws {
        try await Store.run { store in
            var bought: [String] = []
            for _ in 0..<25 { bought.append(try await store.buy().transactionID) }
            for id in bought.reversed() { try await store.commands.perform(.refund(.init(transactionID: id))) }
            let pages = try await Self.pages(store.client.refundHistory(transactionID: bought[0]))
            #expect(pages.map(\.signedTransactions.count) == [20, 5])
            let dates = try pages.flatMap(\.signedTransactions).map { try store.read($0).revocationDate ?? 0 }
            #expect(dates == dates.sorted())
            #expect(Set(try Self.ids(store, pages)) == Set(bought))
            try await store.commands.perform(.reverse(transactionID: bought[3]))
            let left = try await Self.pages(store.client.refundHistory(transactionID: bought[3]))
            #expect(Set(try Self.ids(store, left)) == Set(bought).subtracting([bought[3]]))
        }
    }

    // MARK: Notifications

    private static func read(
        _ store: Store, _ query: NotificationHistoryQuery
    ) async throws -> [(NotificationPayload, SentNotification)] {
        var read: [(NotificationPayload, SentNotification)] = []
        for try await page in store.client.notificationHistory(query) {
            #expect(page.notifications.count <= 20)
            for one in page.notifications {
                let verified = try Store.verifier.verify(
                    notification: Array(one.signedPayload.utf8), now: SystemTime.now())
                read.append((verified.payload, one))
            }
        }
        return read
    }

    /// The last hour, and a minute more than now.
    private static func lastHour(
        _ filter: NotificationHistoryQuery.Filter? = nil, onlyFailures: Bool = false
    ) -> NotificationHistoryQuery {
        let now = SystemTime.now()
        return NotificationHistoryQuery(
            startDate: now - 3_600_000, endDate: now + 60_000, filter: filter, onlyFailures: onlyFailures)
    }

    @Test func everyNotificationIsInTheHistoryAlsoWhatNobodyGot() async throws {
        let webhook = try await Webhook.start()
        try await Store.run(configure: {
            $0.webhook = webhook.address
            $0.lost = Share("50%") ?? .none
            $0.speed = SimulatorLimits.speedMax
        }) { store in
            var bought: [String] = []
            for number in 0..<45 {
                bought.append(try await store.buy { $0.customer = "\(number % 2)" }.transactionID)
            }
            try await store.commands.perform(.refund(.init(transactionID: bought[0])))
            let isOver = try await eventually {
                try await Self.read(store, Self.lastHour()).allSatisfy {
                    $0.1.sendAttempts.count == 6 || Self.has($0.1)
                }
            }
            #expect(isOver)
            let all = try await Self.read(store, Self.lastHour())
            #expect(all.count == 46 && Set(all.map(\.0.notificationUUID)).count == 46)
            let failed = try await Self.read(store, Self.lastHour(onlyFailures: true))
            #expect(failed.count == all.filter { !Self.has($0.1) }.count && failed.count > 5 && failed.count < 41)
            #expect(webhook.posts.count == all.count - failed.count)
            let refunds = try await Self.read(store, Self.lastHour(.type(.refund)))
            #expect(refunds.map(\.0.notificationType) == [.refund])
            let ofOne = try await Self.read(store, Self.lastHour(.transactionID(bought[0])))
            #expect(ofOne.count == 24)
        }
        try await webhook.stop()
    }

    private static func has(_ notification: SentNotification) -> Bool {
        notification.sendAttempts.contains { $0.result == .success }
    }

    @Test func aQueryThatAppleRefusesIsRefused() async throws {
        let webhook = try await Webhook.start()
        try await Store.run(configure: { $0.webhook = webhook.address }) { store in
            for _ in 0..<21 { try await store.buy() }
            var pages = store.client.notificationHistory(Self.lastHour()).makeAsyncIterator()
            let token = try #require(try await pages.next()?.paginationToken)
            let now = SystemTime.now()
            let cases: [(NotificationHistoryQuery, String?, Int64)] = [
                (NotificationHistoryQuery(startDate: now - 31 * 86_400_000, endDate: now), nil, 4_000_012),
                (NotificationHistoryQuery(startDate: now, endDate: now - 1), nil, 4_000_013),
                (Self.lastHour(), "nonsense", 4_000_014), (Self.lastHour(.type(.refund)), token, 4_000_017),
                (Self.lastHour(.type(.init(rawValue: "NONE"))), nil, 4_000_018),
                (Self.lastHour(.transactionID("1")), nil, 4_040_010),
                (Self.lastHour(.transactionID("x")), nil, 4_000_006),
            ]
            for (query, token, number) in cases {
                let refused = try await refusal {
                    for try await _ in store.client.notificationHistory(query, after: token) {}
                }
                #expect(refused.code?.rawValue == number, "\(refused)")
            }
            let both = #"{"startDate":\#(now - 1),"endDate":\#(now),"transactionId":"1","notificationType":"TEST"}"#
            for (body, number) in [(both, 4_000_019), ("{}", 4_000_015), (#"{"startDate":1}"#, 4_000_016)] {
                let (_, answer) = try await Raw.send(
                    .POST, store.address + "/inApps/v1/notifications/history", body: body, token: try Raw.token())
                #expect(answer["errorCode"] == String(number))
            }
        }
        try await webhook.stop()
    }

    @Test func aTestNotificationIsSentAndItsEndCanBeAsked() async throws {
        let webhook = try await Webhook.start()
        try await Store.run(configure: { $0.webhook = webhook.address }) { store in
            let token = try await store.client.requestTestNotification()
            var status: SentNotification?
            let isSent = try await eventually {
                do {
                    status = try await store.client.testNotificationStatus(token: token)
                } catch AppStoreServerError.refused(let refusal) where refusal.code == .testNotificationNotFound {
                    return false
                }
                return true
            }
            let sent = try #require(status)
            #expect(isSent && sent.sendAttempts.map(\.result) == [.success])
            #expect(webhook.posts == [sent.signedPayload])
            #expect(try webhook.notifications()[0].payload.notificationType == .test)
            let unknown = try await refusal {
                _ = try await store.client.testNotificationStatus(token: "002e14d5-51f5-4503-b5a8-c3a1af68eb20_1")
            }
            #expect(unknown.code == .testNotificationNotFound)
            let none = try await refusal { _ = try await store.client.testNotificationStatus(token: "x") }
            #expect(none.code?.rawValue == 4_000_020)
        }
        try await webhook.stop()
        try await Store.run { store in
            let refused = try await refusal { _ = try await store.client.requestTestNotification() }
            #expect(refused.code == .serverNotificationURLNotFound)
        }
    }
}
