import AppStore
import FileLog
import Foundation
import Ledger
import LedgerEngine
import SQLiteProjection

/// Credits made durable in a ledger in the temporary folder, in blocks of `batch`: what is needed loaded, decided,
/// encoded, hashed, appended and synced; and projected meanwhile.
final class AppendCredits: HotPathWorkload {
    let engine: Engine
    private let batch: Int
    private let studio: Studio
    private let evidence: Evidence
    private let folder: URL
    private var next = 0

    init(batch: Int) throws {
        self.batch = batch
        studio = try Studio()
        evidence = try studio.evidence()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("hot-path-\(UUID().uuidString)")
        let sha256: HashFunction = { SHA256.hash($0, into: $1) }
        let ledger = BlockRows.LedgerRow(bundleID: Studio.bundleID, environment: "Sandbox")
        let identity = Digest(of: ledger, sha256)
        try LedgerFolder.create(at: folder.path) { temporary in
            let made = LedgerFolder(temporary)
            try FileLog.create(folder: made.log, headFile: made.headFile, identity: identity)
        }
        let made = LedgerFolder(folder.path)
        engine = try Engine(
            log: try FileLog.open(folder: made.log, headFile: made.headFile, identity: identity, hash: sha256),
            projection: try SQLiteProjection(
                path: folder.appendingPathComponent("projection.sqlite").path, ledger: ledger, hash: sha256),
            configuration: Engine.Configuration(
                bundleID: ledger.bundleID, environment: ledger.environment, catalog: studio.catalog), hash: sha256,
            now: { Studio.now }, report: { _ in })
    }

    deinit {
        do {
            try engine.close()
            try FileManager.default.removeItem(at: folder)
        } catch {
            print("\(folder.path) could not be removed: \(error)")
        }
    }

    func run(_ count: Int) throws -> Int {
        var good = 0
        var left = count
        while left > 0 {
            let size = min(batch, left)
            var needs = Needs()
            let commands = (next..<next + size).map { number in
                Command.credit(
                    studio.purchase(number, like: evidence), account: studio.accounts[number % studio.accounts.count])
            }
            for command in commands { needs.add(command) }
            let outcomes = try engine.run(needs) { books in commands.map { books.decide($0, at: Studio.now) } }
            for case .purchase(let receipt) in outcomes where receipt.outcome == .credited { good += 1 }
            next += size
            left -= size
        }
        return good
    }
}
