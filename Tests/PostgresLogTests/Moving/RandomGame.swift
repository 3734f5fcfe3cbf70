#if Postgres
import FileLog
import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import SQLiteProjection
import Synchronization

/// A folder that is gone when the test is.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-moving-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func path(_ name: String) -> String { path + "/" + name }
}

/// A game that random commands make, step by step, as blocks of a log. What it credits is signed by nobody.
final class RandomGame {
    static let row = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
    static let identity = Digest(of: row, testSHA256)

    private let folder: TemporaryFolder
    private let engine: Engine
    private var workload: Workload
    private let now = Clock()
    private var guests = 0

    /// - Parameter log: where the blocks go; it is led, and closed by ``close()``.
    init(_ log: any BlockLog, seed: UInt64) throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        engine = try Engine(
            log: log,
            projection: try SQLiteProjection(
                path: folder.path("projection.sqlite"), ledger: RandomGame.row, hash: testSHA256),
            configuration: Engine.Configuration(
                bundleID: RandomGame.row.bundleID, environment: RandomGame.row.environment,
                catalog: Workload.catalog), hash: testSHA256, now: { [now] in now.time }, report: { _ in })
        workload = Workload(seed: seed, hash: testSHA256)
    }

    /// The engine's clock, which the game moves.
    private final class Clock: Sendable {
        private let value = Mutex(Timestamp(1_750_000_000_000))
        var time: Timestamp { value.withLock { $0 } }
        func advance(_ milliseconds: Int64) -> Timestamp {
            value.withLock {
                $0 += milliseconds
                return $0
            }
        }
    }

    /// Goes on by some commands, in blocks of a few. In a tenth of the blocks a player is forgotten.
    func play(_ commands: Int) throws {
        var done = 0
        while done < commands {
            let time = now.advance(Int64.random(in: 0...60, using: &workload.generator))
            workload.now = time
            var batch: [Command] = []
            for _ in 0..<Int.random(in: 1...8, using: &workload.generator) { batch.append(workload.next()) }
            if workload.generator.chance(10) {
                let player = Int.random(in: 0..<workload.players, using: &workload.generator)
                batch.append(.forget(Workload.account(player)))
            }
            try run(batch, closes: workload.generator.chance(5), at: time)
            done += batch.count
        }
    }

    /// A purchase of a guest who then tells who they are, and is forgotten.
    func linkAndForget() throws {
        guests += 1
        let guest = AppAccountToken("b0000000-0000-4000-8000-00000000000\(guests)")!
        let name = AccountName("linked-\(guests)")!
        let grant = Grant(
            key: RequestKey("guest \(guests)")!, account: guest.account, currency: CurrencyCode("gems")!,
            amount: Amount(7)!)
        for command in [.grant(grant), .link(Link(token: guest, account: name)), .forget(name)] as [Command] {
            try run([command], closes: false, at: now.advance(5))
        }
    }

    private func run(_ batch: [Command], closes: Bool, at time: Timestamp) throws {
        var needs = Needs()
        needs.time = time
        for command in batch { needs.add(command) }
        try engine.run(needs) { books in
            for command in batch { _ = books.decide(command, by: "a token", at: time) }
            if closes {
                books.close(through: time)
                if time > books.periods.closedThrough { books.closePeriod(through: time, by: "a token", at: time) }
            }
        }
    }

    func close() throws { try engine.close() }
}

/// A log in a folder of its own.
struct TestFolder {
    let folder: LedgerFolder

    init(_ path: String) throws {
        folder = LedgerFolder(path)
        try LedgerFolder.create(at: path) { temporary in
            let made = LedgerFolder(temporary)
            try FileLog.create(folder: made.log, headFile: made.headFile, identity: RandomGame.identity)
        }
    }

    /// One that somebody made.
    init(there path: String) { folder = LedgerFolder(path) }

    func open() throws -> FileLog {
        try FileLog.open(
            folder: folder.log, headFile: folder.headFile, identity: RandomGame.identity, hash: testSHA256)
    }

    func openForReading() throws -> FileLog {
        try FileLog.openForReading(
            folder: folder.log, headFile: folder.headFile, identity: RandomGame.identity, hash: testSHA256)
    }

    /// All blocks, as they are now.
    func blocks() throws -> [SealedBlock] { try openForReading().readAll() }
}

extension TestLedger {
    /// All blocks, as a node reads them that follows.
    func blocks() throws -> [SealedBlock] {
        var configuration = configuration(node: "reader")
        configuration.right = .reading
        configuration.opensMoved = true
        let log = try open(configuration)
        defer { log.close() }
        return try log.readAll()
    }

    /// What the command names it by.
    var place: String { server.uri() + "&schema=\(schema)" }
}

/// The built command, run as its user runs it.
enum BuiltCommand {
    struct Finished {
        var status: Int32
        var output: String
    }

    static let executable: URL = {
        let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let found = [products, bundle].map { $0.appendingPathComponent("currency-ledger") }
        return found.first { FileManager.default.isExecutableFile(atPath: $0.path) } ?? found[0]
    }()

    static func start(_ arguments: [String]) throws -> (Process, Pipe) {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LEDGER_") }
        let pipe = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        return (process, pipe)
    }

    /// - Parameter killed: after how many milliseconds; `nil`: it is waited for.
    static func run(_ arguments: [String], killedAfter milliseconds: Int? = nil) throws -> Finished {
        let (process, pipe) = try start(arguments)
        if let milliseconds {
            usleep(UInt32(milliseconds) * 1000)
            kill(process.processIdentifier, SIGKILL)
        }
        let output = (try? pipe.fileHandleForReading.readToEnd()) ?? nil
        process.waitUntilExit()
        return Finished(
            status: process.terminationStatus, output: String(decoding: output ?? Data(), as: UTF8.self))
    }
}
#endif
