import AppStore
import Foundation
import LedgerClient
import LedgerWire
import Testing

/// A folder that is gone when the test is.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-command-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func write(_ name: String, _ text: String) throws {
        try text.write(to: url.appendingPathComponent(name), atomically: true, encoding: .utf8)
    }
}

/// What a finished command left.
struct Finished {
    var status: Int32
    var output: String
    var error: String
}

/// The built command, run as its user runs it.
enum Command {
    static var executable: URL {
        // The test bundle stands beside the products of the same build.
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
        for folder in [
            bundle.deletingLastPathComponent(),
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent(),
        ] {
            let url = folder.appendingPathComponent("currency-ledger")
            if FileManager.default.isExecutableFile(atPath: url.path) { return url }
        }
        return root.appendingPathComponent(".build/debug/currency-ledger")
    }

    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// That of the tests, without the variables that are meant for them: the command would take them for its settings.
    static var ownEnvironment: [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LEDGER_") }
    }

    @discardableResult
    static func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Finished {
        try run(executable, arguments, environment: environment)
    }

    /// Any program, with its output kept.
    static func run(
        _ executable: URL, _ arguments: [String], environment: [String: String] = [:]
    ) throws -> Finished {
        try start(arguments, try TemporaryFolder(), executable, environment: environment).finish()
    }

    /// Starts it; what it prints goes to files in `folder`.
    static func start(
        _ arguments: [String], _ folder: TemporaryFolder, _ executable: URL = executable,
        environment: [String: String] = [:]
    ) throws -> RunningCommand {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ownEnvironment.merging(environment) { $1 }
        let files = try ["out", "err"].map { name in
            _ = FileManager.default.createFile(atPath: folder.path(name), contents: nil)
            return try #require(FileHandle(forWritingAtPath: folder.path(name)))
        }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = files[0]
        process.standardError = files[1]
        try process.run()
        return RunningCommand(process: process, folder: folder)
    }
}

/// A command that was started.
struct RunningCommand {
    let process: Process
    let folder: TemporaryFolder

    /// Waits until it has said this on standard error.
    func waits(for text: String) async throws {
        for _ in 0..<1_200 {
            if try String(contentsOfFile: folder.path("err"), encoding: .utf8).contains(text) { return }
            try #require(process.isRunning)
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("the command never said: \(text)")
    }

    func finish() throws -> Finished {
        process.waitUntilExit()
        return Finished(
            status: process.terminationStatus,
            output: try String(contentsOfFile: folder.path("out"), encoding: .utf8),
            error: try String(contentsOfFile: folder.path("err"), encoding: .utf8))
    }
}

/// `serve` in a process of its own. `@unchecked Sendable`: its members do not change, and only the test itself stops
/// it.
final class RunningService: @unchecked Sendable {
    let process = Process()
    let address: String
    private let log: String

    /// - Parameter shell: what a shell does first, in the process that then becomes the service.
    init(
        _ folder: TemporaryFolder, arguments: [String] = [], environment: [String: String] = [:],
        through shell: String? = nil
    ) throws {
        log = folder.path("serve-\(UUID().uuidString).log")
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        process.executableURL = Command.executable
        process.arguments = ["serve", "--create", "--config", folder.path("ledger.json")] + arguments
        if let shell {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments =
                ["-c", "\(shell); exec \"$0\" \"$@\"", Command.executable.path] + (process.arguments ?? [])
        }
        process.environment = Command.ownEnvironment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.run()
        var found: String?
        for _ in 0..<600 where found == nil && process.isRunning {
            Thread.sleep(forTimeInterval: 0.05)
            let text = try String(contentsOfFile: log, encoding: .utf8)
            found = text.firstMatch(of: /addresses=(\S+)/).map { String($0.1) }
        }
        guard let found else {
            process.terminate()
            throw CocoaError(.executableLoad, userInfo: ["log": try String(contentsOfFile: log, encoding: .utf8)])
        }
        address = found
    }

    /// A client that waits as long as a slow machine needs for all that a test sends at once.
    func client(token: String? = nil) async throws -> LedgerClient {
        try await LedgerClient.connect(
            to: try ServerAddress(address), token: token,
            configuration: ClientConfiguration(
                requestTimeoutMilliseconds: 300_000, connectTimeoutMilliseconds: 120_000))
    }

    /// What it has logged up to now.
    var said: String { get throws { try String(contentsOfFile: log, encoding: .utf8) } }

    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    func stop(_ signal: Int32 = SIGTERM) -> Int32 {
        Foundation.kill(process.processIdentifier, signal)
        process.waitUntilExit()
        return process.terminationStatus
    }

    deinit { if process.isRunning { kill() } }
}

/// A studio with its own signing chain.
struct Studio {
    let folder: TemporaryFolder
    let chain: SandboxChain
    let now = Int64(Date().timeIntervalSince1970 * 1_000)

    init() throws {
        folder = try TemporaryFolder()
        let year: Int64 = 365 * 86_400_000
        chain = try SandboxChain(notBefore: now - year, notAfter: now + year)
        try Data(chain.root.der).write(to: folder.url.appendingPathComponent("root.der"))
        try folder.write(
            "catalog.json",
            #"{"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}"#)
        try folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["127.0.0.1:0"],
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["root.der"], "catalog": "catalog.json", "insecureLoopback": true}
            """)
    }

    /// The setting `tokens`, as JSON.
    static func tokens(_ tokens: (name: String, role: String, secret: String)...) -> String {
        let members = tokens.map { token in
            #""\#(token.name)": {"role": "\#(token.role)", "sha256": "\#(digest(token.secret))"}"#
        }
        return "{\(members.joined(separator: ", "))}"
    }

    /// The SHA-256 of a token.
    static func digest(_ token: String) -> String {
        SHA256.hash(Array(token.utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }

    func purchase(_ number: Int) throws -> String {
        try chain.sign(
            TransactionPayload(
                transactionID: String(2_000_000_000_000_000 + number), bundleID: "com.example.game",
                productID: "com.example.game.gems500", purchaseDate: now - 60_000, signedDate: now - 60_000,
                environment: .sandbox))
    }

    /// The purchase as it is signed after a refund: of the whole, or of a share in thousandths of a percent.
    func refund(_ number: Int, share: Int64?, after: Int64) throws -> String {
        var payload = TransactionPayload(
            transactionID: String(2_000_000_000_000_000 + number), bundleID: "com.example.game",
            productID: "com.example.game.gems500", purchaseDate: now - 60_000, signedDate: now - 59_000 + after,
            environment: .sandbox)
        payload.revocationDate = now - 59_000 + after
        payload.revocationPercentage = share
        return try chain.sign(payload)
    }
}
