import AppStore
import AppStoreSimulator
import ArgumentParser
import Foundation
import Logging
import ServiceLifecycle
import StrictJSON

extension Sandbox {
    struct Serve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Runs a simulator, an App Store in a box, until SIGTERM or SIGINT.",
            discussion: """
                It sells, signs what it sold with the folder's chain, offers the App Store Server API over plain HTTP, \
                and posts notifications to the webhook. What it sold stands in the folder, in simulator.jsonl. \
                "sandbox buy" and the others drive it. The first line that it prints, once it listens, is JSON: what a \
                client of the API is configured with.

                Shares are as 20% or 0.5%. With --speed 3600 an hour of Apple's schedule takes a second; dates stay \
                those of the clock.
                """)

        @Argument(help: "The folder of the chain. What is missing in it is made: the chain, and a key of the API.")
        var folder: String

        @Option(help: "host:port on this machine; port 0 picks a free one.")
        var listen = SimulatorAddress.usual

        @Option(help: "Where notifications are posted, as http://127.0.0.1:7118/app-store/notifications. Default: none")
        var webhook: String?

        @Option(help: "The app.")
        var bundleId = "com.example.game"

        @Option(help: "The app's App Store id.")
        var appAppleId: Int64?

        @Option(help: "Sandbox or Production.")
        var environment = "Sandbox"

        @Option(help: "A StoreKit configuration of Xcode's: only its products are for sale.", completion: .file())
        var storekit: String?

        @Option(help: "The currency of prices. Default: USD")
        var currency: String?

        @Option(help: "The storefront's country, in three letters. Default: that of --storekit, else USA")
        var storefront: String?

        @Option(help: "How many times faster than the clock notifications are sent again.")
        var speed: Int64 = 1

        @Option(help: "The share of notifications that are never posted, though the history has them.")
        var lose: Share = .none

        @Option(help: "The share of notifications that are posted twice.")
        var double: Share = .none

        @Flag(help: "Shuffle notifications: the first post waits for up to ten minutes of simulated time.")
        var shuffle = false

        @Option(help: "The share of requests of the API that fail: status 500, 503, or a connection that is closed.")
        var fail: Share = .none

        @Option(help: "Requests of each kind within an hour of simulated time. Default: any number")
        var rateLimit: Int?

        @Option(help: "What all chance follows from. Default: a new one, which is printed")
        var seed: UInt64?

        func validate() throws {
            try Rule.identifier("--bundle-id", bundleId)
            try Rule.range("--app-apple-id", appAppleId, 1...Int64.max)
            try Rule.oneOf("--environment", environment, ["Sandbox", "Production"])
            try Rule.letters("--currency", currency)
            try Rule.letters("--storefront", storefront)
            try Rule.range("--speed", speed, 1...SimulatorLimits.speedMax)
            try Rule.range("--rate-limit", rateLimit.map { Int64($0) }, 1...Int64.max)
            guard SimulatorAddress(listen) != nil else {
                throw ValidationError("--listen must be host:port, not '\(listen)'.")
            }
        }

        func run() async throws {
            guard let address = SimulatorAddress(listen) else { return }
            let files = try SimulatorFolder(folder)
            let configuration = try simulatorConfiguration()
            let server: SimulatorServer
            do throws(SimulatorError) {
                let simulator = try Simulator(
                    configuration, chain: files.chain, key: files.key, path: files.journal)
                server = try SimulatorServer(simulator, host: address.host, port: address.port)
            } catch { throw Failure("\(error)") }
            var logger = Logger(label: "currency-ledger")
            logger.logLevel = .warning
            let service = SimulatorService(server: server) { port in
                Console.print(files.introduction(configuration, SimulatorAddress(host: address.host, port: port)))
            }
            let group = ServiceGroup(
                configuration: .init(
                    services: [service], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
            do { try await group.run() } catch { throw Failure("\(error)") }
        }

        private func simulatorConfiguration() throws -> SimulatorConfiguration {
            var configuration = SimulatorConfiguration(
                bundleID: bundleId, environment: .init(rawValue: environment),
                seed: seed ?? UInt64.random(in: 0..<1 << 53))
            configuration.appAppleID = appAppleId
            configuration.webhook = webhook
            if let storekit {
                let file = try StoreKitFile(path: storekit)
                configuration.products = file.products
                configuration.storefront = file.storefront ?? configuration.storefront
            }
            configuration.storefront = storefront ?? configuration.storefront
            configuration.currency = currency ?? configuration.currency
            configuration.speed = speed
            configuration.lost = lose
            configuration.doubled = double
            configuration.isShuffled = shuffle
            configuration.failing = fail
            configuration.requestsPerHour = rateLimit
            return configuration
        }
    }
}

/// The simulator, until the process is asked to end.
private struct SimulatorService: Service {
    let server: SimulatorServer
    let listening: @Sendable (_ port: Int) -> Void

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            do {
                try await server.run(listening: listening)
            } catch is CancellationError {
                // As it was asked to.
            }
        }
    }
}

/// Where a simulator listens.
struct SimulatorAddress: CustomStringConvertible {
    static let usual = "127.0.0.1:7120"

    let host: String
    let port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// `host:port` or `[::1]:port`; `nil` where it is neither.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: Int(port))
    }

    /// As a client of HTTP has it.
    var description: String { "http://\(listen)" }

    /// As `--listen` has it.
    var listen: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension Share: ExpressibleByArgument {
    /// A share as people write it, `20%`.
    public init?(argument: String) { self.init(argument) }

    /// Of all options the default is none.
    public var defaultValueDescription: String { "0%" }
}

extension StoreKitFile {
    /// - Throws: ``FileError``, with the file's name.
    init(path: String) throws(FileError) {
        let bytes = try File.read(path, bytesMax: SimulatorLimits.storeKitBytesMax)
        do throws(SimulatorError) { try self.init(bytes) } catch { throw FileError(path, error.description) }
    }
}
