import FileLog
import Foundation
import Ledger

/// A log is refused by name, or it is a chain of blocks that have their hashes. What reads it, and what inspects every
/// byte of it, say the same.
enum LogProperty {
    /// What of an input is made right before it is read: checksums guard what stands behind them.
    private enum Repair {
        static let segmentChecksum: UInt8 = 1
        static let recordChecksums: UInt8 = 2
        static let recordHashes: UInt8 = 4
        static let headChecksums: UInt8 = 8
        static let noHeadFile: UInt8 = 16
        static let noteChecksum: UInt8 = 32
        static let all = segmentChecksum | recordChecksums | recordHashes | headChecksums | noteChecksum
    }

    private static let folder = "/ledger/log"
    private static let headFile = "/ledger/head"
    private static let slotBytes = 100

    /// An input is what to repair, the two slots of the head file, the note of a redaction and a segment, each behind
    /// its count, and the rest of the log, which is a second segment.
    static func check(_ bytes: [UInt8]) -> Bool {
        var input = InputReader(bytes)
        let repair = input.byte()
        let slots = [input.bytes(slotBytes), input.bytes(slotBytes)]
        let note = input.field()
        let segments = [input.field(), input.all()].filter { !$0.isEmpty }
        var files: [String: [UInt8]] = [folder + "/lock": []]
        if repair & Repair.noHeadFile == 0 { files[headFile] = head(slots, repair) }
        if !note.isEmpty { files[folder + "/redaction"] = repaired(note: note, repair) }
        for (number, segment) in segments.enumerated() {
            let whole = repaired(segment, repair)
            let first = number == 0 ? 1 : Int(truncatingIfNeeded: Number.at(16, of: whole, as: UInt64.self))
            files[folder + "/" + name(max(first, 2 * number))] = whole
        }
        let disk = MemoryDisk(files)
        let read = blocks(disk)
        let inspected = inspect(disk)
        if inspected.isWhole { require(read.isWhole, "a log in which an inspection finds nothing is read") }
        if read.isWhole {
            require(inspected.blocks == read.blocks, "what is read, and nothing else, an inspection hands over")
        }
        return read.isWhole
    }

    // MARK: The two readers

    private struct Found {
        var blocks: [SealedBlock] = []
        var isWhole = true
    }

    private static func blocks(_ disk: MemoryDisk) -> Found {
        var found = Found()
        do throws(LogError) {
            let log = try FileLog.openForReading(
                folder: folder, headFile: headFile, identity: SampleLedger.identity, hash: SampleLedger.hash, disk: disk
            )
            while true {
                let more = try log.read(after: BlockNumber(found.blocks.count), bytesMax: 2_000)
                if more.isEmpty { break }
                for block in more {
                    require(block.number == BlockNumber(found.blocks.count + 1), "blocks come in their order")
                    require(block.previous == found.blocks.last?.hash ?? .zero, "each continues the one before")
                    require(Digest(of: block.body, SampleLedger.hash) == block.hash, "each has its hash")
                    found.blocks.append(block)
                }
            }
            require(log.head == found.blocks.last?.head, "the head is the last block")
        } catch {
            require(error.kind == .corrupt && error.description.contains(folder.dropLast(4)), "damage is named")
            found.isWhole = false
        }
        return found
    }

    private static func inspect(_ disk: MemoryDisk) -> Found {
        var found = Found()
        let inspection = certain("listing a log") {
            try LogInspection(folder: folder, headFile: headFile, hash: SampleLedger.hash, disk: disk)
        }
        if inspection.identity != SampleLedger.identity { found.isWhole = false }
        var next: BlockNumber = 1
        while let step = inspection.next() {
            switch step {
            case .block(let block):
                require(block.number == next, "an inspection hands blocks over in their order")
                require(Digest(of: block.body, SampleLedger.hash) == block.hash, "each has its hash")
                found.blocks.append(block)
                next += 1
            case .damage(let words, let lost):
                require(!words.isEmpty, "damage is told in words")
                found.isWhole = false
                guard let lost else { continue }
                require(lost.lowerBound == next, "each block is handed over or lost, once")
                next = lost.upperBound + 1
            }
        }
        return found
    }

    // MARK: Repairs

    private static func name(_ first: Int) -> String {
        let digits = String(first)
        return String(repeating: "0", count: max(0, 20 - digits.count)) + digits
    }

    private static func head(_ slots: [[UInt8]], _ repair: UInt8) -> [UInt8] {
        var file = [UInt8](repeating: 0, count: 4_096)
        for (slot, offset) in zip(slots, [0, 2_048]) where slot.count == slotBytes {
            var slot = slot
            if repair & Repair.headChecksums != 0, slot[0] != 0 {
                Number.set(CRC32C.of(slot[..<96]), at: 96, of: &slot)
            }
            file.replaceSubrange(offset..<offset + slotBytes, with: slot)
        }
        return file
    }

    private static func repaired(note: [UInt8], _ repair: UInt8) -> [UInt8] {
        var note = note
        if repair & Repair.noteChecksum != 0, note.count >= 32 {
            let end = min(32 + Int(Number.at(12, of: note, as: UInt32.self)), note.count)
            Number.set(CRC32C.of(note[..<28] + note[32..<end]), at: 28, of: &note)
        }
        return note
    }

    private static func repaired(_ segment: [UInt8], _ repair: UInt8) -> [UInt8] {
        var segment = segment
        guard segment.count >= 96 else { return segment }
        if repair & Repair.segmentChecksum != 0 { Number.set(CRC32C.of(segment[..<92]), at: 92, of: &segment) }
        var offset = 96
        while offset + 104 <= segment.count, segment[offset..<offset + 4].elementsEqual("CLBk".utf8) {
            let bodyBytes = Int(Number.at(offset + 24, of: segment, as: UInt32.self))
            let redactableBytes = Int(Number.at(offset + 28, of: segment, as: UInt32.self))
            let body = offset + 104
            let redactable = body + bodyBytes
            let end = redactable + redactableBytes
            if repair & Repair.recordHashes != 0, end <= segment.count {
                let digest = Digest(of: Array(segment[body..<redactable]), SampleLedger.hash).bytes
                segment.replaceSubrange(offset + 64..<offset + 96, with: digest)
                let next = (end + 7) / 8 * 8
                if next + 104 <= segment.count { segment.replaceSubrange(next + 32..<next + 64, with: digest) }
            }
            if repair & Repair.recordChecksums != 0 {
                let place = Number.bytes(UInt32(offset))
                let checksum = CRC32C.of(segment[92..<96] + place + segment[offset..<offset + 96])
                Number.set(checksum, at: offset + 96, of: &segment)
                if end <= segment.count {
                    let names = CRC32C.of(segment[offset + 96..<offset + 100] + segment[redactable..<end])
                    Number.set(names, at: offset + 100, of: &segment)
                }
            }
            offset = (end + 7) / 8 * 8
        }
        return segment
    }

    // MARK: Changes

    /// Changes one part: what to repair, a slot, the note, or a record of the first segment, whose counts stay right.
    static func change(_ input: [UInt8], _ number: UInt32, _ body: ([UInt8]) -> [UInt8]) -> [UInt8] {
        var choice = Choice(number)
        guard choice.of(4) > 0 else { return body(input) }
        var reader = InputReader(input)
        var repair = reader.byte()
        var slots = [reader.bytes(slotBytes), reader.bytes(slotBytes)]
        var note = reader.field()
        var segment = reader.field()
        switch choice.of(8) {
        case 0: repair = UInt8(choice.of(64))
        case 1:
            let slot = choice.of(2)
            slots[slot] = Array((body(slots[slot]) + slots[slot]).prefix(slotBytes))
        case 2: note = Array(body(note).prefix(0xFFFF))
        case _: segment = Array(changed(segment, &choice, body).prefix(0xFFFF))
        }
        return [repair] + slots.joined() + note.asField + segment.asField + reader.all()
    }

    private static func changed(
        _ segment: [UInt8], _ choice: inout Choice, _ body: ([UInt8]) -> [UInt8]
    ) -> [UInt8] {
        var records: [(header: [UInt8], body: [UInt8], names: [UInt8])] = []
        var reader = InputReader(segment)
        let head = reader.bytes(96)
        var rest = reader.all()
        while rest.starts(with: "CLBk".utf8), rest.count >= 104 {
            let bodyEnd = 104 + Int(Number.at(24, of: rest, as: UInt32.self))
            let end = bodyEnd + Int(Number.at(28, of: rest, as: UInt32.self))
            guard (end + 7) / 8 * 8 <= rest.count else { break }
            records.append((Array(rest[..<104]), Array(rest[104..<bodyEnd]), Array(rest[bodyEnd..<end])))
            rest.removeFirst((end + 7) / 8 * 8)
        }
        guard !records.isEmpty else { return body(segment) }
        let place = choice.of(records.count)
        switch choice.of(6) {
        case 0: records[place].header = Array((body(records[place].header) + records[place].header).prefix(104))
        case 1: records[place].names = body(records[place].names)
        case 2: records.swapAt(place, choice.of(records.count))
        case 3: records.remove(at: place)
        case 4: rest = body(rest)
        case _: records[place].body = body(records[place].body)
        }
        return head
            + records.flatMap { record in
                var header = record.header
                Number.set(UInt32(record.body.count), at: 24, of: &header)
                Number.set(UInt32(record.names.count), at: 28, of: &header)
                let bytes = header + record.body + record.names
                return bytes + [UInt8](repeating: 0, count: (8 - bytes.count % 8) % 8)
            } + rest
    }

    // MARK: Seeds

    static var seeds: [[UInt8]] {
        [1 << 20, 2_600].flatMap { segmentBytes in
            certain("writing a log") {
                let parent = FileManager.default.temporaryDirectory.appendingPathComponent("fuzz-\(UUID().uuidString)")
                try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: parent) }
                return try seeds(in: parent, FileLogConfiguration(segmentBytes: segmentBytes, writeAheadBytes: 64))
            }
        }
    }

    private static func seeds(in parent: URL, _ configuration: FileLogConfiguration) throws -> [[UInt8]] {
        let folder = parent.appendingPathComponent("log")
        let head = parent.appendingPathComponent("head")
        try FileLog.create(
            folder: folder.path, headFile: head.path, identity: SampleLedger.identity, configuration: configuration)
        let log = try FileLog.open(
            folder: folder.path, headFile: head.path, identity: SampleLedger.identity, hash: SampleLedger.hash,
            configuration: configuration)
        try log.settle()
        for block in SampleLedger.blocks.prefix(3) { try log.append(block) }
        log.close()
        let slots = [UInt8](try Data(contentsOf: head))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.count == 20 }.sorted()
        let segments = try names.prefix(2).map { [UInt8](try Data(contentsOf: folder.appendingPathComponent($0))) }
        let heads = Array(slots[..<slotBytes] + slots[2_048..<2_048 + slotBytes])
        let rest = segments.dropFirst().flatMap { $0 }
        let (note, redacting) = interruptedRedaction(segments[0])
        return [
            [0] + heads + [].asField + segments[0].asField + rest,
            [Repair.all] + heads + [].asField + segments[0].asField + rest,
            [Repair.all & ~Repair.recordHashes] + heads + [].asField + segments[0].asField + rest,
            [Repair.noteChecksum] + heads + note.asField + redacting.asField + rest,
        ]
    }

    /// A note, but for its checksum, that the names of the first block are overwritten with zeros; and its segment, in
    /// which that was begun.
    private static func interruptedRedaction(_ segment: [UInt8]) -> (note: [UInt8], segment: [UInt8]) {
        let start = 96 + 104 + Int(Number.at(96 + 24, of: segment, as: UInt32.self))
        let count = Int(Number.at(96 + 28, of: segment, as: UInt32.self))
        var begun = segment
        begun.replaceSubrange(start..<start + count / 2, with: [UInt8](repeating: 0, count: count / 2))
        let head = Array("CLedgRed".utf8) + Number.bytes(1) + Number.bytes(UInt32(count))
        let number = Number.bytes(0) + Number.bytes(1) + segment[192..<196] + Number.bytes(0)
        return (head + number + [UInt8](repeating: 0, count: count), begun)
    }
}

/// Numbers as files have them: the highest byte first.
private enum Number {
    static func at<Value: FixedWidthInteger>(_ offset: Int, of bytes: [UInt8], as type: Value.Type) -> Value {
        bytes.dropFirst(offset).prefix(Value.bitWidth / 8).reduce(0) { $0 << 8 | Value($1) }
    }

    static func bytes(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xFF) } }

    static func set(_ number: UInt32, at offset: Int, of bytes: inout [UInt8]) {
        bytes.replaceSubrange(offset..<offset + 4, with: self.bytes(number))
    }
}

/// CRC-32C (RFC 3720 §12.1), a byte at a time, as another program computes it.
private enum CRC32C {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
    }

    static func of(_ bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF) { $0 >> 8 ^ table[Int(($0 ^ UInt32($1)) & 0xFF)] }
    }
}
