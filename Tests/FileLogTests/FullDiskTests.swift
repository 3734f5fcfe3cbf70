import FileLog
import Ledger
import LedgerTestKit
import Testing

/// A disk that has no room for what is to be written, and then has room again.
@Suite struct FullDiskTests {
    private static let configuration = FileLogConfiguration(
        segmentBytes: 1 << 20, writeAheadBytes: 64 << 10, writeAheadRecordBytesMax: 16 << 10)

    private static func open(seed: UInt64) throws -> (TestLedger, SimulatedDisk, FileLog) {
        var (ledger, disk) = TestLedger.simulated(seed: seed)
        ledger.configuration = configuration
        try ledger.create()
        return (ledger, disk, try ledger.open())
    }

    /// Appends small blocks until the records of the first segment, which end at `start` now, end at `end`.
    private static func fill(
        _ log: FileLog, _ last: inout SealedBlock, upTo end: Int, _ start: Int, _ random: inout SplitMix64
    ) throws {
        var offset = start
        while offset < end {
            let bytes = min(8000, max(8, end - offset - 104))
            last = TestBlock.after(last.head, bodyBytes: bytes, redactableBytes: 0, &random)
            try log.append(last)
            offset += (104 + bytes + 7) / 8 * 8
        }
    }

    /// The zeros behind a record are for the records after it. Where there is no room for them, there may be for it.
    @Test func aRecordThatFitsIsAppendedAlsoWhereTheZerosBehindItDoNot() throws {
        let (ledger, disk, log) = try Self.open(seed: 91)
        var random = SplitMix64(seed: 91)
        var blocks = [try log.leadWithTestBlock(&random)]
        let size = try disk.bytes(ledger.segment(1)).count
        // Beyond what is written ahead there is room for two and a half records.
        disk.setCapacity(disk.usedBytes + 2500)
        var appended = 0
        while appended < 200 {
            let block = TestBlock.after(blocks.last?.head, bodyBytes: 896, redactableBytes: 0, &random)
            guard logError({ try log.append(block) }) == nil else { break }
            blocks.append(block)
            appended += 1
        }
        #expect(96 + 144 + appended * 1000 > size + 1500, "\(appended) appended")
        #expect(96 + 144 + appended * 1000 <= size + 2500)
        disk.cutPower()
        let again = try ledger.open()
        #expect(try again.readAll() == blocks)
        // With room, records are again written into zeros.
        disk.setCapacity(.max)
        blocks.append(try again.leadWithTestBlock(&random))
        for _ in 0..<3 {
            let block = TestBlock.after(blocks.last?.head, bodyBytes: 896, redactableBytes: 0, &random)
            try again.append(block)
            blocks.append(block)
        }
        #expect(try again.readAll() == blocks)
        #expect(try disk.bytes(ledger.segment(1)).count > size + (60 << 10))
        again.close()
    }

    /// On a disk that is nearly full each append would otherwise write the same zeros again, and sync them.
    @Test func theZerosThatFitAreWrittenOnce() throws {
        let (ledger, disk, log) = try Self.open(seed: 96)
        var random = SplitMix64(seed: 96)
        var last = try log.leadWithTestBlock(&random)
        let size = try disk.bytes(ledger.segment(1)).count
        disk.setCapacity(disk.usedBytes + 30_000)
        var appends = 0
        var extensions = 0
        while (appends + 2) * 1000 < size + 30_000 {
            last = TestBlock.after(last.head, bodyBytes: 896, redactableBytes: 0, &random)
            let calls = disk.changeCount
            try log.append(last)
            appends += 1
            // Write, sync, and the head file.
            if disk.changeCount - calls > 3 { extensions += 1 }
        }
        // The second takes the page of which there was room for a part only, and those after it what is left of it.
        #expect(extensions <= 5)
        log.close()
    }

    @Test func aSegmentIsBegunAlsoWhereOnlyItsFirstRecordFits() throws {
        let (ledger, disk, log) = try Self.open(seed: 92)
        var random = SplitMix64(seed: 92)
        var last = try log.leadWithTestBlock(&random)
        try Self.fill(log, &last, upTo: 1_040_000, 240, &random)
        let block = TestBlock.after(last.head, bodyBytes: 30_000, redactableBytes: 0, &random)
        disk.setCapacity(disk.usedBytes + 96 + 104 + 30_000)
        try log.append(block)
        #expect(try ledger.segments().count == 2)
        disk.cutPower()
        let again = try ledger.open()
        #expect(again.head == block.head)
        again.close()
    }

    /// The leader's small block fits into what is written ahead. If it were appended, the next block would fail as the
    /// one before, and so on, until the last byte is used up.
    @Test(arguments: [true, false])
    func aLogThatHadNoRoomForABlockIsLedAgainOnlyWithRoomForOneLikeIt(needsSegment: Bool) throws {
        let (ledger, disk, log) = try Self.open(seed: 94)
        var random = SplitMix64(seed: 94)
        var last = try log.leadWithTestBlock(&random)
        // In the second case the block would not fit into the segment any more, the leader's would.
        if needsSegment { try Self.fill(log, &last, upTo: 960_000, 240, &random) }
        let block = TestBlock.after(last.head, bodyBytes: 150_000, redactableBytes: 0, &random)
        disk.setCapacity(disk.usedBytes + 10_000)
        #expect(logError { try log.append(block) }?.kind == .notAppended)
        for _ in 0..<5 {
            let error = logError { try log.leadWithTestBlock(&random) }
            #expect(error?.kind == .notAppended)
            #expect(error?.description.contains("No space left") == true)
            #expect(log.head == last.head)
        }
        // Some room, but not enough.
        disk.setCapacity(disk.usedBytes + 50_000)
        #expect(logError { try log.leadWithTestBlock(&random) }?.kind == .notAppended)
        // A leader whose room was taken keeps it.
        disk.setCapacity(disk.usedBytes + 160_000)
        last = try log.leadWithTestBlock(&random)
        disk.setCapacity(0)
        let next = TestBlock.after(last.head, bodyBytes: 150_000, redactableBytes: 0, &random)
        try log.append(next)
        disk.cutPower()
        let again = try ledger.open()
        #expect(again.head == next.head)
        #expect(try again.readAll().count == Int(next.number))
        again.close()
    }

    /// Also where the disk took a part of the block, and said so only by a smaller count.
    @Test func theRoomOfABlockThatWasWrittenInPartIsMissed() throws {
        let (_, disk, log) = try Self.open(seed: 95)
        var random = SplitMix64(seed: 95)
        let last = try log.leadWithTestBlock(&random)
        let block = TestBlock.after(last.head, bodyBytes: 150_000, redactableBytes: 0, &random)
        let room = disk.usedBytes + 150_000
        disk.setFault { $0.kind == .write ? .short : nil }
        #expect(logError { try log.append(block) } != nil)
        disk.clearFault()
        disk.setCapacity(room - 80_000)
        #expect(logError { try log.leadWithTestBlock(&random) }?.kind == .notAppended)
        disk.setCapacity(room)
        try log.leadWithTestBlock(&random)
        log.close()
    }
}
