import Foundation
import Testing

/// A whole ledger that was written when format 1 was frozen (Format1/make.py): every later version opens it, reads it,
/// gives the answers that were given then, and goes on with it.
@Suite struct Format1Tests {
    private static let ledger = KeptLedger("Format1")
    /// The last block, and what the other program counted up to there.
    private static let counts =
        "blocks: 35, entries: 27, transfers: 36, purchases: 5, signed: 13, accounts: 8, erased: 0"
    private static let head =
        "head: 35 460b6f5a5c3797a28caccbd794c317c654255970f61781defa2f37b87d80b8d7"

    /// With the tables of those days, which may be made anew, and without any.
    @Test(arguments: [true, false])
    func aLedgerOfFormat1IsOpenedReadAndContinued(hasTables: Bool) throws {
        let folder = try Self.ledger.unpacked()
        if !hasTables { try FileManager.default.removeItem(atPath: folder.path("ledger/projection.sqlite")) }
        #expect(try KeptLedger.verified(folder).contains(Self.counts))

        var service = try RunningService(folder)
        var lines = try Self.ledger.lines(service.address)
        #expect(try Self.ledger.questions().count == 56)
        try Self.ledger.ask(lines)
        // Nothing of all that was new. What is new comes behind it.
        let spent = try #require(lines["game"]).ask(
            "spend",
            ["key": "new", "account": "Zoë 語", "debits": [["currency": "gems", "amount": 90]]])
        #expect(spent["entry"] as? Int == 28)
        let drawn = spent["drawn"] as? [NSDictionary]
        #expect(drawn?.first?["transactionId"] as? String == "2000000000000002")
        lines = [:]
        #expect(service.stop() == 0)
        #expect(try KeptLedger.verified(folder).contains("entries: 28, transfers: 37, purchases: 5"))

        service = try RunningService(folder)
        let game = try KeptLedger.Line(service.address, token: Self.ledger.token("game"))
        let balance = try game.ask("balance", ["account": "Zoë 語", "currency": "gems"])
        let gems = (balance["balances"] as? NSDictionary)?["gems"] as? NSDictionary
        #expect(gems?["available"] as? Int == 2_900)
        let forgotten = try KeptLedger.Line(service.address, token: Self.ledger.token("admin"))
            .ask("forget", ["account": "Zoë 語"])
        #expect(forgotten["erased"] as? Bool == true)
        #expect(service.stop() == 0)
        #expect(try KeptLedger.verified(folder).contains("accounts: 8, erased: 1"))
    }

    /// The bytes that another program reads.
    @Test func theFrozenLedgerIsTheOneThatWasWritten() throws {
        let folder = try Self.ledger.unpacked()
        let output = try KeptLedger.verified(folder)
        #expect(output.contains("ledger: com.example.game Sandbox"))
        #expect(output.contains(Self.counts) && output.contains(Self.head))
    }
}
