import FileLog
import Ledger
import LedgerTestKit
import Testing

@Suite struct PowerCutTests {
    /// The power is cut at each call of a workload: among them every point of a segment's beginning.
    @Test(arguments: 0..<4)
    func aPowerCutAtAnyCallLosesNothing(seed: UInt64) throws {
        var index = 0
        while true {
            let (ledger, disk) = TestLedger.simulated(seed: seed)
            try ledger.create()
            let start = disk.changeCount
            disk.setFault { $0.isChange && $0.index >= start + index ? .off : nil }
            let auditor = Auditor(seed: seed, "power cut at call \(index)")
            if let log = try? ledger.open() { auditor.work(log, appends: 30) }
            let isAtTheEnd = disk.changeCount < start + index
            disk.cutPower()
            try FaultTests.goOn(ledger, disk, auditor)
            if isAtTheEnd { break }
            index += 1
        }
        #expect(index > 60)
    }

    /// Workloads with many cuts and kills, and failing calls before some of them.
    @Test(arguments: 0..<400)
    func powerCutsWithoutEndLoseNothing(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let (ledger, disk) = TestLedger.simulated(seed: random.next())
        try ledger.create()
        let auditor = Auditor(seed: seed, "power cuts")
        for round in 0..<8 {
            let log = try ledger.open()
            try auditor.audit(log, "opened in round \(round)")
            let failing = random.chance(40) ? disk.changeCount + .random(in: 0..<40, using: &random) : .max
            let fault: SimulatedDisk.Fault = random.chance(50) ? .partThenFailure(.failed) : .doneThenFailure(.full)
            let off = disk.changeCount + .random(in: 0..<80, using: &random)
            let isOff = random.chance(80)
            disk.setFault { call in
                guard call.isChange else { return nil }
                if isOff, call.index >= off { return .off }
                return failing <= call.index && call.index < failing + 2 ? fault : nil
            }
            auditor.work(log, appends: 25)
            if random.chance(70) { disk.cutPower() } else { disk.kill() }
        }
        let log = try ledger.open()
        try auditor.audit(log, "opened at the end")
        log.close()
    }

    /// A power cut while the log is opened after a power cut.
    @Test(arguments: 0..<20)
    func aPowerCutDuringRecoveryLosesNothing(seed: UInt64) throws {
        for index in 0..<12 {
            let (ledger, disk) = TestLedger.simulated(seed: seed)
            try ledger.create()
            let auditor = Auditor(seed: seed, "power cut at call \(index) of the recovery")
            let first = disk.changeCount + 35 + Int(seed)
            disk.setFault { $0.isChange && $0.index >= first ? .off : nil }
            if let log = try? ledger.open() { auditor.work(log, appends: 40) }
            disk.cutPower()
            let second = disk.changeCount + index
            disk.setFault { $0.isChange && $0.index >= second ? .off : nil }
            if let log = try? ledger.open() { auditor.work(log, appends: 1) }
            disk.cutPower()
            try FaultTests.goOn(ledger, disk, auditor)
        }
    }
}
