import FileLog
import Ledger
import LedgerTestKit
import Testing

/// A ledger of small segments, and archives beside it.
struct TestArchive {
    var ledger: TestLedger
    let disk: SimulatedDisk

    /// Some five blocks make a segment.
    static let segments = FileLogConfiguration(
        segmentBytes: 1_536, writeAheadBytes: 200, writeAheadRecordBytesMax: 300)

    init(seed: UInt64) throws {
        (ledger, disk) = TestLedger.simulated(seed: seed)
        ledger.configuration = TestArchive.segments
        try ledger.create()
    }

    /// A ledger of some dozen blocks, led.
    static func led(_ seed: UInt64, blocks: Int = 40) throws -> (TestArchive, FileLog, [SealedBlock], SplitMix64) {
        let archive = try TestArchive(seed: seed)
        var random = SplitMix64(seed: seed)
        let log = try archive.open(["archive"])
        try log.leadWithTestBlock(&random)
        let all = try log.grow(blocks, bodyBytes: 300, &random)
        return (archive, log, all, random)
    }

    func folder(_ name: String) -> LedgerFolder { LedgerFolder("/ledger/" + name) }

    func open(_ archives: [String]) throws -> FileLog {
        try FileLog.open(
            folder: ledger.folder.log, headFile: ledger.folder.headFile, identity: testIdentity, hash: testSHA256,
            configuration: ledger.configuration, archives: archives.map(folder), disk: disk)
    }

    func openForReading(_ archives: [String]) throws -> FileLog {
        try FileLog.openForReading(
            folder: ledger.folder.log, headFile: ledger.folder.headFile, identity: testIdentity, hash: testSHA256,
            archives: archives.map(folder), disk: disk)
    }

    @discardableResult
    func run(to name: String = "archive", through last: BlockNumber) throws -> LogArchiver.Summary {
        try LogArchiver(of: ledger.folder, to: folder(name), hash: testSHA256, disk: disk).run {
            $0.number <= last
        } progress: { _, _ in
        }
    }

    func fault(to name: String = "archive", through last: BlockNumber) throws -> String {
        try #require(throws: LogError.self) { try run(to: name, through: last) }.description
    }

    /// The chain of archives and log, of which nothing may be damaged.
    func chain(_ archives: [String], _ context: @autoclosure () -> String = "") throws -> [SealedBlock] {
        let (blocks, words) = try inspected(archives)
        #expect(words == [], "\(context())")
        return blocks
    }

    func inspected(_ archives: [String]) throws -> (blocks: [SealedBlock], words: [String]) {
        let inspection = try ChainInspection(
            archives: archives.map(folder), of: ledger.folder, hash: testSHA256, disk: disk)
        var blocks: [SealedBlock] = []
        var words: [String] = []
        while let step = try inspection.next() {
            switch step {
            case .block(let block): blocks.append(block)
            case .damage(let fault, _): words.append(fault)
            }
        }
        return (blocks, words)
    }

    /// The files of an archive that say something.
    func files(_ name: String) throws -> [String] {
        let folder = folder(name)
        let log = try disk.list(folder.log).filter { $0 != "lock" }.map { folder.log + "/" + $0 }
        return [folder.headFile, folder.manifest] + log
    }
}
