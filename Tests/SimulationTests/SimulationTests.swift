import Foundation
import Glibc
import LedgerTestKit
import Synchronization
import Testing

/// Whole lives of ledgers, each under one seed, which chooses everything: what clients ask, how replies are lost, which
/// thread runs next, what the clock says, where disks fail and when the power goes.
@Suite struct SimulationTests {
    private static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }

    /// A folder in memory where the system has one: the tables' files are SQLite's own, and what is lost of them is
    /// chosen, not waited for.
    private static func folder() throws -> URL {
        let memory = URL(fileURLWithPath: "/dev/shm")
        let isThere = FileManager.default.isWritableFile(atPath: memory.path)
        let parent = isThere ? memory : FileManager.default.temporaryDirectory
        let url = parent.appendingPathComponent("ledger-simulation-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    private struct Result {
        var failures: [String] = []
        var counts: [String: Int] = [:]
    }

    private static func live(_ seed: UInt64, _ items: AppStoreItems) throws -> (trace: UInt64, counts: [String: Int]) {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let simulation = Simulation(seed: seed, items, folder: folder.path)
        simulation.isTold = ProcessInfo.processInfo.environment["LEDGER_SIMULATION_TOLD"] != nil
        let trace = try simulation.run()
        return (trace, simulation.counts)
    }

    @Test func everyAnswerOfEveryLifeIsThatOfTheModel() async throws { try await apart { try Self.liveAll() } }

    private static func liveAll() throws {
        // The same lives every day, so that what fails is what was changed; others are chosen by `LEDGER_SEED`.
        let seed = Seed.drawn(or: 1, for: "everyAnswerOfEveryLifeIsThatOfTheModel()")
        let count = Self.number("LEDGER_SIMULATIONS") ?? 1_000
        let isTold = ProcessInfo.processInfo.environment["LEDGER_SIMULATIONS"] != nil
        let items = try AppStoreItems()
        let result = Mutex(Result())
        let next = Mutex(0)
        let workers = Self.number("LEDGER_SIMULATION_THREADS") ?? 2
        let ended = DispatchSemaphore(value: 0)
        for _ in 0..<workers {
            Start {
                // Nobody waits for it but this test; others measure time.
                _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                while true {
                    let number = next.withLock { next in
                        defer { next += 1 }
                        return next
                    }
                    if number >= count || result.withLock({ $0.failures.count >= 5 }) { break }
                    let own = seed &+ UInt64(number)
                    // A broken invariant traps, and then nothing else is printed.
                    if isTold || number % 50 == 0 { print("life \(own)") }
                    do {
                        let (_, counts) = try Self.live(own, items)
                        result.withLock { $0.counts.merge(counts, uniquingKeysWith: +) }
                    } catch {
                        if isTold { print("\(error)") }
                        let text = "LEDGER_SEED=\(own), life \(number + 1): \("\(error)".prefix(4_000))"
                        result.withLock { $0.failures.append(text) }
                    }
                }
                ended.signal()
            }.begin()
        }
        for _ in 0..<workers { ended.wait() }
        let (failures, counts) = result.withLock { ($0.failures, $0.counts) }
        if isTold { for (what, count) in counts.sorted(by: { $0.key < $1.key }) { print("\(count) \(what)") } }
        for failure in failures { Issue.record("\(failure)") }
    }

    /// What a seed finds it finds again: the same threads take the same turns.
    @Test func aSeedIsPlayedAgainExactly() async throws { try await apart { try Self.playAgain() } }

    private static func playAgain() throws {
        let seed = Seed.drawn(or: 1, for: "aSeedIsPlayedAgainExactly()")
        let items = try AppStoreItems()
        for number in 0..<12 as Range<UInt64> {
            let first = try Self.live(seed &+ number, items)
            let second = try Self.live(seed &+ number, items)
            #expect(first.trace == second.trace, "LEDGER_SEED=\(seed &+ number)")
            #expect(first.counts == second.counts, "LEDGER_SEED=\(seed &+ number)")
        }
    }
}
