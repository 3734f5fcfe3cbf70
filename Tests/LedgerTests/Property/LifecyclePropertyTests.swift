import Foundation
import Ledger
import LedgerTestKit
import Testing

/// Random lives of random purchases against the model. Case `n` of a run has the seed `LEDGER_SEED + n`; a failure
/// names the seed of its case, and `LEDGER_SEED=… LEDGER_PROPERTY_CASES=1` runs that case alone.
@Suite struct LifecyclePropertyTests {
    private static let casesDefault = 10_000
    private static let shards = 4
    private static let settings: (seed: UInt64, cases: Int) = {
        let environment = ProcessInfo.processInfo.environment
        let seed = Seed.drawn(for: "LifecyclePropertyTests")
        let cases = environment["LEDGER_PROPERTY_CASES"].flatMap { Int($0) } ?? casesDefault
        return (seed, cases)
    }()

    @Test(arguments: 0..<shards)
    func everyOrderEndsAsTheModelSays(shard: Int) async {
        var reached: Set<String> = []
        var cases = 0
        for number in stride(from: shard, to: Self.settings.cases, by: Self.shards) {
            let seed = Self.settings.seed &+ UInt64(number)
            // Other tests, which wait for clocks and sockets, have the same few threads.
            await Task.yield()
            do {
                try Self.runCase(seed, &reached)
            } catch {
                Issue.record("\(error); replay with LEDGER_SEED=\(seed) LEDGER_PROPERTY_CASES=1")
                return
            }
            cases += 1
        }
        if cases >= 200 {
            // A generator that no longer reaches what the test is about would pass for ever.
            let missing = Self.toReach.subtracting(reached)
            #expect(missing.isEmpty)
        }
    }

    private static let toReach: Set<String> = Set(PurchaseOutcome.allCases.map(\.rawValue)).union([
        "debt", "debt recovered", "debt recovered by a grant", "written off", "write-off undone", "spent",
        "insufficient funds", "repeated", "accountRequired", "accountMismatch",
    ])

    private static func runCase(_ seed: UInt64, _ reached: inout Set<String>) throws(ScenarioRun.Mismatch) {
        var random = SplitMix64(seed: seed)
        let scenario = Scenario(&random)

        // With spends between: each wallet is worth the same once what was spent is put back, and so is each purchase.
        let all = scenario.deliveries + scenario.spendsAndGrants
        let first = try runOrder(scenario, all, &random, &reached)
        let second = try runOrder(scenario, all, &random, &reached)
        if first.posted != second.posted { throw .init(description: "two orders post differently") }
        if first.worth != second.worth {
            throw .init(description: "two orders end in \(first.worth) and \(second.worth)")
        }

        // Without: everything is the same.
        let third = try runOrder(scenario, scenario.deliveries, &random, &reached)
        let fourth = try runOrder(scenario, scenario.deliveries, &random, &reached)
        if third != fourth { throw .init(description: "two orders end in \(third) and \(fourth)") }
        if third.posted != first.posted { throw .init(description: "spends change what purchases post") }
    }

    private static func runOrder(
        _ scenario: Scenario, _ commands: [Command], _ random: inout SplitMix64, _ reached: inout Set<String>
    ) throws(ScenarioRun.Mismatch) -> ScenarioRun.End {
        var run = ScenarioRun(scenario)
        let order = random.chance(50) ? commands.shuffled(using: &random) : roughlyByDate(commands, &random)
        try run.run(order, &random)
        reached.formUnion(run.model.reached)
        return run.end()
    }

    /// As it mostly happens, so that refunds are reversed after what they took was spent.
    private static func roughlyByDate(_ commands: [Command], _ random: inout SplitMix64) -> [Command] {
        let placed = commands.map { command -> (place: Double, command: Command) in
            switch command {
            case .credit(let signed, _): (Double(signed.signedDate) + .random(in: 0..<2, using: &random), command)
            case .notify(let signed, _): (Double(signed.signedDate) + .random(in: 0..<2, using: &random), command)
            case .keyed, .atomic, .external, .adjust, .importLots, .link, .consent, .record, .expire, .balance,
                .consumption,
                .forget:
                (.random(in: 1..<7, using: &random), command)
            }
        }
        return placed.sorted { $0.place < $1.place }.map(\.command)
    }
}
