import FileLog
import Ledger
import LedgerTestKit
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The file beside the log that shows when the log lost its end: nothing but its removal lifts that check.
@Suite struct HeadFileTests {
    private static func fill(_ ledger: TestLedger, blocks count: Int) throws -> [SealedBlock] {
        let log = try ledger.open()
        defer { log.close() }
        var random = SplitMix64(seed: 81)
        var blocks = [try log.leadWithTestBlock(&random)]
        while blocks.count < count {
            let block = TestBlock.after(blocks.last?.head, bodyBytes: 100, redactableBytes: 1, &random)
            try log.append(block)
            blocks.append(block)
        }
        return blocks
    }

    /// Each of these was once made anew, and then an old copy of the log was believed.
    @Test func aHeadFileThatIsNotWholeIsRefusedUntilItIsRemoved() throws {
        try TestLedger.withReal { ledger in
            let path = ledger.folder.headFile
            let blocks = try Self.fill(ledger, blocks: 3)
            let old = try readFile(ledger.segment(1))
            _ = try Self.fill(ledger, blocks: 2)
            let whole = try readFile(path)
            let files = [
                ([], "it has 0 bytes"), ([1, 2, 3], "it has 3 bytes"),
                (Array(whole.dropLast()), "it has 4095 bytes"), (whole + [0], "it has 4097 bytes"),
                ([UInt8](repeating: 0, count: 4096), "neither of its two slots is whole"),
                ([UInt8](repeating: 7, count: 4096), "neither of its two slots is whole"),
            ]
            try writeFile(ledger.segment(1), old)
            for (bytes, words) in files {
                try writeFile(path, bytes)
                for open in [ledger.open, ledger.openForReading] {
                    let error = logError { _ = try open() }
                    #expect(error?.kind == .corrupt)
                    #expect(error?.description.hasPrefix("the head file \(path) is damaged: \(words). ") == true)
                    #expect(error?.description.hasSuffix("who knows that the log is the newest may remove it") == true)
                }
                #expect(try readFile(path) == bytes, "it is left as it is")
            }
            #expect(unlink(path) == 0)
            #expect(mkdir(path, 0o700) == 0)
            #expect(logError { _ = try ledger.open() }?.description == "the head file \(path) is a folder, not a file")
            #expect(rmdir(path) == 0)
            var log = try ledger.open()
            #expect(log.notices == ["the head file \(path) was missing and is made anew"])
            #expect(try log.readAll() == blocks)
            log.close()
            log = try ledger.open()
            #expect(log.notices.isEmpty)
            log.close()
        }
    }

    @Test(arguments: [SimulatedDisk.Call.Kind.status, .open, .read])
    func aHeadFileThatCannotBeReadIsNotMadeAnew(kind: SimulatedDisk.Call.Kind) throws {
        let (ledger, disk) = TestLedger.simulated(seed: 82)
        try ledger.create()
        let blocks = try Self.fill(ledger, blocks: 4)
        let path = ledger.folder.headFile
        let bytes = try disk.bytes(path)
        disk.setFault { $0.kind == kind && $0.path == path ? .failure(.failed) : nil }
        for open in [ledger.open, ledger.openForReading] {
            let error = logError { _ = try open() }
            #expect(error?.kind == .unknown)
            #expect(error?.description == "reading the head file \(path): \(DiskError.failed)")
        }
        disk.clearFault()
        #expect(try disk.bytes(path) == bytes)
        let log = try ledger.open()
        #expect(log.notices.isEmpty)
        #expect(try log.readAll() == blocks)
        log.close()
    }

    /// The process is killed, or the power cut, at each call of the opening that makes it anew.
    @Test(arguments: 0..<20)
    func aHeadFileThatIsMadeAnewIsWholeOrNotThere(seed: UInt64) throws {
        var index = 0
        var outcomes: Set<Bool> = []
        while true {
            let (ledger, disk) = TestLedger.simulated(seed: seed)
            try ledger.create()
            let blocks = try Self.fill(ledger, blocks: 3)
            try disk.remove(ledger.folder.headFile)
            try disk.syncDirectory(ledger.folder.path)
            let first = disk.changeCount + index
            disk.setFault { $0.isChange && $0.index >= first ? .off : nil }
            let isDone = (try? ledger.open()) != nil
            if seed % 2 == 0 { disk.cutPower() } else { disk.kill() }
            outcomes.insert((try? disk.status(at: ledger.folder.headFile)) != nil)
            let log = try ledger.open()
            #expect(try log.readAll() == blocks, "call \(index), seed \(seed)")
            log.close()
            // And it says what it has to say again.
            disk.cutPower()
            let again = try ledger.open()
            #expect(again.notices.isEmpty, "call \(index), seed \(seed)")
            again.close()
            #expect(try disk.list(ledger.folder.path).sorted() == ["head", "log"])
            if isDone { break }
            index += 1
        }
        #expect(index >= 5 && outcomes == [true, false])
    }

    /// A kill in the middle of a store, or a torn sector: the slot has some of its new bytes.
    @Test func aStoreThatIsTornAnywhereLeavesTheOtherSlot() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 84)
        try ledger.create()
        let path = ledger.folder.headFile
        // The first store goes into a slot of zeros; the others take turns.
        var blocks: [SealedBlock] = []
        for round in 0..<4 {
            let before = try disk.bytes(path)
            let log = try ledger.open()
            var random = SplitMix64(seed: UInt64(round))
            blocks.append(try log.leadWithTestBlock(&random))
            log.close()
            let after = try disk.bytes(path)
            let changed = try #require(after.indices.first { before[$0] != after[$0] })
            let slot = changed < 2048 ? 0 : 2048
            for count in 0...100 {
                var torn = before
                torn.replaceSubrange(slot..<(slot + count), with: after[slot..<(slot + count)])
                try disk.setBytes(path, torn)
                let reader = try ledger.openForReading()
                #expect(try reader.readAll() == blocks, "round \(round), \(count) bytes")
                reader.close()
                let writer = try ledger.open()
                #expect(writer.notices.isEmpty && writer.head == blocks.last?.head)
                writer.close()
                #expect(try disk.bytes(path) == after, "round \(round), \(count) bytes: it is stored again")
            }
        }
    }

    /// Another program cuts it while it is in use: the append that meets it is told, and it is whole again after that.
    @Test(arguments: [0, 1, 100, 2047, 4095])
    func aHeadFileThatIsCutInUseIsAnErrorAndIsMadeWhole(byteCount: Int) throws {
        try TestLedger.withReal { ledger in
            let path = ledger.folder.headFile
            let log = try ledger.open()
            var random = SplitMix64(seed: 85)
            var last = try log.leadWithTestBlock(&random)
            for _ in 0..<3 {
                #expect(truncate(path, byteCount) == 0)
                let block = TestBlock.after(last.head, bodyBytes: 100, redactableBytes: 1, &random)
                let error = logError { try log.append(block) }
                #expect(error?.kind == .unknown)
                #expect(
                    error?.description
                        == "the head file \(path) was cut to \(byteCount) bytes while it was in use")
                last = try log.leadWithTestBlock(&random)
                #expect(try log.readAll().suffix(2) == [block, last], "the block was durable")
                #expect(try readFile(path).count == 4096)
            }
            #expect(Inspected(try ledger.inspect()).words == [])
            log.close()
            let again = try ledger.open()
            #expect(again.notices.isEmpty && again.head == last.head)
            again.close()
        }
    }

    /// What cannot be stored into it is known by the next lead, whatever fails meanwhile.
    @Test(arguments: [SimulatedDisk.Fault.failure(.full), .partThenFailure(.failed), .doneThenFailure(.failed)])
    func aStoreThatFailsLeavesTheBlockThere(fault: SimulatedDisk.Fault) throws {
        let (ledger, disk) = TestLedger.simulated(seed: 86)
        try ledger.create()
        let log = try ledger.open()
        var random = SplitMix64(seed: 86)
        let last = try log.leadWithTestBlock(&random)
        let path = ledger.folder.headFile
        disk.setFault { $0.kind == .write && $0.path == path ? fault : nil }
        let block = TestBlock.after(last.head, bodyBytes: 100, redactableBytes: 9, &random)
        #expect(logError { try log.append(block) }?.kind == .unknown)
        #expect(logError { try log.leadWithTestBlock(&random) }?.kind == .unknown)
        disk.clearFault()
        let next = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [last, block, next])
        #expect(Inspected(try ledger.inspect()).words == [])
        log.close()
    }

    @Test func aLinkToNothingInItsPlaceIsRefused() throws {
        try TestLedger.withReal { ledger in
            let path = ledger.folder.headFile
            _ = try Self.fill(ledger, blocks: 2)
            #expect(unlink(path) == 0 && symlink("/nowhere/at/all", path) == 0)
            for open in [ledger.open, ledger.openForReading] {
                #expect(
                    logError { _ = try open() }?.description
                        == "the head file \(path) is a symbolic link to nothing, not a file")
            }
            var status = stat()
            #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK, "it is left as it is")
        }
    }
}
