import Foundation
import Ledger
import LedgerTestKit
import Testing

/// Random game operations against the model: after every one the answer, the balances and every open lot are compared,
/// while the store is checkpointed, forgets, restarts and loses batches, and the clock runs past expiries.
@Suite struct GamePropertyTests {
    private static let accounts: [AccountName] = ["ann", "bob"] + GameWorkload.tokens.map(\.account)
    private static let currencies: [CurrencyCode] = ["gems", "tickets"]

    @Test(arguments: SpendOrder.allCases)
    func everyAnswerAndEveryLotIsTheModels(order: SpendOrder) async throws {
        let seed = Seed.drawn(for: "everyAnswerAndEveryLotIsTheModels, \(order)")
        var reached: Set<String> = []
        for number in 0..<200 {
            // Other tests, which wait for clocks and sockets, have the same few threads.
            await Task.yield()
            try runCase(seed &+ UInt64(number), order, &reached)
        }
        let toReach: Set<String> = [
            "an atomic", "an atomic undone", "an answer again", "a refusal again", "a part captured", "released",
            "reversed", "hold closed", "hold expired", "debt", "debt beside a hold", "debt paid", "a lot expired",
            "a hold expired", "expired on the way back", "lots left in the store", "linked", "linked already",
            "linked to another", "another's token", "a hold moved", "another store", "another store's refund",
            "corrected up", "corrected down",
        ]
        let missing = toReach.subtracting(reached)
        #expect(missing.isEmpty)
    }

    private func runCase(_ seed: UInt64, _ order: SpendOrder, _ reached: inout Set<String>) throws {
        var random = SplitMix64(seed: seed)
        var store = AuditedStore(.catalog(gems: order))
        var model = GameModel(orders: ["gems": order, "tickets": .freeFirst])
        var workload = GameWorkload()
        for step in 0..<60 {
            store.now += random.chance(8) ? 300 : Int64.random(in: -3...20, using: &random)
            let command = workload.next(store.now, &random)
            if random.chance(10) { store.checkpoint() }
            if random.chance(15) { store.forget() }
            if random.chance(5) { store.restart(fromGenesis: random.chance(30)) }
            if random.chance(5) { store.lose([command]) }
            if let key = command.key { model.note(key) }
            let expected = model.take(command, at: store.books.entryTime(store.now))
            let outcome = store.commit([command])[0]
            if store.books.players.values.contains(where: { $0.wallets.contains { !$0.hasAllLots } }) {
                reached.insert("lots left in the store")
            }
            var told: Refusal?
            if case .refused(let refusal) = outcome { told = refusal }
            try #require(told == expected, "seed \(seed), step \(step): \(command) answered \(outcome)")
            if let problem = store.auditor.problems.first {
                Issue.record("seed \(seed), step \(step): \(problem)")
                return
            }
            try compare(&store, &model, "seed \(seed), step \(step): \(command)")
        }
        let before = store.snapshot()
        store.restart(fromGenesis: true)
        #expect(store.snapshot() == before, "seed \(seed)")
        reached.formUnion(model.reached)
    }

    private func compare(_ store: inout AuditedStore, _ model: inout GameModel, _ place: Comment) throws {
        for account in Self.accounts {
            // The question posts what is due; so does the model's.
            let question = Command.balance(account: account, currency: nil)
            _ = model.take(.expire, at: store.books.entryTime(store.now))
            guard case .balance(let told) = store.commit([question])[0] else { continue }
            try #require(store.player(account)?.consent?.consumption == model.consent(account), place)
            for currency in Self.currencies {
                let wallet = GameModel.Place(account: model.whose(account), currency: currency)
                let balance = told.balances.first { $0.currency == currency }?.balance ?? Balance()
                let numbers = [balance.available, balance.held, balance.debt]
                try #require(numbers == [model.available(wallet), model.held(wallet), model.debt(wallet)], place)
                let kept = store.player(account)?.wallets.first { store.books.code($0.currency) == currency }
                let open = kept?.open ?? []
                let lots = open.map { [$0.granted, $0.remaining, $0.held, $0.spent, $0.expired, $0.owed] }
                try #require(lots == (model.lots[wallet] ?? []).filter(\.isOpen).map(\.numbers), place)
            }
        }
    }
}

extension Command {
    fileprivate var key: RequestKey? {
        switch self {
        case .keyed(let operation): operation.key
        case .atomic(let atomic): atomic.key
        case .consent(let consent): consent.key
        case .adjust(let adjustment, _): adjustment.key
        case .importLots(let carried): carried.key
        case .credit, .notify, .external, .link, .record, .expire, .balance, .consumption, .forget: nil
        }
    }
}

/// Random commands over two players and two tokens, mostly naming what was done shortly before.
struct GameWorkload {
    static let tokens = ["5f0e8c2a-0000-4000-8000-000000000001", "5f0e8c2a-0000-4000-8000-000000000002"]
        .map { AppAccountToken($0)! }

    private var issued = 0
    private var sent: [Command] = []
    private var spendKeys: [RequestKey] = []
    private var holdKeys: [RequestKey] = []
    private var purchases: [(TransactionID, AccountName, Int64)] = []
    private var orders: [ExternalPurchase] = []

    mutating func next(_ now: Timestamp, _ random: inout SplitMix64) -> Command {
        let account: AccountName =
            random.chance(30)
            ? Self.tokens[random.chance(70) ? 0 : 1].account : random.chance(70) ? "ann" : "bob"
        if random.chance(10), let old = sent.randomElement(using: &random) { return old }
        if random.chance(5) { return .expire }
        if random.chance(4) {
            let token = Self.tokens.randomElement(using: &random)!
            return .link(Link(token: token, account: account, moves: random.chance(25)))
        }
        if random.chance(12) {
            let id = TransactionID(number: Int64(purchases.count + 1))
            let price = Int64.random(in: 1...3, using: &random) * 1_000
            purchases.append((id, account, price))
            let token = account.isToken && random.chance(50) ? account : nil
            return .credit(jws(id, price: price, token: token), account: account)
        }
        if random.chance(8), let place = purchases.indices.randomElement(using: &random) {
            let (id, owner, price) = purchases.remove(at: place)
            purchases.insert((id, owner, price), at: place)
            let token = owner.isToken && random.chance(50) ? owner : nil
            return .credit(jws(id, signed: 2, revoked: 100_000, price: price, token: token), account: owner)
        }
        if random.chance(6) {
            orders.append(
                ExternalPurchase(
                    identity: ExternalIdentity(source: "shop", identifier: "o-\(orders.count)")!, account: account,
                    product: "gems100", price: Int64.random(in: 1...3, using: &random) * 1_000, priceCurrency: "EUR",
                    purchaseDate: 0))
            return .external(StatedPurchase(orders[orders.count - 1], testHash))
        }
        if random.chance(5), var order = orders.randomElement(using: &random) {
            // Late repetitions of the purchase come too.
            order.revoked = random.chance(70) ? 100_000 : nil
            return .external(StatedPurchase(order, testHash))
        }
        issued += 1
        let key = RequestKey("k\(issued)")!
        if random.chance(6) {
            let units = Int64.random(in: 1...80, using: &random)
            sent.append(
                .adjust(
                    Adjustment(
                        key: key, account: account, currency: "gems", lotClass: random.chance(50) ? .paid : .free,
                        units: random.chance(50) ? units : -units, reason: "a mistake"), approvedBy: "another"))
            return sent[sent.count - 1]
        }
        if random.chance(4) {
            sent.append(.consent(Consent(key: key, account: account, consumption: random.chance(50))))
            return sent[sent.count - 1]
        }
        let command = command(key, account, now, &random)
        switch command {
        case .keyed(.hold): holdKeys.append(key)
        case .keyed(.spend), .keyed(.capture): spendKeys.append(key)
        case .atomic:
            holdKeys.append(key)
            spendKeys.append(key)
        case .keyed, .credit, .notify, .external, .adjust, .importLots, .link, .consent, .record, .expire, .balance,
            .consumption,
            .forget:
            break
        }
        sent.append(command)
        return command
    }

    private func command(
        _ key: RequestKey, _ account: AccountName, _ now: Timestamp, _ random: inout SplitMix64
    ) -> Command {
        if random.chance(25) {
            let operations = (0..<Int.random(in: 2...4, using: &random)).map { _ in
                operation(key, random.chance(50) ? account : "bob", now, &random)
            }
            return .atomic(Atomic(key: key, operations: operations))
        }
        return .keyed(operation(key, account, now, &random))
    }

    private func operation(
        _ key: RequestKey, _ account: AccountName, _ now: Timestamp, _ random: inout SplitMix64
    ) -> KeyedOperation {
        func number(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &random) }
        let currency: CurrencyCode = number(1...5) == 1 ? "tickets" : "gems"
        let amount = Amount(number(1...60))!
        let held = Amount(number(1...30))!
        let part: Amount? = number(1...2) == 1 ? Amount(number(1...20))! : nil
        let expiresAt = number(1...2) == 1 ? now + number(-5...200) : nil
        let timeout = number(1...800)
        let index = number(1...4) == 1 ? Int(number(0...3)) : nil
        let isRecent = number(1...3) > 1
        let spendKey = (isRecent ? spendKeys.suffix(4) : spendKeys[...]).randomElement(using: &random) ?? "none"
        let holdKey = (isRecent ? holdKeys.suffix(4) : holdKeys[...]).randomElement(using: &random) ?? "none"
        let second: CurrencyCode = currency == "gems" ? "tickets" : "gems"
        switch number(1...12) {
        case 1, 2:
            var debits = [CurrencyAmount(currency: currency, amount: amount)]
            if number(1...4) == 1 { debits.append(CurrencyAmount(currency: second, amount: Amount(number(1...5))!)) }
            return .spend(Spend(key: key, account: account, debits: debits))
        case 3, 4:
            return .grant(Grant(key: key, account: account, currency: currency, amount: amount, expiresAt: expiresAt))
        case 5, 6:
            return .hold(
                Hold(key: key, account: account, currency: currency, amount: held, timeoutMilliseconds: timeout))
        case 7, 8: return .capture(Capture(key: key, holdKey: holdKey, operation: index, amount: part))
        case 9: return .release(Release(key: key, holdKey: holdKey, operation: index))
        default:
            let debits = part.map { [CurrencyAmount(currency: currency, amount: $0)] }
            return .reverse(Reversal(key: key, spendKey: spendKey, operation: index, debits: debits))
        }
    }
}

extension AccountName {
    fileprivate var isToken: Bool { GameWorkload.tokens.contains { $0.account == self } }
}
