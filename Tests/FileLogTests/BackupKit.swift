import FileLog
import Ledger
import LedgerTestKit
import Testing

/// Segments of some hundred blocks, so that what is copied beside a writer has several, and few files to sync.
let middleSegments = FileLogConfiguration(
    segmentBytes: 64 << 10, writeAheadBytes: 8 << 10, writeAheadRecordBytesMax: 4 << 10)

/// A ledger, and a backup of it beside it.
struct TestBackup {
    let ledger: TestLedger
    var backup: TestLedger { TestLedger(disk: ledger.disk, folder: LedgerFolder(ledger.folder.path + "-backup")) }

    init(_ ledger: TestLedger) { self.ledger = ledger }

    @discardableResult
    func run() throws(LogError) -> LogBackup.Summary {
        try LogBackup(of: ledger.folder, in: backup.folder, hash: testSHA256, disk: ledger.disk).run { _, _, _ in }
    }

    @discardableResult
    func restore(
        to folder: LedgerFolder? = nil, source: LogRestore.Source = .backup, lostFrom: BlockNumber? = nil,
        tell: (String) -> Void = { _ in }
    ) throws -> LogRestore.Summary {
        try LogRestore(
            of: folder ?? ledger.folder, from: backup.folder, source: source, lostFrom: lostFrom, hash: testSHA256,
            disk: ledger.disk
        ).run(progress: { _, _, _ in }, tell: tell)
    }

    /// Takes all of it away, where there is one.
    func remove() throws {
        for folder in [backup.folder.log, backup.folder.path] where (try? ledger.disk.status(at: folder)) != nil {
            for name in try ledger.disk.list(folder) { try ledger.disk.remove(folder + "/" + name) }
            try ledger.disk.removeDirectory(folder)
        }
    }

    /// The backup's blocks, of which nothing may be damaged.
    func blocks(_ context: @autoclosure () -> String = "") throws -> [SealedBlock] {
        let inspected = Inspected(try backup.inspect(), context())
        #expect(inspected.words == [], "\(context())")
        return inspected.blocks
    }

    /// The words of the error with which a run ends.
    func fault() throws -> String { try #require(throws: LogError.self) { try run() }.description }

    func restoreFault(_ lostFrom: BlockNumber? = nil, _ source: LogRestore.Source = .backup) throws -> String {
        try #require(throws: LogError.self) { try restore(source: source, lostFrom: lostFrom) }.description
    }
}

extension FileLog {
    /// Appends blocks with redactable parts.
    func extend(_ count: Int, bodyBytes: Int = 600, _ random: inout SplitMix64) throws {
        for _ in 0..<count {
            let bytes = Int.random(in: 1...bodyBytes, using: &random)
            let redactable = Int.random(in: 0...40, using: &random)
            try append(TestBlock.after(head, bodyBytes: bytes, redactableBytes: redactable, &random))
        }
    }

    /// Appends blocks, and gives all that the log has then.
    @discardableResult
    func grow(_ count: Int, bodyBytes: Int = 600, _ random: inout SplitMix64) throws -> [SealedBlock] {
        try extend(count, bodyBytes: bodyBytes, &random)
        return try readAll()
    }
}
