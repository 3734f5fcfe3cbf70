import AppStore
import AppStoreServer
import LedgerTestKit
import NIOConcurrencyHelpers
import NIOHTTP1
import Testing

@testable import AppStoreSimulator

/// Notifications, posted to a webhook over a socket.
@Suite struct PostingTests {
    private static func webhook(
        answer: @escaping @Sendable (Int) -> HTTPResponseStatus? = { _ in .ok },
        configure: (inout SimulatorConfiguration) -> Void = { _ in },
        _ body: (Store, Webhook) async throws -> Void
    ) async throws {
        let webhook = try await Webhook.start(answer: answer)
        try await Store.run(configure: {
            $0.webhook = webhook.address
            $0.speed = SimulatorLimits.speedMax
            configure(&$0)
        }) { store in try await body(store, webhook) }
        try await webhook.stop()
    }

    /// All that Apple tried to send within the last hour.
    private static func history(_ store: Store) async throws -> [SentNotification] {
        var all: [SentNotification] = []
        let now = SystemTime.now()
        let query = NotificationHistoryQuery(startDate: now - 3_600_000, endDate: now + 60_000)
        for try await page in store.client.notificationHistory(query) { all += page.notifications }
        return all
    }

    @Test func everyCommandCausesApplesNotification() async throws {
        try await Self.webhook { store, webhook in
            let gems = try await store.buy { $0.appAccountToken = Store.account }.transactionID
            let pass = try await store.buy("pass") { $0.type = .autoRenewableSubscription }.transactionID
            let shared = try await store.buy("sword") {
                $0.type = .nonConsumable
                $0.isFamilyShared = true
            }.transactionID
            let commands: [SimulatorCommand] = [
                .requestConsumption(transactionID: gems, reason: .unintendedPurchase), .decline(transactionID: gems),
                .refund(.init(transactionID: gems)), .reverse(transactionID: gems), .renew(transactionID: pass),
                .revoke(transactionID: shared),
            ]
            for command in commands { try await store.commands.perform(command) }
            #expect(try await eventually { webhook.posts.count == 9 })
            let notifications = try webhook.notifications().sorted { $0.payload.signedDate < $1.payload.signedDate }
            let types = notifications.map(\.payload.notificationType)
            #expect(
                Set(types) == [
                    .oneTimeCharge, .subscribed, .consumptionRequest, .refundDeclined, .refund, .refundReversed,
                    .didRenew,
                    .revoke,
                ])
            func one(_ type: NotificationPayload.NotificationType) throws -> VerifiedNotification {
                try #require(notifications.last { $0.payload.notificationType == type })
            }
            let consumption = try one(.consumptionRequest)
            #expect(consumption.payload.data?.consumptionRequestReason == .unintendedPurchase)
            #expect(consumption.transaction?.payload.transactionID == gems)
            #expect(consumption.transaction?.payload.appAccountToken == Store.account)
            #expect(try one(.refund).transaction?.payload.revoked == AppStoreLimits.wholeShare)
            #expect(try one(.refundReversed).transaction?.payload.revoked == 0)
            #expect(try one(.subscribed).payload.subtype == .initialBuy)
            let renewal = try one(.didRenew)
            #expect(renewal.transaction?.payload.originalTransactionID == pass)
            #expect(renewal.transaction?.payload.transactionReason == .renewal)
            #expect(renewal.payload.data?.status == 1 && renewal.payload.data?.signedRenewalInfo != nil)
            #expect(try one(.revoke).transaction?.payload.revocationType == .familyRevoke)
        }
    }

    /// Each state of a purchase is signed later than the one before it, within one millisecond too.
    @Test func whatIsSignedLaterIsNewer() async throws {
        try await Self.webhook { store, webhook in
            let id = try await store.buy().transactionID
            for share: Int64 in 1...20 {
                var order = SimulatorCommand.RefundOrder(transactionID: id)
                order.percentage = share
                try await store.commands.perform(.refund(order))
            }
            #expect(try await eventually { webhook.posts.count == 21 })
            let states = try webhook.notifications().compactMap(\.transaction?.payload).map {
                ($0.signedDate, $0.revoked)
            }.sorted { $0.0 < $1.0 }
            #expect(Set(states.map(\.0)).count == 21 && states.map(\.1) == Array(0...20))
        }
    }

    @Test func whatIsNotTakenIsSentAgainByTheSchedule() async throws {
        let statuses: [HTTPResponseStatus?] = [.serviceUnavailable, nil, .notFound, .found]
        try await Self.webhook(answer: { $0 <= statuses.count ? statuses[$0 - 1] : .ok }) { store, webhook in
            try await store.buy()
            #expect(try await eventually { try await Self.history(store)[0].sendAttempts.count == 5 })
            let sent = try await Self.history(store)[0]
            #expect(
                sent.sendAttempts.map(\.result) == [
                    .unsuccessfulHTTPResponseCode, .prematureClose, .unsuccessfulHTTPResponseCode,
                    .unsuccessfulHTTPResponseCode, .success,
                ])
            #expect(Set(webhook.posts) == [sent.signedPayload] && webhook.posts.count == 5)
            // 1, 12, 24 and 48 hours, a million times as fast.
            let dates = sent.sendAttempts.map(\.attemptDate)
            for (wait, least) in zip(zip(dates, dates.dropFirst()).map { $1 - $0 }, [4, 44, 87, 173] as [Int64]) {
                #expect(wait >= least)
            }
        }
    }

    @Test func afterSixAttemptsTheAppStoreGivesUpAndTheHistoryHasIt() async throws {
        try await Self.webhook(answer: { _ in .internalServerError }) { store, webhook in
            try await store.buy()
            #expect(try await eventually { try await Self.history(store)[0].sendAttempts.count == 6 })
            let pending = await store.simulator.queue.nextDue
            #expect(pending == nil && webhook.posts.count == 6)
        }
    }

    @Test func aWebhookThatIsDownLosesNothing() async throws {
        // A port on which nobody listens any more, until somebody does.
        let first = try await Webhook.start()
        let (address, port) = (first.address, first.port)
        try await first.stop()
        try await Store.run(configure: {
            $0.webhook = address
            $0.speed = 20_000
        }) { store in
            for _ in 0..<50 { try await store.buy() }
            #expect(try await eventually { try await Self.history(store).allSatisfy { !$0.sendAttempts.isEmpty } })
            let failed = try await Self.history(store).flatMap(\.sendAttempts)
            #expect(Set(failed.map(\.result)) == [.socketIssue])
            let webhook = try await Webhook.start(port: port)
            #expect(try await eventually { Set(webhook.posts).count == 50 })
            #expect(Set(webhook.posts) == Set(try await Self.history(store).map(\.signedPayload)))
            try await webhook.stop()
        }
    }

    @Test func anotherAddressGetsWhatTheFirstDidNotTake() async throws {
        let right = try await Webhook.start()
        // The attempts after the first come within three minutes.
        try await Self.webhook(answer: { _ in .notFound }, configure: { $0.speed = 3_600 }) { store, wrong in
            try await store.buy()
            #expect(try await eventually { !wrong.posts.isEmpty })
            await #expect(throws: SimulatorError.self) { try await store.simulator.setWebhook("ftp://127.0.0.1/") }
            try await store.simulator.setWebhook(right.address)
            #expect(try await eventually { !right.posts.isEmpty })
            #expect(Set(right.posts) == Set(wrong.posts))
        }
        try await right.stop()
    }

    @Test func theSecondOfTwoIsTheSame() async throws {
        try await Self.webhook(configure: { $0.doubled = Share("100%") ?? .none }) { store, webhook in
            for _ in 0..<20 { try await store.buy() }
            #expect(try await eventually { webhook.posts.count == 40 })
            let history = try await Self.history(store).map(\.signedPayload)
            #expect(webhook.posts.sorted() == (history + history).sorted())
        }
    }

    @Test func aShuffledOrderIsAnotherOne() async throws {
        // Ten minutes take 600 milliseconds.
        try await Self.webhook(configure: {
            $0.isShuffled = true
            $0.speed = 1_000
        }) { store, webhook in
            for _ in 0..<40 { try await store.buy() }
            #expect(try await eventually { webhook.posts.count == 40 })
            let history = try await Self.history(store).map(\.signedPayload)
            #expect(webhook.posts.sorted() == history.sorted() && webhook.posts != history)
        }
    }

    /// What becomes of each notification follows from the seed.
    @Test func theSameSeedLosesAndDoublesTheSame() async throws {
        let seed = Seed.drawn()
        func plan(_ seed: UInt64) async throws -> [String] {
            var plan: [String] = []
            // Nobody listens there.
            try await Store.run(configure: {
                $0 = SimulatorConfiguration(bundleID: Store.bundleID, environment: .sandbox, seed: seed)
                $0.webhook = "http://127.0.0.1:1/"
                $0.lost = Share("20%") ?? .none
                $0.doubled = Share("10%") ?? .none
                $0.isShuffled = true
            }) { store in
                for _ in 0..<200 { try await store.buy() }
                plan = await store.simulator.state.notifications.map { "\($0.isLost) \($0.firstPosts)" }
            }
            return plan
        }
        let (first, second, other) = (try await plan(seed), try await plan(seed), try await plan(seed &+ 1))
        #expect(first == second && first != other)
        let lost = first.filter { $0.hasPrefix("true") }.count
        let doubled = first.filter { $0.contains(",") }.count
        #expect((15...75).contains(lost) && (4...50).contains(doubled), "\(lost) \(doubled)")
    }

    @Test func postsUnderWayAreBounded() async throws {
        let most = NIOLockedValueBox(0)
        try await Self.webhook { store, webhook in
            for _ in 0..<100 { try await store.buy() }
            _ = try await eventually {
                let count = await store.simulator.postCount
                most.withLockedValue { $0 = max($0, count) }
                return webhook.posts.count == 100
            }
            #expect(webhook.posts.count == 100)
        }
        #expect(most.withLockedValue { $0 } <= SimulatorLimits.postsMax)
    }
}
