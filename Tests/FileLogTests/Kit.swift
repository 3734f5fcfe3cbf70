import FileLog
import Ledger
import LedgerTestKit
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

let testIdentity = Digest(of: Array("com.example.game production".utf8), testSHA256)

/// Segments of two pages: a log of some dozen blocks has several.
let smallSegments = FileLogConfiguration(segmentBytes: 8192, writeAheadBytes: 1000, writeAheadRecordBytesMax: 700)

/// A ledger's folder on a disk.
struct TestLedger {
    let disk: any Disk
    let folder: LedgerFolder
    var configuration = smallSegments

    func create() throws {
        try LedgerFolder.create(at: folder.path, disk: disk) { path in
            let temporary = LedgerFolder(path)
            try FileLog.create(
                folder: temporary.log, headFile: temporary.headFile, identity: testIdentity,
                configuration: configuration, disk: disk)
        }
    }

    func open() throws(LogError) -> FileLog {
        try folder.check(disk)
        return try FileLog.open(
            folder: folder.log, headFile: folder.headFile, identity: testIdentity, hash: testSHA256,
            configuration: configuration, disk: disk)
    }

    func openForReading() throws(LogError) -> FileLog {
        try FileLog.openForReading(
            folder: folder.log, headFile: folder.headFile, identity: testIdentity, hash: testSHA256, disk: disk)
    }

    func inspect() throws(LogError) -> LogInspection {
        try LogInspection(folder: folder.log, headFile: folder.headFile, hash: testSHA256, disk: disk)
    }

    func segment(_ first: BlockNumber) -> String {
        let digits = String(first)
        return folder.log + "/" + String(repeating: "0", count: 20 - digits.count) + digits
    }

    /// The segment files' paths in the order of their blocks.
    func segments() throws -> [String] {
        try disk.list(folder.log).filter { $0.count == 20 }.sorted().map { folder.log + "/" + $0 }
    }

    /// Gives `body` a ledger on the real disk.
    static func withReal<Result>(
        _ configuration: FileLogConfiguration = smallSegments, _ body: (TestLedger) throws -> Result
    ) throws -> Result {
        let parent = "/tmp/filelog-\(getpid())-\(UInt64.random(in: .min ... .max))"
        try #require(mkdir(parent, 0o700) == 0)
        defer { removeTree(parent) }
        let ledger = TestLedger(
            disk: SystemDisk(), folder: LedgerFolder(parent + "/books"), configuration: configuration)
        try ledger.create()
        return try body(ledger)
    }

    /// As ``withReal(_:_:)``; what the body makes beside the ledger goes with it.
    static func withRealAsync(
        _ configuration: FileLogConfiguration = smallSegments, _ body: (TestLedger) async throws -> Void
    ) async throws {
        let parent = "/tmp/filelog-\(getpid())-\(UInt64.random(in: .min ... .max))"
        try #require(mkdir(parent, 0o700) == 0)
        defer { removeTree(parent) }
        let ledger = TestLedger(
            disk: SystemDisk(), folder: LedgerFolder(parent + "/books"), configuration: configuration)
        try ledger.create()
        try await body(ledger)
    }

    static func simulated(seed: UInt64) -> (TestLedger, SimulatedDisk) {
        let disk = SimulatedDisk(seed: seed)
        return (TestLedger(disk: disk, folder: LedgerFolder("/ledger/books")), disk)
    }
}

func removeTree(_ path: String) {
    let disk = SystemDisk()
    for name in (try? disk.list(path)) ?? [] { removeTree(path + "/" + name) }
    if (try? disk.remove(path)) == nil { try? disk.removeDirectory(path) }
}

func readFile(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var status = stat()
    try #require(fstat(descriptor, &status) == 0)
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    try #require(pread(descriptor, &bytes, bytes.count, 0) == bytes.count)
    return bytes
}

func writeFile(_ path: String, _ bytes: [UInt8]) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
}

func logError(_ body: () throws -> Void) -> LogError? {
    do {
        try body()
        return nil
    } catch {
        return error as? LogError
    }
}

/// Numbers and checksums in files, as another program computes them.
enum Bytes {
    /// CRC-32C, bit by bit.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var value: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
        }
        return ~value
    }

    static func number(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    static func of(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xFF) } }
}
