import AppStore
import Ledger
import LedgerClient
import LedgerTestKit

/// What happens in the books of a game, drawn from a seed: purchases in several storefronts and currencies, their
/// refunds and reversals of those, spends, holds, grants that expire, links; purchases of other stores, lots of the
/// books before, and corrections by hand.
///
/// Nothing is looked up in the ledger: what that refuses, a spend of more than there is, changes nothing.
struct GeneratedGame {
    static let gems = CurrencyCode("gems")!
    static let gold = CurrencyCode("gold")!
    /// Written as money is.
    static let tokens = CurrencyCode("GLD")!

    static let catalog = """
        {"currencies": {"gems": {}, "gold": {"spendOrder": "oldest", "refundShortfall": "written_off"}, "GLD": {}},
         "products": {"com.example.game.gems500": {"gems": 500}, "com.example.game.gems1200": {"gems": 1200},
                      "com.example.game.bundle": [{"from": 0, "grants": {"gems": 1000, "gold": 7},
                                                   "priceShares": {"gems": 70, "gold": 30}}]}}
        """

    /// Prices in thousandths.
    private static let storefronts: [(storefront: String, currency: String, prices: [Int64])] = [
        ("USA", "USD", [4_990, 9_990, 19_990]), ("JPN", "JPY", [800_000, 1_500_000, 3_000_000]),
        ("DEU", "EUR", [5_490, 10_990, 21_990]), ("FRA", "EUR", [5_490, 10_990, 21_990]),
        ("GBR", "GBP", [4_490, 8_990, 17_990]),
    ]

    private static let products = ["gems500", "gems1200", "bundle"].map { "com.example.game.\($0)" }

    /// Names that a spreadsheet, a journal or a page could take for something else.
    static let hostileNames = [
        "=1+1", "@SUM(1)", "+cmd|' /C calc'!A0", "-2+3", "'quoted'", "a;b, \"c\"  d", "x\\y%z",
        "<script>alert(1)</script>", "Ünïcödé 😀 (game)", "&amp;</td>", "\u{202E}right to left",
    ]

    /// What people wrote beside an entry.
    static let hostileNotes = [
        "a \"reward\"; of 5 % \\ \u{2028}", "=1+1", "\t=1+1", "\r=1+1", "@SUM(1)", "-1+1|x", "+1\r\n=2", "'",
    ]

    /// One thing that happens.
    enum Step {
        case credit(TransactionPayload, account: AccountName?)
        case notify(NotificationPayload.NotificationType, TransactionPayload, uuid: String)
        case spend(Spend)
        case reverse(Reversal)
        case grant(Grant)
        case hold(Hold)
        case capture(Capture)
        case release(Release)
        case atomic(LedgerTypes.Atomic)
        case link(Link)
        case importLots(LotImport)
        case external(ExternalPurchase)
        case adjust(Adjustment)
    }

    /// One player's part of it.
    struct Player {
        private struct Bought {
            var payload: TransactionPayload
            var isClaimed: Bool
        }

        private let number: Int
        private let account: AccountName
        private let token: AppAccountToken
        private var isLinked = false
        private var random: SplitMix64
        private var issued = 0
        private var purchases: [Bought] = []
        private var spends: [RequestKey] = []
        private var holds: [RequestKey] = []
        private var externals: [ExternalPurchase] = []
        /// How long grants and holds that run out are there.
        private let lifetime: ClosedRange<Int64>

        init(_ number: Int, seed: UInt64, lifetime: ClosedRange<Int64>) {
            self.number = number
            self.lifetime = lifetime
            let names = GeneratedGame.hostileNames
            account = AccountName(number < names.count ? names[number] : "player-\(number)")!
            let digits = String(number)
            token = AppAccountToken(
                "a0000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits)!
            // Seeds that differ by the generator's own step would give everybody the same numbers, a place apart.
            var seeds = SplitMix64(seed: seed &+ UInt64(number))
            random = SplitMix64(seed: seeds.next())
        }

        mutating func next(at now: Timestamp) -> Step {
            if purchases.isEmpty { return buy(at: now) }
            if number % 7 == 3 && !isLinked && issued > 12 { return link() }
            switch Int.random(in: 0..<100, using: &random) {
            // Some come to an end with buying, and to debts when that is refunded.
            case 0..<18: return number % 4 == 1 && purchases.count >= 3 ? spend() : buy(at: now)
            case 18..<50: return spend()
            case 50..<58: return .grant(grant(key(), at: now))
            case 58..<66: return refund(at: now)
            case 66..<70: return reinstate(at: now)
            case 70..<78: return hold()
            case 78..<84: return endHold()
            case 84..<89: return reverse()
            case 89..<94: return trade(at: now)
            // These are to owe something in the end.
            case 94... where number % 4 == 1: return spend()
            case 94..<96: return .importLots(bringAlong(at: now))
            case 96..<98: return buyElsewhere(at: now)
            case _: return .adjust(correction())
            }
        }

        private mutating func key() -> RequestKey {
            issued += 1
            return RequestKey("\(number)-\(issued)")!
        }

        private mutating func amount(_ range: ClosedRange<Int64>) -> Amount {
            Amount(Int64.random(in: range, using: &random))!
        }

        private mutating func buy(at now: Timestamp) -> Step {
            let place = GeneratedGame.storefronts[
                random.chance(85) ? number % 5 : Int.random(in: 0..<5, using: &random)]
            let product = Int.random(in: 0..<3, using: &random)
            let quantity = random.chance(85) ? 1 : Int64.random(in: 2...3, using: &random)
            let age = random.chance(90) ? 0...3_600_000 : 0...17_000_000_000 as ClosedRange<Int64>
            issued += 1
            var payload = TransactionPayload(
                transactionID: String(2_000_000_000_000_000 + Int64(number) * 100_000 + Int64(issued)),
                bundleID: "com.example.game", productID: GeneratedGame.products[product],
                purchaseDate: now - 60_000 - Int64.random(in: age, using: &random), quantity: quantity,
                signedDate: now - 30_000, environment: .sandbox)
            payload.storefront = place.storefront
            if !random.chance(3) {
                payload.currency = place.currency
                // A few are of an offer without a price, and a few of one that nothing divides.
                let odd = random.chance(10) ? Int64.random(in: 1...999, using: &random) : 0
                payload.price = random.chance(4) ? 0 : place.prices[product] * quantity - odd
            }
            let isTokens = number % 7 == 3
            if isTokens { payload.appAccountToken = token.account.text }
            if !isTokens && random.chance(5) {
                purchases.append(Bought(payload: payload, isClaimed: false))
                return .notify(.oneTimeCharge, payload, uuid: "n-\(number)-\(issued)")
            }
            purchases.append(Bought(payload: payload, isClaimed: true))
            return .credit(payload, account: isTokens ? nil : account)
        }

        /// Of one purchase some gems and mostly some gold are left; of what was given for free, some gems.
        private mutating func bringAlong(at now: Timestamp) -> LotImport {
            let key = key()
            let place = GeneratedGame.storefronts[number % 5]
            var payload = TransactionPayload(
                transactionID: String(2_000_000_000_000_000 + Int64(number) * 100_000 + Int64(issued)),
                bundleID: "com.example.game", productID: GeneratedGame.products[2],
                purchaseDate: now - Int64.random(in: 60_000...17_000_000_000, using: &random),
                signedDate: now - 30_000, environment: .sandbox)
            (payload.storefront, payload.currency, payload.price) = (place.storefront, place.currency, place.prices[2])
            purchases.append(Bought(payload: payload, isClaimed: true))
            func lot(_ currency: CurrencyCode, _ units: ClosedRange<Int64>, _ price: ClosedRange<Int64>) -> ImportedLot
            {
                ImportedLot(
                    currency: currency, amount: amount(units),
                    purchase: ImportedPurchase(
                        transaction: TransactionID(payload.transactionID)!, product: payload.productID,
                        price: Int64.random(in: price, using: &random), priceCurrency: place.currency,
                        purchaseDate: payload.purchaseDate))
            }
            var lots = [lot(GeneratedGame.gems, 1...1_000, 1...13_999)]
            if random.chance(70) { lots.append(lot(GeneratedGame.gold, 1...7, 0...5_999)) }
            if random.chance(50) { lots.append(ImportedLot(currency: GeneratedGame.gems, amount: amount(1...90))) }
            return LotImport(key: key, account: account, lots: lots)
        }

        /// Of another store, or the refund of such a purchase, or that the refund does not stand.
        private mutating func buyElsewhere(at now: Timestamp) -> Step {
            if random.chance(40), let place = externals.indices.randomElement(using: &random) {
                externals[place].revoked = [100_000, 33_333, 0].randomElement(using: &random)!
                return .external(externals[place])
            }
            issued += 1
            let place = GeneratedGame.storefronts[number % 5]
            let product = Int.random(in: 0..<3, using: &random)
            let quantity = Int64.random(in: 1...2, using: &random)
            let isPriced = random.chance(90)
            externals.append(
                ExternalPurchase(
                    identity: ExternalIdentity(source: "shop.example", identifier: "\(number)/\(issued)")!,
                    account: account, product: GeneratedGame.products[product], quantity: quantity,
                    price: isPriced ? place.prices[product] * quantity - 7 : nil,
                    priceCurrency: isPriced ? place.currency : nil,
                    purchaseDate: now - Int64.random(in: 60_000...3_600_000, using: &random)))
            return .external(externals[externals.count - 1])
        }

        private mutating func correction() -> Adjustment {
            let units = Int64.random(in: 1...80, using: &random)
            return Adjustment(
                key: key(), account: account, currency: random.chance(80) ? GeneratedGame.gems : GeneratedGame.gold,
                lotClass: random.chance(50) ? .paid : .free, units: random.chance(50) ? units : -units,
                reason: GeneratedGame.hostileNotes.randomElement(using: &random)!)
        }

        /// Some purchases stay unclaimed.
        private mutating func refund(at now: Timestamp) -> Step {
            let place = purchases.indices.randomElement(using: &random)!
            if !purchases[place].isClaimed && random.chance(50) {
                purchases[place].isClaimed = true
                return .credit(purchases[place].payload, account: account)
            }
            var payload = purchases[place].payload
            payload.signedDate = max(payload.signedDate + 1, now - 20_000)
            payload.revocationDate = now - 25_000
            payload.revocationPercentage = [nil, nil, 50_000, 33_333, 12_500].randomElement(using: &random)!
            purchases[place].payload = payload
            issued += 1
            return .notify(.refund, payload, uuid: "n-\(number)-\(issued)")
        }

        private mutating func reinstate(at now: Timestamp) -> Step {
            guard let place = purchases.indices.filter({ purchases[$0].payload.revocationDate != nil }).first else {
                return spend()
            }
            var payload = purchases[place].payload
            payload.signedDate = max(payload.signedDate + 1, now - 20_000)
            payload.revocationDate = nil
            payload.revocationPercentage = nil
            purchases[place].payload = payload
            issued += 1
            return .notify(.refundReversed, payload, uuid: "n-\(number)-\(issued)")
        }

        private mutating func spend() -> Step {
            let key = key()
            spends.append(key)
            var debits = [CurrencyAmount(currency: GeneratedGame.gems, amount: amount(1...900))]
            if random.chance(25) { debits.append(CurrencyAmount(currency: GeneratedGame.gold, amount: amount(1...3))) }
            return .spend(Spend(key: key, account: account, debits: debits))
        }

        private mutating func grant(_ key: RequestKey, at now: Timestamp) -> Grant {
            let currency = random.chance(70) ? GeneratedGame.gems : GeneratedGame.tokens
            return Grant(
                key: key, account: account, currency: currency, amount: amount(1...120),
                note: random.chance(50) ? GeneratedGame.hostileNotes.randomElement(using: &random) : nil,
                expiresAt: random.chance(40) ? now + Int64.random(in: lifetime, using: &random) : nil)
        }

        private mutating func hold() -> Step {
            let key = key()
            holds.append(key)
            let isShort = random.chance(30)
            return .hold(
                Hold(
                    key: key, account: account, currency: GeneratedGame.gems, amount: amount(1...200),
                    timeoutMilliseconds: isShort ? Int64.random(in: lifetime, using: &random) : 2_000_000_000))
        }

        private mutating func endHold() -> Step {
            guard !holds.isEmpty else { return hold() }
            let hold = holds.remove(at: Int.random(in: holds.indices, using: &random))
            if random.chance(40) { return .release(Release(key: key(), holdKey: hold)) }
            let part = random.chance(50) ? amount(1...60) : nil
            return .capture(Capture(key: key(), holdKey: hold, amount: part))
        }

        private mutating func reverse() -> Step {
            guard let spend = spends.randomElement(using: &random) else { return self.spend() }
            let part = [CurrencyAmount(currency: GeneratedGame.gems, amount: amount(1...50))]
            return .reverse(Reversal(key: key(), spendKey: spend, debits: random.chance(50) ? part : nil))
        }

        private mutating func trade(at now: Timestamp) -> Step {
            let key = key()
            let debits = [CurrencyAmount(currency: GeneratedGame.gold, amount: amount(1...2))]
            return .atomic(
                LedgerTypes.Atomic(
                    key: key,
                    operations: [
                        .spend(Spend(key: key, account: account, debits: debits)), .grant(grant(key, at: now)),
                    ]))
        }

        private mutating func link() -> Step {
            isLinked = true
            return .link(Link(token: token, account: account))
        }
    }
}

// MARK: Sent to a service

extension GeneratedGame {
    /// What became of what was sent.
    struct Outcome {
        var posted = 0
        var refused: [String: Int] = [:]
    }

    /// The settings of a ledger on which a game can be played: two who may do everything, of whom one approves what the
    /// other corrects.
    static func settings(_ studio: Studio) throws {
        try studio.folder.write("catalog.json", catalog)
        let tokens = Studio.tokens(
            (name: "first", role: "admin", secret: token), (name: "second", role: "admin", secret: approval))
        try studio.folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["127.0.0.1:0"], "tokens": \(tokens),
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["root.der"], "catalog": "catalog.json"}
            """)
    }

    static let token = "the first one's secret"
    static let approval = "the second one's secret"

    /// Plays on a running service, some players at a time, each one's steps in their order.
    /// - Parameters:
    ///   - operations: how many steps, of all players together.
    ///   - service: one of ``settings(_:)``.
    static func play(
        _ operations: Int, seed: UInt64, on service: RunningService, signedBy chain: SandboxChain,
        now: @escaping @Sendable () -> Timestamp
    ) async throws -> Outcome {
        let (each, atOnce) = (40, 32)
        let players = (operations + each - 1) / each
        let client = try await service.client(token: token)
        return try await withThrowingTaskGroup(of: Outcome.self) { group in
            for worker in 0..<min(atOnce, players) {
                group.addTask {
                    var outcome = Outcome()
                    for number in stride(from: worker, to: players, by: atOnce) {
                        var player = Player(number, seed: seed, lifetime: 20...400)
                        for _ in 0..<min(each, operations - number * each) {
                            do {
                                try await send(player.next(at: now()), to: client, chain, now())
                                outcome.posted += 1
                            } catch let error as WireError {
                                outcome.refused[error.reason, default: 0] += 1
                            }
                        }
                    }
                    return outcome
                }
            }
            var all = Outcome()
            for try await outcome in group {
                all.posted += outcome.posted
                all.refused.merge(outcome.refused, uniquingKeysWith: +)
            }
            try await client.close()
            return all
        }
    }

    private static func send(
        _ step: Step, to client: LedgerClient, _ chain: SandboxChain, _ now: Timestamp
    ) async throws {
        switch step {
        case .credit(let payload, let account):
            _ = try await client.credit(signedTransaction: try chain.sign(payload), account: account)
        case .notify(let type, let payload, let uuid):
            let told = NotificationPayload(
                notificationType: type, notificationUUID: uuid, signedDate: now - 1_000,
                data: .init(
                    bundleID: payload.bundleID, environment: .sandbox, signedTransactionInfo: try chain.sign(payload)))
            _ = try await client.notify(signedPayload: try chain.sign(told))
        case .spend(let spend): _ = try await client.spend(spend)
        case .reverse(let reversal): _ = try await client.reverse(reversal)
        case .grant(let grant): _ = try await client.grant(grant)
        case .hold(let hold): _ = try await client.hold(hold)
        case .capture(let capture): _ = try await client.capture(capture)
        case .release(let release): _ = try await client.release(release)
        case .atomic(let atomic): _ = try await client.atomic(atomic)
        case .link(let link): _ = try await client.link(link.token, to: link.account)
        case .importLots(let carried): _ = try await client.importLots(carried)
        case .external(let purchase): _ = try await client.external(purchase)
        case .adjust(let adjustment): _ = try await client.adjust(adjustment, approval: approval)
        }
    }
}
