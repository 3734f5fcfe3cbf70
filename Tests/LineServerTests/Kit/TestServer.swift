import AppStore
import Foundation
import Ledger
import LedgerEngine
import LedgerMetrics
import LedgerTestKit
import LedgerWire
import LineServer
import Logging
import NIOPosix
import ServiceLifecycle
import Testing
import TraceExport

/// A real server on a free port of loopback, for the time of a test.
struct TestServer {
    let addresses: [ServerAddress]
    let httpAddresses: [ServerAddress]
    let consoleAddresses: [ServerAddress]
    let metricsAddresses: [ServerAddress]
    let lines: LineService
    fileprivate let group: ServiceGroup

    var address: ServerAddress { addresses[0] }

    /// Each event loop answers these behind what it has read.
    func letEventLoopsRead() async throws {
        for _ in 0..<8 {
            let reply = try await connect().ask(Requests.ping(1))
            #expect(reply.reason == nil)
        }
    }

    func connect(receiveBufferBytes: Int32? = nil) async throws -> RawClient {
        try await RawClient(address, receiveBufferBytes: receiveBufferBytes)
    }

    /// A connection that has authenticated.
    func connect(as secret: String) async throws -> RawClient {
        let client = try await connect()
        let greeting = try await client.ask(Requests.authenticate(secret))
        try #require(greeting.reason == nil)
        return client
    }

    /// A connection that has authenticated, or nil where the service refuses it, which fails no test.
    func connectIfAccepted(as secret: String) async -> RawClient? {
        guard let client = try? await connect(), let greeting = try? await client.ask(Requests.authenticate(secret)),
            greeting.reason == nil
        else { return nil }
        return client
    }

    func connectHTTP() async throws -> HTTPClient { HTTPClient(try await RawClient(httpAddresses[0])) }

    func connectMetrics() async throws -> RawClient { try await RawClient(metricsAddresses[0]) }

    /// As SIGTERM does; returns at once.
    func shutDown() async { await group.triggerGracefulShutdown() }

    static let now: @Sendable () -> Int64 = { SandboxApp.date + 60_000 }

    /// A further ledger.
    struct Other {
        let name: String
        let app: SandboxApp
        var store: any Store = MemoryStore()
    }

    private static func member(
        _ name: String?, _ app: App, _ ledger: RunningLedger, handOver: (@Sendable () -> Void)?, folder: String? = nil,
        standby: StandbyStanding? = nil
    ) -> ServedLedgers.Member {
        let name = name.flatMap { LedgerName($0) }
        return ServedLedgers.Member(name: name, app: app, ledger: ledger, handOver: handOver, folder: folder) {
            LedgerInfo(
                name: name, environment: app.environment.rawValue, bundleID: app.bundleID, engine: ledger.engine,
                currencies: [], standby: standby)
        }
    }

    /// Runs a server while `body` runs, and shuts it down.
    /// - Parameters:
    ///   - others: where there are some, its own ledger is called `main`.
    ///   - handOver: gives each ledger's lead to another node.
    ///   - folder: where its own ledger is said to be.
    ///   - standby: what its own ledger says of whom it follows.
    ///   - exporter: where requests, and batches of its own ledger, are traced.
    static func run(
        store: any Store = MemoryStore(), listen: [ServerAddress] = [.tcp(host: "127.0.0.1", port: 0)],
        listenHTTP: [ServerAddress] = [], listenConsole: [ServerAddress] = [], listenMetrics: [ServerAddress] = [],
        tokens: [Token] = [], tls: ServerConfiguration.TLS? = nil, needsCertificatesOverHTTP: Bool = true,
        allowsInsecurePlaintext: Bool = false, socketMode: UInt32 = ServerConfiguration.socketModeDefault,
        verifier: Verifier? = nil, beside others: [Other] = [], handOver: (@Sendable () -> Void)? = nil,
        folder: String? = nil, standby: StandbyStanding? = nil,
        exporter: TraceExporter? = nil, logs: LogCapture = LogCapture(),
        now: @escaping @Sendable () -> Int64 = now, clock: @escaping @Sendable () -> UInt64 = { 0 },
        limits: (inout ServerLimits) -> Void = { _ in },
        engineLimits: (inout EngineLimits) -> Void = { _ in },
        report: @escaping @Sendable (LedgerEvent) -> Void = { _ in },
        _ body: (TestServer) async throws -> Void
    ) async throws {
        var chosen = ServerLimits()
        chosen.lingerMilliseconds = 300
        limits(&chosen)
        var ofEngine = EngineLimits()
        // Tests count commits and have them fail: no sweep but the first comes in between, unless a test wants it.
        ofEngine.expirySweepMilliseconds = 3_600_000
        engineLimits(&ofEngine)
        let verifier = try verifier ?? SandboxApp().verifier
        let ledger = try RunningLedger(
            store: store, verifier: verifier, limits: ofEngine,
            figures: EngineFigures(tracesCommits: exporter != nil), now: now, report: report)
        var members = [
            member(
                others.isEmpty ? nil : "main", verifier.app, ledger, handOver: handOver, folder: folder,
                standby: standby)
        ]
        for (place, other) in others.enumerated() {
            let ledger = try RunningLedger(
                place: place + 1, store: other.store, verifier: other.app.verifier, limits: ofEngine, now: now,
                report: report)
            members.append(member(other.name, other.app.app, ledger, handOver: handOver))
        }
        let ledgers = ServedLedgers(version: "test", members: members)
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: chosen.eventLoopThreads)
        let lines = try LineService(
            configuration: ServerConfiguration(
                listen: listen, listenHTTP: listenHTTP, listenConsole: listenConsole, listenMetrics: listenMetrics,
                access: tokens.isEmpty ? .everyoneOnThisMachine : .tokens(tokens), tls: tls,
                needsCertificatesOverHTTP: needsCertificatesOverHTTP,
                allowsInsecurePlaintext: allowsInsecurePlaintext, socketMode: socketMode, limits: chosen,
                traces: exporter.map { exporter in
                    .init(tracer: exporter.tracer) { text in
                        exporter.measure { text.add(.spans, .count($1), [Label("result", $0)]) }
                    }
                }, clock: clock),
            ledgers: ledgers, group: loops, logger: logs.logger)
        let agents: [any Service] = exporter.map { [$0] } ?? []
        let service = LedgerService(ledgers: ledgers, agents: agents, group: loops, lines: lines)
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: Logger(label: "group", factory: { _ in SwiftLogNoOpLogHandler() })))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let addresses: [ServerAddress]
            do {
                addresses = try await lines.boundAddresses
                let httpAddresses = try await lines.boundHTTPAddresses
                let consoleAddresses = try await lines.boundConsoleAddresses
                let metricsAddresses = try await lines.boundMetricsAddresses
                try await body(
                    TestServer(
                        addresses: addresses, httpAddresses: httpAddresses, consoleAddresses: consoleAddresses,
                        metricsAddresses: metricsAddresses,
                        lines: lines, group: group))
            } catch {
                await group.triggerGracefulShutdown()
                // What kept the server from starting is thrown here; otherwise what the test found.
                try await tasks.waitForAll()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}

extension Token {
    /// A token with these secrets, and with limits that may be changed.
    init(_ name: String, _ roles: Roles, _ secrets: String..., limited: (inout Limits) -> Void = { _ in }) {
        var limits = Limits()
        limited(&limits)
        self.init(
            name: name, roles: roles, digests: secrets.map { Digest(sha256: SHA256.hash(Array($0.utf8))) },
            limits: limits)
    }

    /// A token of one role, whose name it has.
    init(token: String, role: Role, limits: Limits = Limits(), ledger: String? = nil) {
        self.init(
            name: role.rawValue, roles: Roles(role), digests: [Digest(sha256: SHA256.hash(Array(token.utf8)))],
            limits: limits, ledger: ledger.flatMap { LedgerName($0) })
    }
}

/// Waits until something becomes true, ten seconds at most.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<2_000 {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(5))
    }
    return false
}
