import Ledger
import LedgerTestKit
import Testing

/// A guest of hundreds of lots, with debts, holds and half-refunded purchases, who is linked to an account: whatever
/// comes then is as if all of it had been the account's from the beginning.
@Suite struct LinkPropertyTests {
    private static let guest = AppAccountToken("5f0e8c2a-0000-4000-8000-00000000000c")!

    /// The same life twice: once of a guest who is linked, once of the account alone.
    private struct Lives {
        var linked = AuditedStore()
        var direct = AuditedStore()
        var isLinked = false

        /// The name under which the guest's life goes on.
        func name(_ random: inout SplitMix64) -> AccountName {
            isLinked && random.chance(50) ? "ann" : LinkPropertyTests.guest.account
        }

        mutating func pass(_ milliseconds: Int64) {
            linked.now += milliseconds
            direct.now += milliseconds
        }

        mutating func both<Answer>(
            _ name: AccountName, _ ask: (inout AuditedStore, AccountName) throws -> Answer
        ) -> (linked: Result<Answer, any Error>, direct: Result<Answer, any Error>) {
            (Result { try ask(&linked, name) }, Result { try ask(&direct, "ann") })
        }
    }

    @Test func aLinkedGuestIsAsIfTheyHadAlwaysBeenTheAccount() async throws {
        let seed = Seed.drawn(for: "aLinkedGuestIsAsIfTheyHadAlwaysBeenTheAccount")
        var reached: Set<String> = []
        for number in 0..<12 {
            await Task.yield()
            try live(seed &+ UInt64(number), &reached)
        }
        #expect(reached.isSuperset(of: ["a debt", "a hold", "half refunded", "a used lot", "300 lots"]))
    }

    private func live(_ seed: UInt64, _ reached: inout Set<String>) throws {
        var random = SplitMix64(seed: seed)
        var lives = Lives()
        let purchases = 200
        var revoked = [Int64](repeating: 0, count: purchases + 1)
        var keys: [RequestKey] = []
        var holds: [RequestKey] = []
        let refundsLast = random.chance(50)

        func credit(_ number: Int, signed: Timestamp, _ lives: inout Lives, _ random: inout SplitMix64) throws {
            let name = lives.name(&random)
            let revoked = revoked[number]
            let (left, right) = lives.both(name) { store, account in
                let signed = jws(
                    TransactionID(number: Int64(number)), number % 3 == 0 ? "starter" : "gems100", signed: signed,
                    revoked: revoked, price: number % 7 == 0 ? 0 : 990)
                return try store.credit(signed, account)
            }
            let (linked, direct) = (try left.get(), try right.get())
            try #require(
                linked.outcome == direct.outcome && linked.posted == direct.posted, "seed \(seed), purchase \(number)")
        }

        for number in 1...purchases {
            lives.pass(20)
            try credit(number, signed: 1, &lives, &random)
            if random.chance(50) {
                let key = RequestKey("g\(number)")!
                let amount = Amount(Int64.random(in: 1...40, using: &random))!
                let expiresAt = random.chance(30) ? lives.linked.now + Int64.random(in: 1...4_000, using: &random) : nil
                _ = lives.both(lives.name(&random)) { try $0.grant(key, $1, amount, expiresAt: expiresAt) }
            }
            if random.chance(40) {
                let key = RequestKey("s\(number)")!
                let amount = Amount(Int64.random(in: 1...400, using: &random))!
                keys.append(key)
                _ = lives.both(lives.name(&random)) { try $0.spend(key, $1, amount) }
            }
            if random.chance(8) {
                let key = RequestKey("h\(number)")!
                let amount = Amount(Int64.random(in: 1...60, using: &random))!
                holds.append(key)
                _ = lives.both(lives.name(&random)) { try $0.hold(key, $1, amount, timeout: 100_000) }
            }
            if random.chance(12) {
                let which = Int.random(in: 1...number, using: &random)
                if revoked[which] == 0 {
                    revoked[which] = random.chance(50) ? 50_000 : 33_333
                    try credit(which, signed: 2, &lives, &random)
                }
            }
        }
        if random.chance(70) {
            // All that is left is spent, and a refund then owes.
            let left = try lives.direct.balance("ann").available
            if let amount = Amount(left) {
                keys.append("all")
                _ = lives.both(lives.name(&random)) { try $0.spend("all", $1, amount) }
            }
            let which = Int.random(in: 1...purchases, using: &random)
            revoked[which] = max(revoked[which], 60_000)
            try credit(which, signed: 3, &lives, &random)
        }
        let player = lives.linked.player(Self.guest.account)
        note(try #require(player), lives.linked, revoked, &reached)
        if random.chance(50) { lives.linked.checkpoint() }
        if random.chance(50) { lives.linked.forget() }
        try lives.linked.link(Self.guest, to: "ann")
        lives.isLinked = true
        try compare(&lives, purchases, "seed \(seed): linked")

        // Every further refund, among whatever else may come.
        for number in (1...purchases).shuffled(using: &random) {
            lives.pass(5)
            if random.chance(20) { lives.linked.checkpoint() }
            if random.chance(20) { lives.linked.forget() }
            if random.chance(4) { lives.linked.restart(fromGenesis: random.chance(30)) }
            if !refundsLast, random.chance(30), let key = keys.randomElement(using: &random) {
                let reversal = RequestKey("r\(number)")!
                let (left, right) = lives.both("ann") { store, _ in try store.reverse(reversal, key) }
                #expect((try? left.get())?.returned.count == (try? right.get())?.returned.count)
            }
            if random.chance(10), let key = holds.popLast() {
                let capture = RequestKey("c\(number)")!
                let isCaptured = random.chance(50)
                _ = lives.both("ann") { store, _ in
                    if isCaptured { _ = try store.capture(capture, key) } else { _ = try store.release(capture, key) }
                }
            }
            revoked[number] = 100_000
            try credit(number, signed: 10, &lives, &random)
            if number % 20 == 0 { try compare(&lives, purchases, "seed \(seed): refund of \(number)") }
            if random.chance(20) {
                revoked[number] = 0
                try credit(number, signed: 11, &lives, &random)
            }
        }
        try compare(&lives, purchases, "seed \(seed): the end")
        let before = lives.linked.snapshot()
        lives.linked.restart(fromGenesis: true)
        #expect(lives.linked.snapshot() == before, "seed \(seed)")
    }

    private func note(_ player: Player, _ store: AuditedStore, _ revoked: [Int64], _ reached: inout Set<String>) {
        if player.wallets.contains(where: { $0.debt > 0 }) { reached.insert("a debt") }
        if !player.holds.isEmpty { reached.insert("a hold") }
        if revoked.contains(where: { $0 > 0 && $0 < 100_000 }) { reached.insert("half refunded") }
        let lots = store.index.rows.lots.count
        if player.wallets.reduce(0, { $0 + $1.open.count }) < lots { reached.insert("a used lot") }
        if lots >= 300 { reached.insert("300 lots") }
    }

    private func compare(_ lives: inout Lives, _ purchases: Int, _ place: Comment) throws {
        for currency in ["gems", "tickets", "coins"] as [CurrencyCode] {
            var (left, right) = (
                try lives.linked.balance("ann", currency), try lives.direct.balance("ann", currency)
            )
            // The link is an entry more.
            (left.version, right.version) = (0, 0)
            try #require(left == right, place)
            #expect(try lives.linked.balance(Self.guest.account, currency).available == right.available, place)
        }
        for number in stride(from: 1, through: purchases, by: 7) {
            let transaction = TransactionID(number: Int64(number))
            let (left, right) = (try lives.linked.view(transaction), try lives.direct.view(transaction))
            try #require(left.account == "ann" && left.state == right.state, place)
            try #require(left.consumption == right.consumption, place)
            for (left, right) in zip(left.grants, right.grants) {
                let pairs = [
                    (left.spent, right.spent), (left.held, right.held), (left.revoked, right.revoked),
                    (left.debt, right.debt), (left.remaining, right.remaining), (left.repaid, right.repaid),
                    (left.writtenOff, right.writtenOff),
                ]
                try #require(pairs.allSatisfy { $0.0 == $0.1 }, place)
            }
        }
        try #require(lives.linked.auditor.problems.isEmpty && lives.direct.auditor.problems.isEmpty, place)
    }
}
