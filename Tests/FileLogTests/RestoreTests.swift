import FileLog
import Ledger
import LedgerTestKit
import Testing

/// A ledger made of a backup: checked first, put in place in one step, and never at the cost of blocks that nobody gave
/// up.
@Suite struct RestoreTests {
    private static func backedUp(
        _ seed: UInt64, _ count: Int = 40
    ) throws -> (TestBackup, SimulatedDisk, [SealedBlock], SplitMix64) {
        let (ledger, disk) = TestLedger.simulated(seed: seed)
        try ledger.create()
        var random = SplitMix64(seed: seed)
        let log = try ledger.open()
        try log.leadWithTestBlock(&random)
        let blocks = try log.grow(count, &random)
        log.close()
        let backup = TestBackup(ledger)
        try backup.run()
        return (backup, disk, blocks, random)
    }

    private static func blocks(_ ledger: TestLedger, _ context: @autoclosure () -> String = "") throws -> [SealedBlock]
    {
        let inspected = Inspected(try ledger.inspect(), context())
        #expect(inspected.words == [], "\(context())")
        return inspected.blocks
    }

    @Test func aNewLedgerIsTheBackupAndTheNextBackupGoesOnWithIt() throws {
        var (backup, disk, blocks, random) = try Self.backedUp(1)
        let new = TestLedger(disk: disk, folder: LedgerFolder("/ledger/new"))
        let summary = try backup.restore(to: new.folder)
        #expect(summary.head == blocks.last?.head && summary.replaced == nil)
        #expect(try Self.blocks(new) == blocks)
        let log = try new.open()
        #expect(log.notices == [])
        let more = try log.grow(30, &random)
        log.close()
        let again = LogBackup(of: new.folder, in: backup.backup.folder, hash: testSHA256, disk: disk)
        let written = try again.run { _, _, _ in }
        #expect(written.written < written.segments)
        #expect(try backup.blocks() == more)
    }

    @Test func anOldLedgerStaysBesideTheNewOne() throws {
        var (backup, disk, blocks, random) = try Self.backedUp(2)
        // It has nothing else than the backup.
        let same = try backup.restore()
        let old = try #require(same.replaced)
        #expect(try Self.blocks(backup.ledger) == blocks)
        #expect(try Self.blocks(TestLedger(disk: disk, folder: LedgerFolder(old))) == blocks)
        // It has more, and nobody gave that up.
        let log = try backup.ledger.open()
        let more = try log.grow(5, &random)
        log.close()
        let (first, last) = (blocks.count + 1, more.count)
        for wrong in [nil, 1, BlockNumber(first) + 1] as [BlockNumber?] {
            let fault = try backup.restoreFault(wrong)
            #expect(fault.contains("has blocks \(first) to \(last)"), "\(fault)")
            #expect(fault.hasSuffix("--lose-from \(first)"))
        }
        #expect(try Self.blocks(backup.ledger) == more)
        let replaced = try #require(try backup.restore(lostFrom: BlockNumber(first)).replaced)
        #expect(try Self.blocks(backup.ledger) == blocks)
        #expect(try Self.blocks(TestLedger(disk: disk, folder: LedgerFolder(replaced))) == more)
    }

    /// Otherwise the next start would follow whom it followed before, with the configuration of a standby.
    @Test func aLedgerThatWasPromotedStaysSo() throws {
        let (backup, disk, _, _) = try Self.backedUp(13)
        try backup.ledger.folder.promotedMark.write("leader:1", disk)
        try backup.restore()
        disk.cutPower()
        #expect(try backup.ledger.folder.promotedMark.read(disk) == "leader:1")
        let new = LedgerFolder("/ledger/new")
        try backup.restore(to: new)
        #expect(try new.promotedMark.read(disk) == nil)
    }

    @Test func blocksOfAnotherPastCountAsLostFromWhereTheyPart() throws {
        var (backup, disk, blocks, random) = try Self.backedUp(3, 9)
        let paths = try backup.ledger.segments() + [backup.ledger.folder.headFile]
        let files = try paths.map { try disk.bytes($0) }
        let log = try backup.ledger.open()
        try log.grow(3, &random)
        log.close()
        try backup.run()
        // The ledger goes back, and on with two others.
        for path in try backup.ledger.segments() where !paths.contains(path) { try disk.remove(path) }
        for (path, bytes) in zip(paths, files) { try disk.setBytes(path, bytes) }
        let other = try backup.ledger.open()
        try other.grow(2, &random)
        other.close()
        let fault = try backup.restoreFault()
        #expect(fault.contains("has blocks \(blocks.count + 1) to \(blocks.count + 2)"), "\(fault)")
        try backup.restore(lostFrom: BlockNumber(blocks.count + 1))
        #expect(try Self.blocks(backup.ledger).count == blocks.count + 3)
    }

    @Test func aServiceThatHoldsTheLedgerKeepsIt() throws {
        let (backup, disk, blocks, _) = try Self.backedUp(4)
        let service = try backup.ledger.open()
        #expect(try backup.restoreFault().contains("is open for writing in another process"))
        service.close()
        let other = try backup.backup.open()
        #expect(try backup.restoreFault().contains("is open for writing in another process"))
        other.close()
        #expect(try Self.blocks(backup.ledger) == blocks)
        #expect(try disk.list("/ledger") == ["books", "books-backup"])
    }

    /// Any one byte of the backup is another: it is told, and nothing is restored.
    @Test func everyDamagedByteOfTheBackupIsFound() throws {
        let seed = Seed.drawn()
        var (backup, disk, blocks, random) = try Self.backedUp(seed, 12)
        let folder = backup.backup.folder
        for path in try backup.backup.segments() + [folder.headFile] {
            let whole = try disk.bytes(path)
            for place in whole.indices where place % 5 == Int(seed % 5) || place < 300 {
                var damaged = whole
                damaged[place] ^= UInt8(1 << Int.random(in: 0..<8, using: &random))
                try disk.setBytes(path, damaged)
                var told: [String] = []
                #expect(throws: LogError.self, "seed \(seed), \(path), byte \(place)") {
                    try backup.restore { told.append($0) }
                }
                #expect(!told.isEmpty, "seed \(seed), \(path), byte \(place)")
            }
            try disk.setBytes(path, Array(whole.dropLast()))
            #expect(throws: LogError.self) { try backup.restore() }
            try disk.setBytes(path, whole)
        }
        #expect(try Self.blocks(backup.ledger) == blocks)
        #expect(try disk.list("/ledger") == ["books", "books-backup"])
        try backup.restore()
    }

    /// At the ledger's path is the old ledger or the new one, after each call at which the machine ends.
    @Test(arguments: 0..<6)
    func aRestoreThatIsInterruptedAnywhereLeavesTheOldLedgerOrTheNew(seed: UInt64) throws {
        var index = 0
        var seen: Set<Int> = []
        while true {
            var (backup, disk, blocks, random) = try Self.backedUp(seed, 10)
            let log = try backup.ledger.open()
            let more = try log.grow(3, &random)
            log.close()
            let lost = BlockNumber(blocks.count + 1)
            // On some file systems two folders cannot be exchanged.
            let cannotExchange = seed % 2 == 1
            let start = disk.changeCount
            disk.setFault { call in
                if call.isChange, call.index >= start + index { return .off }
                return cannotExchange && call.kind == .exchange ? .failure(DiskError(code: 22)) : nil
            }
            let isDone = (try? backup.restore(lostFrom: lost)) != nil
            if seed % 3 == 0 { disk.kill() } else { disk.cutPower() }
            let context = "seed \(seed), call \(index)"
            if let fault = logError({ try backup.ledger.folder.check(disk) }) {
                #expect(
                    cannotExchange && fault.description.contains("a restore was interrupted"), "\(context): \(fault)")
                #expect(throws: LogError.self, "\(context)") { try backup.ledger.create() }
                seen.insert(0)
            } else {
                let inspected = Inspected(try backup.ledger.inspect(), context)
                let found = inspected.blocks
                // A power cut may tear the old one's head, which was stored into before the restore.
                #expect(found == more || inspected.words == [], "\(context)")
                #expect(found == blocks || (found == more && !isDone), "\(context)")
                seen.insert(found.count)
            }
            try backup.restore(lostFrom: lost)
            #expect(try Self.blocks(backup.ledger, context) == blocks, "\(context)")
            #expect(try !disk.list("/ledger").contains { $0.contains(".creating-") }, "\(context)")
            if isDone { break }
            index += 1
        }
        #expect(index > 15)
        #expect(seen.isSuperset(of: [11, 14]))
        if seed % 2 == 0 { #expect(!seen.contains(0)) }
    }

    @Test func aDamagedLedgerIsReplacedByWhatTheBackupHasOfIt() throws {
        var (backup, disk, blocks, random) = try Self.backedUp(9)
        for path in try backup.ledger.segments() {
            var bytes = try disk.bytes(path)
            for _ in 0..<3 { bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 255 }
            try disk.setBytes(path, bytes)
        }
        try backup.restore()
        #expect(try Self.blocks(backup.ledger) == blocks)
        // That it had acknowledged more is known by its head, though the blocks are gone.
        let log = try backup.ledger.open()
        try log.grow(2, &random)
        log.close()
        for path in try backup.ledger.segments() { try disk.setBytes(path, []) }
        let fault = try backup.restoreFault()
        #expect(fault.contains("has blocks \(blocks.count + 1) to \(blocks.count + 2)"), "\(fault)")
    }

    @Test func whatIsNoBackupIsRefusedByName() throws {
        let (backup, disk, _, _) = try Self.backedUp(10)
        func fault(_ from: String, _ to: String) throws -> String {
            try #require(throws: LogError.self) {
                try LogRestore(of: LedgerFolder(to), from: LedgerFolder(from), hash: testSHA256, disk: disk)
                    .run(progress: { _, _, _ in }, tell: { _ in })
            }.description
        }
        let (ledger, from) = (backup.ledger.folder.path, backup.backup.folder.path)
        #expect(try fault("/nowhere", ledger).contains("there is no ledger at /nowhere"))
        #expect(try fault(from, from).contains("is the ledger itself"))
        disk.close(try disk.open("/ledger/file", .creating))
        #expect(try fault(from, "/ledger/file").contains("is a file"))
        try disk.makeDirectory("/ledger/things")
        disk.close(try disk.open("/ledger/things/file", .creating))
        #expect(try fault(from, "/ledger/things").contains("is a folder, but no ledger"))
        try LedgerFolder.create(at: "/ledger/other", disk: disk) { temporary in
            let made = LedgerFolder(temporary)
            try FileLog.create(
                folder: made.log, headFile: made.headFile,
                identity: Digest(of: Array("another".utf8), testSHA256), disk: disk)
        }
        #expect(try fault(from, "/ledger/other").contains("is another ledger than the backup's"))
        #expect(try fault("/ledger/other", "/ledger/fresh").contains("has no blocks"))
    }

    /// Who copies reads on while the writer writes on: the copy has the end of a block without its beginning, and whole
    /// blocks behind it.
    @Test func aCopyThatIsTornInTheMiddleIsRefusedByNameAndRestoredUpToItsHead() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 12)
        try ledger.create()
        var random = SplitMix64(seed: 12)
        let log = try ledger.open()
        try log.leadWithTestBlock(&random)
        let blocks = try log.grow(3, bodyBytes: 100, &random)
        let copy = TestBackup(TestLedger(disk: disk, folder: LedgerFolder("/ledger/new")))
        let folder = copy.backup.folder
        for path in [folder.path, folder.log] { try disk.makeDirectory(path) }
        let path = ledger.segment(1)
        // What was stored into its memory is in the file then.
        let stored = try disk.open(ledger.folder.headFile, .reading)
        try disk.sync(stored)
        disk.close(stored)
        let (head, before) = (try disk.bytes(ledger.folder.headFile), try disk.bytes(path))
        try log.extend(4, bodyBytes: 100, &random)
        log.close()
        let after = try disk.bytes(path)
        // Within the first of the new blocks.
        let end = try #require(before.lastIndex { $0 != 0 })
        let torn = Array(before[..<(end + 60)]) + after[(end + 60)...]
        for (path, bytes) in [(folder.headFile, head), (copy.backup.segment(1), torn)] {
            disk.close(try disk.open(path, .creating))
            try disk.setBytes(path, bytes)
        }
        let refused = try #require(logError { _ = try copy.backup.openForReading() })
        #expect(refused.kind == .corrupt && refused.description.contains("block \(blocks.count + 1)"), "\(refused)")
        #expect(try copy.restoreFault().contains("is damaged"))
        try copy.restore(source: .copy)
        #expect(try Self.blocks(copy.ledger) == blocks)
        // Without the head nobody knows which blocks are whole.
        try disk.remove(folder.headFile)
        #expect(try copy.restoreFault(nil, .copy).contains("names no block"))
    }

    /// The files of a running ledger, copied piece by piece while blocks are appended: with the head first, what it
    /// names is whole in every such copy.
    @Test func aPlainCopyOfARunningLedgerIsRestoredUpToItsHead() async throws {
        try await TestLedger.withRealAsync(middleSegments) { ledger in
            let seed = Seed.drawn()
            let log = try ledger.open()
            var random = SplitMix64(seed: seed)
            try log.leadWithTestBlock(&random)
            let mine = random
            async let written: Void = apart {
                var random = mine
                try log.extend(1_500, &random)
            }
            var (opened, torn) = (0, 0)
            for round in 0..<12 {
                let copy = TestBackup(
                    TestLedger(disk: ledger.disk, folder: LedgerFolder(ledger.folder.path + "-\(round)")))
                let pieces = Int.random(in: 500...5_000, using: &random)
                let folder = copy.backup.folder
                let head = try await apart { try Self.copy(ledger, folder, pieceBytes: pieces) }
                // As it is it may have a torn tail, or be refused by name; never anything else.
                do {
                    let reader = try copy.backup.openForReading()
                    #expect(reader.head?.number ?? 0 >= head)
                    opened += 1
                    reader.close()
                } catch let error as LogError {
                    #expect(error.kind == .corrupt && error.description.contains("block "), "seed \(seed): \(error)")
                    torn += 1
                }
                let restored = try copy.restore(source: .copy).head
                #expect(restored.number >= head, "seed \(seed), round \(round)")
                let blocks = try Self.blocks(copy.ledger, "seed \(seed), round \(round)")
                #expect(blocks == (try log.readAll().prefix(blocks.count)).map { $0 }, "seed \(seed)")
            }
            try await written
            log.close()
            print("RestoreTests: \(opened) plain copies could be opened as they were, \(torn) were refused")
        }
    }

    /// Copies the head, then the segments that there are, in pieces.
    /// - Returns: the block that the head named before.
    private static func copy(_ ledger: TestLedger, _ target: LedgerFolder, pieceBytes: Int) throws -> BlockNumber {
        let disk = SystemDisk()
        try disk.makeDirectory(target.path)
        try disk.makeDirectory(target.log)
        let head = try ledger.openForReading().head?.number ?? 0
        try writeFile(target.headFile, try readFile(ledger.folder.headFile))
        for path in try ledger.segments() {
            let file = try disk.open(path, .reading)
            defer { disk.close(file) }
            var bytes: [UInt8] = []
            while true {
                var piece = [UInt8](repeating: 0, count: pieceBytes)
                let count = try piece.withUnsafeMutableBytes { try disk.read(file, $0, at: bytes.count) }
                if count == 0 { break }
                bytes += piece[..<count]
            }
            try writeFile(target.log + path.suffix(21), bytes)
        }
        return head
    }
}
