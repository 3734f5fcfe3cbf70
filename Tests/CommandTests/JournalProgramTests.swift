import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import Testing

/// The journal of generated books, which other programs of accounting read: they accept it, and count what we count.
@Suite(.enabled(if: !JournalProgram.tested.isEmpty, JournalProgram.absence)) struct JournalProgramTests {
    /// `LEDGER_JOURNAL_OPERATIONS` of them.
    private static let operations =
        ProcessInfo.processInfo.environment["LEDGER_JOURNAL_OPERATIONS"].flatMap { Int($0) } ?? 20_000

    /// Where units are whose money is recognised.
    private static let recognised = ["spent", "receivable", "written_off", "adjusted"]
    private static let personal: Set = ["wallet", "held", "receivable"]

    /// Plays, and waits until what runs out has run out.
    private static func books(_ studio: Studio, seed: UInt64) async throws -> String {
        try GeneratedGame.settings(studio)
        let service = try RunningService(studio.folder)
        let start = ContinuousClock.now
        let outcome = try await GeneratedGame.play(operations, seed: seed, on: service, signedBy: studio.chain) {
            Int64(Date().timeIntervalSince1970 * 1_000)
        }
        print("\(outcome.posted) operations in \(ContinuousClock.now - start), and refused: \(outcome.refused)")
        #expect(outcome.posted > operations * 6 / 10)
        try await Task.sleep(for: .seconds(2))
        #expect(service.stop() == 0)
        return studio.folder.path("ledger")
    }

    @Test func otherProgramsAcceptTheJournalAndCountWhatWeCount() async throws {
        let studio = try Studio()
        let folder = try await Self.books(studio, seed: Seed.drawn())
        let own = try OwnFigures(folder)
        for kind in EntryKind.allCases {
            #expect(own.kinds.contains(kind.name), "no \(kind.name) among \(own.kinds.sorted())")
        }
        #expect(try own.balances.sums("debt", by: "currency").values.contains { $0 > 0 }, "nobody owes anything")
        for source in PurchaseSource.allCases {
            #expect(own.deferred.rows.contains { $0["source"] == source.name }, "nothing was \(source)")
        }
        // Beside each other: each takes one core for minutes where the books are large.
        let counted = try await withThrowingTaskGroup(of: Counted.self) { group in
            for program in JournalProgram.tested {
                let path = studio.folder.path("\(program).journal")
                group.addTask { try Self.count(folder, by: program, path) }
            }
            var all: [Counted] = []
            for try await one in group { all.append(one) }
            return all
        }
        for one in counted {
            own.expectUnits(of: one.program, one.units)
            own.expectCosts(of: one.program, one.costs)
        }
    }

    /// What a program makes of the journal.
    private struct Counted: Sendable {
        let program: JournalProgram
        let units, costs: JournalProgram.Balances
    }

    private static func count(_ folder: String, by program: JournalProgram, _ path: String) throws -> Counted {
        let exported = try Command.run(
            ["export", "journal", "--format", program.rawValue, "--output", path, "--path", folder])
        try #require(exported.status == 0, "\(exported.error)")
        let start = ContinuousClock.now
        try program.check(path)
        let accepted = ContinuousClock.now
        let (units, costs) = (try program.balances(path, atCost: false), try program.balances(path, atCost: true))
        print("\(program): accepted in \(accepted - start), counted in \(ContinuousClock.now - accepted)")
        return Counted(program: program, units: units, costs: costs)
    }

    /// What our reports say, of a ledger's folder.
    private struct OwnFigures {
        let trial, balances, deferred, lots: CSVTable
        let kinds: Set<String>

        init(_ folder: String) throws {
            trial = try .export("trial", folder: folder)
            balances = try .export("balances", folder: folder)
            deferred = try .export("deferred", folder: folder)
            lots = try .export("lots", "--scope", "all", folder: folder)
            kinds = Set(try CSVTable.export("journal", folder: folder).rows.compactMap { $0["kind"] })
            #expect(trial.rows.count > 20 && balances.rows.count > 20 && deferred.rows.count > 10)
        }

        /// Units by account: those of players from `balances`, the others from `trial`.
        func expectUnits(of program: JournalProgram, _ found: JournalProgram.Balances) {
            var expected: JournalProgram.Balances = [:]
            func add(_ account: String, _ currency: String?, _ units: String?, sign: Int128) throws {
                let units = try CSVTable.number(units) * sign * 1_000
                let commodity = program.commodity(try #require(currency))
                if units != 0 { expected[account, default: [:]][commodity] = units }
            }
            #expect(throws: Never.self) {
                for row in trial.rows where !JournalProgramTests.personal.contains(row["account"] ?? "") {
                    try add(program.account(try #require(row["account"])), row["currency"], row["balance"], sign: 1)
                }
                for row in balances.rows {
                    let player = row["account"]
                    try add(program.account("wallet", of: player), row["currency"], row["available"], sign: -1)
                    try add(program.account("held", of: player), row["currency"], row["held"], sign: -1)
                    try add(program.account("receivable", of: player), row["currency"], row["debt"], sign: 1)
                }
            }
            // Corrections in money are no units.
            let money = Set(deferred.rows.compactMap { $0["priceCurrency"] })
            let units = found.mapValues { $0.filter { !money.contains($0.key) } }.filter { !$0.value.isEmpty }
            expectEqual(units, expected, "\(program): units")
        }

        /// What units cost, by the parts into which prices are divided, and by player.
        func expectCosts(of program: JournalProgram, _ found: JournalProgram.Balances) {
            let money = Set(deferred.rows.compactMap { $0["priceCurrency"] }).subtracting([""])
            #expect(money.count == 4)
            func sum(_ kinds: [String], _ currency: String) -> Int128 {
                let accounts = kinds.map { program.account($0) }
                return found.reduce(0) { sum, balance in
                    let isOne = accounts.contains { balance.key == $0 || balance.key.hasPrefix($0 + ":") }
                    return sum + (isOne ? balance.value[currency] ?? 0 : 0)
                }
            }
            #expect(throws: Never.self) {
                let columns = ["sold", "imported", "closing", "refunded", "recognised"]
                let sums = try columns.map { try deferred.sums($0, by: "priceCurrency") }
                for currency in money {
                    let counted = [
                        sum(["purchased"], currency), sum(["imported"], currency),
                        -sum(["wallet", "held"], currency),
                        -sum(["refunded"], currency), -sum(JournalProgramTests.recognised, currency),
                    ]
                    #expect(counted == sums.map { $0[[currency]] ?? 0 }, "\(program): \(columns) of \(currency)")
                    #expect(counted[0] + counted[1] == counted[2] + counted[3] + counted[4])
                    #expect(counted.allSatisfy { $0 > 0 })
                    for kind in ["granted", "expired", "moved"] { #expect(sum([kind], currency) == 0, "\(kind)") }
                }
                var players: JournalProgram.Balances = [:]
                for (key, sum) in try lots.sums("deferred", by: "account", "priceCurrency") where sum != 0 {
                    players[program.account("wallet", of: key[0]), default: [:]][key[1]] = -sum
                }
                var counted: JournalProgram.Balances = [:]
                let (wallet, held) = (program.account("wallet"), program.account("held"))
                for (account, balance) in found {
                    guard account.hasPrefix(wallet + ":") || account.hasPrefix(held + ":") else { continue }
                    let owner = account.hasPrefix(held) ? wallet + account.dropFirst(held.count) : account
                    for (commodity, cost) in balance where money.contains(commodity) {
                        counted[owner, default: [:]][commodity, default: 0] += cost
                    }
                }
                counted = counted.mapValues { $0.filter { $0.value != 0 } }.filter { !$0.value.isEmpty }
                expectEqual(counted, players, "\(program): what players' lots cost")
            }
        }

        private func expectEqual(
            _ found: JournalProgram.Balances, _ expected: JournalProgram.Balances, _ what: String
        ) {
            for account in Set(found.keys).union(expected.keys).sorted() where found[account] != expected[account] {
                let (one, other) = (found[account] ?? [:], expected[account] ?? [:])
                Issue.record("\(what) of \(account): \(one), and not \(other)")
                return
            }
            #expect(!found.isEmpty)
        }
    }
}
