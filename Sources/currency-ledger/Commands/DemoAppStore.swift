import AppStore
import AppStoreSimulator
import Foundation
import LedgerClient

/// The demo's App Store in a box: every notification of it is lost.
struct DemoAppStore {
    static let player = "f47ac10b-58cc-4372-a567-0e02b2c3d479"

    let address: SimulatorAddress
    private let files: SimulatorFolder
    private let running: Task<Void, any Error>
    private let client: SimulatorClient

    /// Starts it on a free loopback port, with a chain and a key of its own.
    init(_ folder: URL) async throws {
        files = try SimulatorFolder(folder.appendingPathComponent("chain").path)
        var configuration = SimulatorConfiguration(bundleID: DemoStage.bundleID, environment: .sandbox, seed: 1)
        // Nothing is posted there.
        configuration.webhook = "http://127.0.0.1:7118/app-store/notifications"
        configuration.lost = Share("100%")!
        let server: SimulatorServer
        do throws(SimulatorError) {
            server = try SimulatorServer(
                try Simulator(configuration, chain: files.chain, key: files.key, path: files.journal),
                host: "127.0.0.1", port: 0)
        } catch { throw Failure("\(error)") }
        let (ports, port) = AsyncStream<Int>.makeStream()
        let running = Task {
            defer { port.finish() }
            try await server.run { port.yield($0) }
        }
        self.running = running
        guard let port = await ports.first(where: { _ in true }) else {
            try await running.value
            throw Failure("the App Store in a box ended")
        }
        address = SimulatorAddress(host: "127.0.0.1", port: port)
        client = SimulatorClient(address: address.description)
    }

    func stop() { running.cancel() }

    /// The setting `appStore`, as JSON.
    var settings: String {
        """
        {"key": "chain/\(files.keyName)", "keyId": "\(files.key.keyID)", "issuerId": "\(files.key.issuerID)",
                      "address": "\(address)", "historySeconds": 1}
        """
    }

    func buy() async throws -> SimulatorClient.Outcome {
        var order = SimulatorCommand.PurchaseOrder(productID: "com.example.game.gems500")
        order.appAccountToken = DemoAppStore.player
        order.price = 4_990
        return try await client.perform(.buy(order))
    }

    func requestConsumption(of transactionID: String) async throws -> SimulatorClient.Outcome {
        try await client.perform(.requestConsumption(transactionID: transactionID, reason: .unintendedPurchase))
    }

    /// What it holds of a transaction, a line of JSON.
    func state(of transactionID: String) async throws -> [UInt8] { try await client.state(of: transactionID) }
}
