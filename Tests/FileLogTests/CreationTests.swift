import FileLog
import Ledger
import LedgerTestKit
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct CreationTests {
    @Test(arguments: 0..<6)
    func aCreationThatIsInterruptedLeavesNoLedgerOrAWholeOne(seed: UInt64) throws {
        var index = 0
        var whole = 0
        while true {
            let (ledger, disk) = TestLedger.simulated(seed: seed)
            disk.setFault { $0.isChange && $0.index >= index ? .off : nil }
            let isDone = (try? ledger.create()) != nil
            if seed % 2 == 0 { disk.cutPower() } else { disk.kill() }
            if (try? disk.status(at: ledger.folder.path)) == nil {
                #expect(!isDone)
                try ledger.create()
                #expect(try disk.list("/ledger") == ["books"], "leftovers are removed")
            } else {
                whole += 1
            }
            let log = try ledger.open()
            #expect(log.notices.isEmpty)
            #expect(log.head == nil)
            var random = SplitMix64(seed: seed)
            let block = try log.leadWithTestBlock(&random)
            #expect(try log.readAll() == [block])
            log.close()
            if isDone { break }
            index += 1
        }
        #expect(index > 8 && whole > 0)
    }

    @Test func aCreationWhoseCallsFailThrowsAndCanBeRepeated() throws {
        var index = 0
        while true {
            let (ledger, disk) = TestLedger.simulated(seed: 3)
            disk.setFault { $0.isChange && $0.index == index ? .failure(.full) : nil }
            let error = logError { try ledger.create() }
            disk.clearFault()
            if (try? disk.status(at: ledger.folder.path)) == nil { try ledger.create() }
            let log = try ledger.open()
            #expect(log.head == nil)
            log.close()
            guard let error else { break }
            #expect(error.kind == .notAppended && error.description.contains("No space left"))
            index += 1
        }
        #expect(index > 8)
    }

    @Test func whatIsThereIsNotOverwritten() throws {
        try TestLedger.withReal { ledger in
            let error = logError { try ledger.create() }
            #expect(error?.kind == .notAppended)
            #expect(error?.description.contains("is there already") == true)
        }
    }

    @Test func whatIsNoLedgerIsNamed() throws {
        try TestLedger.withReal { ledger in
            let parent = ledger.folder.path
            func words(_ path: String) -> String {
                logError { try LedgerFolder(path).check() }?.description ?? "nothing"
            }
            #expect(words(parent) == "nothing")
            #expect(words(parent + "/none") == "there is no ledger at \(parent)/none; `serve --create` makes one")
            #expect(words(ledger.folder.headFile) == "\(parent)/head is a file; a ledger is a folder")
            #expect(
                words(parent + "/log")
                    == "\(parent)/log is a folder, but no ledger: it has no folder \(parent)/log/log"
            )
            #expect(
                words(parent + "/head/below")
                    == "there is no ledger at \(parent)/head/below: a part of the path is a file")
            #expect(mkfifo(parent + "/pipe", 0o600) == 0)
            #expect(words(parent + "/pipe") == "\(parent)/pipe is a fifo; a ledger is a folder")
            #expect(words("/dev/null") == "/dev/null is a device; a ledger is a folder")
        }
    }

    @Test func aLedgerThatMayNotBeWrittenIsNamed() throws {
        let error = DiskError.forbidden
        let (ledger, disk) = TestLedger.simulated(seed: 4)
        try ledger.create()
        disk.setFault { $0.kind == .open ? .failure(error) : nil }
        let thrown = logError { _ = try ledger.open() }
        #expect(thrown?.kind == .unknown)
        #expect(thrown?.description == "opening /ledger/books/log/lock for writing: \(error)")
        disk.setFault { $0.kind == .list ? .failure(error) : nil }
        #expect(logError { try ledger.folder.check(disk) }?.description.contains("\(error)") == true)
    }

    @Test func onAFileSystemThatIsReadOnlyWhatIsDurableIsRead() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 5)
        try ledger.create()
        let first = try ledger.open()
        var random = SplitMix64(seed: 5)
        let block = try first.leadWithTestBlock(&random)
        first.close()
        disk.setFault { $0.kind == .open && $0.path.hasSuffix("/lock") ? .failure(.readOnly) : nil }
        let changes = disk.changeCount
        let log = try ledger.open()
        #expect(!log.isWritable && log.head?.number == block.number)
        #expect(log.notices.count == 1 && log.notices[0].contains("is read-only"))
        #expect(try log.read(after: 0, bytesMax: 0) == [block])
        let error = logError { try log.leadWithTestBlock(&random) }
        #expect(error?.kind == .notAppended && error?.description.contains("is read-only") == true)
        #expect(disk.changeCount == changes)
    }

    /// Whatever stands in the place of a log's file is named, and nothing is written into it or waited for.
    @Test(arguments: ["log/lock", "log/00000000000000000001", "head"])
    func whatIsNoFileIsNamed(name: String) throws {
        try TestLedger.withReal { ledger in
            let path = ledger.folder.path + "/" + name
            #expect(unlink(path) == 0 && mkfifo(path, 0o600) == 0)
            let error = logError { _ = try ledger.open() }
            #expect(error?.kind == .corrupt)
            #expect(error?.description.contains("is a fifo, not a file") == true, "\(error as Any)")
        }
    }

    @Test func anotherLedgersLogIsRefused() throws {
        try TestLedger.withReal { ledger in
            let other = Digest(of: Array("com.example.other sandbox".utf8), testSHA256)
            let error = logError {
                _ = try FileLog.open(
                    folder: ledger.folder.log, headFile: ledger.folder.headFile, identity: other, hash: testSHA256)
            }
            #expect(error?.kind == .corrupt)
            #expect(error?.description.contains("belongs to another ledger") == true)
        }
    }
}
