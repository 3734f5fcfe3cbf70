import AppStore
import LedgerTestKit
import Testing

@testable import LineServer

extension ServerTests {
    /// The documentation's table of notification types (LedgerWire.docc/Notifications.md), a test a row.
    @Suite struct NotificationTypes {
        private typealias Kind = NotificationPayload.NotificationType

        /// What a purchase's own JWS says decides, whatever the type: the types here are what Apple sends it with.
        private static let date = SandboxApp.date

        private func tell(
            _ body: (SandboxApp, RawClient) async throws -> Void
        ) async throws {
            let app = try SandboxApp()
            try await TestServer.run(verifier: app.verifier) { server in try await body(app, try await server.connect())
            }
        }

        @Test func oneTimeChargeCreditsIfNeeded() async throws {
            try await tell { app, client in
                let jws = try app.transaction(1, account: "f47ac10b-58cc-4372-a567-0e02b2c3d479")
                let first = try await client.ask(
                    Requests.notify(try app.notification("a", type: "ONE_TIME_CHARGE", transaction: jws)))
                #expect(first.result["purchase"]["outcome"].string == "credited")
                let again = try await client.ask(
                    Requests.notify(try app.notification("b", type: "ONE_TIME_CHARGE", transaction: jws)))
                #expect(again.result["purchase"]["outcome"].string == "already_credited")
                #expect(again.result["duplicate"].bool == false)
            }
        }

        @Test func oneTimeChargeWithoutAnAccountIsRecordedAndALaterCreditAssignsIt() async throws {
            try await tell { app, client in
                let jws = try app.transaction(1)
                let told = try await client.ask(
                    Requests.notify(try app.notification("a", type: "ONE_TIME_CHARGE", transaction: jws)))
                #expect(told.result["purchase"]["outcome"].string == "unassigned")
                #expect(told.result["purchase"]["finish"].bool == false)
                let credited = try await client.ask(Requests.credit(jws, account: "player-1"))
                #expect(credited.result["outcome"].string == "credited")
                #expect(credited.result["balances"]["gems"]["available"].int == 500)
            }
        }

        @Test func refundTakesBackWholeOrByPercentageAndRefundReversedReinstates() async throws {
            try await tell { app, client in
                _ = try await client.ask(Requests.credit(try app.transaction(1, quantity: 3), account: "player-1"))
                let part = try app.transaction(
                    1, quantity: 3, revokedAt: Self.date, percentage: 33_333, signedDate: Self.date + 1)
                let partly = try await client.ask(
                    Requests.notify(try app.notification("a", type: "REFUND", transaction: part)))
                #expect(partly.result["purchase"]["outcome"].string == "reversed")
                // 3 × 500 × 66667 / 100000 = 1000.005, rounded up.
                #expect(partly.result["purchase"]["balances"]["gems"]["available"].int == 1_001)
                let whole = try app.transaction(1, quantity: 3, revokedAt: Self.date, signedDate: Self.date + 2)
                let wholly = try await client.ask(
                    Requests.notify(try app.notification("b", type: "REFUND", transaction: whole)))
                #expect(wholly.result["purchase"]["balances"]["gems"]["available"].int == 0)
                let back = try app.transaction(1, quantity: 3, signedDate: Self.date + 3)
                let reinstated = try await client.ask(
                    Requests.notify(try app.notification("c", type: "REFUND_REVERSED", transaction: back)))
                #expect(reinstated.result["purchase"]["outcome"].string == "reinstated")
                #expect(reinstated.result["purchase"]["balances"]["gems"]["available"].int == 1_500)
            }
        }

        @Test func consumptionRequestIsRecordedWithItsReasonAndDeadlineAndRefundDeclinedToo() async throws {
            try await tell { app, client in
                let jws = try app.transaction(1)
                _ = try await client.ask(Requests.credit(jws, account: "player-1"))
                var data = NotificationPayload.AppMetadata(
                    bundleID: app.app.bundleID, environment: .sandbox, signedTransactionInfo: jws)
                data.consumptionRequestReason = .unintendedPurchase
                let asked = try app.sign(
                    NotificationPayload(
                        notificationType: .consumptionRequest, notificationUUID: "a", signedDate: Self.date, data: data)
                )
                let declined = try app.notification("b", type: "REFUND_DECLINED", transaction: jws)
                for jws in [asked, declined] {
                    let reply = try await client.ask(Requests.notify(jws))
                    #expect(reply.result["purchase"]["outcome"].string == "already_credited")
                }
                let view = try await client.ask(Requests.call("purchase", #"{"transactionId":"1"}"#))
                let events = try #require(view.result["events"].array)
                #expect(events.map { $0["kind"].string } == ["signed", "consumption_request", "refund_declined"])
                #expect(events[1]["reason"].string == "UNINTENDED_PURCHASE")
                #expect(events[1]["deadline"].int == Int(Self.date) + 43_200_000)
                let body = try await client.ask(
                    Requests.call("consumption", #"{"transactionId":"1","customerConsented":true}"#))
                #expect(body.result["requestBody"]["deliveryStatus"].string == "DELIVERED")
                #expect(body.result["requestBody"]["consumptionPercentage"].int == 0)
            }
        }

        /// Whatever is told of a subscription, and what Apple may invent: verified, recorded once, acknowledged.
        @Test(arguments: [
            "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW", "DID_RENEW", "EXPIRED",
            "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATION", "OFFER_REDEEMED", "PRICE_CHANGE", "PRICE_INCREASE",
            "RENEWAL_EXTENDED", "REVOKE", "SUBSCRIBED", "ONE_TIME_CHARGE", "REFUND", "INVENTED_LATER",
        ])
        func aSubscriptionsNotificationIsRecordedAndAcknowledged(type: String) async throws {
            try await tell { app, client in
                let jws = try app.transaction(7, product: "monthly", type: .autoRenewableSubscription)
                let notification = try app.notification("u", type: type, transaction: jws)
                for isDuplicate in [false, true] {
                    let reply = try await client.ask(Requests.notify(notification))
                    #expect(reply.result["notificationType"].string == type)
                    #expect(reply.result["duplicate"].bool == isDuplicate)
                    #expect(reply.result["purchase"].isNull)
                }
                let view = try await client.ask(Requests.call("purchase", #"{"transactionId":"7"}"#))
                #expect(view.reason == "unknown_purchase")
            }
        }

        @Test func notificationsWithoutATransactionAreRecordedAndAcknowledged() async throws {
            try await tell { app, client in
                let bundle = app.app.bundleID
                let payloads = [
                    NotificationPayload(
                        notificationType: .test, notificationUUID: "a", signedDate: Self.date,
                        data: .init(bundleID: bundle, environment: .sandbox)),
                    NotificationPayload(
                        notificationType: .rescindConsent, notificationUUID: "b", signedDate: Self.date,
                        appData: .init(bundleID: bundle, environment: .sandbox, signedAppTransactionInfo: "a.b.c")),
                    NotificationPayload(
                        notificationType: .renewalExtension, subtype: .summary, notificationUUID: "c",
                        signedDate: Self.date, summary: .init(bundleID: bundle, environment: .sandbox)),
                    NotificationPayload(
                        notificationType: .externalPurchaseToken, subtype: .unreported, notificationUUID: "d",
                        signedDate: Self.date,
                        externalPurchaseToken: .init(externalPurchaseID: "SANDBOX_1", bundleID: bundle)),
                ]
                for payload in payloads {
                    let jws = try app.sign(payload)
                    for isDuplicate in [false, true] {
                        let reply = try await client.ask(Requests.notify(jws))
                        #expect(reply.result["notificationType"].string == payload.notificationType.rawValue)
                        #expect(reply.result["subtype"].string == payload.subtype?.rawValue)
                        #expect(reply.result["duplicate"].bool == isDuplicate)
                        #expect(reply.result["purchase"].isNull)
                    }
                }
            }
        }

        @Test func revokeOfAConsumableTakesBackWhatItsJWSSays() async throws {
            try await tell { app, client in
                _ = try await client.ask(Requests.credit(try app.transaction(1), account: "player-1"))
                let revoked = try app.transaction(1, revokedAt: Self.date, signedDate: Self.date + 1)
                let reply = try await client.ask(
                    Requests.notify(try app.notification("a", type: "REVOKE", transaction: revoked)))
                #expect(reply.result["purchase"]["outcome"].string == "reversed")
            }
        }

        /// What is refused is not recorded: Apple sends it again, and then it may be taken.
        @Test func aRefusedNotificationLeavesNoTrace() async throws {
            try await tell { app, client in
                let unknown = try app.notification(
                    "a", type: "ONE_TIME_CHARGE", transaction: try app.transaction(1, product: "nobody.knows"))
                for _ in 0..<2 {
                    let reply = try await client.ask(Requests.notify(unknown))
                    #expect(reply.reason == "unknown_product")
                }
            }
        }
    }
}
