import AppStore
import Foundation
import Ledger
import LedgerTestKit
import Testing

@testable import LineServer

/// What Apple's sandbox really signed; the files are not part of the repository.
private let vectors = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("../shared/vectors/real-appstore").standardizedFileURL

extension ServerTests {
    @Suite(.enabled(if: FileManager.default.fileExists(atPath: vectors.path), "they are not at \(vectors.path)"))
    struct AppStoreVectors {
        private static func jws(_ name: String) throws -> String {
            try String(contentsOf: vectors.appendingPathComponent("\(name).jws"), encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }

        private static func catalog() throws -> Catalog {
            let gems = try #require(CurrencyCode("gems"))
            func offer(_ units: Int64) throws -> [Catalog.Offer] {
                [Catalog.Offer(from: 0, grants: [CurrencyAmount(currency: gems, amount: try #require(Amount(units)))])]
            }
            return Catalog(
                currencies: [gems: CurrencySettings()],
                products: ["cynet.coci.5usd": try offer(500), "cynet.coci.1usd": try offer(100)])
        }

        private static func run(
            bundleID: String = "com.cynet.xingqi", _ body: (RawClient) async throws -> Void
        ) async throws {
            try await TestServer.run(
                store: MemoryStore(try catalog()),
                verifier: Verifier(app: App(bundleID: bundleID, environment: .sandbox)),
                now: { Int64(Date().timeIntervalSince1970 * 1_000) }
            ) { server in try await body(try await server.connect()) }
        }

        @Test func theStoryOfOnePurchase() async throws {
            let purchased = try Self.jws("transaction-purchased")
            let refunded = try Self.jws("transaction-refunded")
            try await Self.run { client in
                let replies = try await client.ask([
                    Requests.credit(purchased),
                    Requests.credit(purchased, account: "player-1"),
                    Requests.credit(purchased, account: "player-1"),
                    Requests.credit(purchased, account: "player-2"),
                    Requests.credit(refunded, account: "player-1"),
                    Requests.credit(purchased, account: "player-1"),
                    Requests.notify(try Self.jws("notification-refund")),
                    Requests.notify(try Self.jws("notification-one-time-charge"), account: "player-1"),
                    Requests.notify(try Self.jws("notification-test")),
                    Requests.balance("player-1"),
                ])
                #expect(replies[0].reason == "account_required")
                #expect(replies[1].result["outcome"].string == "credited")
                #expect(replies[1].result["transactionId"].string == "2000000849195831")
                #expect(replies[2].result["outcome"].string == "already_credited")
                #expect(replies[3].reason == "account_mismatch")
                #expect(replies[4].result["outcome"].string == "reversed")
                #expect(replies[5].result["outcome"].string == "already_reversed")
                #expect(replies[5].result["balances"]["gems"]["available"].int == 0)
                #expect(replies[6].result["purchase"]["outcome"].string == "already_reversed")
                #expect(replies[7].result["purchase"]["outcome"].string == "credited")
                #expect(replies[8].reason == "wrong_app")
                #expect(replies[9].result["balances"]["gems"]["available"].int == 100)
            }
        }

        @Test func theRefundMayComeFirst() async throws {
            try await Self.run { client in
                let replies = try await client.ask([
                    Requests.credit(try Self.jws("transaction-refunded"), account: "player-1"),
                    Requests.credit(try Self.jws("transaction-purchased"), account: "player-1"),
                    Requests.balance("player-1"),
                ])
                #expect(replies[0].result["outcome"].string == "reversed")
                #expect(replies[1].result["outcome"].string == "already_reversed")
                #expect(replies[2].result["balances"]["gems"]["available"].int == 0)
            }
        }

        @Test func aTestNotificationIsAcknowledgedByItsOwnApp() async throws {
            let test = try Self.jws("notification-test")
            let payload = try #require(test.split(separator: ".").dropFirst().first)
            var base64 = payload.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
            base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
            let json = try JSON(String(decoding: try #require(Data(base64Encoded: base64)), as: UTF8.self))
            try await Self.run(bundleID: try #require(json["data"]["bundleId"].string)) { client in
                let reply = try await client.ask(Requests.notify(test))
                #expect(reply.result["notificationType"].string == "TEST" && reply.result["purchase"].isNull)
            }
        }

        @Test func theSameNotificationsArePostedByHTTP() async throws {
            try await TestServer.run(
                store: MemoryStore(try Self.catalog()), listenHTTP: [.tcp(host: "127.0.0.1", port: 0)],
                verifier: Verifier(app: App(bundleID: "com.cynet.xingqi", environment: .sandbox)),
                now: { Int64(Date().timeIntervalSince1970 * 1_000) }
            ) { server in
                let (lines, client) = (try await server.connect(), try await server.connectHTTP())
                let purchased = try Self.jws("transaction-purchased")
                _ = try await lines.ask(Requests.credit(purchased, account: "player-1"))
                for name in ["notification-one-time-charge", "notification-refund", "notification-refund"] {
                    #expect(try await client.ask(HTTPClient.notification(try Self.jws(name))).status == 200, "\(name)")
                }
                let test = try await client.ask(HTTPClient.notification(try Self.jws("notification-test")))
                #expect(test.status == 200 && test.json.reason == "wrong_app")
                let view = try await lines.ask(Requests.call("purchase", #"{"transactionId":"2000000849195831"}"#))
                #expect(view.result["state"].string == "revoked", "\(view)")
            }
        }

        @Test func oneFlippedBitIsRefusedWithItsDetail() async throws {
            try await Self.run { client in
                for name in ["transaction-purchased", "transaction-refunded", "notification-one-time-charge"] {
                    let jws = try Self.jws(name)
                    for seed in 0..<18 {
                        let flipped = Flip.bit(of: jws, seed)
                        let reply = try await client.ask(
                            name.hasPrefix("n")
                                ? Requests.notify(flipped, account: "a") : Requests.credit(flipped, account: "a"))
                        #expect(reply.reason == "verification_failed", "\(name) \(seed): \(reply)")
                        let detail = try #require(reply["error"]["data"]["detail"].string)
                        switch seed % 3 {
                        // In the payload and in the signature nothing but the signature can tell; or the date is gone.
                        case 1:
                            #expect(["invalid_signature", "certificate_expired"].contains(detail), "\(name) \(seed)")
                        case 2: #expect(detail == "invalid_signature", "\(name) \(seed)")
                        default:
                            #expect(
                                [
                                    "malformed", "unsupported_algorithm", "invalid_certificate_chain",
                                    "untrusted_root", "invalid_signature",
                                ].contains(detail), "\(name) \(seed)")
                        }
                    }
                }
                let balance = try await client.ask(Requests.balance("a"))
                #expect(balance.result["balances"].count == 0)
            }
        }
    }
}
