import Foundation
import LedgerClient
import LedgerTestKit
import LedgerWire
import Synchronization
import Testing

/// SIGKILL again and again while everything is asked of the service at once: nothing that was acknowledged is lost,
/// nothing is done twice, and another program finds the log whole each time.
@Suite struct KillTests {
    private static let gems = CurrencyCode("gems")!
    private static let players = 200
    private static let granted: Int64 = 1_000_000

    private static func account(_ number: Int) -> AccountName { AccountName("player-\(number % players)")! }

    /// What each request adds to what is available and held; refused by none of these, in whatever order they come.
    private static func effect(_ number: Int) -> (available: Int64, held: Int64) {
        switch number % 5 {
        case 0: (500, 0)
        case 1: (7, 0)
        case 2: (-2, 0)
        case 3: (-3, 3)
        default: (4 - 1, 0)
        }
    }

    private static func write(
        _ number: Int, _ purchases: [[UInt8]], _ id: RequestID, to writer: inout RequestWriter
    ) {
        let key = RequestKey("r\(number)")!
        let account = account(number)
        func amounts(_ units: Int64) -> [CurrencyAmount] { [CurrencyAmount(currency: gems, amount: Amount(units)!)] }
        switch number % 5 {
        case 0:
            writer.write(
                Methods.credit, Credit(signedTransaction: purchases[number / 5], account: account), id: id)
        case 1:
            writer.write(
                Methods.grant, Grant(key: key, account: account, currency: gems, amount: Amount(7)!), id: id)
        case 2:
            writer.write(Methods.spend, Spend(key: key, account: account, debits: amounts(2)), id: id)
        case 3:
            let hold = Hold(
                key: key, account: account, currency: gems, amount: Amount(3)!, timeoutMilliseconds: 3_600_000)
            writer.write(Methods.hold, hold, id: id)
        default:
            let operations: [KeyedOperation] = [
                .grant(Grant(key: key, account: account, currency: gems, amount: Amount(4)!)),
                .spend(Spend(key: key, account: account, debits: amounts(1))),
            ]
            writer.write(Methods.atomic, Atomic(key: key, operations: operations), id: id)
        }
    }

    @Test func aMixedLoadSurvivesManyKills() async throws {
        let count = Int(ProcessInfo.processInfo.environment["LEDGER_KILL_REQUESTS"] ?? "") ?? 30_000
        let kills = Int(ProcessInfo.processInfo.environment["LEDGER_KILLS"] ?? "") ?? 6
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let studio = try Studio()
        let purchases = try (0...count / 5).map { Array(try studio.purchase($0).utf8) }
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        for number in 0..<Self.players {
            _ = try await client.grant(
                Grant(
                    key: RequestKey("first-\(number)")!, account: Self.account(number), currency: Self.gems,
                    amount: Amount(Self.granted)!))
        }
        let acknowledged = Mutex<Set<Int>>([])
        for round in 0...kills {
            let isLast = round == kills
            // What was not acknowledged, and some of what was: that must be known.
            let known = acknowledged.withLock { $0 }
            let wanted = (0..<count).filter { !known.contains($0) || random.chance(5) }
            let killAt = isLast ? Int.max : Int.random(in: 0...wanted.count / (kills - round + 1), using: &random)
            let process = service.process.processIdentifier
            let failures = Mutex<[String]>([])
            do {
                try await client.pipeline(
                    count: wanted.count, inFlight: 2_000,
                    write: { index, id, writer in
                        Self.write(wanted[index], purchases, id, to: &writer)
                    },
                    reply: { index, result in
                        if index == killAt { Foundation.kill(process, SIGKILL) }
                        let number = wanted[index]
                        switch result {
                        case .success(let json):
                            let text = String(decoding: json, as: UTF8.self)
                            let isReplay =
                                text.contains(#""replayed":true"#) || text.contains(#""outcome":"already_credited""#)
                            let isNew = acknowledged.withLock { $0.insert(number).inserted }
                            if !isNew && known.contains(number) && !isReplay {
                                failures.withLock { $0.append("request \(number) was done twice: \(text)") }
                            }
                        case .failure(let error):
                            // Killed at that moment, or answered by a service that was dying.
                            if error.reason != "outcome_unknown" && error.reason != "storage_unavailable" {
                                failures.withLock { $0.append("request \(number): \(error)") }
                            }
                        }
                    })
                #expect(isLast, "seed \(seed): round \(round) was not killed")
            } catch is ClientError where !isLast {}
            #expect(failures.withLock { $0 } == [], "seed \(seed)")
            if isLast { break }
            service.kill()
            try? await client.close()
            if ChainVerifier.isThere {
                // What was never acknowledged may stand torn at the end until the next start.
                service = try RunningService(studio.folder)
                let verified = try ChainVerifier.run(studio.folder.path("ledger"))
                #expect(verified.status == 0, "seed \(seed), round \(round): \(verified.output)")
            } else {
                service = try RunningService(studio.folder)
            }
            client = try await service.client()
        }
        #expect(acknowledged.withLock { $0.count } == count, "seed \(seed)")
        for player in 0..<Self.players {
            var (available, held) = (Self.granted, Int64(0))
            for number in stride(from: player, to: count, by: Self.players) {
                available += Self.effect(number).available
                held += Self.effect(number).held
            }
            let balance = try await client.balance(Self.account(player)).balances.first?.balance
            #expect(balance?.available == available && balance?.held == held, "seed \(seed), player \(player)")
        }
        let sums = try await client.report(.trial).rows.reduce(into: Int64(0)) { sum, row in
            if case .trial(_, _, let debits, let credits) = row { sum += debits - credits }
        }
        #expect(sums == 0, "seed \(seed)")
        try await client.close()
        #expect(service.stop() == 0)
    }
}
