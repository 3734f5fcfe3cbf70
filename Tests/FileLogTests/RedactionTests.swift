import FileLog
import Ledger
import LedgerTestKit
import Testing

@Suite struct RedactionTests {
    /// A redaction is interrupted at each of its calls, by a power cut or a kill: the block has the old bytes or the
    /// new ones.
    @Test(arguments: 0..<40)
    func anInterruptedRedactionLeavesTheOldBytesOrTheNew(seed: UInt64) throws {
        var saw: Set<Bool> = []
        for index in 0..<12 {
            let (ledger, disk) = TestLedger.simulated(seed: seed)
            try ledger.create()
            var random = SplitMix64(seed: seed)
            let log = try ledger.open()
            var blocks = [try log.leadWithTestBlock(&random)]
            for _ in 0..<8 {
                let block = TestBlock.after(blocks.last?.head, bodyBytes: 900, redactableBytes: 1400, &random)
                try log.append(block)
                blocks.append(block)
            }
            let target = Int.random(in: 1..<blocks.count, using: &random)
            var redacted = blocks
            redacted[target].redactable.replaceSubrange(100..<1300, with: [UInt8](repeating: 0, count: 1200))
            let start = disk.changeCount
            disk.setFault { $0.isChange && $0.index >= start + index ? .off : nil }
            let isDone = logError { try log.redact(BlockNumber(target + 1), redacted[target].redactable) } == nil
            if seed % 4 == 0 { disk.kill() } else { disk.cutPower() }

            let reader = try ledger.openForReading()
            let seen = try reader.readAll()
            #expect(seen == blocks || seen == redacted, "read before the repair, call \(index), seed \(seed)")
            reader.close()
            let again = try ledger.open()
            let read = try again.readAll()
            #expect(read == redacted || (!isDone && read == blocks), "call \(index), seed \(seed)")
            if seen == redacted { #expect(read == redacted, "what was seen stays, call \(index), seed \(seed)") }
            saw.insert(read == redacted)
            let note = try disk.bytes(ledger.folder.log + "/lock")
            #expect(note.isEmpty)
            again.close()
        }
        #expect(saw == [true, false])
    }

    @Test func whatIsForgottenIsNowhereInTheFolder() throws {
        try TestLedger.withReal { ledger in
            let log = try ledger.open()
            var random = SplitMix64(seed: 51)
            let first = try log.leadWithTestBlock(&random)
            let name = Array("the name of a player".utf8)
            let body = TestBlock.bytes(100, &random)
            let block = SealedBlock(
                number: 2, term: 1, previous: first.hash, hash: Digest(of: body, testSHA256), body: body,
                redactable: name)
            try log.append(block)
            try log.redact(2, [UInt8](repeating: 0, count: name.count))
            log.close()
            for file in try ledger.disk.list(ledger.folder.log) {
                let text = String(decoding: try readFile(ledger.folder.log + "/" + file), as: UTF8.self)
                #expect(!text.contains("the name of a player"))
            }
        }
    }

    @Test func aRedactionThatFailsIsFinishedWhenTheLogIsLedAgain() throws {
        for index in 0..<7 {
            let (ledger, disk) = TestLedger.simulated(seed: 52)
            try ledger.create()
            var random = SplitMix64(seed: 52)
            let log = try ledger.open()
            var blocks = [try log.leadWithTestBlock(&random)]
            let block = TestBlock.after(blocks[0].head, bodyBytes: 90, redactableBytes: 1400, &random)
            try log.append(block)
            blocks.append(block)
            let start = disk.changeCount + index
            disk.setFault { $0.isChange && $0.index == start ? .partThenFailure(.failed) : nil }
            let bytes = [UInt8](repeating: 0, count: 1400)
            let error = logError { try log.redact(2, bytes) }
            #expect(error?.kind == .unknown)
            disk.clearFault()
            let read = try log.readAll()
            #expect(read[1].redactable == bytes || read[1].redactable == block.redactable)
            #expect(logError { try log.redact(2, bytes) }?.kind == .notAppended)
            try log.leadWithTestBlock(&random)
            try log.redact(2, bytes)
            #expect(try log.readAll()[1].redactable == bytes)
            log.close()
        }
    }

    @Test func whatCannotBeRedactedIsKnownBefore() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 53)
        try ledger.create()
        var random = SplitMix64(seed: 53)
        let log = try ledger.open()
        var last = try log.leadWithTestBlock(&random)
        while try ledger.segments().count < 3 {
            last = TestBlock.after(last.head, bodyBytes: 600, redactableBytes: 30, &random)
            try log.append(last)
        }
        for number in 1...last.number { try log.checkRedactable(number) }
        #expect(logError { try log.checkRedactable(last.number + 1) }?.kind == .notAppended)
        // The index of the segment is in memory; its file is looked at all the same.
        let path = ledger.segment(1)
        let bytes = try disk.bytes(path)
        var damaged = bytes
        damaged[13] ^= 4
        try disk.setBytes(path, damaged)
        let error = logError { try log.checkRedactable(2) }
        #expect(error?.kind == .corrupt && error?.description.contains(path) == true)
        #expect(logError { try log.redact(2, [UInt8](repeating: 0, count: 30)) }?.kind == .corrupt)
        // Nothing was begun: the next append needs no settling.
        last = TestBlock.after(last.head, bodyBytes: 600, redactableBytes: 30, &random)
        try log.append(last)
        try log.checkRedactable(last.number)
        try disk.setBytes(path, bytes)
        try log.checkRedactable(2)
        log.close()
    }
}
