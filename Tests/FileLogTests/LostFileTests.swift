import FileLog
import Ledger
import LedgerTestKit
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The log's files are removed, moved, replaced or cut by somebody else while a server writes to them.
@Suite struct LostFileTests {
    enum Loss: CaseIterable {
        case segmentRemoved, segmentMoved, segmentReplacedByItsCopy, segmentCutToNothing, segmentCutInTheLastBlock
        case folderMoved, folderReplacedByItsCopy
        case segmentRemovedBeforeTheNextIsBegun
    }

    @Test(arguments: Loss.allCases)
    func noBlockIsAcknowledgedIntoAFileThatNobodyFinds(loss: Loss) throws {
        try TestLedger.withReal { ledger in try check(loss, ledger) }
    }

    private func check(_ loss: Loss, _ ledger: TestLedger) throws {
        let log = try ledger.open()
        defer { log.close() }
        var random = SplitMix64(seed: 21)
        var last = try log.leadWithTestBlock(&random)
        for _ in 0..<5 {
            last = TestBlock.after(last.head, bodyBytes: 300, redactableBytes: 10, &random)
            try log.append(last)
        }
        try make(loss, ledger)
        let bytes = loss == .segmentRemovedBeforeTheNextIsBegun ? 8000 : 300
        let next = TestBlock.after(last.head, bodyBytes: bytes, redactableBytes: 10, &random)
        #expect(logError { try log.append(next) }?.kind == .unknown)
        #expect(logError { try log.append(next) }?.kind == .notAppended)
        for _ in 0..<2 {
            let error = logError { _ = try log.lead { TestBlock.term(after: $0, &random) } }
            #expect(error?.kind == .unknown || error?.kind == .corrupt)
            #expect(error?.description.contains(ledger.segment(1)) == true)
        }
    }

    private func make(_ loss: Loss, _ ledger: TestLedger) throws {
        let path = ledger.segment(1)
        let folder = ledger.folder.log
        switch loss {
        case .segmentRemoved, .segmentRemovedBeforeTheNextIsBegun: #expect(unlink(path) == 0)
        case .segmentMoved: #expect(rename(path, path + "-moved") == 0)
        case .segmentReplacedByItsCopy:
            let bytes = try readFile(path)
            #expect(unlink(path) == 0)
            try writeFile(path, bytes)
        case .segmentCutToNothing: #expect(truncate(path, 0) == 0)
        case .segmentCutInTheLastBlock: #expect(truncate(path, 2100) == 0)
        case .folderMoved: #expect(rename(folder, folder + "-moved") == 0)
        case .folderReplacedByItsCopy:
            let bytes = try readFile(path)
            #expect(rename(folder, folder + "-moved") == 0)
            #expect(mkdir(folder, 0o700) == 0)
            try writeFile(path, bytes)
        }
    }

    @Test func aFileThatIsBackAtItsPlaceIsLedAgain() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            defer { log.close() }
            var random = SplitMix64(seed: 22)
            let first = try log.leadWithTestBlock(&random)
            let path = ledger.segment(1)
            #expect(rename(path, path + "-moved") == 0)
            let lost = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 1, &random)
            #expect(logError { try log.append(lost) }?.kind == .unknown)
            #expect(logError { try log.leadWithTestBlock(&random) }?.kind == .unknown)
            #expect(rename(path + "-moved", path) == 0)
            let second = try log.leadWithTestBlock(&random)
            #expect(try log.readAll() == [first, second])
        }
    }

    /// Without the check before it, such an append would make the file as long as it should be, with a hole.
    @Test func aFileThatWasCutIsNoticedByAnAppendThatExtendsIt() throws {
        try TestLedger.withReal(FileLogConfiguration(writeAheadBytes: 0)) { ledger in
            let log = try ledger.open()
            defer { log.close() }
            var random = SplitMix64(seed: 27)
            let first = try log.leadWithTestBlock(&random)
            let second = TestBlock.after(first.head, bodyBytes: 5000, redactableBytes: 0, &random)
            try log.append(second)
            #expect(truncate(ledger.segment(1), 0) == 0)
            let third = TestBlock.after(second.head, bodyBytes: 9000, redactableBytes: 0, &random)
            #expect(logError { try log.append(third) }?.kind == .unknown)
            #expect(logError { _ = try log.lead { TestBlock.term(after: $0, &random) } }?.kind == .unknown)
        }
    }

    @Test func zerosThatWereCutOffAreWrittenAgain() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            defer { log.close() }
            var random = SplitMix64(seed: 23)
            let first = try log.leadWithTestBlock(&random)
            #expect(truncate(ledger.segment(1), 1000) == 0)
            let next = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 1, &random)
            #expect(logError { try log.append(next) }?.kind == .unknown)
            let second = try log.leadWithTestBlock(&random)
            #expect(try log.readAll() == [first, second])
        }
    }

    @Test func anOlderLogIsRefusedByWhatTheHeadFileSays() throws {
        try TestLedger.withReal { ledger in
            var log = try ledger.open()
            var random = SplitMix64(seed: 24)
            let first = try log.leadWithTestBlock(&random)
            let old = try readFile(ledger.segment(1))
            try log.append(TestBlock.after(first.head, bodyBytes: 100, redactableBytes: 1, &random))
            log.close()
            try writeFile(ledger.segment(1), old)
            let error = logError { _ = try ledger.open() }
            #expect(error?.kind == .corrupt)
            #expect(error?.description.hasPrefix("the log went back in time: block 2 was acknowledged") == true)
            #expect(logError { _ = try ledger.openForReading() }?.kind == .corrupt)
            // Who knows what they do removes the head file.
            #expect(unlink(ledger.folder.headFile) == 0)
            log = try ledger.open()
            #expect(log.notices.count == 1 && log.notices[0].contains("was missing and is made anew"))
            #expect(try log.readAll() == [first])
            log.close()
        }
    }

    @Test(arguments: 0..<3)
    func aMissingSegmentIsNamed(missing: Int) throws {
        try TestLedger.withReal { ledger in
            try fill(ledger)
            let segments = try ledger.segments()
            let path = segments[[0, 1, segments.count - 1][missing]]
            #expect(unlink(path) == 0)
            let error = logError { try readThrough(ledger) }
            #expect(error?.kind == .corrupt)
            let words = [path, "block ", "went back in time"][missing]
            #expect(error?.description.contains(words) == true)
        }
    }

    private func fill(_ ledger: TestLedger) throws {
        let log = try ledger.open()
        var random = SplitMix64(seed: 26)
        var last = try log.leadWithTestBlock(&random)
        for _ in 0..<40 {
            last = TestBlock.after(last.head, bodyBytes: 700, redactableBytes: 9, &random)
            try log.append(last)
        }
        log.close()
    }

    private func readThrough(_ ledger: TestLedger) throws {
        let log = try ledger.open()
        defer { log.close() }
        _ = try log.readAll()
    }
}
