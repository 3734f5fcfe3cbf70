import FileLog
import Ledger
import LedgerTestKit
import Testing

/// The files as the specification has them (docs: FileLog.md), read by a second program that knows nothing but it.
@Suite struct FormatTests {
    /// CRC-32C, bit by bit.
    private static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var value: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
        }
        return ~value
    }

    private static func number(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    private static func bytes(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xFF) } }

    /// All blocks of a segment file.
    private static func read(_ file: [UInt8], first: BlockNumber) throws -> [SealedBlock] {
        try #require(Array(file[0..<8]) == Array("CLedgLog".utf8))
        try #require(number(file[8..<16]) == 1 << 32)
        try #require(number(file[16..<24]) == UInt64(first))
        try #require(Array(file[24..<56]) == testIdentity.bytes)
        try #require(number(file[92..<96]) == UInt64(checksum(file[0..<92])))
        var blocks: [SealedBlock] = []
        var offset = 96
        while offset + 104 <= file.count, file[offset..<(offset + 4)].elementsEqual("CLBk".utf8) {
            let record = Array(file[offset...])
            let bodyEnd = 104 + Int(number(record[24..<28]))
            let end = bodyEnd + Int(number(record[28..<32]))
            let covered = Array(file[92..<96]) + bytes(UInt32(offset)) + record[0..<96]
            try #require(number(record[4..<8]) == 1)
            try #require(number(record[96..<100]) == UInt64(checksum(covered)))
            try #require(number(record[100..<104]) == UInt64(checksum(record[96..<100] + record[bodyEnd..<end])))
            let block = SealedBlock(
                number: BlockNumber(number(record[8..<16])), term: Term(number(record[16..<24])),
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
        #expect(FormatTests.checksum("123456789".utf8) == 0xE306_9283)
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
                return FormatTests.number(slot[96..<100]) == UInt64(FormatTests.checksum(slot[0..<96]))
                    && slot[0..<8].elementsEqual("CLedgHea".utf8) && Array(slot[32..<64]) == testIdentity.bytes
            }.map { Array($0) }
            #expect(slots.map { FormatTests.number($0[16..<24]) }.sorted() == [60, 61])
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
