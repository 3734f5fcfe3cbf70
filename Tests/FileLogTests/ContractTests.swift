import FileLog
import Ledger
import LedgerTestKit
import Testing

@Suite struct ContractTests {
    @Test(arguments: BlockLogContract.rules)
    func aLogOfFilesKeepsTheContract(rule: BlockLogContract) throws {
        try TestLedger.withReal { ledger in try rule.check { try ledger.open() } }
    }

    @Test(arguments: BlockLogContract.rules)
    func aLogOfFilesInOneLargeSegmentKeepsTheContract(rule: BlockLogContract) throws {
        try TestLedger.withReal(FileLogConfiguration()) { ledger in try rule.check { try ledger.open() } }
    }

    @Test(arguments: BlockLogContract.rules)
    func aLogOfFilesOnTheSimulatedDiskKeepsTheContract(rule: BlockLogContract) throws {
        let (ledger, _) = TestLedger.simulated(seed: 1)
        try ledger.create()
        try rule.check { try ledger.open() }
    }

    @Test(arguments: BlockLogContract.rules)
    func theLogInMemoryKeepsTheContract(rule: BlockLogContract) throws {
        let storage = MemoryLog.Storage()
        try rule.check { MemoryLog(storage) }
    }

    @Test func theLogInMemoryFailsAsItIsTold() throws {
        var random = SplitMix64(seed: 2)
        let log = MemoryLog()
        let first = try log.leadWithTestBlock(&random)
        let next = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 0, &random)
        log.failAppends(.notAppended)
        #expect(logError { try log.append(next) }?.kind == .notAppended)
        #expect(logError { try log.append(next) }?.kind == .notAppended, "only lead helps")
        let second = try log.leadWithTestBlock(&random)
        #expect(log.blocks == [first, second])

        let third = TestBlock.after(second.head, bodyBytes: 10, redactableBytes: 0, &random)
        log.failAppends(.unknown(isThere: false))
        #expect(logError { try log.append(third) }?.kind == .unknown)
        let instead = try log.leadWithTestBlock(&random)
        #expect(log.blocks == [first, second, instead])

        let fourth = TestBlock.after(instead.head, bodyBytes: 10, redactableBytes: 0, &random)
        log.failAppends(.unknown(isThere: true))
        #expect(logError { try log.append(fourth) }?.kind == .unknown)
        #expect(log.blocks.count == 3, "it is read only after lead")
        let fifth = try log.leadWithTestBlock(&random)
        #expect(log.blocks == [first, second, instead, fourth, fifth])

        let others = TestBlock.after(fifth.head, term: 9, bodyBytes: 10, redactableBytes: 0, &random)
        log.failAppends(.superseded(by: [others]), .superseded(by: []))
        let mine = TestBlock.after(fifth.head, bodyBytes: 10, redactableBytes: 0, &random)
        #expect(logError { try log.append(mine) }?.kind == .superseded)
        #expect(log.blocks.last == others)
        #expect(logError { try log.leadWithTestBlock(&random) }?.kind == .superseded)
        #expect(logError { try log.leadWithTestBlock(&random) }?.kind == .superseded, "for good")
    }
}
