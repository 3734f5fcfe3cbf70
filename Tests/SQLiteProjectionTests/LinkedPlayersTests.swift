import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// Players who are linked one to the next, of whom memory has only some.
@Suite struct LinkedPlayersTests {
    private let gems = CurrencyCode("gems")!
    private let first = Workload.token(1)
    private let second = Workload.token(2)
    private let last = Workload.account(1)
    private let now: Timestamp = 1_800_000_000_000

    /// The first one's lot, which the last one spent, in a ledger that was just opened.
    private func reopened() throws -> Ledger {
        var store = try Ledger(TemporaryFolder())
        let commands: [Command] = [
            .grant(Grant(key: RequestKey("g")!, account: first.account, currency: gems, amount: Amount(70)!)),
            .link(Link(token: first, account: second.account)),
            .link(Link(token: second, account: last)),
            .spend(
                Spend(
                    key: RequestKey("s")!, account: last,
                    debits: [CurrencyAmount(currency: gems, amount: Amount(70)!)])),
        ]
        for command in commands { try store.run(command, at: now) }
        try store.restart()
        return store
    }

    @Test func aSpendIsGivenBackWhoeverOfThemIsForgottenMeanwhile() throws {
        for forgotten in [first.account, second.account, last] {
            var store = try reopened()
            #expect(try store.balances(first.account).first?.balance.available == 0)
            store.forget(forgotten)
            let reversal = Reversal(key: RequestKey("r")!, spendKey: RequestKey("s")!)
            guard case .reversal(let receipt) = try store.run(.reverse(reversal), at: now) else {
                Issue.record("refused without \(forgotten)")
                continue
            }
            #expect(receipt.balances.first?.balance.available == 70, "without \(forgotten)")
            #expect(try store.balances(last).first?.balance.available == 70, "without \(forgotten)")
        }
    }
}
