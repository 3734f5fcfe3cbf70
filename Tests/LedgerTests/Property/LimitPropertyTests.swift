import Ledger
import LedgerTestKit
import Testing

/// Random requests of amounts near the bounds, against a model that knows no lots and counts with 128 bits.
@Suite struct LimitPropertyTests {
    private struct Wallet: Equatable {
        var available: Int64 = 0
        var held: Int64 = 0
        var debt: Int64 = 0

        /// A credit, which pays the debt first; `false` where the wallet has no room for it.
        mutating func add(_ units: Int64) -> Bool {
            guard Int128(available) + Int128(held) + Int128(units) <= Int128(Limits.amountMax) else { return false }
            let paid = min(units, debt)
            debt -= paid
            available += units - paid
            return true
        }
    }

    private struct Purchase {
        var player: Int
        var units: Int64
        var product: String
        var signed: Int64 = 1
        var isRevoked = false
        var writtenOff: Int64 = 0
        /// How often it was given back.
        var reinstated = 0
    }

    private struct Model {
        var wallets = [Wallet](repeating: Wallet(), count: 4)
        var purchases: [Purchase] = []
        var holds: [(key: RequestKey, player: Int, units: Int64)] = []
        var sums: [AccountKind: Int128] = [:]

        /// What the books must add up to, over all players.
        var balances: [AccountKind: Int128] {
            var balances = sums
            balances[.wallet] = -wallets.reduce(0) { $0 + Int128($1.available) }
            balances[.held] = -wallets.reduce(0) { $0 + Int128($1.held) }
            balances[.receivable] = wallets.reduce(0) { $0 + Int128($1.debt) }
            return balances
        }
    }

    private static let refusal = Refusal(.balanceLimit(currency: "gems"))

    @Test func nearTheBoundsEveryAnswerAndEverySumIsTheModels() throws {
        let seed = Seed.drawn()
        var widest: Int128 = 0
        for number in 0..<3 {
            let end = try Self.live(seed &+ UInt64(number))
            widest = max(widest, end)
        }
        #expect(widest > Int128(Int64.max), "no sum came past 64 bits")
    }

    /// - Returns: the largest turnover.
    private static func live(_ seed: UInt64) throws -> Int128 {
        var random = SplitMix64(seed: seed)
        var store = AuditedStore()
        var model = Model()
        // Turnovers begin below 2^63, and random requests take them past it.
        try store.grant("first", name(0), Amount(Limits.amountMax)!)
        model.wallets[0].available = Limits.amountMax
        model.sums[.granted] = Int128(Limits.amountMax)
        for round in 0..<1_000 {
            try store.hold(RequestKey("h\(round)")!, name(0), Amount(Limits.amountMax)!)
            try store.release(RequestKey("r\(round)")!, RequestKey("h\(round)")!)
        }
        #expect(store.books.totals[2, .wallet].credits < Int128(Int64.max))
        let steps = 1_500
        for step in 0..<steps {
            try act(step, &store, &model, &random, "seed \(seed), step \(step)")
            if step.isMultiple(of: 100) || step == steps - 1 {
                for (player, wallet) in model.wallets.enumerated() {
                    let balance = try store.balance(name(player))
                    #expect(
                        Wallet(available: balance.available, held: balance.held, debt: balance.debt) == wallet,
                        "seed \(seed), step \(step)")
                }
                for kind in AccountKind.allCases {
                    #expect(
                        store.books.totals[2, kind].balance == model.balances[kind] ?? 0,
                        "seed \(seed), step \(step), \(kind.name)")
                }
                store.checkpoint()
            }
            if step.isMultiple(of: 500) { store.restart() }
        }
        return AccountKind.allCases.reduce(0) { max($0, store.books.totals[2, $1].debits) }
    }

    private static func name(_ player: Int) -> AccountName { AccountName("player-\(player)")! }

    private static func amount(_ random: inout SplitMix64) -> Int64 {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: Limits.amountMax
        case 1: Limits.amountMax - Int64.random(in: 0...2, using: &random)
        case 2: Limits.amountMax / 2
        case 3: Int64.random(in: 1...3, using: &random)
        default: Int64.random(in: 1...Limits.amountMax, using: &random)
        }
    }

    private static func act(
        _ step: Int, _ store: inout AuditedStore, _ model: inout Model, _ random: inout SplitMix64, _ place: String
    ) throws {
        let key = RequestKey("k\(step)")!
        let player = Int.random(in: model.wallets.indices, using: &random)
        let units = amount(&random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1, 2:
            let fits = model.wallets[player].add(units)
            if fits { model.sums[.granted, default: 0] += Int128(units) }
            expect(fits ? nil : refusal, place) { try store.grant(key, name(player), Amount(units)!) }
        case 3, 4:
            // Mostly what there is, so that wallets are emptied.
            let available = model.wallets[player].available
            let wanted = available > 0 && Bool.random(using: &random) ? available : units
            let short = Refusal(.insufficientFunds(currency: "gems", available: available))
            expect(wanted > available ? short : nil, place) { try store.spend(key, name(player), Amount(wanted)!) }
            if wanted > available { return }
            model.wallets[player].available -= wanted
            model.sums[.spent, default: 0] -= Int128(wanted)
        case 5, 6:
            let available = model.wallets[player].available
            if available == 0 { return }
            try store.hold(key, name(player), Amount(available)!, timeout: Limits.holdMillisecondsMax)
            model.wallets[player].available = 0
            model.wallets[player].held += available
            model.holds.append((key, player, available))
        case 7:
            guard let place = model.holds.indices.randomElement(using: &random) else { return }
            let hold = model.holds.remove(at: place)
            model.wallets[hold.player].held -= hold.units
            if Bool.random(using: &random) {
                try store.capture(key, hold.key)
                model.sums[.spent, default: 0] -= Int128(hold.units)
            } else {
                try store.release(key, hold.key)
                let fits = model.wallets[hold.player].add(hold.units)
                #expect(fits)
            }
        case 8:
            let product = ["gemsMax", "gemsHalf", "gems1"].randomElement(using: &random)!
            let worth = product == "gemsMax" ? Limits.amountMax : product == "gemsHalf" ? Limits.amountMax / 2 : 1
            let fits = model.wallets[player].add(worth)
            let transaction = TransactionID(number: Int64(model.purchases.count + 1))
            expect(fits ? nil : refusal, place) { try store.credit(jws(transaction, product), name(player)) }
            if !fits { return }
            model.sums[.purchased, default: 0] += Int128(worth)
            model.purchases.append(Purchase(player: player, units: worth, product: product))
        default:
            guard let index = model.purchases.indices.randomElement(using: &random) else { return }
            try turn(index, &store, &model, place)
        }
    }

    /// Refunds a purchase, or gives it back.
    private static func turn(
        _ index: Int, _ store: inout AuditedStore, _ model: inout Model, _ place: String
    ) throws {
        var purchase = model.purchases[index]
        if purchase.reinstated == 60 { return }
        var wallet = model.wallets[purchase.player]
        let transaction = TransactionID(number: Int64(index + 1))
        purchase.signed += 1
        purchase.isRevoked.toggle()
        let signed = jws(
            transaction, purchase.product, signed: purchase.signed, revoked: purchase.isRevoked ? 100_000 : 0)
        if purchase.isRevoked {
            let taken = min(wallet.available, purchase.units)
            wallet.available -= taken
            let owed = min(purchase.units - taken, Limits.amountMax - wallet.debt)
            wallet.debt += owed
            purchase.writtenOff = purchase.units - taken - owed
            model.sums[.writtenOff, default: 0] += Int128(purchase.writtenOff)
            model.sums[.refunded, default: 0] -= Int128(purchase.units)
            try store.credit(signed, name(purchase.player))
        } else {
            let back = purchase.units - purchase.writtenOff
            // What was written off takes no room.
            let fits = back == 0 || Int128(wallet.available) + Int128(wallet.held) + Int128(back) <= Limits.amountMax
            expect(fits ? nil : refusal, place) { try store.credit(signed, name(purchase.player)) }
            if !fits { return }
            _ = wallet.add(back)
            purchase.reinstated += 1
            model.sums[.writtenOff, default: 0] -= Int128(purchase.writtenOff)
            model.sums[.refunded, default: 0] += Int128(purchase.units)
            purchase.writtenOff = 0
        }
        model.wallets[purchase.player] = wallet
        model.purchases[index] = purchase
    }

    private static func expect(_ refusal: Refusal?, _ place: String, _ ask: () throws -> Void) {
        do {
            try ask()
            #expect(refusal == nil, "\(place): it was done")
        } catch {
            #expect(error as? Refusal == refusal, "\(place)")
        }
    }
}
