import AppStore
import AppStoreServer
import Foundation
import StrictJSON
import Testing

@testable import AppStoreSimulator

/// One chain and one key for all tests; a folder, a simulator that runs, and clients of it, for one test.
struct Store {
    static let bundleID = "com.example.game"
    static let keyID = "2X9R4HXF34"
    static let issuerID = "57246542-96fe-1a63-e053-0824d011072a"
    static let product = "com.example.game.gems500"
    static let account = "f47ac10b-58cc-4372-a567-0e02b2c3d479"

    /// What all tests of a process sign with: keys take a while to make.
    private static let shared = Result { () throws -> (chain: SandboxChain, key: ES256PrivateKey) in
        let day: Int64 = 86_400_000
        let chain = try SandboxChain(notBefore: SystemTime.now() - day, notAfter: SystemTime.now() + day)
        return (chain, try ES256PrivateKey.generate())
    }

    static var chain: SandboxChain { get throws { try shared.get().chain } }
    static var key: ES256PrivateKey { get throws { try shared.get().key } }
    static var callerKey: CallerKey {
        get throws { CallerKey(key: try key, keyID: keyID, issuerID: issuerID) }
    }
    static var verifier: Verifier {
        get throws { Verifier(app: App(bundleID: bundleID, environment: .sandbox), anchors: [try chain.root]) }
    }

    let simulator: Simulator
    let client: AppStoreServerClient
    let commands: SimulatorClient
    let address: String

    /// Runs a simulator for `body`.
    /// - Parameters:
    ///   - path: of its file; a new one where it is `nil`.
    ///   - configure: changes what a simulator without a webhook is told.
    static func run(
        at path: String? = nil, retries: AppStoreServerClient.RetryPolicy = .none,
        configure: (inout SimulatorConfiguration) -> Void = { _ in }, _ body: (Store) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("simulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = SimulatorConfiguration(bundleID: bundleID, environment: .sandbox, seed: 1)
        configure(&configuration)
        let simulator = try Simulator(
            configuration, chain: try chain, key: try callerKey,
            path: path ?? folder.appendingPathComponent("simulator.jsonl").path)
        let server = try SimulatorServer(simulator, host: "127.0.0.1", port: 0)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let running = Task {
            defer { port.finish() }
            try await server.run { port.yield($0) }
        }
        var listening: Int?
        for await number in ports {
            listening = number
            break
        }
        do {
            let address = "http://127.0.0.1:\(try #require(listening))"
            let key = try InAppPurchaseKey(p8: try key.pem(), keyID: keyID, issuerID: issuerID)
            try await AppStoreServerClient.with(
                key: key,
                configuration: AppStoreServerClient.Configuration(
                    bundleID: bundleID, address: try AppStoreAddress(address), retries: retries)
            ) { client in
                try await body(
                    Store(
                        simulator: simulator, client: client, commands: SimulatorClient(address: address),
                        address: address))
            }
        } catch {
            running.cancel()
            _ = await running.result
            throw error
        }
        running.cancel()
        _ = await running.result
    }

    /// Buys; the product is a consumable unless it is said otherwise.
    @discardableResult
    func buy(
        _ product: String = product, _ change: (inout SimulatorCommand.PurchaseOrder) -> Void = { _ in }
    ) async throws -> SimulatorClient.Outcome {
        var order = SimulatorCommand.PurchaseOrder(productID: product)
        change(&order)
        return try await commands.perform(.buy(order))
    }

    /// A JWS that the simulator signed, verified.
    // The compiler (Swift 6.3.1) crashes where it inlines this into a function that is async.
    @inline(never) func read(_ jws: String) throws -> TransactionPayload {
        try Store.verifier.verify(transaction: Array(jws.utf8), now: SystemTime.now()).payload
    }

    /// The line of a transaction in the state.
    func state(of id: String) async throws -> [String: String] {
        try JSONMembers.read(Array(try await commands.state(of: id).dropLast()))
    }
}

/// An object of JSON as a dictionary.
enum JSONMembers {
    /// Texts as they are, anything else as JSON writes it.
    static func read(_ json: [UInt8]) throws -> [String: String] {
        try JSONBody.read(json) { (reader) throws(JSONError) in
            var members: [String: String] = [:]
            try reader.object { (reader, key) throws(JSONError) in
                let name = key.string
                if try reader.peek() == .string {
                    members[name] = try reader.string()
                } else {
                    let range = try reader.raw()
                    members[name] = String(decoding: reader.bytes(range), as: UTF8.self)
                }
            }
            return members
        }
    }
}

/// Waits until something has become true, which happens on other threads.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<3_000 {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return false
}

/// The refusal of the App Store that a call ends with.
func refusal(
    at place: SourceLocation = #_sourceLocation, _ call: () async throws -> Void
) async throws -> AppStoreServerError.Refusal {
    do {
        try await call()
    } catch AppStoreServerError.refused(let refusal) {
        return refusal
    }
    Issue.record("it was not refused", sourceLocation: place)
    return AppStoreServerError.Refusal(status: 0)
}
