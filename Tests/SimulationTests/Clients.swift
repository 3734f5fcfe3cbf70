import Ledger
import LedgerTestKit

@testable import LedgerEngine

/// What the simulation's game servers, its purchase pipeline and its finance ask: few players, many lots that run out,
/// and mostly what concerns what was done shortly before.
struct Clients {
    static let players = ["ann", "bob", "cyd"].map { AccountName($0)! } + AppStoreItems.tokens

    var random: SplitMix64
    private let items: AppStoreItems
    private let lifetimes: ClosedRange<Int64>
    private var issued = 0
    private var lastPurchase = 0
    private var sent: [Ask] = []
    private var spendKeys: [RequestKey] = []
    private var holdKeys: [RequestKey] = []
    private var times: [Timestamp] = []

    init(seed: UInt64, _ items: AppStoreItems) {
        random = SplitMix64(seed: seed)
        self.items = items
        lifetimes = [-5...40, 1...400, 200...4_000].randomElement(using: &random) ?? 1...400
    }

    private mutating func number(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &random) }
    private mutating func player() -> AccountName {
        Clients.players.randomElement(using: &random) ?? Clients.players[0]
    }
    private mutating func currency() -> CurrencyCode {
        let code = random.chance(70) ? "gems" : random.chance(50) ? "tickets" : "coins"
        return CurrencyCode(random.chance(1) ? "pearls" : code)!
    }
    private mutating func key() -> RequestKey {
        issued += 1
        return RequestKey("key-\(issued)")!
    }
    private mutating func recent(_ keys: [RequestKey]) -> RequestKey {
        (random.chance(75) ? keys.suffix(4) : keys[...]).randomElement(using: &random) ?? RequestKey("none")!
    }

    /// - Parameter now: what the wall clock says.
    mutating func next(_ now: Timestamp) -> Ask {
        times.append(now)
        let ask: Ask
        switch number(0...99) {
        // Sent again, on whatever connection.
        case 0..<7: return sent.randomElement(using: &random) ?? .balance(player(), nil)
        case 7..<22: ask = signed()
        case 22..<60: ask = .keyed(operation(key(), now))
        case 60..<68:
            let key = key()
            let count = Int(number(2...5))
            ask = .atomic(Atomic(key: key, operations: (0..<count).map { _ in operation(key, now) }))
            holdKeys.append(key)
            spendKeys.append(key)
        case 68..<76: return .balance(player(), random.chance(30) ? currency() : nil)
        case 76..<77: ask = .forget(player())
        case 77..<79:
            let token = AppAccountToken(AppStoreItems.tokens.randomElement(using: &random)!.text)!
            ask = .link(Link(token: token, account: player(), moves: random.chance(25)))
        case 79..<81: ask = .consent(Consent(key: key(), account: player(), consumption: random.chance(50)))
        default: return .query(query(now))
        }
        sent.append(ask)
        return ask
    }

    private mutating func signed() -> Ask {
        // Often the same as before: what a batch has changed is looked for while the tables do not have it yet.
        if random.chance(60) { lastPurchase = Int(number(0...Int64(items.items.count - 1))) }
        let purchase = items.items[lastPurchase]
        let item = purchase[Int(number(0...Int64(purchase.count - 1)))]
        var account: AccountName?
        if let token = item.token {
            account = random.chance(10) ? player() : random.chance(30) ? token : nil
        } else {
            // Mostly the same for the same purchase.
            let own = Clients.players[Int(item.transaction.number) % 3]
            account = random.chance(15) ? nil : random.chance(10) ? player() : own
        }
        return .signed(item, account: account)
    }

    private mutating func operation(_ key: RequestKey, _ now: Timestamp) -> KeyedOperation {
        let account = player()
        let currency = currency()
        let index = random.chance(20) ? Int(number(0...4)) : nil
        switch number(0...99) {
        case 0..<34:
            let expiresAt = random.chance(70) ? now + number(lifetimes) : nil
            return .grant(
                Grant(
                    key: key, account: account, currency: currency, amount: Amount(number(20...250))!,
                    note: random.chance(10) ? "a reward" : nil, expiresAt: expiresAt))
        case 34..<54:
            var debits = [CurrencyAmount(currency: currency, amount: Amount(number(1...60))!)]
            if random.chance(20), currency != .tickets {
                debits.append(CurrencyAmount(currency: .tickets, amount: Amount(number(1...4))!))
            }
            let isAlone = debits.count == 1
            spendKeys.append(key)
            return .spend(
                Spend(
                    key: key, account: account, debits: debits, note: random.chance(10) ? "a sword" : nil,
                    funds: random.chance(15) ? .paid : .any,
                    expectedVersion: isAlone && random.chance(5) ? number(0...8) : nil,
                    minimumRemaining: isAlone && random.chance(8) ? number(0...60) : nil))
        case 54..<68:
            holdKeys.append(key)
            return .hold(
                Hold(
                    key: key, account: account, currency: currency, amount: Amount(number(1...50))!,
                    timeoutMilliseconds: number(1...max(lifetimes.upperBound * 2, 2))))
        case 68..<78:
            spendKeys.append(key)
            return .capture(
                Capture(
                    key: key, holdKey: recent(holdKeys), operation: index,
                    amount: random.chance(50) ? Amount(number(1...30)) : nil))
        case 78..<86: return .release(Release(key: key, holdKey: recent(holdKeys), operation: index))
        default:
            let debits = random.chance(40) ? [CurrencyAmount(currency: currency, amount: Amount(number(1...30))!)] : nil
            return .reverse(Reversal(key: key, spendKey: recent(spendKeys), operation: index, debits: debits))
        }
    }

    private mutating func query(_ now: Timestamp) -> Query {
        let account = player()
        let code: CurrencyCode? = random.chance(30) ? World.currencies.randomElement(using: &random) : nil
        let asOf = random.chance(40) ? times.randomElement(using: &random) ?? now : now - number(-20...300)
        switch number(0...11) {
        case 10: return .lots(OpenItemsQuery(account: account, currency: code, limit: Int(number(1...20))))
        case 11: return .holds(OpenItemsQuery(account: account, currency: code, limit: Int(number(1...20))))
        case 0, 1:
            return .history(
                HistoryQuery(
                    account: account, currency: code, limit: Int(number(1...30)),
                    before: random.chance(20) ? number(1...80) : nil))
        case 2, 3: return .balances(BalanceQuery(account: account, currency: code, asOf: asOf), asOf: asOf)
        case 4, 5, 6:
            let kind = World.reportKinds.randomElement(using: &random) ?? .trial
            return .report(
                ReportRequest(
                    kind: kind, asOf: random.chance(60) ? asOf : nil, currency: code, limit: Limits.reportPageMax))
        case 7:
            return .journal(
                JournalQuery(
                    after: number(0...60), limit: Int(number(1...60)),
                    waitMilliseconds: random.chance(30) ? number(1...400) : 0))
        case 8:
            let transaction = TransactionID(number: 2_000_000_900 + number(1...15))
            return random.chance(60)
                ? .purchase(PurchaseQuery(transaction: transaction)) : .find(.transaction(transaction))
        default:
            return random.chance(60)
                ? .find(.key(random.chance(70) ? recent(spendKeys) : recent(holdKeys))) : .find(.account(account))
        }
    }
}
