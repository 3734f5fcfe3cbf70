import AppStore
import Foundation
import Ledger
import SQLiteStore

/// Credits made durable in a SQLite file in the temporary folder, `synchronous` FULL, in transactions of `batch`: what is needed loaded,
/// decided, appended, committed.
final class AppendCredits: HotPathWorkload {
    let database: String
    private let batch: Int
    private let studio: Studio
    private let evidence: AppStore.Evidence
    private let folder: URL
    private let store: SQLiteStore
    private var next = 0

    init(batch: Int) throws {
        self.batch = batch
        studio = try Studio()
        evidence = try studio.evidence()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("hot-path-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        database = folder.appendingPathComponent("ledger.sqlite").path
        store = try SQLiteStore(
            path: database, identity: LedgerIdentity(bundleID: Studio.bundleID, environment: "Sandbox"),
            catalog: studio.catalog, hash: { SHA256.hash($0, into: $1) }, now: Studio.now)
    }

    deinit {
        do {
            try store.close()
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
            let outcomes = try store.commit(needs) { books in commands.map { books.decide($0, at: Studio.now) } }
            for case .purchase(let receipt) in outcomes where receipt.outcome == .credited { good += 1 }
            next += size
            left -= size
        }
        return good
    }
}
