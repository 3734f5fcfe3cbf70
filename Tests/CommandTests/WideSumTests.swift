import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Testing

/// A ledger whose sums 64 bits do not hold, by the built command: served, followed, reported, exported, audited, made
/// anew, and checked by another program.
@Suite struct WideSumTests {
    private static let players = 1_088
    private static let gems = CurrencyCode("gems")!

    /// Gives each player as much as a wallet has.
    private static func fill(_ client: LedgerClient) async throws {
        let perAtomic = Limits.atomicOperationsMax
        for number in 0..<players / perAtomic {
            let grants = (number * perAtomic..<(number + 1) * perAtomic).map { player in
                KeyedOperation.grant(
                    Grant(
                        key: RequestKey("k\(number)")!, account: AccountName("player-\(player)")!, currency: gems,
                        amount: Amount(Limits.amountMax)!))
            }
            _ = try await client.atomic(LedgerTypes.Atomic(key: RequestKey("k\(number)")!, operations: grants))
        }
    }

    @Test func everyPartOfALedgerHoldsSumsBeyondSixtyFourBits() async throws {
        let studio = try Studio()
        try studio.folder.write(
            "catalog.json",
            #"""
            {"currencies": {"gems": {"grantMax": 9007199254740991}, "tickets": {"grantMax": 50}},
             "products": {"com.example.game.gems500": {"gems": 500}}}
            """#)
        let (a, b) = (try Node(studio, "a"), try Node(studio, "b"))
        let leader = try a.start()
        let standby = try b.start(following: a.address)
        let client = try await leader.client()
        try await Self.fill(client)
        let sum = Int128(Self.players) * Int128(Limits.amountMax)
        #expect("\(sum)" == "9799832789158198208" && sum > Int128(Int64.max))

        // Everybody goes on, and only whose wallet is full is told so.
        let full = await refusal {
            _ = try await client.grant(account: AccountName("player-7")!, currency: Self.gems, amount: Amount(1)!)
        }
        #expect(full?.reason == "balance_limit" && full?["currency"] == .string("gems"))
        let many = await refusal {
            _ = try await client.grant(
                account: AccountName("player-7")!, currency: CurrencyCode("tickets")!, amount: Amount(51)!)
        }
        #expect(many?.reason == "grant_limit" && many?["grantMax"] == .integer(50))
        let credited = try await client.credit(
            signedTransaction: try studio.purchase(1), account: AccountName("buyer")!)
        #expect(credited.outcome == .credited)
        _ = try await client.spend(
            account: AccountName("player-1")!,
            debits: [CurrencyAmount(currency: Self.gems, amount: Amount(Limits.amountMax)!)])

        let trial = try await client.report(.trial, currency: Self.gems)
        #expect(trial.rows.contains(.trial(currency: Self.gems, account: .granted, debits: sum, credits: 0)))
        let called = try Command.run(
            ["call", "report", "--server", a.address, "--json", #"{"kind": "trial", "currency": "gems"}"#])
        #expect(called.output.filter { $0 != " " }.contains(#""debits":"\#(sum)""#), "\(called)")

        let reader = try await standby.client()
        try await reader.waits(for: Int64(try a.blocks().count))
        #expect(try await reader.report(.trial, asOf: trial.asOf, currency: Self.gems) == trial)
        #expect(leader.stop() == 0 && standby.stop() == 0)

        let csv = "gems,granted,\(sum),0,\(sum)\r\n"
        let line = #"{"currency":"gems","account":"granted","debits":"\#(sum)","credits":0,"balance":"\#(sum)"}"#
        let script = Command.root.appendingPathComponent("Schema/verify/verify_log.py").path
        for node in [a, b] {
            let path = node.ledger.path
            for _ in 0..<2 {
                for (format, row) in ["csv": csv, "jsonl": line] {
                    let exported = try Command.run(["export", "trial", "--path", path, "--format", format])
                    #expect(exported.output.contains(row), "\(exported)")
                }
                let audited = try Command.run(["audit", "--config", node.folder.path("ledger.json")])
                #expect(audited.status == 0 && audited.output.contains("granted \(sum)"), "\(audited)")
                #expect(audited.output.contains("rows of the tables compared"))
                #expect(try Command.run(["rebuild", "--config", node.folder.path("ledger.json")]).status == 0)
            }
            let checked = try Command.run(URL(fileURLWithPath: "/usr/bin/env"), ["python3", script, path])
            #expect(checked.status == 0, "\(checked)")
        }

        // A catalog with another bound changes no answer, and refuses no ledger.
        try studio.folder.write(
            "catalog.json", #"{"currencies": {"gems": {"grantMax": 1}, "tickets": {}}, "products": {}}"#)
        let again = try a.start()
        let later = try await again.client()
        try await Self.fill(later)
        #expect(try await later.report(.trial, asOf: trial.asOf, currency: Self.gems) == trial)
        #expect(again.stop() == 0)
    }
}
