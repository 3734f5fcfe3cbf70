import Foundation
import Testing

/// A whole ledger that was written when version 2 of blocks was frozen (Format2/make.py), with links of every kind and
/// consents: every later version opens it, reads it, gives the answers that were given then, and goes on with it.
@Suite struct Format2Tests {
    private static let ledger = KeptLedger("Format2")
    private static let guest = "5f0e8c2a-0000-4000-8000-000000000001"
    private static let second = "5f0e8c2a-0000-4000-8000-000000000002"

    /// With the tables of those days, which may be made anew, and without any.
    @Test(arguments: [true, false])
    func aLedgerWithLinksIsOpenedReadAndContinued(hasTables: Bool) throws {
        let folder = try Self.ledger.unpacked()
        if !hasTables { try FileManager.default.removeItem(atPath: folder.path("ledger/projection.sqlite")) }
        let service = try RunningService(folder)
        var lines = try Self.ledger.lines(service.address)
        #expect(try Self.ledger.questions().count > 50)
        try Self.ledger.ask(lines)
        // Nothing of all that was new. What comes now finds what was linked then.
        let game = try #require(lines["game"])
        let returned = try game.ask("reverse", ["key": "new", "spendKey": "s3"])
        let balances = returned["balances"] as? [String: [String: Int]]
        #expect(balances?["gems"]?["debt"] == 0, "what the second guest spent pays the debt of its refund")
        let spent = try game.ask(
            "spend", ["key": "newer", "account": Self.guest, "debits": [["currency": "gems", "amount": 900]]])
        #expect(spent["entry"] != nil, "\(spent)")
        lines = [:]
        #expect(service.stop() == 0)
        let audited = try Command.run(["audit", "--config", folder.path("ledger.json")])
        #expect(audited.status == 0, "\(audited.output)")
        #expect(try KeptLedger.verified(folder).contains("erased: 0"))
    }

    /// The bytes that another program reads: some of them are blocks of version 2.
    @Test func theFrozenLedgerIsTheOneThatWasWritten() throws {
        let folder = try Self.ledger.unpacked()
        let summary = try String(
            contentsOf: Self.ledger.kept.appendingPathComponent("summary.txt"), encoding: .utf8)
        #expect(try KeptLedger.verified(folder) == summary)
        let log = try FileManager.default.contentsOfDirectory(atPath: folder.path("ledger/log"))
        let bytes = try log.map { try Data(contentsOf: URL(fileURLWithPath: folder.path("ledger/log/" + $0))) }
        for version: UInt8 in [1, 2] {
            let start = Data([0x43, 0x4C, 0x42, version])
            #expect(bytes.contains { $0.range(of: start) != nil }, "no block of version \(version)")
        }
    }
}
