import FileLog
import Ledger
import LedgerTestKit
import Testing

/// What an inspection gave, taken apart.
struct Inspected {
    private(set) var blocks: [SealedBlock] = []
    private(set) var words: [String] = []
    private(set) var lost: [ClosedRange<BlockNumber>] = []
    /// The block after the last one that was handed over or lost.
    private(set) var next: BlockNumber = 1

    init(_ inspection: LogInspection, _ context: @autoclosure () -> String = "") {
        while let step = inspection.next() {
            switch step {
            case .block(let block):
                #expect(block.number == next, "blocks come in their order; \(context())")
                blocks.append(block)
                next = block.number + 1
            case .damage(let words, let lost):
                self.words.append(words)
                guard let lost else { continue }
                #expect(lost.lowerBound == next, "each block is lost once; \(words); \(context())")
                self.lost.append(lost)
                next = lost.upperBound + 1
            }
        }
    }

    var lostNumbers: [BlockNumber] { lost.flatMap { Array($0) } }
}

/// A small closed log in several segments, whose every byte is known, on a disk in memory.
struct InspectedLog {
    struct Place {
        var path: String
        var offset: Int
        var block: SealedBlock

        var bodyEnd: Int { offset + 104 + block.body.count }
        var redactableEnd: Int { bodyEnd + block.redactable.count }
        var end: Int { (redactableEnd + 7) / 8 * 8 }
    }

    let ledger: TestLedger
    let disk: SimulatedDisk
    let blocks: [SealedBlock]
    /// Where each block's record stands.
    private(set) var places: [Place] = []
    /// The bytes of every file that an inspection looks at, by path.
    private(set) var files: [String: [UInt8]] = [:]

    /// - Parameter count: of blocks; some five make a segment.
    init(seed: UInt64, blocks count: Int = 14) throws {
        var (ledger, disk) = TestLedger.simulated(seed: seed)
        ledger.configuration = FileLogConfiguration(
            segmentBytes: 1536, writeAheadBytes: 200, writeAheadRecordBytesMax: 300)
        try ledger.create()
        self.ledger = ledger
        self.disk = disk
        var random = SplitMix64(seed: seed)
        let log = try ledger.open()
        var blocks = [try log.leadWithTestBlock(&random)]
        while blocks.count < count {
            let block = TestBlock.after(
                blocks.last?.head, bodyBytes: 120 + blocks.count % 7, redactableBytes: blocks.count % 3 * 11, &random)
            try log.append(block)
            blocks.append(block)
        }
        for number in [2, 9] where number <= count {
            let bytes = [UInt8](repeating: 0xAA, count: blocks[number - 1].redactable.count)
            try log.redact(BlockNumber(number), bytes)
            blocks[number - 1].redactable = bytes
        }
        log.close()
        self.blocks = blocks
        for path in try ledger.segments() + [ledger.folder.headFile, notePath, lockPath] {
            files[path] = try disk.bytes(path)
        }
        var (path, end) = ("", 0)
        for block in blocks {
            let begins = ledger.segment(block.number)
            if files[begins] != nil { (path, end) = (begins, 96) }
            let place = Place(path: path, offset: end, block: block)
            places.append(place)
            end = place.end
        }
    }

    var notePath: String { ledger.folder.log + "/redaction" }
    var lockPath: String { ledger.folder.log + "/lock" }
    var segments: [String] { files.keys.filter { $0.suffix(20).allSatisfy(\.isNumber) }.sorted() }

    /// What is inspected when these files have other bytes than they had.
    func inspected(_ changed: [String: [UInt8]], _ context: @autoclosure () -> String = "") throws -> Inspected {
        for (path, bytes) in changed { try disk.setBytes(path, bytes) }
        defer {
            for path in changed.keys {
                do { try disk.setBytes(path, files[path] ?? []) } catch { Issue.record("\(error)") }
            }
        }
        return Inspected(try ledger.inspect(), context())
    }

    func bytes(_ path: String) throws -> [UInt8] { try #require(files[path]) }

    /// The blocks of a segment.
    func blocks(in path: String) -> [SealedBlock] { places.filter { $0.path == path }.map(\.block) }

    func blocks(without lost: [BlockNumber]) -> [SealedBlock] { blocks.filter { !lost.contains($0.number) } }

    /// The file's bytes with the header of the record at `offset` changed, and its checksums right again.
    func forged(_ path: String, _ offset: Int, _ change: (inout [UInt8]) -> Void) throws -> [UInt8] {
        var bytes = try self.bytes(path)
        var header = Array(bytes[offset..<offset + 104])
        change(&header)
        let checksum = Bytes.of(Bytes.checksum(bytes[92..<96] + Bytes.of(UInt32(offset)) + header[..<96]))
        let place = try #require(places.first { $0.path == path && $0.offset == offset })
        header.replaceSubrange(96..<100, with: checksum)
        header.replaceSubrange(100..<104, with: Bytes.of(Bytes.checksum(checksum + place.block.redactable)))
        bytes.replaceSubrange(offset..<offset + 104, with: header)
        return bytes
    }

    /// A note as a redaction of `number` would leave it when it is interrupted.
    func note(_ number: BlockNumber, recordChecksum: [UInt8], _ redactable: [UInt8]) -> [UInt8] {
        let start =
            Array("CLedgRed".utf8) + Bytes.of(1) + Bytes.of(UInt32(redactable.count))
            + Bytes.of(UInt32(UInt64(bitPattern: number) >> 32)) + Bytes.of(UInt32(truncatingIfNeeded: number))
            + recordChecksum
        return start + Bytes.of(Bytes.checksum(start + redactable)) + redactable
    }
}
