import FileLog
import Ledger
import LedgerTestKit
import Testing

/// The files as the specification has them (docs: FileLog.md), read by a second program that knows nothing but it.
@Suite struct FormatTests {
    /// All blocks of a segment file.
    private static func read(_ file: [UInt8], first: BlockNumber) throws -> [SealedBlock] {
        try #require(Array(file[0..<8]) == Array("CLedgLog".utf8))
        try #require(Bytes.number(file[8..<16]) == 1 << 32)
        try #require(Bytes.number(file[16..<24]) == UInt64(first))
        try #require(Array(file[24..<56]) == testIdentity.bytes)
        try #require(Bytes.number(file[92..<96]) == UInt64(Bytes.checksum(file[0..<92])))
        var blocks: [SealedBlock] = []
        var offset = 96
        while offset + 104 <= file.count, file[offset..<(offset + 4)].elementsEqual("CLBk".utf8) {
            let record = Array(file[offset...])
            let bodyEnd = 104 + Int(Bytes.number(record[24..<28]))
            let end = bodyEnd + Int(Bytes.number(record[28..<32]))
            let covered = Array(file[92..<96]) + Bytes.of(UInt32(offset)) + record[0..<96]
            try #require(Bytes.number(record[4..<8]) == 1)
            try #require(Bytes.number(record[96..<100]) == UInt64(Bytes.checksum(covered)))
            let redactable = record[96..<100] + record[bodyEnd..<end]
            try #require(Bytes.number(record[100..<104]) == UInt64(Bytes.checksum(redactable)))
            let block = SealedBlock(
                number: BlockNumber(Bytes.number(record[8..<16])), term: Term(Bytes.number(record[16..<24])),
                previous: try #require(Digest(Array(record[32..<64]))),
                hash: try #require(Digest(Array(record[64..<96]))),
                body: Array(record[104..<bodyEnd]), redactable: Array(record[bodyEnd..<end]))
            try #require(Digest(of: block.body, testSHA256) == block.hash)
            try #require(block.previous.bytes == (blocks.last?.hash.bytes ?? Array(file[56..<88])))
            blocks.append(block)
            offset += (end + 7) / 8 * 8
        }
        #expect(file[offset...].allSatisfy { $0 == 0 }, "zeros behind the last record")
        return blocks
    }

    @Test func theChecksumIsTheOneOfTheSpecification() {
        #expect(Bytes.checksum("123456789".utf8) == 0xE306_9283)
    }

    @Test func anotherProgramReadsTheFiles() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            var random = SplitMix64(seed: 61)
            var blocks = [try log.leadWithTestBlock(&random)]
            for count in 0..<60 {
                let block = TestBlock.after(
                    blocks.last?.head, bodyBytes: count == 30 ? 20_000 : count * 13, redactableBytes: count, &random)
                try log.append(block)
                blocks.append(block)
            }
            try log.redact(40, [UInt8](repeating: 0, count: blocks[39].redactable.count))
            blocks[39].redactable = [UInt8](repeating: 0, count: blocks[39].redactable.count)

            var read: [SealedBlock] = []
            for path in try ledger.segments() {
                read += try FormatTests.read(readFile(path), first: BlockNumber(read.count + 1))
            }
            #expect(read == blocks)
            let page = try readFile(ledger.folder.headFile)
            #expect(page.count == 4096)
            let slots = [page[0..<100], page[2048..<2148]].filter {
                let slot = Array($0)
                return Bytes.number(slot[96..<100]) == UInt64(Bytes.checksum(slot[0..<96]))
                    && slot[0..<8].elementsEqual("CLedgHea".utf8) && Array(slot[32..<64]) == testIdentity.bytes
            }.map { Array($0) }
            #expect(slots.map { Bytes.number($0[16..<24]) }.sorted() == [60, 61])
            #expect(slots.contains { Array($0[64..<96]) == blocks[60].hash.bytes })
            log.close()
        }
    }

    /// Format 1, byte for byte: a released format does not change.
    @Test func theBytesOfFormat1Stay() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 62)
        try ledger.create()
        let log = try ledger.open()
        var random = SplitMix64(seed: 62)
        var last = try log.leadWithTestBlock(&random)
        for count in 0..<5 {
            last = TestBlock.after(last.head, bodyBytes: 50 * count, redactableBytes: 7 * count, &random)
            try log.append(last)
        }
        log.close()
        let segment = Digest(of: try disk.bytes(ledger.segment(1)), testSHA256)
        let head = Digest(of: try disk.bytes(ledger.folder.headFile), testSHA256)
        let text = (segment.bytes + head.bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        #expect(
            text.joined()
                == "c410e466c8211b8da9bf7bcf00f6f0119e703a5ef03bcd3aec1e3a0009b9f108"
                + "af1fd9b98a57d08ea62d0f918600d447b46c421e109760e3d183ebce97f7fd3e")
    }
}
