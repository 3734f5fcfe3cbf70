import FileLog
import Ledger
import LedgerTestKit
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A backup: brought up to date beside a writer, wherever it is interrupted, and never by what it should not be.
@Suite struct BackupTests {
    private static func led(_ seed: UInt64) throws -> (TestBackup, SimulatedDisk, FileLog, SplitMix64) {
        let (ledger, disk) = TestLedger.simulated(seed: seed)
        try ledger.create()
        var random = SplitMix64(seed: seed)
        let log = try ledger.open()
        try log.leadWithTestBlock(&random)
        return (TestBackup(ledger), disk, log, random)
    }

    @Test func aRunWritesWhatTheBackupLacksAndNothingElse() throws {
        var (backup, disk, log, random) = try Self.led(1)
        let blocks = try log.grow(60, &random)
        let first = try backup.run()
        #expect(try backup.blocks() == blocks)
        #expect(first.head == log.head && first.segments > 3 && first.written == first.segments)
        let again = try backup.run()
        #expect(again.written == 0 && again.writtenBytes == 0 && again.head == first.head)
        let changes = disk.changeCount
        try backup.run()
        // Syncs of what is there, and the head.
        #expect(disk.changeCount - changes < 2 * first.segments + 10)
        // Closed segments stay; the last one is written anew, with those behind it.
        let more = try log.grow(30, &random)
        let third = try backup.run()
        #expect((0...1).contains(third.written - (third.segments - first.segments)))
        #expect(try backup.blocks() == more)
        log.close()
        // A ledger that nobody serves.
        #expect(try backup.run().written == 0)
        #expect(try disk.list(backup.backup.folder.path) == ["head", "log"])
    }

    @Test func whatIsForgottenIsGoneFromTheBackupAfterTheNextRun() throws {
        var (backup, disk, log, random) = try Self.led(2)
        let name = Array("the name of a player".utf8)
        var numbers: [BlockNumber] = []
        for _ in 0..<30 {
            try log.grow(2, &random)
            let body = TestBlock.bytes(100, &random)
            let last = try #require(log.head)
            let block = SealedBlock(
                number: last.number + 1, term: last.term, previous: last.hash, hash: Digest(of: body, testSHA256),
                body: body, redactable: name)
            try log.append(block)
            numbers.append(block.number)
        }
        try backup.run()
        func count() throws -> Int {
            try backup.backup.segments().reduce(0) { count, path in
                let bytes = try disk.bytes(path)
                return count + bytes.indices.filter { bytes[$0...].starts(with: name) }.count
            }
        }
        #expect(try count() == 30)
        for (index, number) in numbers.enumerated() where index % 3 != 0 {
            try log.redact(number, [UInt8](repeating: 0, count: name.count))
        }
        try backup.run()
        #expect(try count() == 10)
        #expect(try backup.blocks() == log.readAll())
        // As for names, so for files: nothing of an older one stays under another name.
        #expect(try disk.list(backup.backup.folder.log).allSatisfy { $0 == "lock" || $0.count == 20 })
    }

    /// Every call of a run fails, is the last of the process, or of the machine: the backup has what it had, or more.
    @Test(arguments: 0..<6)
    func aRunThatIsInterruptedAnywhereLeavesAGoodBackup(seed: UInt64) throws {
        var index = 0
        var lengths: Set<Int> = []
        while true {
            var (backup, disk, log, random) = try Self.led(seed)
            let before = try log.grow(25, &random)
            try backup.run()
            var after = try log.grow(25, &random)
            try log.redact(3, [UInt8](repeating: 1, count: after[2].redactable.count))
            after[2].redactable = [UInt8](repeating: 1, count: after[2].redactable.count)
            log.close()
            let start = disk.changeCount
            let fault: SimulatedDisk.Fault = seed % 3 == 2 ? .partThenFailure(.full) : .off
            disk.setFault { $0.isChange && $0.index >= start + index ? fault : nil }
            let isDone = (try? backup.run()) != nil
            if seed % 3 == 0 { disk.cutPower() } else { disk.kill() }
            let context = "seed \(seed), call \(index)"

            let inspected = Inspected(try backup.backup.inspect(), context)
            // A head that is older than the log is what a power cut leaves of a ledger too.
            #expect(inspected.words == [], "\(context)")
            let found = inspected.blocks
            #expect(found.count >= before.count, "\(context)")
            let isOld = found.map(\.redactable) == before.map(\.redactable)
            #expect(found.map(\.hash) == after.prefix(found.count).map(\.hash), "\(context)")
            #expect(isOld || found[2] == after[2], "\(context)")
            lengths.insert(found.count)
            #expect(!isDone || found == after, "\(context)")
            try backup.run()
            #expect(try backup.blocks(context) == after, "\(context)")
            if isDone { break }
            index += 1
        }
        #expect(index > 15 && lengths.count > 2)
    }

    @Test func damageOfTheLedgerIsNamedAndDoesNotComeIntoTheBackup() throws {
        var (backup, disk, log, random) = try Self.led(4)
        try log.grow(40, &random)
        try backup.run()
        let blocks = try log.grow(10, &random)
        log.close()
        for path in try backup.ledger.segments().dropLast() {
            let whole = try disk.bytes(path)
            // Within the body of the first block.
            var damaged = whole
            damaged[96 + 104 + 1] ^= 4
            try disk.setBytes(path, damaged)
            let fault = try backup.fault()
            #expect(fault.contains("block ") && fault.contains(path), "\(fault)")
            #expect(try backup.blocks().map(\.hash) == blocks.prefix(try backup.blocks().count).map(\.hash))
            #expect(try backup.blocks().count >= 41)
            try disk.setBytes(path, whole)
        }
        try backup.run()
        #expect(try backup.blocks() == blocks)
    }

    @Test func damageOfTheBackupIsMendedFromTheLedger() throws {
        let seed = Seed.drawn()
        var (backup, disk, log, random) = try Self.led(seed)
        let blocks = try log.grow(40, &random)
        try backup.run()
        let paths = try backup.backup.segments() + [backup.backup.folder.headFile]
        for round in 0..<60 {
            let path = try #require(paths.randomElement(using: &random))
            var bytes = try disk.bytes(path)
            bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8(1 << Int.random(in: 0..<8, using: &random))
            try disk.setBytes(path, bytes)
            try backup.run()
            #expect(try backup.blocks() == blocks, "seed \(seed), round \(round)")
        }
        for path in paths.dropLast() {
            try disk.remove(path)
            try backup.run()
            #expect(try backup.blocks() == blocks, "\(path)")
        }
    }

    /// A slot that was torn, or lost a bit, may have named the block that was acknowledged last.
    @Test func damageOfTheLedgersHeadFileIsNamedAndTheBackupIsGood() throws {
        var (backup, disk, log, random) = try Self.led(14)
        let blocks = try log.grow(9, &random)
        let head = backup.ledger.folder.headFile
        let whole = try disk.bytes(head)
        for place in [0, 20, 97, 2_048 + 70, 1_000] {
            for isServed in [true, false] {
                if !isServed { log.close() }
                var bytes = whole
                bytes[place] ^= 8
                try disk.setBytes(head, bytes)
                // In a new backup: one that has the last block already is refused as ahead of the ledger.
                try backup.remove()
                let faults = try backup.run().headFaults
                #expect(faults.count == 1 && faults[0].contains("the head file \(head)"), "byte \(place)")
                let copied = try backup.blocks()
                #expect(copied.count >= blocks.count - 1 && copied == Array(blocks.prefix(copied.count)))
                #expect(isServed || copied == blocks, "byte \(place)")
                try disk.setBytes(head, whole)
                if !isServed { log = try backup.ledger.open() }
            }
        }
        log.close()
        #expect(try backup.run().headFaults == [])
    }

    @Test func aBackupThatSeemsAheadOfALedgerWhoseHeadFileIsDamagedNamesThat() throws {
        var (backup, disk, log, random) = try Self.led(16)
        try log.grow(9, &random)
        try backup.run()
        let head = backup.ledger.folder.headFile
        let whole = try disk.bytes(head)
        var refused = 0
        for slot in [0, 2_048] {
            var bytes = whole
            bytes[slot + 20] ^= 8
            try disk.setBytes(head, bytes)
            do { _ = try backup.run() } catch {
                refused += 1
                #expect(error.description.contains("it has block 10, and the ledger ends with block 9; the slot at"))
            }
        }
        #expect(refused == 1)
        try disk.setBytes(head, whole)
        try backup.run()
        log.close()
    }

    /// Nothing is put into the place of what is no file, and a run ends before it writes.
    @Test(arguments: ["log/00000000000000000001", "head"])
    func whatIsNoFileInTheBackupIsNamedWithWhatToDo(name: String) throws {
        var (backup, disk, log, random) = try Self.led(15)
        try log.grow(9, &random)
        try backup.run()
        let path = backup.backup.folder.path + "/" + name
        try disk.remove(path)
        try disk.makeDirectory(path)
        let changes = disk.changeCount
        #expect(
            try backup.fault()
                == "\(path) is a folder, not a file of a backup; it is left as it is: move it away, and run the "
                + "backup again")
        #expect(disk.changeCount <= changes + 1, "only the end of the ledger is synced")
        try disk.removeDirectory(path)
        try backup.run()
        #expect(try backup.blocks() == log.readAll())
        log.close()
    }

    // MARK: What is refused before anything is written

    @Test func aBackupOfAnotherPastIsRefusedByTheBlockWhereTheyPart() throws {
        var (backup, disk, log, random) = try Self.led(6)
        try log.grow(9, &random)
        let common = try #require(log.head).number
        log.close()
        var files: [String: [UInt8]] = [:]
        for path in try backup.ledger.segments() + [backup.ledger.folder.headFile] {
            files[path] = try disk.bytes(path)
        }
        let other = try backup.ledger.open()
        try other.grow(4, &random)
        other.close()
        try backup.run()
        let kept = try backup.blocks()
        // The ledger goes back in time, and goes on otherwise.
        for path in try backup.ledger.segments() where files[path] == nil { try disk.remove(path) }
        for (path, bytes) in files { try disk.setBytes(path, bytes) }
        #expect(try backup.fault().contains("it has block \(common + 4), and the ledger ends with block \(common)"))
        let second = try backup.ledger.open()
        try second.grow(20, bodyBytes: 30, &random)
        let changes = disk.changeCount
        let fault = try backup.fault()
        #expect(fault.contains("from block \(common + 1) on they have different blocks"), "\(fault)")
        #expect(disk.changeCount <= changes + 1, "only the end of the ledger is synced")
        #expect(try backup.blocks() == kept)
        second.close()
    }

    @Test func whatIsNoBackupOfThisLedgerIsRefusedByName() throws {
        var (backup, disk, log, random) = try Self.led(7)
        try log.grow(5, &random)
        let (folder, path) = (backup.backup.folder, backup.backup.folder.path)
        func fault(_ target: String) throws -> String {
            try #require(throws: LogError.self) {
                try LogBackup(of: backup.ledger.folder, in: LedgerFolder(target), hash: testSHA256, disk: disk)
                    .run { _, _, _ in }
            }.description
        }
        #expect(try fault(backup.ledger.folder.path).contains("is the ledger itself"))
        disk.close(try disk.open("/ledger/file", .creating))
        #expect(try fault("/ledger/file").contains("is no folder"))
        try disk.makeDirectory(path)
        disk.close(try disk.open(path + "/other", .creating))
        #expect(try fault(path).contains("has other things in it"))
        try disk.remove(path + "/other")
        try disk.removeDirectory(path)
        #expect(try fault("/nowhere/backup").contains("making the backup"))
        // Of another app.
        try LedgerFolder.create(at: path, disk: disk) { temporary in
            let made = LedgerFolder(temporary)
            try FileLog.create(
                folder: made.log, headFile: made.headFile,
                identity: Digest(of: Array("another".utf8), testSHA256), disk: disk)
        }
        #expect(try fault(path).contains("is the backup of another ledger"))
        for name in ["log/lock", "log/00000000000000000001", "head"] { try disk.remove(path + "/" + name) }
        // An empty one is filled.
        try backup.run()
        // One that is being written.
        let service = try backup.backup.open()
        #expect(try fault(path).contains("is open for writing in another process"))
        service.close()
        log.close()
        // No ledger.
        #expect(
            try #require(throws: LogError.self) {
                try LogBackup(of: LedgerFolder("/nowhere"), in: folder, hash: testSHA256, disk: disk).run { _, _, _ in }
            }.description.contains("there is no ledger at /nowhere"))
    }

    // MARK: Beside a writer, on a real disk

    @Test func runsBesideAWriterHaveABeginningOfItsChain() async throws {
        try await TestLedger.withRealAsync(middleSegments) { ledger in
            let backup = TestBackup(ledger)
            let log = try ledger.open()
            var random = SplitMix64(seed: 8)
            try log.leadWithTestBlock(&random)
            let mine = random
            async let written: Void = apart {
                var random = mine
                for number in 0..<1_000 {
                    try log.extend(1, &random)
                    guard number % 50 == 49, let last = log.head else { continue }
                    let number = BlockNumber.random(in: 1...last.number, using: &random)
                    let block = try log.read(after: number - 1, bytesMax: 0)[0]
                    try log.redact(number, [UInt8](repeating: 0, count: block.redactable.count))
                }
            }
            var last = 0
            var heads: [LogHead] = []
            for round in 0..<15 {
                let head = try await apart { try backup.run() }.head
                let blocks = try backup.blocks("round \(round)")
                #expect(blocks.count >= last && blocks.last?.head == head)
                last = blocks.count
                heads.append(head)
            }
            try await written
            try backup.run()
            let all = try log.readAll()
            #expect(try backup.blocks() == all)
            for head in heads { #expect(all[Int(head.number) - 1].head == head) }
            log.close()
        }
    }

    @Test func aBackupWithinTheLedgerIsRefused() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            defer { log.close() }
            var random = SplitMix64(seed: 8)
            try log.leadWithTestBlock(&random)
            let path = ledger.folder.path
            let link = LedgerFolder(path).path + "-link"
            #expect(symlink(path + "/log", link) == 0)
            let before = try ledger.disk.list(path).sorted()
            let inside = [
                path + "/b", path + "/log/b", path + "/log", path + "/deep/er/b", path + "/log/../b", link + "/b",
                path + "/../books/log/b",
            ]
            for target in inside {
                let run = LogBackup(of: ledger.folder, in: LedgerFolder(target), hash: testSHA256)
                let error = logError { _ = try run.run { _, _, _ in } }
                #expect(
                    error?.description.contains("is within the ledger \(path)") == true, "\(target): \(error as Any)")
            }
            #expect(try ledger.disk.list(path).sorted() == before)
            for target in [path + "-backup", path + "/../beside", path + "/log/../../third"] {
                _ = try LogBackup(of: ledger.folder, in: LedgerFolder(target), hash: testSHA256).run { _, _, _ in }
            }
        }
    }

    /// Names are erased while a backup is made: it gets the blocks that say so too.
    @Test func whatIsErasedMeanwhileIsErasedByABlockOfTheBackup() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 9)
        try ledger.create()
        var chain = GameChain(seed: 9)
        let player = chain.player()
        chain.credit(player)
        chain.seal()
        let log = try ledger.open()
        for block in chain.blocks { try log.append(block) }
        let adding = try #require(try chain.blocks.first { try $0.addedAccounts().contains(player) })
        let backup = TestBackup(ledger)
        var erasures = 0
        let summary = try LogBackup(of: ledger.folder, in: backup.backup.folder, hash: testSHA256, disk: disk).run {
            phase, _, _ in
            guard phase == .copying, erasures < 2 else { return }
            erasures += 1
            if erasures == 1 { chain.erase(player) } else { chain.spend(player, 1) }
            chain.seal()
            try? log.append(chain.blocks[chain.blocks.count - 1])
            if erasures == 1, let bytes = try? adding.redactable(erasing: [player]) {
                try? log.redact(adding.number, bytes)
            }
        }
        #expect(erasures == 2)
        let blocks = try backup.blocks()
        #expect(blocks.contains { (try? Block(opening: $0, checks: .form).rows.erasures.isEmpty) == false })
        #expect(summary.head == blocks.last?.head)
        #expect(try blocks == log.readAll().prefix(blocks.count).map { $0 })
        log.close()
    }
}
