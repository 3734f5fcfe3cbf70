import AppStore
import ArgumentParser
import Foundation
import Ledger
import LedgerClient
import LedgerEngine
import LineServer
import Logging
import ServiceLifecycle

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tells the life of a purchase, against the real service.",
        discussion: """
            Starts the service on free loopback ports with a fresh ledger, makes a signing chain, and talks to it \
            over TCP. A simulator stands for the App Store. The exit status is 0 only if every step came out as it \
            should.
            """)

    @Option(help: "Keep the ledger, the chain, the configuration and the exports in this folder.")
    var keep: String?

    func run() async throws {
        let folder = try Demo.folder(keep)
        defer { if keep == nil { try? FileManager.default.removeItem(at: folder) } }
        let stage = try DemoStage(folder)
        let allCameOut = try await DemoAppStore.run(in: stage.chainFolder) { appStore in
            try await tell(stage, appStore)
        }
        if let keep {
            Console.print("\nKept in \(keep): serve it with  currency-ledger serve --config \(keep)/ledger.json")
        }
        guard allCameOut else { throw Failure("a step did not come out as it should") }
        Console.print("\nEvery step came out as it should.")
    }

    /// Runs the service while the story is told.
    /// - Returns: whether every step came out as it should.
    private func tell(_ stage: DemoStage, _ appStore: DemoAppStore) async throws -> Bool {
        let settings = try stage.settings(asking: appStore)
        let service = try stage.service(settings)
        let group = ServiceGroup(
            configuration: .init(
                services: [service], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: DemoStage.logger))
        let running = Task { try await group.run() }
        let allCameOut: Bool
        do {
            let lines = try await service.lines.boundAddresses[0]
            let http = try await service.lines.boundHTTPAddresses[0]
            let client = try await LedgerClient.connect(to: lines)
            var story = DemoStory(
                client: client, stage: stage, settings: settings.ledgers[0], appStore: appStore, address: "\(lines)",
                httpAddress: "\(http)")
            allCameOut = try await story.tell()
            try await client.close()
        } catch {
            await group.triggerGracefulShutdown()
            try? await running.value
            throw error
        }
        await group.triggerGracefulShutdown()
        try await running.value
        return allCameOut
    }

    private static func folder(_ keep: String?) throws -> URL {
        let folder =
            keep.map { URL(fileURLWithPath: $0, isDirectory: true) }
            ?? FileManager.default.temporaryDirectory.appendingPathComponent(
                "currency-ledger-demo-\(UUID().uuidString)")
        if FileManager.default.fileExists(atPath: folder.appendingPathComponent("ledger").path) {
            throw Failure("\(folder.path) holds a ledger already; the demo begins with a fresh one")
        }
        try File.makeFolder(folder.path)
        return folder
    }
}

/// The demo's studio: its app, catalog, chain and configuration, as files that `serve` could be given.
struct DemoStage {
    static let bundleID = "com.example.game"
    let folder: URL
    let chain: SandboxChain
    /// A chain that nobody configured as an anchor.
    let forger: SandboxChain
    let now: Timestamp

    static let logger = Logger(label: "demo", factory: { _ in SwiftLogNoOpLogHandler() })

    var chainFolder: String { folder.appendingPathComponent("chain").path }
    private var settingsFile: String { folder.appendingPathComponent("ledger.json").path }

    init(_ folder: URL) throws {
        self.folder = folder
        now = Clock.now()
        let year: Int64 = 365 * 86_400_000
        chain = try SandboxChain(notBefore: now - year, notAfter: now + year)
        forger = try SandboxChain(notBefore: now - year, notAfter: now + year)
        try ChainFolder(chainFolder).write(chain)
        let catalog = """
            {"currencies": {"gems": {"spendOrder": "free_first", "refundShortfall": "debt"}, "tickets": {}},
             "products": {"com.example.game.gems500": {"gems": 500},
                          "com.example.game.starter": {"gems": 1000, "tickets": 5}}}

            """
        let configuration = """
            {"path": "ledger", "listen": ["127.0.0.1:0"], "http": {"listen": ["127.0.0.1:0"]},
             "app": {"bundleId": "\(DemoStage.bundleID)", "environment": "Sandbox"},
             "anchors": ["chain/root.der"], "catalog": "catalog.json", "insecureLoopback": true}

            """
        try File.write(Array(catalog.utf8), to: folder.appendingPathComponent("catalog.json").path)
        try File.write(Array(configuration.utf8), to: settingsFile)
    }

    /// The settings of the file, and whom the service asks while the demo runs.
    func settings(asking appStore: DemoAppStore) throws -> Settings {
        try Settings.load(file: settingsFile, flags: appStore.flags, environment: [:])
    }

    func service(_ settings: Settings) throws -> LedgerService {
        let checked = try CheckedConfiguration(settings)
        return try Composition.service(
            settings, catalogs: checked.catalogs.map { CatalogInForce($0) }, signatures: checked.signatures,
            create: true,
            acceptsClock: false, scratch: ScratchFolder(), logger: DemoStage.logger)
    }

    func transaction(
        _ id: String, product: String = "com.example.game.gems500", signedAt offset: Int64 = 0, refunded: Bool = false
    ) -> TransactionPayload {
        var payload = TransactionPayload(
            transactionID: id, bundleID: DemoStage.bundleID, productID: product, purchaseDate: now - 60_000,
            signedDate: now - 30_000 + offset, environment: .sandbox)
        payload.price = 4_990
        payload.currency = "USD"
        if refunded {
            payload.revocationDate = now - 30_000 + offset
            payload.revocationReason = .other
        }
        return payload
    }
}
