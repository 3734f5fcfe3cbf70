import AppStore
import FileLog
import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Testing

/// One machine of a studio: a folder of its own, and an address that stays the same from one start to the next.
final class Node: Sendable {
    let name: String
    let folder: TemporaryFolder
    private let studio: TemporaryFolder

    init(_ studio: Studio, _ name: String) throws {
        self.name = name
        self.studio = studio.folder
        folder = try TemporaryFolder()
    }

    var address: String { "unix:" + folder.path("s") }
    var ledger: LedgerFolder { LedgerFolder(folder.path("ledger")) }

    /// Starts `serve`.
    /// - Parameters:
    ///   - leader: the address that it follows; it leads where that is `nil`.
    ///   - required: how many standbys it waits for.
    ///   - more: further settings, as members of the configuration.
    func start(
        following leader: String? = nil, required: Int = 0, timeout: Int = 20_000,
        bundleID: String = "com.example.game",
        more: String = "", environment: [String: String] = [:], arguments: [String] = []
    ) throws -> RunningService {
        try configure(following: leader, required: required, timeout: timeout, bundleID: bundleID, more: more)
        return try RunningService(folder, arguments: arguments, environment: environment)
    }

    func configure(
        following leader: String? = nil, required: Int = 0, timeout: Int = 20_000,
        bundleID: String = "com.example.game",
        more: String = ""
    ) throws {
        let open = more.contains("\"tokens\"") ? "" : #""insecureLoopback": true, "#
        let follow = leader.map { #""follow": {"leader": "\#($0)", "name": "\#(name)"},"# } ?? ""
        try folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["\(address)"], \(follow) \(more) \(open)
             "standbys": {"required": \(required), "timeoutMilliseconds": \(timeout)},
             "app": {"bundleId": "\(bundleID)", "environment": "Sandbox"},
             "anchors": ["\(studio.path("root.der"))"], "catalog": "\(studio.path("catalog.json"))"}
            """)
    }

    /// Loses the machine's disk.
    func loseLedger() throws { try FileManager.default.removeItem(atPath: ledger.path) }

    /// Every block of its log, as another process reads it.
    func blocks() throws -> [SealedBlock] {
        let row = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
        let hash: HashFunction = { SHA256.hash($0, into: $1) }
        let log = try FileLog.openForReading(
            folder: ledger.log, headFile: ledger.headFile, identity: Digest(of: row, hash), hash: hash)
        var blocks: [SealedBlock] = []
        while true {
            let more = try log.read(after: BlockNumber(blocks.count), bytesMax: 1 << 20)
            if more.isEmpty { return blocks }
            blocks += more
        }
    }
}

extension LedgerClient {
    /// Waits until this standby has everything up to a block.
    func waits(for block: Int64) async throws {
        for _ in 0..<6_000 {
            if let standby = try await info().ledger.standby, standby.block >= block { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("the standby never had block \(block): \(try await info())")
    }
}

/// What a service answers instead of a result; `nil` where it does what it is asked.
func refusal(_ body: () async throws -> Void) async -> WireError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? WireError
    }
}

/// Waits until something holds, a minute at most.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<6_000 {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return false
}
