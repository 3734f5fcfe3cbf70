import AppStore
import Foundation
import Testing

@testable import AppStoreServer

/// The page of the library says what is so.
@Suite struct PageTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    private static func page() throws -> String {
        try text("Sources/AppStoreServer/AppStoreServer.docc/AppStoreServer.md")
    }

    @Test func theExampleIsTheOneThatIsRun() throws {
        let example = try Self.text("Tests/AppStoreServerTests/Example.swift")
        #expect(try Self.page().contains("```swift\n\(example)```\n"))
    }

    @Test func theExampleFetchesAndVerifiesWhatDidNotArrive() async throws {
        let now: Int64 = 1_777_000_002_000
        let chain = try SandboxChain(notBefore: 1_700_000_000_000, notAfter: 4_000_000_000_000)
        let payloads = try (1...3).map { number in
            try chain.sign(
                NotificationPayload(
                    notificationType: .test, notificationUUID: "\(number)", signedDate: now - 1_000,
                    data: NotificationPayload.AppMetadata(bundleID: "com.example.game", environment: .sandbox)))
        }
        let store = try await TestStore.start { _, number in
            .reply(
                200,
                """
                {"notificationHistory":[{"signedPayload":"\(payloads[number - 1])","sendAttempts":[]}],
                 "hasMore":\(number < 3),"paginationToken":"page\(number)"}
                """)
        }
        let verifier = Verifier(
            app: App(bundleID: "com.example.game", environment: .sandbox), anchors: [chain.root])
        let missed = try await missedNotifications(
            from: try AppStoreAddress("http://127.0.0.1:\(store.port)"), p8: TestKeys.p8, verifier: verifier,
            since: now - 60_000, now: now)
        #expect(missed.map(\.payload.notificationUUID) == ["1", "2", "3"])
        #expect(
            store.requests.map(\.body)
                == Array(
                    repeating: #"{"startDate":1776999942000,"endDate":1777000002000,"onlyFailures":true}"#, count: 3))
        try await store.stop()
    }

    /// Each call of the client stands in the table.
    @Test func everyEndpointIsOnThePage() throws {
        let page = try Self.page()
        let sources = try ["Transactions", "Notifications"].map {
            try Self.text("Sources/AppStoreServer/AppStoreServerClient+\($0).swift")
        }
        let calls = sources.flatMap { $0.matches(of: /public func (\w+)\(/).map { String($0.1) } }
        #expect(calls.count == Endpoint.allCases.count)
        for call in calls { #expect(page.contains("| `\(call)` |"), "\(call)") }
    }

    @Test func everyBoundThatThePageSaysIsTheOne() throws {
        typealias Limits = AppStoreServerLimits
        let page = try Self.page().replacing("\n", with: " ")
        #expect(Limits.tokenSeconds == 20 * 60 && page.contains("is good for 20 minutes"))
        #expect(Limits.tokenRenewalSeconds == 5 * 60 && page.contains("until five minutes before its end"))
        #expect(Limits.attemptsMax == 5 && Limits.retryTotalMilliseconds == 120_000)
        #expect(page.contains("sends five times within two minutes"))
        #expect(Limits.retryBaseMilliseconds == 500 && page.contains("up to half a second before the first"))
        #expect(Limits.requestTimeoutMilliseconds == 30_000 && page.contains("An attempt takes 30 seconds at most"))
        #expect(Limits.replyBytesMax == 2 << 20 && page.contains("a reply has 2 MiB at most"))
    }
}
