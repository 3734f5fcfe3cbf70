import FileLog
import Ledger
import LedgerTestKit
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What a later program may have written, and this one does not know, is refused by name and left as it is.
@Suite struct FormatNumberTests {
    /// A ledger of one segment with some blocks, closed.
    private static func withLedger(
        blocks count: Int, _ body: (_ ledger: TestLedger, _ offsets: [Int]) throws -> Void
    ) throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            var random = SplitMix64(seed: 71)
            var last: SealedBlock?
            var offsets = [96]
            for number in 0..<count {
                if number == 0 {
                    last = try log.leadWithTestBlock(&random)
                } else {
                    let block = TestBlock.after(last?.head, bodyBytes: 200, redactableBytes: 10, &random)
                    try log.append(block)
                    last = block
                }
                offsets.append(offsets[number] + (104 + (last?.byteCount ?? 0) + 7) / 8 * 8)
            }
            log.close()
            try body(ledger, offsets)
        }
    }

    /// Opening for writing and for reading are refused with these words, and change no file.
    private static func expectRefused(
        _ ledger: TestLedger, _ words: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try files(ledger)
        for open in [ledger.open, ledger.openForReading] {
            let error = logError { _ = try open() }
            #expect(error?.kind == .corrupt, sourceLocation: sourceLocation)
            #expect(
                error?.description.hasPrefix(words) == true, "\(error?.description ?? "nothing")",
                sourceLocation: sourceLocation)
        }
        #expect(try files(ledger) == before, "nothing is written", sourceLocation: sourceLocation)
    }

    private static func files(_ ledger: TestLedger) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for folder in [ledger.folder.path, ledger.folder.log] {
            for name in try ledger.disk.list(folder) where name != "log" {
                files[name] = try readFile(folder + "/" + name)
            }
        }
        return files
    }

    /// Puts the checksums right again in the record at `offset`.
    private static func seal(_ file: inout [UInt8], recordAt offset: Int) {
        let covered = file[92..<96] + Bytes.of(UInt32(offset)) + file[offset..<(offset + 96)]
        file.replaceSubrange((offset + 96)..<(offset + 100), with: Bytes.of(Bytes.checksum(covered)))
        let body = offset + 104 + Int(Bytes.number(file[(offset + 24)..<(offset + 28)]))
        let redactable = file[body..<(body + Int(Bytes.number(file[(offset + 28)..<(offset + 32)])))]
        let checksum = Bytes.checksum(file[(offset + 96)..<(offset + 100)] + redactable)
        file.replaceSubrange((offset + 100)..<(offset + 104), with: Bytes.of(checksum))
    }

    // MARK: - Segments

    @Test func aSegmentOfAnotherFormatIsRefusedByNameWhereverItsChecksumStands() throws {
        try Self.withLedger(blocks: 3) { ledger, _ in
            var file = try readFile(ledger.segment(1))
            file[11] = 2
            try writeFile(ledger.segment(1), file)
            try Self.expectRefused(
                ledger,
                "segment file \(ledger.segment(1)), which begins with block 1, has format 2; "
                    + "this program reads format 1")
        }
    }

    @Test(arguments: [12, 15, 88, 91])
    func aSegmentWhoseReservedBytesAreNotZeroIsDamaged(offset: Int) throws {
        try Self.withLedger(blocks: 0) { ledger, _ in
            var file = try readFile(ledger.segment(1))
            file[offset] = 1
            file.replaceSubrange(92..<96, with: Bytes.of(Bytes.checksum(file[0..<92])))
            try writeFile(ledger.segment(1), file)
            try Self.expectRefused(
                ledger, "segment file \(ledger.segment(1)), which begins with block 1: its header is damaged")
        }
    }

    @Test func aSegmentFileThatIsLongerThanPlacesInItCanSayIsRefused() throws {
        try Self.withLedger(blocks: 2) { ledger, _ in
            #expect(truncate(ledger.segment(1), 1 << 32) == 0)
            for open in [ledger.open, ledger.openForReading] {
                let error = logError { _ = try open() }
                #expect(error?.kind == .corrupt)
                #expect(
                    error?.description
                        == "segment file \(ledger.segment(1)) has 4294967296 bytes; none has more than 4294967295")
            }
        }
    }

    // MARK: - Records

    /// With the head file, and where nothing vouches for the record.
    @Test(arguments: [0, 2, 3], [true, false])
    func aLastRecordOfAnotherFormatIsNoTornTail(format: UInt8, hasHead: Bool) throws {
        try Self.withLedger(blocks: 6) { ledger, offsets in
            var file = try readFile(ledger.segment(1))
            file[offsets[5] + 7] = format
            Self.seal(&file, recordAt: offsets[5])
            try writeFile(ledger.segment(1), file)
            if !hasHead { try ledger.disk.remove(ledger.folder.headFile) }
            try Self.expectRefused(
                ledger,
                "block 6 in segment file \(ledger.segment(1)): its record has format \(format); "
                    + "this program reads format 1")
        }
    }

    @Test func aRecordOfAnotherFormatInTheMiddleIsNamed() throws {
        try Self.withLedger(blocks: 6) { ledger, offsets in
            var file = try readFile(ledger.segment(1))
            file[offsets[2] + 7] = 2
            Self.seal(&file, recordAt: offsets[2])
            try writeFile(ledger.segment(1), file)
            try Self.expectRefused(ledger, "block 3 in segment file \(ledger.segment(1)): its record has format 2")
        }
    }

    /// A record behind one that is not whole says that this one was whole: of whatever format and number it is.
    @Test(arguments: [(1, 6), (2, 6), (1, 5), (1, 1)] as [(UInt8, UInt8)])
    func anyRecordBehindATornOneSaysThatItIsDamaged(format: UInt8, number: UInt8) throws {
        try Self.withLedger(blocks: 6) { ledger, offsets in
            var file = try readFile(ledger.segment(1))
            file[offsets[4] + 150] ^= 1
            file[offsets[4]] ^= 1
            file[offsets[5] + 7] = format
            file[offsets[5] + 15] = number
            Self.seal(&file, recordAt: offsets[5])
            try writeFile(ledger.segment(1), file)
            try ledger.disk.remove(ledger.folder.headFile)
            try Self.expectRefused(
                ledger,
                "block 5 in segment file \(ledger.segment(1)): it is damaged; the record of block \(number) stands "
                    + "behind it")
        }
    }

    // MARK: - The head file

    private static func setSlot(_ page: inout [UInt8], at offset: Int, _ change: (inout [UInt8]) -> Void) {
        var slot = Array(page[offset..<(offset + 96)])
        change(&slot)
        page.replaceSubrange(offset..<(offset + 100), with: slot + Bytes.of(Bytes.checksum(slot)))
    }

    /// One slot, or both, were written by a later program.
    @Test(arguments: [[0], [2048], [0, 2048]])
    func aHeadFileOfAnotherFormatIsRefusedAndKept(slots: [Int]) throws {
        try Self.withLedger(blocks: 4) { ledger, _ in
            var page = try readFile(ledger.folder.headFile)
            for offset in slots { Self.setSlot(&page, at: offset) { $0[11] = 2 } }
            try writeFile(ledger.folder.headFile, page)
            try Self.expectRefused(
                ledger, "the head file \(ledger.folder.headFile) has format 2; this program reads format 1")
        }
    }

    @Test(arguments: [0, 2048])
    func aHeadFileWhoseReservedBytesAreNotZeroIsRefusedAndKept(offset: Int) throws {
        try Self.withLedger(blocks: 4) { ledger, _ in
            var page = try readFile(ledger.folder.headFile)
            Self.setSlot(&page, at: offset) { $0[15] = 1 }
            try writeFile(ledger.folder.headFile, page)
            try Self.expectRefused(
                ledger, "the head file \(ledger.folder.headFile) is damaged: bytes 12 to 15 of a slot are not 0")
        }
    }

    @Test func anotherLedgersHeadFileIsRefusedAndKept() throws {
        try Self.withLedger(blocks: 4) { ledger, _ in
            var page = try readFile(ledger.folder.headFile)
            for offset in [0, 2048] { Self.setSlot(&page, at: offset) { $0[40] ^= 1 } }
            try writeFile(ledger.folder.headFile, page)
            try Self.expectRefused(ledger, "the head file \(ledger.folder.headFile) belongs to another ledger")
        }
    }

    // MARK: - The note of a redaction

    private static let redactable = Array("0123456789".utf8)

    /// The note of a redaction of block 3.
    private static func note(format: UInt8, _ file: [UInt8], recordAt offset: Int) -> [UInt8] {
        let begin = Array("CLedgRed".utf8) + [0, 0, 0, format, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 3]
        let start = begin + file[(offset + 96)..<(offset + 100)]
        return start + Bytes.of(Bytes.checksum(start + redactable)) + redactable
    }

    @Test func aWholeNoteIsCarriedOutAsThePageSays() throws {
        try Self.withLedger(blocks: 4) { ledger, offsets in
            let path = ledger.folder.log + "/redaction"
            let segment = try readFile(ledger.segment(1))
            try writeFile(path, Self.note(format: 1, segment, recordAt: offsets[2]) + [0, 9])
            let log = try ledger.open()
            #expect(try log.readAll()[2].redactable == Self.redactable)
            #expect(try readFile(path) == [UInt8](repeating: 0, count: 44))
            log.close()
        }
    }

    @Test func aNoteOfAnotherFormatIsRefusedAndNotErased() throws {
        try Self.withLedger(blocks: 4) { ledger, offsets in
            let path = ledger.folder.log + "/redaction"
            var note = Self.note(format: 2, try readFile(ledger.segment(1)), recordAt: offsets[2])
            try writeFile(path, note)
            try Self.expectRefused(
                ledger, "the redaction noted in \(path) has format 2; this program reads format 1")
            // Also where it has no checksum that this program knows.
            note[28] ^= 1
            try writeFile(path, note)
            try Self.expectRefused(ledger, "the redaction noted in \(path) has format 2")
        }
    }

    /// A note is written over zeros, so one that stops within the format's number shows a 0 there.
    @Test func aNoteThatStopsAnywhereIsErased() throws {
        try Self.withLedger(blocks: 4) { ledger, offsets in
            let path = ledger.folder.log + "/redaction"
            let segment = try readFile(ledger.segment(1))
            let whole = Self.note(format: 1, segment, recordAt: offsets[2])
            for count in 0..<whole.count {
                let torn = whole.prefix(count)
                try writeFile(path, torn + [UInt8](repeating: 0, count: whole.count - count))
                let log = try ledger.open()
                log.close()
                #expect(try readFile(path).allSatisfy { $0 == 0 })
                #expect(try readFile(ledger.segment(1)) == segment, "\(count) bytes of a note")
            }
        }
    }

    @Test func aNoteOfABlockThatTheLogDoesNotHaveIsRefused() throws {
        try Self.withLedger(blocks: 4) { ledger, offsets in
            let path = ledger.folder.log + "/redaction"
            var note = Self.note(format: 1, try readFile(ledger.segment(1)), recordAt: offsets[2])
            note[23] = 5
            note.replaceSubrange(28..<32, with: Bytes.of(Bytes.checksum(note[0..<28] + note[32...])))
            try writeFile(path, note)
            let error = logError { _ = try ledger.open() }
            #expect(error?.kind == .corrupt)
            #expect(error?.description == "the redaction noted in \(path) is of block 5; the log has no such block")
            #expect(try readFile(path) == note)
        }
    }
}
