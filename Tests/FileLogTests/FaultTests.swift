import FileLog
import Ledger
import LedgerTestKit
import Testing

/// What happens when one call to the disk fails, whichever it is.
@Suite struct FaultTests {
    private static let faults: [SimulatedDisk.Fault] = [
        .failure(.failed), .failure(.full), .partThenFailure(.failed), .partThenFailure(.full),
        .doneThenFailure(.failed), .short,
    ]

    private static let appends = 30

    /// How many changing calls a workload makes when nothing fails.
    private static func calls(seed: UInt64) throws -> Range<Int> {
        let (ledger, disk) = TestLedger.simulated(seed: seed)
        try ledger.create()
        let start = disk.changeCount
        let log = try ledger.open()
        let auditor = Auditor(seed: seed, "counting")
        auditor.work(log, appends: appends)
        try auditor.audit(log, "counting")
        try #require(auditor.failures.isEmpty)
        try #require(try ledger.segments().count >= 3, "the workload changes segments")
        log.close()
        return start..<disk.changeCount
    }

    /// The call, and `more` after it, fail; the log is led again in the same process; then the power is cut twice.
    @Test(arguments: faults, [0, 1, 2, 5])
    func aCallThatFailsLosesNothingAndNothingComesBack(fault: SimulatedDisk.Fault, more: Int) throws {
        for index in try FaultTests.calls(seed: 11) {
            let (ledger, disk) = TestLedger.simulated(seed: 11)
            try ledger.create()
            disk.setFault { $0.isChange && index <= $0.index && $0.index <= index + more ? fault : nil }
            let auditor = Auditor(seed: 11, "\(fault) at call \(index) and \(more) more")
            guard let log = try? ledger.open() else {
                disk.clearFault()
                try FaultTests.goOn(ledger, disk, auditor)
                continue
            }
            auditor.work(log, appends: FaultTests.appends)
            disk.clearFault()
            try auditor.audit(log, "in the same process")
            log.close()
            try FaultTests.goOn(ledger, disk, auditor)
        }
    }

    /// The process is killed right after the failure: the page cache shows what the disk may not have.
    @Test(arguments: faults)
    func aProcessThatIsKilledAfterAFailureLeavesAWholeLog(fault: SimulatedDisk.Fault) throws {
        for more in [0, 1, 3] {
            for index in try FaultTests.calls(seed: 12) {
                let (ledger, disk) = TestLedger.simulated(seed: UInt64(index))
                try ledger.create()
                disk.setFault {
                    guard $0.isChange, $0.index >= index else { return nil }
                    return $0.index <= index + more ? fault : .off
                }
                let auditor = Auditor(seed: 12, "\(fault) at call \(index) and \(more) more, then killed")
                if let log = try? ledger.open() { auditor.work(log, appends: FaultTests.appends) }
                disk.kill()
                try FaultTests.goOn(ledger, disk, auditor)
            }
        }
    }

    /// Opens, compares, leads and appends; cuts the power; and again.
    static func goOn(_ ledger: TestLedger, _ disk: SimulatedDisk, _ auditor: Auditor) throws {
        for round in 1...3 {
            let log = try ledger.open()
            try auditor.audit(log, "opened in round \(round)")
            auditor.work(log, appends: 3)
            try auditor.audit(log, "appended in round \(round)")
            if round == 2 { log.close() }
            disk.cutPower()
        }
        let log = try ledger.open()
        try auditor.audit(log, "opened at the end")
        log.close()
    }

    /// The disk has room for so many bytes more, then none; then it has room again.
    @Test func aFullDiskAppendsNothingAndGoesOnWhenThereIsRoom() throws {
        for room in stride(from: 0, to: 40_000, by: 331) {
            let (ledger, disk) = TestLedger.simulated(seed: 13)
            try ledger.create()
            let log = try ledger.open()
            disk.setCapacity(disk.usedBytes + room)
            let auditor = Auditor(seed: 13, "room for \(room) bytes")
            auditor.work(log, appends: 40)
            #expect(!auditor.failures.isEmpty)
            // A redaction's note that does not fit is another matter: what it noted may be made.
            #expect(auditor.failures.allSatisfy { $0.kind == .notAppended || $0.description.contains("noting") })
            try auditor.audit(log, "full")
            disk.setCapacity(.max)
            auditor.work(log, appends: 10)
            try auditor.audit(log, "with room again")
            log.close()
            try FaultTests.goOn(ledger, disk, auditor)
        }
    }

    @Test func aFailedAppendIsAnsweredNotAppendedWhenItCouldBeTakenBack() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 14)
        try ledger.create()
        let log = try ledger.open()
        var random = SplitMix64(seed: 14)
        var last = try log.leadWithTestBlock(&random)
        for kind in [SimulatedDisk.Call.Kind.write, .sync] {
            let index = disk.changeCount + (kind == .write ? 0 : 1)
            disk.setFault { $0.kind == kind && $0.index == index ? .doneThenFailure(.failed) : nil }
            let block = TestBlock.after(last.head, bodyBytes: 100, redactableBytes: 9, &random)
            let error = logError { try log.append(block) }
            #expect(error?.kind == .notAppended, "\(kind): \(error?.description ?? "nothing")")
            disk.clearFault()
            last = try log.leadWithTestBlock(&random)
            #expect(try !log.readAll().contains(block))
        }
        log.close()
    }

    @Test func aFailedAppendThatCannotBeTakenBackIsUnknownUntilItIsLedAgain() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 15)
        try ledger.create()
        let log = try ledger.open()
        var random = SplitMix64(seed: 15)
        let last = try log.leadWithTestBlock(&random)
        disk.setFault { $0.kind == .sync ? .doneThenFailure(.failed) : nil }
        let block = TestBlock.after(last.head, bodyBytes: 100, redactableBytes: 9, &random)
        #expect(logError { try log.append(block) }?.kind == .unknown)
        #expect(logError { try log.append(block) }?.kind == .notAppended)
        #expect(logError { try log.leadWithTestBlock(&random) }?.kind == .unknown)
        #expect(try log.readAll() == [last])
        disk.clearFault()
        let next = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [last, next])
        log.close()
    }
}
