import AppStore
import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Synchronization
import Testing

/// Many game servers on the same wallets while refunds arrive: what every reply, every report and the journal say fits
/// together at every moment. For ten seconds, or as long as `LEDGER_SHARED_SECONDS` says.
@Suite(.serialized) struct SharedWalletsTests {
    private static let connections = 64
    private static let wallets = 100
    private static let gems = CurrencyCode("gems")!

    private static func account(_ number: Int) -> AccountName { AccountName("player-\(number)")! }

    /// What must hold of every balance that anyone is told.
    private static func check(_ balances: [CurrencyBalance]) {
        for item in balances {
            let balance = item.balance
            #expect(balance.available >= 0 && balance.held >= 0 && balance.debt >= 0 && balance.paid >= 0)
            #expect(balance.paid <= balance.available)
            #expect(balance.available == 0 || balance.debt == 0)
        }
    }

    @Test func invariantsHoldAtEveryMomentWhileRefundsArrive() async throws {
        let seconds = Double(ProcessInfo.processInfo.environment["LEDGER_SHARED_SECONDS"] ?? "") ?? 10
        let seed = Seed.drawn()
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let tally = Tally()
        var clients: [LedgerClient] = []
        for _ in 0..<Self.connections { clients.append(try await service.client()) }
        let end = ContinuousClock.now + .seconds(seconds)

        try await withThrowingTaskGroup(of: Void.self) { group in
            for (connection, client) in clients.enumerated() {
                group.addTask {
                    var server = GameServer(
                        client: client, random: SplitMix64(seed: seed &+ UInt64(connection)),
                        tally: tally)
                    while ContinuousClock.now < end { try await server.act() }
                    try await server.client.close()
                }
            }
            group.addTask { try await Self.sell(studio, service, until: end, tally) }
            group.addTask { try await Self.audit(service, until: end, tally) }
            try await group.waitForAll()
        }

        let told = tally.counts.withLock { $0 }
        print(told.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        for what in [
            "spent", "reversed", "held", "captured", "released", "credited", "refunded", "audits", "insufficient_funds",
            "already_reversed", "hold_closed",
        ] { #expect(told[what, default: 0] > 0, "nothing was \(what)") }
        try await Self.replay(service)
        #expect(service.stop() == 0)
    }

    /// Credits purchases and takes a third of them back, by the JWS that says so.
    private static func sell(
        _ studio: Studio, _ service: RunningService, until end: ContinuousClock.Instant,
        _ tally: Tally
    ) async throws {
        let client = try await service.client()
        var number = 0
        while ContinuousClock.now < end {
            let account = account(number % wallets)
            let sold = try await client.credit(signedTransaction: try studio.purchase(number), account: account)
            #expect(sold.outcome == .credited)
            check(sold.balances)
            tally.note("credited")
            if number % 3 == 2 {
                let back = number - Int.random(in: 0...min(number, 100))
                let share: Int64? = number % 2 == 0 ? nil : 40_000
                let refund = try await client.credit(
                    signedTransaction: try studio.refund(back, share: share, after: Int64(number)),
                    account: Self.account(back % wallets))
                check(refund.balances)
                tally.note("refunded")
            }
            number += 1
        }
        try await client.close()
    }

    /// The trial balance is zero, and the wallets of one moment add up to it.
    private static func audit(
        _ service: RunningService, until end: ContinuousClock.Instant, _ tally: Tally
    ) async throws {
        let client = try await service.client()
        while ContinuousClock.now < end {
            let trial = try await client.report(.trial)
            var kinds: [AccountKind: Int128] = [:]
            for case .trial(_, let kind, let debits, let credits) in trial.rows { kinds[kind] = debits - credits }
            #expect(kinds.values.reduce(0, +) == 0)
            var (available, held, debt): (Int128, Int128, Int128) = (0, 0, 0)
            var after: String?
            repeat {
                let page = try await client.report(.balances, asOf: trial.asOf, limit: 33, after: after)
                for case .balance(_, _, let some, let set, let owed, let paid) in page.rows {
                    #expect(some >= 0 && set >= 0 && owed >= 0 && paid >= 0 && (some == 0 || owed == 0))
                    available += Int128(some)
                    held += Int128(set)
                    debt += Int128(owed)
                }
                after = page.next
            } while after != nil
            #expect(-(kinds[.wallet] ?? 0) == available)
            #expect(-(kinds[.held] ?? 0) == held)
            #expect(kinds[.receivable] ?? 0 == debt)
            tally.note("audits")
            try await Task.sleep(for: .milliseconds(100))
        }
        try await client.close()
    }

    /// The journal has every entry once, in order, and up to a moment it comes to that moment's balances. (Holds go on
    /// expiring.)
    private static func replay(_ service: RunningService) async throws {
        let client = try await service.client()
        let report = try await client.report(.balances, limit: wallets)
        // A wallet of which all is spent and taken back is none of a report.
        #expect(report.next == nil && !report.rows.isEmpty && report.rows.count <= wallets)
        var balances: [AccountName: (available: Int64, held: Int64, debt: Int64)] = [:]
        var last: EntryID = 0
        journal: while true {
            let page = try await client.journal(after: last, limit: 1_000)
            if page.entries.isEmpty { break }
            for entry in page.entries {
                #expect(entry.entry == last + 1)
                last = entry.entry
                if entry.time > report.asOf { break journal }
                for line in entry.transfers {
                    var balance = balances[line.account, default: (0, 0, 0)]
                    if line.credit == .wallet { balance.available += line.amount.units }
                    if line.debit == .wallet { balance.available -= line.amount.units }
                    if line.credit == .held { balance.held += line.amount.units }
                    if line.debit == .held { balance.held -= line.amount.units }
                    if line.debit == .receivable { balance.debt += line.amount.units }
                    if line.credit == .receivable { balance.debt -= line.amount.units }
                    #expect(balance.held >= 0)
                    balances[line.account] = balance
                }
            }
        }
        #expect(last > 0)
        for case .balance(let account, _, let available, let held, let debt, _) in report.rows {
            let own = balances.removeValue(forKey: account) ?? (0, 0, 0)
            #expect(own.available == available && own.held == held && own.debt == debt)
        }
        #expect(balances.values.allSatisfy { $0 == (0, 0, 0) })
        try await client.close()
    }

    /// How often each thing came out.
    private final class Tally: Sendable {
        let counts = Mutex<[String: Int]>([:])

        func note(_ what: String) { counts.withLock { $0[what, default: 0] += 1 } }
    }

    /// One connection's game server.
    private struct GameServer {
        let client: LedgerClient
        var random: SplitMix64
        let tally: Tally
        var spends: [RequestKey] = []
        var holds: [RequestKey] = []

        mutating func act() async throws {
            let account = SharedWalletsTests.account(Int.random(in: 0..<SharedWalletsTests.wallets, using: &random))
            let amount = try #require(Amount(Int64.random(in: 1...60, using: &random)))
            let key = RequestKey.timeOrdered()
            do {
                switch Int.random(in: 0..<8, using: &random) {
                case 0..<3:
                    let receipt = try await client.spend(
                        Spend(
                            key: key, account: account,
                            debits: [CurrencyAmount(currency: SharedWalletsTests.gems, amount: amount)]))
                    SharedWalletsTests.check(receipt.balances)
                    spends.append(key)
                    tally.note("spent")
                case 3:
                    guard let spend = spends.randomElement(using: &random) else { return }
                    let receipt = try await client.reverse(Reversal(key: key, spendKey: spend))
                    SharedWalletsTests.check(receipt.balances)
                    tally.note("reversed")
                case 4, 5:
                    let receipt = try await client.hold(
                        Hold(
                            key: key, account: account, currency: SharedWalletsTests.gems, amount: amount,
                            timeoutMilliseconds: Int64.random(in: 500...60_000, using: &random)))
                    SharedWalletsTests.check(receipt.balances)
                    holds.append(key)
                    tally.note("held")
                case 6:
                    guard let hold = holds.randomElement(using: &random) else { return }
                    let receipt = try await client.capture(Capture(key: key, holdKey: hold))
                    SharedWalletsTests.check(receipt.balances)
                    tally.note("captured")
                default:
                    guard let hold = holds.randomElement(using: &random) else { return }
                    let receipt = try await client.release(Release(key: key, holdKey: hold))
                    SharedWalletsTests.check(receipt.balances)
                    tally.note("released")
                }
            } catch let error as WireError {
                let expected = ["insufficient_funds", "already_reversed", "hold_closed", "hold_expired"]
                #expect(expected.contains(error.reason), "\(error)")
                tally.note(error.reason)
            }
        }
    }
}
