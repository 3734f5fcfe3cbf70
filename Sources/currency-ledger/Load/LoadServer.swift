import AppStore
import Foundation
import LedgerWire
import LoadGenerator
import StrictJSON

/// The server of a run: this very command's `serve`, in a process of its own, with a ledger and a signing chain of
/// its own.
final class LoadServer {
    let folder: URL
    /// The ledger's folder.
    let path: String
    let chain: SandboxChain
    let address: ServerAddress
    private let process = Process()
    private let isKept: Bool

    var pid: Int32 { process.processIdentifier }

    /// What the server is configured for.
    struct App {
        var bundleID: String
        var product: String
        var currency: String
        /// Units that a purchase of the product grants.
        var units: Int64 = 500
    }

    /// - Parameter path: the ledger's folder; one in the run's own folder where it is `nil`.
    init(_ app: App, path: String?, keep: Bool) throws {
        isKept = keep
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "currency-ledger-load-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        do {
            let now = Clock.now()
            let year: Int64 = 365 * 86_400_000
            chain = try SandboxChain(notBefore: now - year, notAfter: now + year)
            self.path = path.map { URL(fileURLWithPath: $0).path } ?? folder.appendingPathComponent("ledger").path
            try LoadServer.writeFiles(app, self.path, chain, folder)
            let log = folder.appendingPathComponent("serve.log").path
            try File.write([], to: log)
            address = try LoadServer.start(process, folder.appendingPathComponent("ledger.json").path, log: log)
        } catch {
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
            LoadServer.remove(folder, isKept: keep)
            throw error
        }
    }

    /// Ends it as an operator does, and waits.
    func stop() throws {
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure("the server ended with the status \(process.terminationStatus)")
        }
    }

    /// Ends it in any way, and removes what it left.
    func discard() {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        LoadServer.remove(folder, isKept: isKept)
    }

    private static func remove(_ folder: URL, isKept: Bool) {
        if isKept { return Console.error("kept \(folder.path)") }
        do {
            try FileManager.default.removeItem(at: folder)
        } catch {
            Console.error("currency-ledger: \(folder.path) could not be removed: \(error)")
        }
    }

    private static func writeFiles(_ app: App, _ path: String, _ chain: SandboxChain, _ folder: URL) throws {
        try ChainFolder(folder.appendingPathComponent("chain").path).write(chain)
        var catalog = JSONWriter()
        catalog.beginObject()
        catalog.key("currencies")
        catalog.beginObject()
        catalog.key(String(app.currency))
        catalog.beginObject()
        catalog.endObject()
        catalog.endObject()
        catalog.key("products")
        catalog.beginObject()
        catalog.key(String(app.product))
        catalog.beginObject()
        catalog.key(String(app.currency))
        catalog.integer(app.units)
        catalog.endObject()
        catalog.endObject()
        catalog.endObject()
        try File.write(catalog.bytes, to: folder.appendingPathComponent("catalog.json").path)
        var settings = JSONWriter()
        settings.beginObject()
        settings.key("path")
        settings.string(path)
        settings.key("listen")
        settings.beginArray()
        settings.ascii("127.0.0.1:0")
        settings.endArray()
        settings.key("app")
        settings.beginObject()
        settings.key("bundleId")
        settings.string(app.bundleID)
        settings.key("environment")
        settings.ascii("Sandbox")
        settings.endObject()
        settings.key("anchors")
        settings.beginArray()
        settings.ascii("chain/root.der")
        settings.endArray()
        settings.key("catalog")
        settings.ascii("catalog.json")
        settings.key("insecureLoopback")
        settings.bool(true)
        settings.endObject()
        try File.write(settings.bytes, to: folder.appendingPathComponent("ledger.json").path)
    }

    /// Starts it and reads from its log where it listens.
    private static func start(_ process: Process, _ configuration: String, log: String) throws -> ServerAddress {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["serve", "--create", "--config", configuration]
        // The run's configuration is the file alone.
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LEDGER_") }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.run()
        let end = ContinuousClock.now + .seconds(LoadLimits.startSecondsMax)
        var text = ""
        while process.isRunning, ContinuousClock.now < end {
            Thread.sleep(forTimeInterval: 0.02)
            text = String(decoding: try File.read(log, bytesMax: Settings.fileBytesMax), as: UTF8.self)
            if let found = text.firstMatch(of: /addresses=(\S+)/) { return try ServerAddress(String(found.1)) }
        }
        throw Failure("the server did not start:\n\(text)")
    }
}
