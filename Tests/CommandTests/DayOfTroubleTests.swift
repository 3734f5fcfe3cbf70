import AppStoreSimulator
import Foundation
import LedgerClient
import LedgerTestKit
import Testing

/// A day in a simulated App Store: notifications are lost, doubled and shuffled, its API fails, and the service is
/// killed again and again.
///
/// `LEDGER_DAY_PURCHASES` says how many purchases the day has (300); with 10,000 the service is killed a dozen times.
@Suite(.serialized) struct DayOfTroubleTests {
    /// What was done in the day.
    private struct Day {
        var ids: [String] = []
        /// Whose each purchase is.
        var owners: [String: String] = [:]
        /// Purchases in which Apple says no account: the game credits them.
        var nameless: Set<String> = []
        /// Purchases about which Apple asked.
        var asked: Set<String> = []
        /// When the service was killed, in milliseconds since the UNIX epoch.
        var kills: [Int64] = []
    }

    /// The simulator, what drives it, and the service that it tells.
    private final class Stand {
        let folder: TemporaryFolder
        let simulator: RunningSimulator
        let arguments: [String]
        let players: [String]
        private(set) var service: RunningService
        private(set) var client: LedgerClient

        init(seed: UInt64) async throws {
            folder = try TemporaryFolder()
            #expect(try Command.run(["sandbox", "init", folder.path("chain")]).status == 0)
            try folder.write(
                "catalog.json",
                #"{"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}"#)
            try folder.write(
                "ledger.json",
                """
                {"path": "ledger", "listen": ["127.0.0.1:0"], "http": {"listen": ["127.0.0.1:0"]},
                 "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
                 "anchors": ["chain/root.der"], "catalog": "catalog.json", "insecureLoopback": true}
                """)
            service = try RunningService(folder)
            let http = String(try #require(try service.said.firstMatch(of: /http=(\S+)/)?.1))
            #expect(service.stop() == 0)
            simulator = try await RunningSimulator(
                folder,
                [
                    "--webhook", "http://\(http)/app-store/notifications", "--lose", "20%", "--double", "10%",
                    "--shuffle", "--fail", "5%", "--speed", "36000", "--seed", "\(seed)",
                ])
            let introduction = simulator.introduction
            func text(_ name: String) throws -> String { try #require(introduction[name] as? String) }
            arguments = [
                "--http-listen", http, "--app-store-key", try text("keyFile"), "--app-store-key-id",
                try text("keyId"), "--app-store-issuer-id", try text("issuerId"), "--app-store-address",
                simulator.address, "--app-store-history-seconds", "1", "--app-store-finish", "true",
                "--app-store-set-account-tokens", "true",
            ]
            players = (0..<20).map { "f47ac10b-58cc-4372-a567-0e02b2c3d4\(50 + $0)" }
            service = try RunningService(folder, arguments: arguments)
            client = try await service.client()
        }

        /// The first half of them.
        func hasConsented(_ player: String) -> Bool { players.prefix(players.count / 2).contains(player) }

        func killService() async throws {
            service.kill()
            try? await client.close()
            service = try RunningService(folder, arguments: arguments)
            client = try await service.client()
        }

        /// The game's backend says whose a purchase is.
        func claim(_ signedTransaction: String, for player: String) async throws {
            let account = try #require(AccountName(player))
            _ = try await client.credit(signedTransaction: signedTransaction, account: account)
        }
    }

    private static let purchases =
        ProcessInfo.processInfo.environment["LEDGER_DAY_PURCHASES"].flatMap { Int($0) } ?? 300
    private static let killsMax = purchases >= 10_000 ? 12 : 4

    @Test func theBooksBecomeTheAppStoresAndEverythingIsToldOnce() async throws {
        let seed = Seed.drawn()
        let stand = try await Stand(seed: seed)
        try await Self.consent(stand)
        let begin = ContinuousClock.now
        let day = try await Self.drive(stand, seed)
        let driven = ContinuousClock.now - begin

        var state: [String: [String: Any]] = [:]
        var isDone = false
        let end = begin + driven + .seconds(120 + Self.purchases / 20)
        while !isDone, ContinuousClock.now < end {
            try await Task.sleep(for: .seconds(1))
            state = try stand.simulator.state()
            isDone = state.allSatisfy { id, purchase in
                purchase["finished"] as? Bool == true
                    && (!Self.mustBeAnswered(id, day, stand) || !Self.answers(purchase).isEmpty)
            }
        }
        let said = try stand.service.said.suffix(4_000)
        #expect(isDone && state.count == Self.purchases, "seed \(seed): \(said)")
        // A few looks later nothing was told twice.
        try await Task.sleep(for: .seconds(11))
        state = try stand.simulator.state()
        var repeats = 0
        for (id, purchase) in state {
            let (answers, finishes) = (Self.answers(purchase), Self.calls(purchase, "finishCalls"))
            if Self.mustBeAnswered(id, day, stand) {
                #expect(!answers.isEmpty, "seed \(seed), \(id)")
            } else {
                #expect(answers.isEmpty, "seed \(seed), \(id): nobody consented, or nobody asked")
            }
            for (calls, time) in [(answers, "answeredAt"), (finishes, "calledAt")] {
                repeats += max(0, calls.count - 1)
                #expect(calls.count <= 1 + Self.repeatsMax(calls, time, day), "seed \(seed), \(id): \(calls)")
            }
            let token = purchase["appAccountToken"] as? String
            #expect(token == day.owners[id] || token == nil && day.nameless.contains(id), "seed \(seed), \(id)")
        }
        // Some were claimed after Apple's notification had come: of these Apple is told whose they are.
        #expect(day.nameless.contains { state[$0]?["appAccountToken"] is String }, "seed \(seed)")
        try await Self.compare(state, day, stand, "seed \(seed)")
        try await stand.client.close()
        #expect(stand.service.stop() == 0)
        #expect(try stand.simulator.stop().status == 0)
        let audit = try Command.run(["audit", "--config", stand.folder.path("ledger.json")])
        #expect(audit.status == 0 && audit.output.contains("everything holds"), "\(audit.output)\(audit.error)")
        let answered = state.count { !Self.answers($0.value).isEmpty }
        print(
            "seed \(seed): \(state.count) purchases driven in \(driven), done after \(ContinuousClock.now - begin);",
            "\(day.kills.count) kills, \(day.asked.count) questions, \(answered) answered, \(repeats) repeats")
    }

    private static func answers(_ purchase: [String: Any]) -> [[String: Any]] {
        calls(purchase, "consumptionAnswers")
    }

    private static func calls(_ purchase: [String: Any], _ kind: String) -> [[String: Any]] {
        purchase[kind] as? [[String: Any]] ?? []
    }

    /// How often the same may be told again: once for each call whose reply was lost, and once for each kill before
    /// which a call may not have been recorded any more.
    private static func repeatsMax(_ calls: [[String: Any]], _ time: String, _ day: Day) -> Int {
        let lost = calls.count { $0["replyLost"] as? Bool == true }
        let killed = day.kills.count { kill in
            calls.contains { (kill - 2_000...kill + 500).contains($0[time] as? Int64 ?? 0) }
        }
        return lost + killed
    }

    private static func mustBeAnswered(_ id: String, _ day: Day, _ stand: Stand) -> Bool {
        day.asked.contains(id) && stand.hasConsented(day.owners[id] ?? "")
    }

    private static func consent(_ stand: Stand) async throws {
        for player in stand.players where stand.hasConsented(player) {
            _ = try await stand.client.consent(
                Consent(
                    key: try #require(RequestKey("c-\(player)")), account: try #require(AccountName(player)),
                    consumption: true))
        }
    }

    /// Players buy, a third of them without an account, which the game says at once, or some purchases later; of some
    /// purchases a part is refunded, of some of these that is reversed, and about some Apple asks.
    private static func drive(_ stand: Stand, _ seed: UInt64) async throws -> Day {
        let client = SimulatorClient(address: stand.simulator.address)
        var (random, day) = (SplitMix64(seed: seed), Day())
        var unclaimed: [(jws: String, player: String)] = []
        for number in 1...purchases {
            let player = stand.players[Int.random(in: 0..<stand.players.count, using: &random)]
            let isNameless = random.chance(33)
            var order = SimulatorCommand.PurchaseOrder(productID: "com.example.game.gems500")
            order.appAccountToken = isNameless ? nil : player
            order.quantity = Int64.random(in: 1...10, using: &random)
            let bought = try await client.perform(.buy(order))
            let id = bought.transactionID
            day.ids.append(id)
            day.owners[id] = player
            if isNameless {
                day.nameless.insert(id)
                unclaimed.append((bought.signedTransaction, player))
                let room = random.chance(50) ? 0 : 5
                while unclaimed.count > room {
                    let (jws, player) = unclaimed.removeFirst()
                    try await stand.claim(jws, for: player)
                }
            }
            if random.chance(10) {
                let other = day.ids[Int.random(in: 0..<day.ids.count, using: &random)]
                var refund = SimulatorCommand.RefundOrder(transactionID: other)
                refund.percentage = Int64.random(in: 1...100_000, using: &random)
                try await perform(.refund(refund), client)
                if random.chance(30) { try await perform(.reverse(transactionID: other), client) }
            }
            if random.chance(3),
                try await perform(
                    .requestConsumption(transactionID: id, reason: .unintendedPurchase), client)
            {
                day.asked.insert(id)
            }
            if number % (purchases / killsMax) == 0, day.kills.count < killsMax {
                day.kills.append(Int64(Date().timeIntervalSince1970 * 1_000))
                try await stand.killService()
            }
        }
        for (jws, player) in unclaimed { try await stand.claim(jws, for: player) }
        return day
    }

    /// - Returns: whether the simulator did it; it refuses a second refund of the same part, for example.
    @discardableResult
    private static func perform(_ command: SimulatorCommand, _ client: SimulatorClient) async throws -> Bool {
        do throws(SimulatorError) {
            try await client.perform(command)
            return true
        } catch {
            if error.kind == .unavailable { throw error }
            return false
        }
    }

    /// Of 500 gems a unit, what of a purchase stands.
    private static func standing(_ purchase: [String: Any]) -> Int64 {
        let granted = (purchase["quantity"] as? Int64 ?? 0) * 500
        let left = 100_000 - (purchase["revoked"] as? Int64 ?? 0)
        return (granted * left + 99_999) / 100_000
    }

    private static func compare(
        _ state: [String: [String: Any]], _ day: Day, _ stand: Stand, _ about: String
    ) async throws {
        let gems = try #require(CurrencyCode("gems"))
        for player in stand.players {
            let account = try #require(AccountName(player))
            let wanted = state.filter { day.owners[$0.key] == player }.values.map(standing).reduce(0, +)
            var found: Int64 = 0
            // The last notification may be on its way.
            for _ in 0..<600 {
                let balance = try await stand.client.balance(account, currency: gems).balances.first?.balance
                found = (balance?.available ?? 0) - (balance?.debt ?? 0)
                if found == wanted { break }
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(found == wanted, "\(about), \(player): \(found) in the books, \(wanted) sold")
        }
    }
}
