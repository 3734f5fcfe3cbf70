import AppStore
import Foundation
import LedgerClient
import LedgerWire
import Testing

/// What the App Store could not deliver is fetched from it: by the service itself, and by hand.
@Suite struct ReconciliationTests {
    private static let player = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"

    /// A studio, and an App Store that answers what the studio's files say.
    private final class Stand {
        let studio: Studio
        let store: RunningCommand

        init(historySeconds: Int) async throws {
            studio = try Studio()
            let script = Command.root.appendingPathComponent("Tests/CommandTests/app_store.py").path
            store = try Command.start(
                [script, studio.folder.url.path], try TemporaryFolder(), URL(fileURLWithPath: "/usr/bin/python3"))
            try await store.waits(for: "port=")
            let said = try String(contentsOfFile: store.folder.path("err"), encoding: .utf8)
            let port = try #require(said.firstMatch(of: /port=(\d+)/)).1
            let key = try Command.run(
                URL(fileURLWithPath: "/usr/bin/openssl"),
                ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
            try studio.folder.write("AuthKey.p8", key.output)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: studio.folder.path("AuthKey.p8"))
            try studio.folder.write(
                "ledger.json",
                """
                {"path": "ledger", "listen": ["127.0.0.1:0"],
                 "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
                 "anchors": ["root.der"], "catalog": "catalog.json", "insecureLoopback": true,
                 "appStore": {"key": "AuthKey.p8", "keyId": "2X9R4HXF34", "address": "http://127.0.0.1:\(port)",
                              "issuerId": "57246542-96fe-1a63-e053-0824d011072a", "historySeconds": \(historySeconds)}}
                """)
        }

        deinit { store.process.terminate() }

        func transaction(_ number: Int, product: String = "com.example.game.gems500", isRefunded: Bool = false) throws
            -> String
        {
            var payload = TransactionPayload(
                transactionID: String(number), bundleID: "com.example.game", productID: product,
                purchaseDate: studio.now - 60_000, signedDate: studio.now - (isRefunded ? 10_000 : 60_000),
                environment: .sandbox)
            payload.appAccountToken = ReconciliationTests.player
            if isRefunded { payload.revocationDate = studio.now - 20_000 }
            return try studio.chain.sign(payload)
        }

        /// Has Apple's history list a notification that never arrived.
        /// - Parameter before: milliseconds from then until now.
        func lose(
            _ type: NotificationPayload.NotificationType, _ transaction: String?, before: Int64
        ) throws {
            let payload = NotificationPayload(
                notificationType: type, notificationUUID: UUID().uuidString.lowercased(),
                signedDate: studio.now - before,
                data: NotificationPayload.AppMetadata(
                    bundleID: "com.example.game", environment: .sandbox, signedTransactionInfo: transaction))
            let line = #"{"time": \#(studio.now - before), "signedPayload": "\#(try studio.chain.sign(payload))"}"#
            try append(line, to: "history.jsonl")
        }

        func append(_ line: String, to name: String) throws {
            let old = (try? String(contentsOfFile: studio.folder.path(name), encoding: .utf8)) ?? ""
            try studio.folder.write(name, old + line + "\n")
        }

        /// Waits until the player has so much.
        func waits(for available: Int64?, at service: RunningService) async throws {
            let client = try await service.client()
            let player = try #require(AccountName(ReconciliationTests.player))
            var last: Int64?
            for _ in 0..<1_200 {
                last = try await client.balance(player).balances.first?.balance.available
                if last == available { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(last == available)
            try await client.close()
        }

        /// Waits until the service has logged it.
        func waits(for text: String, at service: RunningService) async throws {
            for _ in 0..<1_200 where try !service.said.contains(text) { try await Task.sleep(for: .milliseconds(50)) }
            #expect(try service.said.contains(text))
        }

        func reconcile(_ service: RunningService, _ arguments: String...) throws -> Finished {
            try Command.run(
                ["app-store", "reconcile", "--config", studio.folder.path("ledger.json"), "--server", service.address]
                    + arguments)
        }
    }

    @Test func theServiceCarriesOutWhatItsWebhookMissedOverRestartsToo() async throws {
        let stand = try await Stand(historySeconds: 1)
        let day: Int64 = 86_400_000
        try stand.lose(.oneTimeCharge, try stand.transaction(1), before: 20 * day)
        try stand.lose(.oneTimeCharge, try stand.transaction(2, product: "com.example.game.new"), before: 10 * day)
        for _ in 0..<25 { try stand.lose(.test, nil, before: 5 * day) }
        var service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 500, at: service)
        try stand.lose(.refund, try stand.transaction(1, isRefunded: true), before: 1_000)
        try await stand.waits(for: 0, at: service)
        try await stand.waits(for: "carried out what Apple's notification history had", at: service)
        #expect(service.stop() == 0)
        // The product that the catalog lacked holds the position, however much was carried out behind it.
        let position = try String(contentsOfFile: stand.studio.folder.path("ledger/app-store.history"), encoding: .utf8)
        #expect(try #require(Int64(position.trimmingCharacters(in: .newlines))) <= stand.studio.now - 10 * day)
        try stand.studio.folder.write(
            "catalog.json",
            #"""
            {"currencies": {"gems": {}},
             "products": {"com.example.game.gems500": {"gems": 500}, "com.example.game.new": {"gems": 70}}}
            """#)
        service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 70, at: service)
        #expect(service.stop() == 0)
        let audit = try Command.run(["audit", "--config", stand.studio.folder.path("ledger.json")])
        #expect(audit.status == 0 && audit.output.contains("everything holds"), "\(audit)")
    }

    @Test func byHandWhatIsNewIsSaidAndRefundsAreFoundWithoutANotification() async throws {
        let stand = try await Stand(historySeconds: 0)
        try stand.lose(.oneTimeCharge, try stand.transaction(1), before: 3_600_000)
        try stand.lose(.oneTimeCharge, try stand.transaction(2), before: 1_800_000)
        let service = try RunningService(stand.studio.folder)
        let since = "\(stand.studio.now - 2 * 86_400_000)"
        let first = try stand.reconcile(service, "--since", since)
        #expect(first.status == 0, "\(first)")
        #expect(first.output.hasSuffix("{\"new\":2,\"known\":0,\"refused\":0,\"postponed\":0}\n"), "\(first)")
        #expect(first.output.contains(#""notificationType":"ONE_TIME_CHARGE""#))
        try await stand.waits(for: 1_000, at: service)
        let second = try stand.reconcile(service, "--since", since)
        #expect(second.output == "{\"new\":0,\"known\":2,\"refused\":0,\"postponed\":0}\n", "\(second)")

        try stand.append(try stand.transaction(2, isRefunded: true), to: "refunds.jsonl")
        let deep = try stand.reconcile(service, "--since", since, "--deep")
        #expect(deep.status == 0 && deep.output.contains(#""outcome":"reversed""#), "\(deep)")
        try await stand.waits(for: 500, at: service)

        // What cannot be taken yet, and what is wrong, is said.
        try stand.lose(.oneTimeCharge, try stand.transaction(3, product: "com.example.game.new"), before: 60_000)
        let postponed = try stand.reconcile(service, "--since", since)
        #expect(postponed.status == 1 && postponed.error.contains("unknown_product"), "\(postponed)")
        let early = try stand.reconcile(service, "--since", "2020-01-01")
        #expect(early.status != 0 && early.error.contains("for 30 days"), "\(early)")
        #expect(service.stop() == 0)
        let stopped = try stand.reconcile(service, "--since", since)
        #expect(stopped.status != 0 && stopped.error.contains("no service at"), "\(stopped)")
        try FileManager.default.removeItem(atPath: stand.studio.folder.path("AuthKey.p8"))
        let keyless = try stand.reconcile(service, "--since", since)
        #expect(keyless.status != 0 && keyless.error.contains("(it is named by appStore.key)"), "\(keyless)")
    }
}
