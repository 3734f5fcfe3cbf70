#if Postgres
import Ledger
import LedgerTestKit
import Testing

@testable import PostgresLog

/// Numbers that somebody wrote into the tables, and that no ledger writes.
@Suite struct RangeTests {
    @Test(arguments: [
        ("lease_ms", "-5", "1000"), ("lease_ms", "9223372036854775807", "1000"), ("term", "-7", "1"),
        ("term", "9223372036854775807", "1"), ("weight", "0", "1"),
    ])
    func aNumberOfTheLeadersRowOutsideOfItsRangeIsNamedUntilItIsMended(
        _ column: String, _ bad: String, _ good: String
    ) throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 1)
        // A renewal mends some of them: none comes meanwhile.
        var configuration = ledger.configuration(node: "a")
        configuration.leaseMilliseconds = 60_000
        let a = try ledger.open(configuration)
        let b = try ledger.open(ledger.configuration(node: "b"))
        defer {
            a.close()
            b.close()
        }
        let first = try a.leadWithTestBlock(&random)
        let session = try ledger.session()
        try session.run("UPDATE leader SET \(column) = \(bad)")
        let error = try #require(logError { _ = try b.standing() })
        let words = "\(ledger.schema).leader.\(column) is \(bad), "
        #expect(error.kind == .corrupt && error.description.contains(words))
        if column != "weight" { #expect(logError { try b.settle() }?.kind == .corrupt) }
        // A node that is started meanwhile says so too, and goes on once it is mended.
        let c = try ledger.open(ledger.configuration(node: "c"))
        defer { c.close() }
        #expect(logError { _ = try c.standing() }?.kind == .corrupt)
        #expect(try PostgresInspection(ledger.configuration(), hash: testSHA256).head == first.head)
        try session.run("UPDATE leader SET \(column) = \(good)")
        for log in [b, c] { #expect(try log.standing().leader?.node == "a") }
        #expect(try b.readAll() == [first])
    }

    /// By the leader's next renewal: of that number others only see whether it is another than before.
    @Test(arguments: ["-1000", "4611686018427387904", "9223372036854775807"])
    func aNumberOfRenewalsOutsideOfItsRangeIsMendedByTheNext(_ bad: String) throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 3)
        let a = try ledger.open(ledger.configuration(node: "a"))
        let b = try ledger.open(ledger.configuration(node: "b"))
        defer {
            a.close()
            b.close()
        }
        let first = try a.leadWithTestBlock(&random)
        let session = try ledger.session()
        try session.run("UPDATE leader SET renewals = \(bad)")
        func renewals() throws -> Int64 { try Int64(session.run("SELECT renewals FROM leader")[0][0]) ?? -1 }
        for _ in 0..<1_000 where try !(0...1_000).contains(renewals()) { pause(milliseconds: 10) }
        #expect(try (0...1_000).contains(renewals()))
        #expect(try b.standing().leader?.node == "a")
        #expect(try b.readAll() == [first])
        // It gives the lead back whatever the number is, and the next counts on.
        try session.run("UPDATE leader SET renewals = \(bad)")
        a.close()
        try b.leadWithTestBlock(&random)
        #expect(try (0...1_000).contains(renewals()))
    }

    @Test func aBlocksTermOutsideOfItsRangeIsNamed() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 2)
        let a = try ledger.open()
        defer { a.close() }
        try a.leadWithTestBlock(&random)
        let b = try ledger.open(ledger.configuration(node: "b"))
        defer { b.close() }
        try ledger.session().run("UPDATE block SET term = -3 WHERE id = 1")
        let read = try #require(logError { _ = try b.readAll() })
        #expect(read == LogError(.corrupt, "block 1 in \(ledger.schema).block: its row names term -3"))
        let opened = try #require(logError { try ledger.open(ledger.configuration(node: "c")).close() })
        #expect(opened.kind == .corrupt && opened.description.contains("\(ledger.schema).block.term of the last block"))
    }

    @Test func aLedgerWhosePartitionsHaveNoBlocksIsNotOpened() throws {
        let ledger = try TestLedger()
        try ledger.session().run("UPDATE ledger SET partition_blocks = 0")
        let error = try #require(logError { try ledger.open().close() })
        #expect(error.kind == .corrupt)
        #expect(error.description.contains("\(ledger.schema).ledger.partition_blocks is 0, and must be from 1 to "))
    }
}
#endif
