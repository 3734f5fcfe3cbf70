import FileLog
import Ledger
import LedgerTestKit
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct LockTests {
    @Test func aSecondWriterIsRefusedUntilTheFirstCloses() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            let error = logError { _ = try ledger.open() }
            #expect(error?.kind == .superseded)
            #expect(
                error?.description
                    == "\(ledger.folder.log) is open for writing in another process; a ledger has one writer")
            log.close()
            try ledger.open().close()
        }
    }

    @Test func removingTheLockFileDoesNotLetASecondWriterIn() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            var random = SplitMix64(seed: 41)
            var last = try log.leadWithTestBlock(&random)
            for _ in 0..<20 {
                #expect(unlink(ledger.folder.log + "/lock") == 0)
                #expect(logError { _ = try ledger.open() }?.kind == .superseded)
                last = TestBlock.after(last.head, bodyBytes: 1000, redactableBytes: 0, &random)
                try log.append(last)
            }
            log.close()
            let again = try ledger.open()
            #expect(again.head == last.head)
            again.close()
        }
    }

    @Test func anotherProcessIsRefused() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            defer { log.close() }
            #expect(!anotherProcessLocks(ledger.folder.log + "/lock"))
        }
    }

    /// Python locks with the classic call, which an open file description's lock keeps out too.
    private func anotherProcessLocks(_ path: String) -> Bool {
        let program = "import fcntl;fcntl.lockf(open('\(path)','r+'),fcntl.LOCK_EX|fcntl.LOCK_NB)"
        return system("python3 -c \"\(program)\" 2>/dev/null") == 0
    }

    @Test func aReaderBesideAWriterSeesWhatIsAcknowledgedAndWritesNothing() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            var random = SplitMix64(seed: 42)
            var blocks = [try log.leadWithTestBlock(&random)]
            for _ in 0..<60 {
                let reader = try ledger.openForReading()
                #expect(reader.head == blocks.last?.head)
                #expect(try reader.readAll(bytesMax: 2000) == blocks)
                let block = TestBlock.after(
                    blocks.last?.head, bodyBytes: .random(in: 0..<900, using: &random), redactableBytes: 5, &random)
                #expect(logError { try reader.append(block) }?.kind == .notAppended)
                #expect(logError { try reader.leadWithTestBlock(&random) }?.kind == .notAppended)
                #expect(logError { try reader.redact(1, []) }?.kind == .notAppended)
                try log.append(block)
                #expect(try reader.readAll() == blocks, "a reader keeps to what it found")
                blocks.append(block)
                reader.close()
            }
            log.close()
        }
    }

    @Test func aReaderDoesNotSeeABlockThatIsNotAcknowledgedYet() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 43)
        try ledger.create()
        let log = try ledger.open()
        var random = SplitMix64(seed: 43)
        let first = try log.leadWithTestBlock(&random)
        disk.setFault { $0.kind == .sync ? .failure(.failed) : nil }
        // Its bytes stay in the page cache where they cannot be taken back.
        disk.setFault { $0.isChange && $0.kind != .write ? .failure(.failed) : nil }
        let block = TestBlock.after(first.head, bodyBytes: 50, redactableBytes: 5, &random)
        #expect(logError { try log.append(block) }?.kind == .unknown)
        let reader = try ledger.openForReading()
        #expect(try reader.readAll() == [first])
        reader.close()
        log.close()
    }

    @Test func aReaderLeavesATornTailAlone() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 44)
        try ledger.create()
        let log = try ledger.open()
        var random = SplitMix64(seed: 44)
        let first = try log.leadWithTestBlock(&random)
        log.close()
        let path = ledger.segment(1)
        var bytes = try disk.bytes(path)
        bytes[1000] = 1
        try disk.setBytes(path, bytes)
        let changes = disk.changeCount
        let reader = try ledger.openForReading()
        #expect(try reader.readAll() == [first])
        #expect(disk.changeCount == changes)
        #expect(try disk.bytes(path) == bytes)
    }
}
