import FileLog
import Ledger
import LedgerTestKit
import Testing

/// Each bit of a small log is flipped by itself.
@Suite struct FlippedBitTests {
    private static func filled(_ ledger: TestLedger, count: Int) throws -> [SealedBlock] {
        let log = try ledger.open()
        defer { log.close() }
        var random = SplitMix64(seed: 31)
        var blocks = [try log.leadWithTestBlock(&random)]
        while blocks.count < count {
            let block = TestBlock.after(
                blocks.last?.head, bodyBytes: 150, redactableBytes: blocks.count % 3 * 11, &random)
            try log.append(block)
            blocks.append(block)
        }
        try log.redact(2, [UInt8](repeating: 0, count: blocks[1].redactable.count))
        blocks[1].redactable = [UInt8](repeating: 0, count: blocks[1].redactable.count)
        return blocks
    }

    /// Opens and reads everything: gives what was written, or is refused as damaged by a block or a file. Gives the
    /// error.
    private static func check(_ ledger: TestLedger, _ blocks: [SealedBlock], _ words: String) -> LogError? {
        do {
            let log = try ledger.open()
            defer { log.close() }
            let read = try log.readAll()
            #expect(read == blocks, "other blocks, \(words)")
            return nil
        } catch {
            #expect(error.kind == .corrupt, "\(error), \(words)")
            #expect(error.description.contains("0000000000"), "no segment is named: \(error), \(words)")
            return error
        }
    }

    @Test func aFlippedBitInASegmentIsFoundOrChangesNothing() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 31)
        try ledger.create()
        let blocks = try FlippedBitTests.filled(ledger, count: 12)
        let path = ledger.segment(1)
        let bytes = try disk.bytes(path)
        let end = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
        let head = try disk.bytes(ledger.folder.headFile)
        var refused = 0
        let beyond = Array(stride(from: end, to: bytes.count, by: 97)) + [bytes.count - 1]
        for offset in Array(0..<end) + beyond {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[offset] ^= 1 << bit
                try disk.setBytes(path, flipped)
                try disk.setBytes(ledger.folder.headFile, head)
                let error = FlippedBitTests.check(ledger, blocks, "bit \(bit) of byte \(offset)")
                if error != nil { refused += 1 }
                #expect(offset < end || error == nil, "zeros behind the last block do not matter")
            }
        }
        // Only padding between records can change without a word.
        #expect(refused > end * 8 - blocks.count * 7 * 8)
        try disk.setBytes(path, bytes)
        #expect(FlippedBitTests.check(ledger, blocks, "nothing flipped") == nil)
    }

    @Test func aFlippedBitInAnOlderSegmentIsNamedWhenItIsRead() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 32)
        try ledger.create()
        let blocks = try FlippedBitTests.filled(ledger, count: 50)
        #expect(try ledger.segments().count > 1)
        let path = ledger.segment(1)
        let bytes = try disk.bytes(path)
        let end = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
        var refused = 0
        for offset in stride(from: 0, to: end, by: 3) {
            var flipped = bytes
            flipped[offset] ^= 1 << (offset % 8)
            try disk.setBytes(path, flipped)
            if let error = FlippedBitTests.check(ledger, blocks, "byte \(offset)") {
                refused += 1
                #expect(error.description.contains(path) && error.description.contains("block "))
            }
        }
        #expect(refused > end / 3 - 100)
    }

    @Test func aFlippedBitInTheLastBlockIsNoTornTailWhenTheHeadFileVouchesForIt() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 33)
        try ledger.create()
        let blocks = try FlippedBitTests.filled(ledger, count: 6)
        let path = ledger.segment(1)
        let bytes = try disk.bytes(path)
        let end = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
        var flipped = bytes
        flipped[end - 50] ^= 4
        try disk.setBytes(path, flipped)
        let error = FlippedBitTests.check(ledger, blocks, "the last block")
        #expect(error?.description.hasPrefix("block 6 in segment file \(path): it is damaged") == true)
        // Without the head file it cannot be told from a torn one, and that is said.
        try disk.remove(ledger.folder.headFile)
        let log = try ledger.open()
        #expect(log.notices.count == 2)
        #expect(try log.readAll() == Array(blocks.dropLast()))
        log.close()
    }

    @Test func aFlippedBitInTheHeadFileDoesNotMatter() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 34)
        try ledger.create()
        let blocks = try FlippedBitTests.filled(ledger, count: 6)
        let bytes = try disk.bytes(ledger.folder.headFile)
        for offset in Array(0..<100) + Array(2048..<2148) + [100, 2047, 2148, 4095] {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[offset] ^= 1 << bit
                try disk.setBytes(ledger.folder.headFile, flipped)
                #expect(FlippedBitTests.check(ledger, blocks, "bit \(bit) of byte \(offset)") == nil)
            }
        }
    }

    @Test func aFlippedBitInTheRedactionNoteDoesNotMatter() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 35)
        try ledger.create()
        let blocks = try FlippedBitTests.filled(ledger, count: 6)
        let path = ledger.folder.log + "/redaction"
        let bytes = try disk.bytes(path)
        #expect(bytes.allSatisfy { $0 == 0 } && !bytes.isEmpty)
        for offset in bytes.indices {
            var flipped = bytes
            flipped[offset] ^= 16
            try disk.setBytes(path, flipped)
            #expect(FlippedBitTests.check(ledger, blocks, "byte \(offset)") == nil)
            #expect(try disk.bytes(path) == bytes, "it is erased")
        }
    }

    @Test func damageInTheMiddleIsNoTornTailAlsoWithoutTheHeadFile() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 37)
        try ledger.create()
        let blocks = try FlippedBitTests.filled(ledger, count: 12)
        let path = ledger.segment(1)
        let bytes = try disk.bytes(path)
        let lastRecord = bytes.count - 104
        for offset in stride(from: 96, to: lastRecord, by: 5) where bytes[offset...].contains(where: { $0 != 0 }) {
            var flipped = bytes
            flipped[offset] ^= 1
            try disk.setBytes(path, flipped)
            // It is made anew only by an open that succeeds.
            if (try? disk.status(at: ledger.folder.headFile)) != nil { try disk.remove(ledger.folder.headFile) }
            do {
                let log = try ledger.open()
                defer { log.close() }
                let read = try log.readAll()
                // Without the head file the last block alone cannot be told from a torn one.
                #expect(read == blocks || read == Array(blocks.dropLast()), "byte \(offset)")
            } catch {
                #expect(error.kind == .corrupt, "byte \(offset)")
                #expect(try disk.bytes(path) == flipped, "nothing is repaired, byte \(offset)")
            }
        }
    }

    /// A torn block whose body has the very records that a twin of this log wrote later is not taken for them.
    @Test(arguments: 0..<30)
    func theBytesOfRecordsWithinABlockAreNotTakenForRecords(seed: UInt64) throws {
        let (ledger, disk) = TestLedger.simulated(seed: seed)
        let (twin, twinDisk) = TestLedger.simulated(seed: seed)
        var later: [UInt8] = []
        for (ledger, disk, count) in [(twin, twinDisk, 9), (ledger, disk, 4)] {
            try ledger.create()
            let log = try ledger.open()
            var random = SplitMix64(seed: seed)
            var last = try log.leadWithTestBlock(&random)
            while last.number < count {
                last = TestBlock.after(last.head, bodyBytes: 64, redactableBytes: 0, &random)
                try log.append(last)
            }
            if count == 9 {
                // Records of 168 bytes stand behind the leader's.
                later = Array(try disk.bytes(ledger.segment(1))[(96 + 144 + 4 * 168)..<(96 + 144 + 8 * 168)])
                log.close()
                continue
            }
            #expect(later.prefix(4).elementsEqual("CLBk".utf8))
            let block = SealedBlock(
                number: 5, term: 1, previous: last.hash, hash: Digest(of: later, testSHA256), body: later,
                redactable: [])
            disk.setFault { $0.kind == .sync ? .off : nil }
            #expect(logError { try log.append(block) }?.kind == .unknown)
            disk.cutPower()
            let again = try ledger.open()
            #expect(try again.readAll().count - 4 <= 1)
            again.close()
        }
    }
}
