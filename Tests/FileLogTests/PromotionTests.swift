import FileLog
import LedgerTestKit
import Testing

/// The file that says that a standby was promoted: durable once that is said, and not there where it is said not to be.
@Suite struct PromotionTests {
    @Test func whatIsNotedIsThereAfterAPowerCutAtAnyCall() throws {
        var index = 0
        while true {
            let (ledger, disk) = TestLedger.simulated(seed: UInt64(index))
            try ledger.create()
            let start = disk.changeCount
            disk.setFault { $0.isChange && $0.index >= start + index ? .off : nil }
            let isDone = (try? ledger.folder.promotedMark.write("leader:1", disk)) != nil
            disk.cutPower()
            disk.clearFault()
            let leader = try ledger.folder.promotedMark.read(disk)
            #expect(leader == "leader:1" || (leader == nil && !isDone), "call \(index)")
            if isDone { break }
            // A second try finds what the first one left.
            try ledger.folder.promotedMark.write("leader:1", disk)
            #expect(try ledger.folder.promotedMark.read(disk) == "leader:1", "call \(index)")
            index += 1
        }
        #expect(index >= 5, "it is made, written, synced, renamed, and its folder is synced")
    }

    /// Whoever promotes is told that the standby follows still.
    @Test func whatCouldNotBeNotedIsNotThere() throws {
        for kind in [.create, .write, .sync, .rename, .syncDirectory] as [SimulatedDisk.Call.Kind] {
            for fault in [.failure(.failed), .doneThenFailure(.failed)] as [SimulatedDisk.Fault] {
                let (ledger, disk) = TestLedger.simulated(seed: 1)
                try ledger.create()
                disk.setFault { $0.kind == kind ? fault : nil }
                #expect(throws: DiskError.self, "\(kind), \(fault)") {
                    try ledger.folder.promotedMark.write("leader:1", disk)
                }
                disk.clearFault()
                disk.kill()
                #expect(try ledger.folder.promotedMark.read(disk) == nil, "\(kind), \(fault)")
            }
        }
    }

    @Test func itIsForgotten() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 2)
        try ledger.create()
        #expect(try ledger.folder.promotedMark.read(disk) == nil)
        try ledger.folder.promotedMark.write("leader:1", disk)
        try ledger.folder.promotedMark.remove(disk)
        disk.cutPower()
        #expect(try ledger.folder.promotedMark.read(disk) == nil)
    }
}
