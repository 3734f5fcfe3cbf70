import AppStoreSimulator

/// The App Store of the demo: a simulator within its process.
struct DemoAppStore {
    let simulator: Simulator
    /// Where it is asked, and told what to sell.
    let address: String
    private let files: SimulatorFolder

    /// Runs one for `body`.
    /// - Parameter folder: of the chain that signs.
    static func run<Result: Sendable>(
        in folder: String, _ body: (DemoAppStore) async throws -> Result
    ) async throws -> Result {
        let files = try SimulatorFolder(folder)
        let configuration = SimulatorConfiguration(bundleID: DemoStage.bundleID, environment: .sandbox, seed: 1)
        let simulator: Simulator
        let server: SimulatorServer
        do throws(SimulatorError) {
            simulator = try Simulator(configuration, chain: files.chain, key: files.key, path: files.journal)
            server = try SimulatorServer(simulator, host: "127.0.0.1", port: 0)
        } catch { throw Failure("\(error)") }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            let (ports, listening) = AsyncStream.makeStream(of: Int.self)
            group.addTask {
                defer { listening.finish() }
                try await server.run { listening.yield($0) }
            }
            defer { group.cancelAll() }
            guard let port = await ports.first(where: { _ in true }) else {
                try await group.next()
                throw Failure("the simulator ended")
            }
            let address = SimulatorAddress(host: "127.0.0.1", port: port)
            return try await body(DemoAppStore(simulator: simulator, address: "\(address)", files: files))
        }
    }

    /// What a service needs to ask it. The demo has the notification history read by hand.
    var flags: [Setting: String] {
        [
            .appStoreKey: files.keyFile, .appStoreKeyID: files.key.keyID, .appStoreIssuerID: files.key.issuerID,
            .appStoreAddress: address, .appStoreHistorySeconds: "0",
        ]
    }
}
