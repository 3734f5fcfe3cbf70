import FileLog
import Foundation
import Ledger
import LedgerTestKit
import Synchronization
import Testing

/// What is told of a log that somebody damaged, and which of its blocks are handed over all the same.
@Suite struct InspectionTests {
    // MARK: Nothing is wrong

    @Test func anUndamagedLogIsHandedOverWhole() throws {
        let log = try InspectedLog(seed: 301)
        #expect(log.segments.count == 3)
        let inspection = try log.ledger.inspect()
        #expect(inspection.identity == testIdentity && inspection.head == log.blocks.last?.head)
        #expect(!inspection.isWritten)
        let inspected = Inspected(inspection)
        #expect(inspected.blocks == log.blocks && inspected.words == [])
        #expect(inspection.next() == nil)
        for path in log.files.keys { #expect(try log.disk.bytes(path) == log.files[path], "nothing is written") }
    }

    @Test func aLogWithoutBlocksIsWhole() throws {
        let (ledger, _) = TestLedger.simulated(seed: 302)
        try ledger.create()
        let inspection = try ledger.inspect()
        #expect(inspection.identity == testIdentity && inspection.head == nil)
        #expect(inspection.next() == nil)
    }

    @Test func aRealLogOfALivelyGameIsHandedOverWhole() throws {
        try TestLedger.withReal(FileLogConfiguration(segmentBytes: 4096)) { ledger in
            let log = try ledger.open()
            var blocks = GameChain.lively(seed: 303).blocks
            _ = try log.lead { _ in blocks[0] }
            for block in blocks.dropFirst() { try log.append(block) }
            blocks[1].redactable = try blocks[1].redactable(erasing: [1])
            try log.redact(2, blocks[1].redactable)
            log.close()
            #expect(try ledger.segments().count > 1)
            let inspected = Inspected(try ledger.inspect())
            #expect(inspected.blocks == blocks && inspected.words == [])
        }
    }

    @Test func aBlockThatIsLargerThanAStepIsHandedOver() throws {
        let (ledger, _) = TestLedger.simulated(seed: 304)
        try ledger.create()
        let log = try ledger.open()
        var random = SplitMix64(seed: 304)
        var blocks = [try log.leadWithTestBlock(&random)]
        for bytes in [3_000_000, 1, 1_048_000, 900_000] {
            let block = TestBlock.after(blocks.last?.head, bodyBytes: bytes, redactableBytes: 70_001, &random)
            try log.append(block)
            blocks.append(block)
        }
        log.close()
        let inspected = Inspected(try ledger.inspect())
        #expect(inspected.blocks == blocks && inspected.words == [])
    }

    // MARK: Beside a writer

    @Test func besideAWriterTheBlocksThatWereAcknowledgedAreHandedOver() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            defer { log.close() }
            var random = SplitMix64(seed: 305)
            var blocks = [try log.leadWithTestBlock(&random)]
            func append() throws {
                let block = TestBlock.after(blocks.last?.head, bodyBytes: 700, redactableBytes: 9, &random)
                try log.append(block)
                blocks.append(block)
            }
            for _ in 0..<40 { try append() }
            let inspection = try ledger.inspect()
            #expect(inspection.isWritten && inspection.head == blocks.last?.head)
            let acknowledged = blocks.count
            for _ in 0..<20 {
                try append()
                #expect(inspection.next() != nil)
            }
            var rest: [LogStep] = []
            while let step = inspection.next() { rest.append(step) }
            #expect(rest == blocks[20..<acknowledged].map { .block($0) })
        }
    }

    /// What is behind the acknowledged block is a writer's also where that block is lost.
    @Test func besideAWriterNoBlockBehindTheAcknowledgedOneIsLost() throws {
        let log = try InspectedLog(seed: 310)
        let writer = try log.ledger.open()
        defer { writer.close() }
        let inspection = try log.ledger.inspect()
        var random = SplitMix64(seed: 310)
        var last = try writer.leadWithTestBlock(&random)
        last = TestBlock.after(last.head, bodyBytes: 10, redactableBytes: 0, &random)
        try writer.append(last)
        // Block 14 and the one behind it.
        let place = log.places[13]
        var bytes = try log.disk.bytes(place.path)
        bytes[place.offset] ^= 1
        bytes[place.end] ^= 1
        try log.disk.setBytes(place.path, bytes)
        let inspected = Inspected(inspection)
        #expect(inspected.blocks == Array(log.blocks.dropLast()) && inspected.lost == [14...14])
    }

    @Test func aWriterThatAppendsAndRedactsMeanwhileIsNoDamage() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            defer { log.close() }
            var random = SplitMix64(seed: 306)
            let first = try log.leadWithTestBlock(&random)
            let isDone = Mutex(false)
            Thread.detachNewThread {
                var random = SplitMix64(seed: 307)
                var last = first
                do {
                    for _ in 0..<150 {
                        last = TestBlock.after(last.head, bodyBytes: 300, redactableBytes: 5000, &random)
                        try log.append(last)
                        // An old block, which is read early, or the last one.
                        let number = random.chance(50) ? min(3, last.number) : last.number
                        try log.redact(number, TestBlock.bytes(5000, &random))
                    }
                } catch {
                    Issue.record("\(error)")
                }
                isDone.withLock { $0 = true }
            }
            var inspections = 0
            while !isDone.withLock({ $0 }) {
                let inspection = try ledger.inspect()
                #expect(inspection.isWritten)
                let inspected = Inspected(inspection)
                #expect(inspected.words == [] && inspected.blocks.last?.head == inspection.head)
                inspections += 1
            }
            #expect(inspections > 1)
            #expect(Inspected(try ledger.inspect()).blocks == (try log.readAll()))
        }
    }

    @Test func aWriterThatComesDuringTheInspectionIsNoDamage() throws {
        for steps in [0, 5, 14] {
            let log = try InspectedLog(seed: 308)
            let inspection = try log.ledger.inspect()
            #expect(!inspection.isWritten)
            for _ in 0..<steps { #expect(inspection.next() != nil) }
            let writer = try log.ledger.open()
            var random = SplitMix64(seed: 308)
            try writer.leadWithTestBlock(&random)
            // Of a block that is being appended, the header stands there already.
            let path = log.places[log.places.count - 1].path
            var bytes = try log.disk.bytes(path)
            let end = (bytes.lastIndex { $0 != 0 } ?? 0) / 8 * 8 + 8
            bytes.replaceSubrange(end..<end + 4, with: Array("CLBk".utf8))
            try log.disk.setBytes(path, bytes)
            var rest: [LogStep] = []
            while let step = inspection.next() { rest.append(step) }
            #expect(rest == log.blocks[steps...].map { .block($0) }, "after \(steps) steps")
            writer.close()
        }
    }

    /// Without a head file nothing says where the log ended when the inspection began.
    @Test func aWriterThatComesWhileThereIsNoHeadFileIsNoDamage() throws {
        let log = try InspectedLog(seed: 309)
        try log.disk.remove(log.ledger.folder.headFile)
        let inspection = try log.ledger.inspect()
        let writer = try log.ledger.open()
        defer { writer.close() }
        let last = try #require(log.places.last)
        var bytes = try log.disk.bytes(last.path)
        bytes.replaceSubrange(last.end..<last.end + 4, with: Array("CLBk".utf8))
        try log.disk.setBytes(last.path, bytes)
        let inspected = Inspected(inspection)
        #expect(inspected.blocks == log.blocks && inspected.words.count == 1)
        #expect(inspected.words.first?.contains("is missing") == true)
    }

    // MARK: Every bit

    /// The blocks that are lost where a byte of a segment is changed.
    private static func lost(_ log: InspectedLog, _ path: String, _ offset: Int) -> [BlockNumber] {
        log.places.filter { $0.path == path && ($0.offset..<$0.bodyEnd).contains(offset) }
            .filter { !($0.offset + 100..<$0.offset + 104).contains(offset) }.map(\.block.number)
    }

    @Test func everyFlippedBitOfASegmentIsToldAndCostsAtMostItsBlock() throws {
        let log = try InspectedLog(seed: 311)
        for path in log.segments {
            let bytes = try log.bytes(path)
            for offset in bytes.indices {
                let lost = Self.lost(log, path, offset)
                for bit in 0..<8 {
                    var flipped = bytes
                    flipped[offset] ^= 1 << bit
                    let context = "bit \(bit) of byte \(offset) of \(path)"
                    let inspected = try log.inspected([path: flipped], context)
                    #expect(inspected.words.count == 1 && inspected.words[0].contains(path), "\(context)")
                    #expect(inspected.lostNumbers == lost, "\(context)")
                    if let number = lost.first {
                        #expect(inspected.words.first?.hasPrefix("block \(number) in segment file") == true)
                    }
                    // A redactable part is handed over as it is.
                    #expect(
                        inspected.blocks.map(\.body) == log.blocks(without: lost).map(\.body)
                            && inspected.blocks.count { !log.blocks.contains($0) } <= 1, "\(context)")
                }
            }
        }
    }

    /// Nothing but the header itself says then what its checksum was.
    @Test func everyFlippedBitOfASegmentsHeaderBehindAMissingSegmentCostsNothing() throws {
        let log = try InspectedLog(seed: 315)
        try log.disk.remove(log.segments[0])
        let path = log.segments[1]
        let lost = log.blocks(in: log.segments[0]).map(\.number)
        for bit in 0..<96 * 8 {
            var flipped = try log.bytes(path)
            flipped[bit / 8] ^= 1 << (bit % 8)
            let inspected = try log.inspected([path: flipped], "bit \(bit)")
            #expect(inspected.lostNumbers == lost && inspected.words.count == 2, "bit \(bit)")
            #expect(inspected.blocks == log.blocks(without: lost), "bit \(bit)")
        }
    }

    @Test func everyFlippedBitOfTheHeadFileIsTold() throws {
        let log = try InspectedLog(seed: 312, blocks: 3)
        try Self.expectEveryFlippedBitIsTold(
            log, log.ledger.folder.headFile, log.files[log.ledger.folder.headFile] ?? [])
    }

    @Test func everyFlippedBitOfTheHeadFileOfANewLogIsTold() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 313)
        try ledger.create()
        let bytes = try disk.bytes(ledger.folder.headFile)
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            try disk.setBytes(ledger.folder.headFile, flipped)
            let inspected = Inspected(try ledger.inspect())
            #expect(!inspected.words.isEmpty && inspected.lost == [], "bit \(bit)")
        }
    }

    @Test func everyFlippedBitOfARedactionsNoteIsTold() throws {
        let log = try InspectedLog(seed: 314, blocks: 4)
        let erased = try log.bytes(log.notePath)
        #expect(erased.count > 32)
        try Self.expectEveryFlippedBitIsTold(log, log.notePath, erased)
        let place = log.places[2]
        let checksum = Array(try log.bytes(place.path)[place.offset + 96..<place.offset + 100])
        let note = log.note(3, recordChecksum: checksum, [UInt8](repeating: 7, count: place.block.redactable.count))
        try Self.expectEveryFlippedBitIsTold(log, log.notePath, note + [0, 0, 0])
    }

    private static func expectEveryFlippedBitIsTold(_ log: InspectedLog, _ path: String, _ bytes: [UInt8]) throws {
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            let inspected = try log.inspected([path: flipped], "bit \(bit)")
            #expect(!inspected.words.isEmpty && inspected.words.allSatisfy { $0.contains(path) }, "bit \(bit)")
            #expect(inspected.blocks == log.blocks && inspected.lost == [], "bit \(bit)")
        }
    }

    // MARK: Files that are cut, extended, missing or others

    @Test func aSegmentThatIsCutLosesWhatWasCutOff() throws {
        let log = try InspectedLog(seed: 321)
        for path in log.segments {
            let bytes = try log.bytes(path)
            let ends = log.places.filter { $0.path == path }
            for count in bytes.indices {
                let inspected = try log.inspected([path: Array(bytes[..<count])], "\(path) cut to \(count)")
                let lost = ends.filter { $0.end > count }.map(\.block.number)
                #expect(inspected.lostNumbers == lost, "\(path) cut to \(count)")
                #expect(inspected.blocks == log.blocks(without: lost), "\(path) cut to \(count)")
                #expect(inspected.words.isEmpty == lost.isEmpty, "zeros that are not needed may be missing")
            }
        }
    }

    @Test func aHeadFileThatIsCutOrExtendedIsToldAndItsWholeSlotsCount() throws {
        let log = try InspectedLog(seed: 322, blocks: 6)
        let path = log.ledger.folder.headFile
        let bytes = try log.bytes(path)
        for count in [0, 1, 99, 100, 2047, 2048, 2147, 2148, 4095] {
            let inspected = try log.inspected([path: Array(bytes[..<count])])
            #expect(inspected.words.first == "the head file \(path) has \(count) bytes")
            #expect(inspected.blocks == log.blocks && inspected.lost == [])
        }
        #expect(try log.inspected([path: bytes + [0]]).words == ["the head file \(path) has 4097 bytes"])
        // The other slot may be the newer one, and says that block 6 was there.
        let last = log.places[5]
        let cut = Array(try log.bytes(last.path)[..<last.offset])
        let inspected = try log.inspected([path: bytes + [0], last.path: cut])
        #expect(inspected.lost == [6...6])
        #expect(inspected.words.last?.hasPrefix("the log went back in time: block 6 was acknowledged") == true)
    }

    @Test func slotsThatNoWriterLeavesAreTold() throws {
        let log = try InspectedLog(seed: 331, blocks: 6)
        let path = log.ledger.folder.headFile
        let head = try log.bytes(path)
        func inspected(_ change: (inout [UInt8]) -> Void) throws -> Inspected {
            var slot = Array(head[..<100])
            change(&slot)
            slot.replaceSubrange(96..<100, with: Bytes.of(Bytes.checksum(slot[..<96])))
            return try log.inspected([path: slot + head[100...]])
        }
        let zeros = [UInt8](repeating: 0, count: 48)
        #expect(try inspected { _ in }.words == [])
        #expect(
            try inspected { $0[16..<24] = head[2064..<2072] }.words.first
                == "both slots of the head file \(path) name block \(head[2071])")
        for slot in [
            try inspected { $0[16..<24] = zeros[..<8] }, try inspected { $0[16] = 0x40 },
            try inspected { $0[16] = 0xFF },
        ] {
            #expect(slot.words == ["the head file \(path) is damaged: a slot names no block"])
            #expect(slot.blocks == log.blocks)
        }
        #expect(
            try inspected { $0[15] = 1 }.words
                == ["the head file \(path) is damaged: bytes 12 to 15 of a slot are not 0"])
        #expect(
            try inspected { $0[11] = 3 }.words
                == ["the slot at byte 0 of the head file \(path) has format 3; this program reads format 1"])
    }

    @Test func filesThatAreLargerThanAnyAreToldAndNotReadWhole() throws {
        let log = try InspectedLog(seed: 332)
        for path in [log.notePath] + log.segments {
            log.disk.setByteCount(path, 1 << 40)
            let inspected = Inspected(try log.ledger.inspect())
            #expect(inspected.blocks == log.blocks && inspected.lost == [])
            let most =
                path == log.notePath ? "more than the note of a redaction can have" : "none has more than 4294967295"
            #expect(inspected.words.count == 1)
            #expect(inspected.words.first?.contains("\(path) has 1099511627776 bytes") == true)
            #expect(inspected.words.first?.hasSuffix(most) == true)
        }
        // Such a note is not read for a damaged redactable part either, nor when the log is opened.
        log.disk.setByteCount(log.notePath, 1 << 40)
        let place = log.places[2]
        var bytes = try log.bytes(place.path)
        bytes[place.bodyEnd] ^= 1
        #expect(try log.inspected([place.path: bytes]).blocks.count == 14)
        #expect(logError { _ = try log.ledger.open() }?.kind == .corrupt)
    }

    @Test func bytesThatWereAppendedAreTold() throws {
        let log = try InspectedLog(seed: 323)
        for (path, bytes) in log.files where path != log.ledger.folder.headFile {
            let inspected = try log.inspected([path: bytes + [0, 0, 0, 9]])
            #expect(inspected.words.count == 1 && inspected.words[0].contains(path), "\(path)")
            #expect(inspected.blocks == log.blocks && inspected.lost == [])
        }
        let (first, last) = (log.segments[0], log.segments[2])
        #expect(
            try log.inspected([first: log.bytes(first) + [1]]).words
                == ["segment file \(first): the bytes behind its last record are not all 0"])
        #expect(
            try log.inspected([last: log.bytes(last) + [1]]).words == [
                "segment file \(last): what stands behind block 14 is no whole block: its writing was interrupted "
                    + "by a crash, and the next start cuts it off, or it is damaged"
            ])
    }

    @Test func aMissingFileIsNamed() throws {
        let log = try InspectedLog(seed: 324)
        for (index, path) in log.segments.enumerated() {
            try log.disk.remove(path)
            let lost = log.blocks(in: path).map(\.number)
            let inspected = Inspected(try log.ledger.inspect())
            #expect(inspected.blocks == log.blocks(without: lost))
            #expect(inspected.lostNumbers == lost && inspected.lost.count == 1)
            let named = index == 2 ? "the log went back in time: block 14" : path
            #expect(inspected.words.count == 1 && inspected.words[0].contains(named), "\(inspected.words)")
            log.disk.close(try log.disk.open(path, .creating))
            try log.disk.setBytes(path, log.bytes(path))
        }
        try log.disk.remove(log.lockPath)
        #expect(Inspected(try log.ledger.inspect()).words == [], "each writer makes the lock file")
        try log.disk.remove(log.ledger.folder.headFile)
        let inspected = Inspected(try log.ledger.inspect())
        #expect(inspected.blocks == log.blocks && inspected.words.count == 1)
        #expect(inspected.words[0].hasPrefix("the head file \(log.ledger.folder.headFile) is missing"))
        for path in log.segments { try log.disk.remove(path) }
        let inspection = try log.ledger.inspect()
        #expect(inspection.identity == nil && inspection.head == nil)
        #expect(Inspected(inspection).words.last == "the log \(log.ledger.folder.log) has no segment file")
    }

    @Test func allButTheHeadFileMissingLosesEveryBlock() throws {
        let log = try InspectedLog(seed: 325)
        for path in log.segments { try log.disk.remove(path) }
        let inspection = try log.ledger.inspect()
        #expect(inspection.identity == testIdentity && inspection.head == log.blocks.last?.head)
        #expect(Inspected(inspection).lost == [1...14])
        try log.disk.remove(log.lockPath)
        try log.disk.remove(log.notePath)
        try log.disk.removeDirectory(log.ledger.folder.log)
        #expect(logError { _ = try log.ledger.inspect() }?.kind == .unknown)
    }

    @Test func segmentsThatWereSwappedAreBothLost() throws {
        let log = try InspectedLog(seed: 326)
        let (one, two) = (log.segments[0], log.segments[1])
        let inspected = try log.inspected([one: log.bytes(two), two: log.bytes(one)])
        let lost = (log.blocks(in: one) + log.blocks(in: two)).map(\.number)
        #expect(inspected.lostNumbers == lost && inspected.blocks == log.blocks(without: lost))
        #expect(inspected.words.count == 2)
        #expect(
            inspected.words[0].hasPrefix(
                "segment file \(one) begins with block \(log.blocks(in: two)[0].number), not with the 1"))
        #expect(inspected.words[1].hasPrefix("segment file \(two) begins with block 1, not with the"))
    }

    @Test func aSegmentOfAnotherLedgerOrAnotherChainIsTold() throws {
        let log = try InspectedLog(seed: 327)
        let path = log.segments[1]
        var header = Array(try log.bytes(path)[..<96])
        header[30] ^= 1
        header.replaceSubrange(92..<96, with: Bytes.of(Bytes.checksum(header[..<92])))
        var inspected = try log.inspected([path: header + log.bytes(path)[96...]])
        let foreign = "segment file \(path) belongs to another ledger: its bundle id or environment differs"
        #expect(inspected.words == [foreign])
        #expect(inspected.lostNumbers == log.blocks(in: path).map(\.number))

        // The same ledger's, but of another log, as a copy that was led elsewhere has it.
        let other = try InspectedLog(seed: 328)
        inspected = try log.inspected([path: try other.bytes(path)])
        #expect(inspected.lost == [])
        #expect(inspected.words.count == 2)
        let first = log.blocks(in: path)[0].number
        #expect(inspected.words[0] == "segment file \(path): its header does not continue block \(first - 1)")
        #expect(inspected.words[1].contains("segment file \(log.segments[2]): its header does not continue block"))
        #expect(inspected.blocks.count == 14 && inspected.blocks[Int(first) - 1] == other.blocks[Int(first) - 1])
        // The last segment's blocks are not those of the head file either.
        let last = log.segments[2]
        inspected = try log.inspected([last: try other.bytes(last)])
        #expect(inspected.words.count == 3 && inspected.words[2].contains("it is not the block that was acknowledged"))
        // A head file of another ledger does not say what was acknowledged.
        let head = try log.bytes(log.ledger.folder.headFile)
        var slot = Array(head[..<100])
        slot[40] ^= 1
        slot.replaceSubrange(96..<100, with: Bytes.of(Bytes.checksum(slot[..<96])))
        inspected = try log.inspected([log.ledger.folder.headFile: slot + head[100...]])
        #expect(inspected.words.count == 1 && inspected.words[0].contains("belongs to another ledger"))
    }

    @Test func whatIsNoFileIsTold() throws {
        let log = try InspectedLog(seed: 329)
        for path in log.segments[1...] + [log.ledger.folder.headFile, log.notePath, log.lockPath] {
            try log.disk.remove(path)
            try log.disk.makeDirectory(path)
            let inspected = Inspected(try log.ledger.inspect())
            #expect(inspected.words.count == 1 && inspected.words[0].contains("\(path) is no file"))
            let lost = log.blocks(in: path).map(\.number)
            #expect(inspected.lostNumbers == lost && inspected.blocks == log.blocks(without: lost))
            try log.disk.removeDirectory(path)
            log.disk.close(try log.disk.open(path, .creating))
            try log.disk.setBytes(path, log.bytes(path))
        }
    }

    @Test func aFileOfALaterFormatIsTold() throws {
        let log = try InspectedLog(seed: 330)
        let path = log.segments[1]
        var bytes = try log.bytes(path)
        bytes[11] = 2
        var inspected = try log.inspected([path: bytes])
        #expect(inspected.words.count == 1 && inspected.words[0].contains("has format 2; this program reads format 1"))
        #expect(inspected.blocks == log.blocks, "records that are whole by format 1 are read")
        let place = log.places[3]
        inspected = try log.inspected([place.path: try log.forged(place.path, place.offset) { $0[7] = 2 }])
        #expect(inspected.lost == [4...4])
        #expect(inspected.words[0].contains("its record has format 2; this program reads format 1"))
        inspected = try log.inspected([log.notePath: Array("CLedgRed".utf8) + Bytes.of(9)])
        #expect(inspected.words.count == 1 && inspected.words[0].contains("has format 9"))
    }

    // MARK: What cannot be read

    /// A page that the disk cannot read costs the blocks that are in it, and no other.
    @Test func anUnreadablePageCostsTheBlocksThatItHas() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 341)
        try ledger.create()
        let log = try ledger.open()
        var random = SplitMix64(seed: 341)
        var blocks = [try log.leadWithTestBlock(&random)]
        while blocks.count < 60 {
            let block = TestBlock.after(blocks.last?.head, bodyBytes: 801, redactableBytes: 3, &random)
            try log.append(block)
            blocks.append(block)
        }
        log.close()
        let paths = try ledger.segments()
        for (index, path) in paths.enumerated() {
            let first = try #require(BlockNumber(path.suffix(20)))
            let next = index + 1 < paths.count ? try #require(BlockNumber(paths[index + 1].suffix(20))) : 61
            for page in [0, 4096] where try page < disk.bytes(path).count {
                disk.setUnreadable(path, page..<page + 4096)
                let inspected = Inspected(try ledger.inspect(), "\(path), \(page)")
                var offset = 96
                var lost: [BlockNumber] = []
                for block in blocks[Int(first) - 1..<Int(next) - 1] {
                    let end = (offset + 104 + block.byteCount + 7) / 8 * 8
                    if (offset..<end).overlaps(page..<page + 4096) { lost.append(block.number) }
                    offset = end
                }
                #expect(inspected.lostNumbers == lost, "\(path), \(page)")
                #expect(inspected.blocks == blocks.filter { !lost.contains($0.number) }, "\(path), \(page)")
                #expect(!inspected.words.isEmpty && inspected.words.allSatisfy { $0.contains(path) })
                #expect(inspected.words.contains { $0.contains("Input/output error (errno 5)") })
            }
        }
        #expect(paths.count > 3)
        for path in [ledger.folder.headFile, ledger.folder.log + "/redaction"] {
            if (try? disk.status(at: path)) == nil {
                disk.close(try disk.open(path, .creating))
                try disk.setBytes(path, [0])
            }
            disk.setUnreadable(path, 0..<1)
            let inspected = Inspected(try ledger.inspect())
            #expect(inspected.blocks == blocks && inspected.words.count == 1)
            #expect(inspected.words[0].contains("\(path): Input/output error (errno 5)"))
        }
    }

    // MARK: What a crash leaves

    /// The power is cut at each call of some appends: what is told is gone after the next start.
    @Test(arguments: 0..<20)
    func whatACrashLeavesIsToldAndIsGoneAfterTheNextStart(seed: UInt64) throws {
        for index in 0..<14 {
            let log = try InspectedLog(seed: seed, blocks: 4)
            let (ledger, disk) = (log.ledger, log.disk)
            var random = SplitMix64(seed: seed &+ 1000)
            let writer = try ledger.open()
            let start = disk.changeCount
            disk.setFault { $0.isChange && $0.index >= start + index ? .off : nil }
            var appended: [SealedBlock] = []
            do {
                appended.append(try writer.leadWithTestBlock(&random))
                for _ in 0..<6 {
                    let block = TestBlock.after(appended.last?.head, bodyBytes: 300, redactableBytes: 40, &random)
                    try writer.append(block)
                    appended.append(block)
                }
            } catch {}
            disk.cutPower()
            let inspected = Inspected(try ledger.inspect())
            let context = "call \(index), seed \(seed)"
            #expect(inspected.lost == [] && inspected.blocks.starts(with: log.blocks + appended), "\(context)")
            for words in inspected.words {
                #expect(words.contains("interrupted by a crash") || words.contains("torn by a crash"), "\(context)")
            }
            let again = try ledger.open()
            try again.leadWithTestBlock(&random)
            try again.leadWithTestBlock(&random)
            let read = try again.readAll()
            again.close()
            let after = Inspected(try ledger.inspect())
            #expect(after.words == [] && after.blocks == read, "\(context)")
            #expect(read.starts(with: inspected.blocks), "what was handed over stays, \(context)")
        }
    }

    /// The head file is older than the log, as after a power cut, and the last block is damaged.
    @Test func aDamagedLastBlockThatNobodyVouchesForIsTornOrDamaged() throws {
        let log = try InspectedLog(seed: 351, blocks: 5)
        let head = log.ledger.folder.headFile
        // Without its newest slot the head file names the block before the last.
        var old = try log.bytes(head)
        let newest = [0, 2048].max { old[$0 + 23] < old[$1 + 23] } ?? 0
        old.replaceSubrange(newest..<newest + 100, with: [UInt8](repeating: 0, count: 100))
        let last = log.places[4]
        for offset in [last.offset, last.offset + 30, last.bodyEnd - 1, last.redactableEnd - 1] {
            var bytes = try log.bytes(last.path)
            bytes[offset] ^= 1
            let inspected = try log.inspected([head: old, last.path: bytes])
            #expect(inspected.blocks == Array(log.blocks.dropLast()) && inspected.lost == [], "byte \(offset)")
            #expect(inspected.words.count == 2)
            #expect(inspected.words[0].contains("the slot at byte \(newest)"))
            #expect(inspected.words[1].hasSuffix("cuts it off, or it is damaged"))
        }
        var bytes = try log.bytes(last.path)
        bytes[last.bodyEnd - 1] ^= 1
        let inspected = try log.inspected([head: [UInt8](repeating: 0, count: 4096), last.path: bytes])
        #expect(inspected.words.count == 3)
        #expect(inspected.words[2].hasSuffix("or it is damaged; whether it was acknowledged, no head file says"))
        // A whole header of a later format is no torn record.
        let later = try log.forged(last.path, last.offset) { $0[7] = 2 }
        #expect(try log.inspected([head: old, last.path: later]).lost == [5...5])
        // A record behind it says that it was whole.
        let before = log.places[3]
        var both = try log.bytes(before.path)
        both[before.offset] ^= 1
        #expect(try log.inspected([head: [], before.path: both]).lost == [4...4])
    }

    // MARK: Redactions

    @Test func aRedactionThatWasInterruptedIsToldAndItsBlockIsAsItWillBe() throws {
        let log = try InspectedLog(seed: 361, blocks: 4)
        let place = log.places[2]
        let bytes = [UInt8](repeating: 7, count: place.block.redactable.count)
        let segment = try log.bytes(place.path)
        let checksum = Array(segment[place.offset + 96..<place.offset + 100])
        let note = log.note(3, recordChecksum: checksum, bytes)
        let said = "the redaction of block 3, noted in \(log.notePath), was interrupted; the next start finishes it"
        var inspected = try log.inspected([log.notePath: note])
        #expect(inspected.blocks == log.blocks && inspected.words == [said])
        var half = segment
        half.replaceSubrange(place.bodyEnd..<place.bodyEnd + 3, with: bytes[..<3])
        inspected = try log.inspected([log.notePath: note, place.path: half])
        #expect(inspected.words == [said] && inspected.blocks[2].redactable == bytes)
        // Without the note the part is damaged, and handed over as it is.
        inspected = try log.inspected([place.path: half])
        #expect(inspected.lost == [] && inspected.blocks[2].redactable.starts(with: bytes[..<3]))
        #expect(
            inspected.words
                == ["block 3 in segment file \(place.path): its redactable part does not have its checksum"])

        inspected = try log.inspected([log.notePath: note + [0, 1]])
        #expect(inspected.words == [said, "the bytes behind the note in \(log.notePath) are not all 0"])
        inspected = try log.inspected([log.notePath: Array(note.dropLast())])
        #expect(inspected.words.count == 1 && inspected.words[0].hasSuffix("interrupted by a crash, or is damaged"))
        inspected = try log.inspected([log.notePath: log.note(2, recordChecksum: checksum, bytes)])
        #expect(inspected.words.last?.hasSuffix("it is not the block whose redaction was begun") == true)
        for number in [0, 5, -1, .max] as [BlockNumber] {
            inspected = try log.inspected([log.notePath: log.note(number, recordChecksum: checksum, bytes)])
            #expect(inspected.words.last?.hasSuffix("is of block \(number); the log has no such block") == true)
        }
    }

    // MARK: Records that never were

    @Test func aRecordInAnotherBlocksPlaceIsTold() throws {
        let log = try InspectedLog(seed: 371)
        let place = log.places[2]
        func forged(_ number: BlockNumber) throws -> Inspected {
            try log.inspected([
                place.path: log.forged(place.path, place.offset) {
                    $0.replaceSubrange(
                        8..<16,
                        with: Bytes.of(UInt32(truncatingIfNeeded: number >> 32))
                            + Bytes.of(UInt32(truncatingIfNeeded: number)))
                }
            ])
        }
        for number in [1, 2, 4, 5, 0, -1, .min, .max, 1 << 40] as [BlockNumber] {
            let inspected = try forged(number)
            #expect(inspected.lost.first == 3...3, "\(number)")
            #expect(inspected.words[0].hasSuffix("block \(number) stands in its place"), "\(number)")
            #expect(inspected.next == 15)
        }
    }

    @Test func aChainThatWasForgedIsTold() throws {
        let log = try InspectedLog(seed: 372)
        let place = log.places[2]
        let inspected = try log.inspected([
            place.path: log.forged(place.path, place.offset) { $0[40] ^= 1 }
        ])
        #expect(inspected.lost == [] && inspected.blocks.count == 14)
        #expect(
            inspected.words == ["block 3 in segment file \(place.path): it does not continue the block before it"])
    }

    @Test func aLogOfNumbersThatNoLogReachesIsTold() throws {
        let log = try InspectedLog(seed: 373)
        let path = log.ledger.segment(.max)
        log.disk.close(try log.disk.open(path, .creating))
        var inspected = try log.inspected([path: try log.bytes(log.segments[0])])
        #expect(inspected.words == ["segment file \(path) is damaged: no ledger has so many blocks"])
        #expect(inspected.blocks == log.blocks)
        try log.disk.remove(path)
        let far = log.ledger.segment(1 << 62)
        log.disk.close(try log.disk.open(far, .creating))
        inspected = try log.inspected([far: []])
        #expect(inspected.blocks == log.blocks && inspected.lost == [15...(1 << 62) - 1])
    }
}
