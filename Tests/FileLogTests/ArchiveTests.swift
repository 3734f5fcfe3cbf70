import FileLog
import Ledger
import LedgerTestKit
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Segments are moved into an archive: wherever that is interrupted no block is lost, and every bit of it is checked.
@Suite struct ArchiveTests {
    @Test func wholeSegmentsAreMovedAndReadWhereTheyAre() throws {
        var (archive, log, blocks, random) = try TestArchive.led(1)
        let before = try archive.ledger.segments()
        let planned = try LogArchiver(
            of: archive.ledger.folder, to: archive.folder("archive"), hash: testSHA256, disk: archive.disk
        ).plan { $0.number <= 20 }
        #expect(planned.count > 1 && planned[0].first == 1 && planned[planned.count - 1].last <= 20)
        #expect(try archive.ledger.segments() == before, "a plan does nothing")

        let summary = try archive.run(through: 20)
        #expect(summary.segments == planned)
        let last = try #require(summary.head)
        #expect(summary.first == 1 && last == blocks[Int(last.number) - 1].head)
        #expect(try archive.ledger.segments() == Array(before.dropFirst(planned.count)))
        // The service did not know of it, and goes on.
        #expect(try log.readAll() == blocks)
        blocks = try log.grow(3, bodyBytes: 300, &random)
        #expect(log.first == 1)
        log.close()

        // Without the archive it is said which block stands where; the others are read.
        let alone = try archive.openForReading([])
        #expect(alone.first == last.number + 1)
        let error = logError { _ = try alone.readAll() }
        #expect(error?.kind == .archived)
        #expect(error?.description.contains("/ledger/archive/log/00000000000000000001") == true, "\(error as Any)")
        #expect(try alone.read(after: last.number, bytesMax: 1 << 20).first == blocks[Int(last.number)])
        #expect(logError { _ = try alone.read(after: last.number - 1, bytesMax: 0) }?.kind == .archived)
        alone.close()
        #expect(try archive.openForReading(["archive"]).readAll() == blocks)
        #expect(try archive.chain(["archive"]) == blocks)

        // It goes on where it ended.
        let more = try archive.run(through: 30)
        #expect(more.segments.first?.first == last.number + 1 && more.first == 1)
        #expect(try archive.run(through: 30).segments == [])
        #expect(try archive.chain(["archive"]) == blocks)
        let again = try archive.open(["archive"])
        #expect(try again.readAll() == blocks)
        again.close()
    }

    @Test func theNewestSegmentsStay() throws {
        let (archive, log, blocks, _) = try TestArchive.led(2)
        try archive.run(through: .max)
        #expect(try archive.ledger.segments().count == FileLogLimits.segmentsKept)
        #expect(try archive.run(through: .max).segments == [])
        #expect(try log.readAll() == blocks)
        log.close()
    }

    /// Every call of a run fails, or is the last of the process, or of the machine.
    @Test(arguments: 0..<6)
    func aRunThatIsInterruptedAnywhereLosesNothing(seed: UInt64) throws {
        var index = 0
        var archived: Set<BlockNumber> = []
        while true {
            let (archive, log, blocks, _) = try TestArchive.led(seed, blocks: 30)
            let disk = archive.disk
            log.close()
            let start = disk.changeCount
            let fault: SimulatedDisk.Fault = seed % 3 == 2 ? .partThenFailure(.full) : .off
            disk.setFault { $0.isChange && $0.index >= start + index ? fault : nil }
            let isDone = (try? archive.run(through: 18)) != nil
            if seed % 3 == 0 { disk.cutPower() } else { disk.kill() }
            let context = "seed \(seed), call \(index)"

            let reader = try archive.openForReading(["archive"])
            #expect(try reader.readAll() == blocks, "\(context)")
            reader.close()
            let writer = try archive.open(["archive"])
            #expect(try writer.readAll() == blocks, "\(context)")
            archived.insert(try archive.openForReading([]).first)
            writer.close()
            try archive.run(through: 18)
            #expect(try archive.openForReading(["archive"]).readAll() == blocks, "\(context)")
            #expect(try archive.openForReading([]).first > 6, "\(context)")
            #expect(try archive.inspected(["archive"]).blocks == blocks, "\(context)")
            if isDone { break }
            index += 1
        }
        #expect(index > 30 && archived.count > 2)
    }

    /// A run ended after the log's base file named the segment, and before the segment's file was removed.
    @Test func whatWasArchivedAndNotRemovedIsNotLookedAtAndRemovedByWhoeverWritesNext() throws {
        let (archive, log, blocks, _) = try TestArchive.led(3)
        log.close()
        let first = archive.ledger.segment(1)
        let bytes = try archive.disk.bytes(first)
        try archive.run(through: 20)
        func putBack() throws {
            archive.disk.close(try archive.disk.open(first, .creating))
            // Other bytes than the archive's: a name was erased there since.
            try archive.disk.setBytes(first, bytes.map { $0 ^ 1 })
        }
        try putBack()
        #expect(try archive.openForReading(["archive"]).readAll() == blocks)
        #expect(try archive.chain(["archive"]) == blocks)
        let writer = try archive.open(["archive"])
        #expect(try !archive.ledger.segments().contains(first))
        try putBack()
        let named = try #require(blocks.last { !$0.redactable.isEmpty })
        try writer.redact(named.number, [UInt8](repeating: 0, count: named.redactable.count))
        #expect(try !archive.ledger.segments().contains(first))
        writer.close()
        try putBack()
        try archive.run(through: 20)
        #expect(try !archive.ledger.segments().contains(first))
    }

    // MARK: Names

    @Test func namesAreErasedInTheArchiveAndNowhereLeft() throws {
        let (archive, log, blocks, _) = try TestArchive.led(4)
        try archive.run(through: 20)
        var expected = blocks
        for index in [0, 4, 9, 30] where !blocks[index].redactable.isEmpty {
            expected[index].redactable = [UInt8](repeating: 0, count: blocks[index].redactable.count)
            try log.checkRedactable(BlockNumber(index + 1))
            try log.redact(BlockNumber(index + 1), expected[index].redactable)
        }
        #expect(try log.readAll() == expected)
        log.close()
        #expect(try archive.chain(["archive"]) == expected, "the manifest has the new digests")
        // Without the archive nothing is begun, and the log goes on.
        let alone = try archive.open([])
        #expect(logError { try alone.checkRedactable(5) }?.kind == .archived)
        #expect(logError { try alone.redact(5, expected[4].redactable) }?.kind == .archived)
        var random = SplitMix64(seed: 9)
        try alone.extend(1, &random)
        alone.close()
    }

    @Test(arguments: 0..<4)
    func aRedactionInTheArchiveThatIsInterruptedIsFinished(seed: UInt64) throws {
        for index in 0..<16 {
            let (archive, log, blocks, _) = try TestArchive.led(seed)
            let disk = archive.disk
            try archive.run(through: 20)
            let target = try #require(blocks.prefix(15).firstIndex { $0.redactable.count > 8 })
            var redacted = blocks
            redacted[target].redactable = [UInt8](repeating: 0, count: blocks[target].redactable.count)
            let start = disk.changeCount
            disk.setFault { $0.isChange && $0.index >= start + index ? .off : nil }
            let isDone = logError { try log.redact(BlockNumber(target + 1), redacted[target].redactable) } == nil
            if seed % 2 == 0 { disk.kill() } else { disk.cutPower() }
            let context = "seed \(seed), call \(index)"
            let again = try archive.open(["archive"])
            let read = try again.readAll()
            #expect(read == redacted || (!isDone && read == blocks), "\(context)")
            // Two appends mend what a power cut left of the head file.
            var random = SplitMix64(seed: seed)
            try again.extend(2, &random)
            again.close()
            #expect(try archive.chain(["archive"], context).prefix(blocks.count).map { $0 } == read, "\(context)")
        }
    }

    @Test func aManifestThatCannotBeWrittenKeepsNothingFromGoingOnAndTheNextRunMendsIt() throws {
        var (archive, log, blocks, random) = try TestArchive.led(1)
        let disk = archive.disk
        let end = try #require(try archive.run(through: 20).head).number
        log.close()
        let target = try #require(blocks.prefix(Int(end)).firstIndex { $0.redactable.count > 8 })
        blocks[target].redactable = [UInt8](repeating: 0, count: blocks[target].redactable.count)
        let (segments, manifest) = (archive.folder("archive").log, archive.folder("archive").manifest)
        let told = Mutex<[String]>([])

        log = try archive.open(["archive"]) { words in told.withLock { $0.append(words) } }
        disk.setFault { $0.kind == .write && $0.path.hasPrefix(segments) ? .failure(.failed) : nil }
        #expect(logError { try log.redact(BlockNumber(target + 1), blocks[target].redactable) }?.kind == .unknown)
        // From here on only the manifest cannot be written.
        disk.setFault { $0.isChange && $0.path.hasPrefix(manifest) ? .failure(.full) : nil }
        blocks.append(try log.leadWithTestBlock(&random))
        #expect(told.withLock { $0.count } == 1)
        #expect(told.withLock { $0.first }?.contains("the manifest of its archive") == true)
        #expect(try log.readAll() == blocks)
        log.close()

        // Nothing is left that a start had to finish.
        log = try archive.open(["archive"])
        #expect(log.notices == [])
        blocks.append(try log.leadWithTestBlock(&random))
        log.close()
        disk.clearFault()
        let (found, words) = try archive.inspected(["archive"])
        #expect(found == blocks)
        #expect(words.count == 1 && words.first?.contains("does not have the SHA-256") == true, "\(words)")
        #expect(try archive.run(through: 20).segments == [])
        #expect(try archive.chain(["archive"]) == blocks)
    }

    /// The manifest is not made to say what a damaged file is.
    @Test func aRunDoesNotMendTheDigestOfADamagedFile() throws {
        let (archive, log, _, _) = try TestArchive.led(12)
        try archive.run(through: 20)
        log.close()
        let path = archive.folder("archive").log + "/00000000000000000001"
        let bytes = try archive.disk.bytes(path)
        let manifest = try archive.disk.bytes(archive.folder("archive").manifest)
        for place in [bytes.count / 2, bytes.count - 1] {
            var damaged = bytes
            damaged[place] ^= 1
            try archive.disk.setBytes(path, damaged)
            try archive.run(through: 20)
            #expect(try archive.disk.bytes(archive.folder("archive").manifest) == manifest, "byte \(place)")
        }
    }

    @Test func noNameIsBegunToBeErasedWhileAnotherHasTheNotesLock() throws {
        let (archive, log, blocks, _) = try TestArchive.led(11)
        defer { log.close() }
        let named = try #require(blocks.last { !$0.redactable.isEmpty })
        try log.checkRedactable(named.number)
        let note = try archive.disk.open(archive.ledger.folder.log + "/redaction", .writingOrCreating)
        #expect(try archive.disk.lock(note))
        let error = logError { try log.checkRedactable(named.number) }
        #expect(error?.kind == .unknown && error?.description.contains("are being archived") == true)
        archive.disk.close(note)
        try log.checkRedactable(named.number)
        try log.redact(named.number, [UInt8](repeating: 0, count: named.redactable.count))
        try log.checkRedactable(named.number)
    }

    // MARK: Who may

    @Test func nobodyButTheOwnerOfTheLogsFolderMayArchive() throws {
        try TestLedger.withReal { ledger in
            try ledger.folder.checkIsOwn(for: "archive")
            let error = logError { try ledger.folder.checkIsOwn(of: geteuid() + 1, for: "archive") }
            #expect(error?.description.hasPrefix(ledger.folder.log + " belongs to the user ") == true)
            #expect(error?.description.contains("runuser -u ") == true)
        }
    }

    // MARK: Damage

    @Test func everyFlippedBitOfAnArchiveIsFound() throws {
        let seed = Seed.drawn()
        var (archive, log, blocks, random) = try TestArchive.led(seed)
        try archive.run(through: 12)
        try archive.run(to: "second", through: 24)
        log.close()
        let both = ["archive", "second"]
        #expect(try archive.chain(both) == blocks)
        for path in try archive.files("archive") + archive.files("second") {
            let whole = try archive.disk.bytes(path)
            #expect(!whole.isEmpty)
            for round in 0..<60 {
                let place = Int.random(in: 0..<whole.count, using: &random)
                var bytes = whole
                bytes[place] ^= UInt8(1 << Int.random(in: 0..<8, using: &random))
                try archive.disk.setBytes(path, bytes)
                do {
                    let (_, words) = try archive.inspected(both)
                    #expect(!words.isEmpty, "seed \(seed), \(path), byte \(place), round \(round)")
                } catch is LogError {}
            }
            try archive.disk.setBytes(path, Array(whole.dropLast()))
            do { #expect(try !archive.inspected(both).words.isEmpty, "\(path) is cut") } catch is LogError {}
            try archive.disk.setBytes(path, whole)
        }
        #expect(try archive.chain(both) == blocks)
        // The ledger's own base file too.
        let base = archive.ledger.folder.log + "/base"
        let whole = try archive.disk.bytes(base)
        for place in [3, 20, 100, 2_048 + 20, 2_048 + 70, 4_000] {
            var bytes = whole
            bytes[place] ^= 4
            try archive.disk.setBytes(base, bytes)
            #expect(logError { _ = try archive.openForReading(both) }?.kind == .corrupt, "byte \(place)")
            #expect(try !Inspected(archive.ledger.inspect()).words.isEmpty, "byte \(place)")
        }
        try archive.disk.setBytes(base, whole)
    }

    @Test func blocksWhoseArchiveIsNotNamedAreLostByTheirNumbers() throws {
        let (archive, log, blocks, _) = try TestArchive.led(6)
        let first = try #require(try archive.run(through: 12).head)
        let second = try #require(try archive.run(to: "second", through: 24).head)
        log.close()
        let inspection = try ChainInspection(
            archives: [archive.folder("archive")], of: archive.ledger.folder, hash: testSHA256, disk: archive.disk)
        var lost: [ClosedRange<BlockNumber>] = []
        while let step = try inspection.next() { if case .damage(_, let range?) = step { lost.append(range) } }
        #expect(lost == [first.number + 1...second.number])
        let later = try ChainInspection(
            archives: [archive.folder("second")], of: archive.ledger.folder, hash: testSHA256, disk: archive.disk)
        #expect(later.base == first)
        #expect(try archive.openForReading(["second"]).first == first.number + 1)
        #expect(try archive.openForReading(["archive"]).first == second.number + 1)
        #expect(logError { _ = try archive.openForReading(["second"]).readAll() }?.kind == .archived)
        #expect(try archive.openForReading(["second", "archive"]).readAll() == blocks)
    }

    @Test func anotherLedgersLogOfTheSameAppIsNoArchiveHoweverLongItIs() throws {
        let (archive, log, blocks, _) = try TestArchive.led(31)
        let last = try #require(try archive.run(through: 20).head)
        log.close()
        let other = TestLedger(
            disk: archive.disk, folder: archive.folder("other"), configuration: TestArchive.segments)
        try other.create()
        var random = SplitMix64(seed: 32)
        let foreign = try other.open()
        try foreign.leadWithTestBlock(&random)
        let foreignBlocks = try foreign.grow(80, bodyBytes: 300, &random)
        foreign.close()

        let reader = try archive.openForReading(["other"])
        #expect(reader.first == last.number + 1)
        let error = logError { _ = try reader.readAll() }
        #expect(error?.kind == .archived)
        #expect(error?.description.contains("/ledger/other is not of the chain") == true, "\(error as Any)")
        reader.close()
        let writer = try archive.open(["other"])
        #expect(logError { try writer.redact(3, []) }?.kind == .archived)
        writer.close()
        #expect(try other.open().readAll() == foreignBlocks)
        // It keeps nobody from the right one.
        let both = try archive.openForReading(["other", "archive", "archive"])
        #expect(try both.readAll() == blocks)
        both.close()
    }

    @Test func whatIsNoArchiveOfThisLedgerIsRefusedBeforeAnythingIsWritten() throws {
        let (archive, log, _, _) = try TestArchive.led(7)
        defer { log.close() }
        try archive.run(through: 12)
        try archive.run(to: "second", through: 24)
        let segments = try archive.ledger.segments()
        // The first one does not end where the ledger begins any more.
        #expect(try archive.fault(through: .max).contains("archive to a new folder"))
        #expect(try archive.fault(to: "books/archive", through: .max).contains("is within the ledger"))
        #expect(try archive.fault(to: "books", through: .max).contains("is a ledger or a backup"))
        try archive.disk.makeDirectory("/ledger/other")
        archive.disk.close(try archive.disk.open("/ledger/other/file", .creating))
        #expect(try archive.fault(to: "other", through: .max).contains("has other things in it"))
        #expect(try archive.ledger.segments() == segments)
        #expect(try archive.folder("archive").isArchive(archive.disk))
        #expect(try !archive.ledger.folder.isArchive(archive.disk))
    }

    // MARK: Backups

    @Test func aBackupBeginsWhereTheLogDoesOrHasTheArchivesBlocksToo() throws {
        let (archive, log, blocks, _) = try TestArchive.led(8)
        defer { log.close() }
        func backup(_ name: String, _ archives: [String]) throws -> LogBackup.Summary {
            try LogBackup(
                of: archive.ledger.folder, in: archive.folder(name), archives: archives.map(archive.folder),
                hash: testSHA256, disk: archive.disk
            ).run { _, _, _ in }
        }
        func restored(_ name: String) throws -> [SealedBlock] {
            let folder = LedgerFolder("/ledger/restored-from-" + name)
            _ = try LogRestore(of: folder, from: archive.folder(name), hash: testSHA256, disk: archive.disk)
                .run(progress: { _, _, _ in }, tell: { Issue.record("\($0)") })
            let inspected = Inspected(
                try LogInspection(folder: folder.log, headFile: folder.headFile, hash: testSHA256, disk: archive.disk))
            #expect(inspected.words == [])
            return inspected.blocks
        }
        _ = try backup("old", [])
        let end = try #require(try archive.run(through: 20).head)
        // One that has more than the log goes on only with the archive: nothing is lost from it.
        #expect(throws: LogError.self) { try backup("old", []) }
        #expect(try backup("old", ["archive"]).first == 1)
        #expect(try restored("old") == blocks)
        #expect(try backup("later", []).first == end.number + 1)
        let later = try LogInspection(
            folder: archive.folder("later").log, headFile: archive.folder("later").headFile, hash: testSHA256,
            disk: archive.disk)
        #expect(later.base == end)
        // One that began later gets the blocks before, where the archive is named.
        #expect(try backup("later", ["archive"]).first == 1)
        #expect(try restored("later") == blocks)
    }
}
