#if Postgres
import Foundation
import LedgerClient
import Testing

/// A ledger of several nodes: a folder with their configurations, and a schema of its own.
final class NodeStudio: Sendable {
    let folder: String
    let schema: String
    let server: PostgresServer

    init() throws {
        server = try PostgresServer.shared.get()
        let number = UInt32.random(in: 0 ... .max)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("nodes-\(number)").path
        schema = "nodes_\(number)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try #"{"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}"#.write(
            toFile: folder + "/catalog.json", atomically: true, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func address(_ node: String) -> ServerAddress { .unix(path: "\(folder)/\(node)") }

    /// Starts a node, for the first time or again.
    /// - Parameters:
    ///   - socket: the folder of the database's socket, where it is not the server's own.
    ///   - passesOn: whether it passes on what another has to carry out.
    ///   - more: further members of its settings `node`.
    func start(
        _ node: String, socket: String? = nil, passesOn: Bool = false, more: String = ""
    ) async throws -> RunningNode {
        try """
        {"path": "tables-\(node)", "listen": ["\(address(node))"], "insecureLoopback": true,
         "node": {"log": "\(server.uri(folder: socket))", "schema": "\(schema)", "name": "\(node)",
                  "address": "\(address(node))", "passesOn": \(passesOn)\(more)},
         "app": {"bundleId": "com.example.game", "environment": "Sandbox"}, "catalog": "catalog.json"}
        """.write(toFile: "\(folder)/\(node).json", atomically: true, encoding: .utf8)
        return try await RunningNode(self, node)
    }

    /// A client that follows whichever of these nodes leads.
    func client(_ nodes: [String]) async throws -> LedgerClient {
        try await LedgerClient.connect(
            toAnyOf: nodes.map { address($0) },
            configuration: ClientConfiguration(requestTimeoutMilliseconds: 60_000))
    }
}

/// `serve` as one node, in a process of its own. `@unchecked Sendable`: its members do not change, and only the test
/// itself stops it.
final class RunningNode: @unchecked Sendable {
    let name: String
    private let process = Process()
    private let log: String
    private let studio: NodeStudio

    /// The command stands beside the test program, built with the trait as that is.
    private static var executable: URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
        for folder in [bundle, URL(fileURLWithPath: CommandLine.arguments[0])].map({ $0.deletingLastPathComponent() }) {
            let url = folder.appendingPathComponent("currency-ledger")
            if FileManager.default.isExecutableFile(atPath: url.path) { return url }
        }
        return bundle.appendingPathComponent("currency-ledger")
    }

    fileprivate init(_ studio: NodeStudio, _ name: String) async throws {
        self.name = name
        self.studio = studio
        log = "\(studio.folder)/\(name)-\(UInt32.random(in: 0 ... .max)).log"
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        process.executableURL = RunningNode.executable
        process.arguments = ["serve", "--create", "--config", "\(studio.folder)/\(name).json"]
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LEDGER_") }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.run()
        for _ in 0..<1_200 where process.isRunning && !said.contains("addresses=") {
            try await Task.sleep(for: .milliseconds(25))
        }
        if !said.contains("addresses=") { throw PostgresServer.Failure(description: "node \(name): \(said)") }
    }

    deinit { if process.isRunning { kill() } }

    /// What it has logged.
    var said: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    var address: String { studio.address(name).description }

    func signal(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }

    /// Stops it, as a machine that stands still does. It has stopped when this returns: on a busy machine the signal
    /// reaches its threads milliseconds later.
    func suspend() async throws {
        signal(SIGSTOP)
        let tasks = "/proc/\(process.processIdentifier)/task"
        while try !FileManager.default.contentsOfDirectory(atPath: tasks).allSatisfy({ task in
            let stat = try String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8)
            return stat[stat.lastIndex(of: ")")!...].hasPrefix(") T")
        }) {
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    func kill() {
        signal(SIGKILL)
        process.waitUntilExit()
    }

    /// Ends it as an operator does.
    func stop() -> Int32 {
        signal(SIGTERM)
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// A client of this node alone, which repeats nothing.
    func client(timeoutMilliseconds: Int64 = 20_000) async throws -> LedgerClient {
        try await LedgerClient.connect(
            to: studio.address(name),
            configuration: ClientConfiguration(
                requestTimeoutMilliseconds: timeoutMilliseconds, retryPolicy: .none))
    }

    /// Whether it leads, as it says itself.
    func leads() async throws -> Bool {
        let client = try await client()
        let leads = try await client.info().ledger.standby == nil
        try await client.close()
        return leads
    }
}
#endif
