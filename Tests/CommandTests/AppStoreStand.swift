import AppStore
import Foundation
import LedgerClient
import LedgerWire
import Testing

/// A studio, and an App Store that answers what the studio's files say.
final class AppStoreStand {
    static let player = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"

    let studio: Studio
    let store: RunningCommand
    /// Where the App Store listens.
    let address: String
    /// The setting `appStore`.
    let appStore: String

    /// - Parameters:
    ///   - more: members of the setting `appStore`.
    ///   - historyFrom: from when on Apple's history is read; `nil`: as the service does by itself.
    ///   - ledgers: what stands before the setting `appStore` of each ledger, by their names; `nil` for one ledger.
    init(
        historySeconds: Int, more: String = "", historyFrom: String? = "2020-01-01", ledgers: [String: String]? = nil
    ) async throws {
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
        address = "http://127.0.0.1:\(port)"
        let beginning = historyFrom.map { #", "historyFrom": "\#($0)""# } ?? ""
        appStore = """
            {"key": "AuthKey.p8", "keyId": "2X9R4HXF34", "address": "\(address)",
             "issuerId": "57246542-96fe-1a63-e053-0824d011072a",
             "historySeconds": \(historySeconds)\(beginning)\(more)}
            """
        let kept = ledgers?.map { name, app in
            #""\#(name)": {"path": "\#(name)", "catalog": "catalog.json", "anchors": ["root.der"], "app": \#(app), "#
                + #""appStore": \#(appStore)}"#
        }
        let one = """
            "path": "ledger", "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
            "anchors": ["root.der"], "catalog": "catalog.json", "appStore": \(appStore)
            """
        let members = kept.map { #""ledgers": {\#($0.joined(separator: ", "))}"# } ?? one
        try studio.folder.write(
            "ledger.json", #"{"listen": ["127.0.0.1:0"], "insecureLoopback": true, \#(members)}"#)
    }

    deinit { store.process.terminate() }

    /// - Parameter percentage: what of a refunded one is, in thousandths of a percent; a part is refunded before the
    ///   whole.
    func transaction(
        _ number: Int, product: String = "com.example.game.gems500", quantity: Int64 = 1,
        account: String? = AppStoreStand.player, isRefunded: Bool = false, percentage: Int64? = nil,
        environment: AppStore.Environment = .sandbox
    ) throws -> String {
        let refunded: Int64 = percentage == nil ? 10_000 : 15_000
        var payload = TransactionPayload(
            transactionID: String(number), bundleID: "com.example.game", productID: product,
            purchaseDate: studio.now - 60_000, quantity: quantity,
            signedDate: studio.now - (isRefunded ? refunded : 60_000), environment: environment)
        payload.appAccountToken = account
        if isRefunded {
            payload.revocationDate = studio.now - 20_000
            payload.revocationPercentage = percentage
        }
        return try studio.chain.sign(payload)
    }

    /// Has Apple's history list a notification that never arrived.
    /// - Parameter before: milliseconds from then until now.
    func lose(
        _ type: NotificationPayload.NotificationType, _ transaction: String?, before: Int64
    ) throws {
        let signed = try notification(type, transaction, before: before)
        try append(
            #"{"time": \#(studio.now - before), "signedPayload": "\#(signed)"}"#, to: "history.jsonl")
    }

    func notification(
        _ type: NotificationPayload.NotificationType, _ transaction: String?, before: Int64
    ) throws -> String {
        let payload = NotificationPayload(
            notificationType: type, notificationUUID: UUID().uuidString.lowercased(),
            signedDate: studio.now - before,
            data: NotificationPayload.AppMetadata(
                bundleID: "com.example.game", environment: .sandbox, signedTransactionInfo: transaction))
        return try studio.chain.sign(payload)
    }

    func append(_ line: String, to name: String) throws {
        let old = (try? String(contentsOfFile: studio.folder.path(name), encoding: .utf8)) ?? ""
        try studio.folder.write(name, old + line + "\n")
    }

    /// Waits until the player has so much.
    func waits(for available: Int64?, at service: RunningService) async throws {
        let client = try await service.client()
        let player = try #require(AccountName(Self.player))
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

    func reconcile(_ service: RunningService, _ arguments: String..., token: String? = nil) throws -> Finished {
        try Command.run(
            ["app-store", "reconcile", "--config", studio.folder.path("ledger.json"), "--server", service.address]
                + arguments, environment: token.map { ["LEDGER_TOKEN": $0] } ?? [:])
    }

    /// The same, which goes on beside the test.
    func startReconcile(_ service: RunningService, _ arguments: String...) throws -> RunningCommand {
        try Command.start(
            ["app-store", "reconcile", "--config", studio.folder.path("ledger.json"), "--server", service.address]
                + arguments, try TemporaryFolder())
    }

    /// What was asked of the App Store, or told it.
    struct Request: Decodable {
        let path: String
        /// JSON, with its members in order.
        let body: String
        /// With which it was told; `nil` of what was only asked.
        let status: Int?
    }

    func requests() throws -> [Request] {
        let text = (try? String(contentsOfFile: studio.folder.path("requests.jsonl"), encoding: .utf8)) ?? ""
        // The last line may be on its way.
        return text.split(separator: "\n").compactMap { line in
            try? JSONDecoder().decode(Request.self, from: Data(line.utf8))
        }
    }

    func audits() throws {
        let audit = try Command.run(["audit", "--config", studio.folder.path("ledger.json")])
        #expect(audit.status == 0 && audit.output.contains("everything holds"), "\(audit)")
    }
}
