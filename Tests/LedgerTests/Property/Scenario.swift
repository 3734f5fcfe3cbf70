import Ledger
import LedgerTestKit

/// A random catalog, and a random set of requests: purchases with what the App Store may say of them over their lives,
/// repeated on every path, and spends and grants between. The same seed gives the same scenario.
struct Scenario {
    let catalog: Catalog
    let products: [String: [CurrencyCode: Int64]]
    let accounts: [AccountName]
    let transactions: [TransactionID]
    let writtenOff: Set<CurrencyCode>
    /// What carries a JWS. Delivered all, in whatever order, every purchase ends with its account.
    let deliveries: [Command]
    let spendsAndGrants: [Command]

    var model: Model { Model(products: products, writtenOff: writtenOff) }

    init(_ random: inout SplitMix64) {
        let codes: [CurrencyCode] = Array(
            (["coins", "gems", "tickets"] as [CurrencyCode]).shuffled(using: &random)
                .prefix(Int.random(in: 1...3, using: &random)))
        var settings: [CurrencyCode: CurrencySettings] = [:]
        for code in codes {
            settings[code] = CurrencySettings(
                spendOrder: SpendOrder.allCases.randomElement(using: &random)!,
                refundShortfall: random.chance(30) ? .writtenOff : .debt)
        }
        var products: [String: [CurrencyCode: Int64]] = [:]
        for number in 1...Int.random(in: 1...4, using: &random) {
            for code in codes.shuffled(using: &random).prefix(Int.random(in: 1...codes.count, using: &random)) {
                products["product\(number)", default: [:]][code] = Int64.random(in: 1...200, using: &random)
            }
        }
        let accounts = Array((["ann", "bob", "cid"] as [AccountName]).prefix(Int.random(in: 1...3, using: &random)))
        self.products = products
        self.accounts = accounts
        writtenOff = Set(codes.filter { settings[$0]?.refundShortfall == .writtenOff })
        catalog = Catalog(
            currencies: settings,
            products: products.mapValues { [.always($0.mapValues { Amount($0)! })] })
        transactions = (1...Int64.random(in: 1...5, using: &random)).map { TransactionID(number: $0) }
        deliveries = transactions.flatMap { id in
            let product = products.keys.sorted().randomElement(using: &random)!
            return Scenario.purchase(id, product, accounts.randomElement(using: &random)!, &random)
        }
        spendsAndGrants = Scenario.keyed(accounts, codes, &random)
    }

    /// The JWS of one purchase, on their ways.
    private static func purchase(
        _ id: TransactionID, _ product: String, _ owner: AccountName, _ random: inout SplitMix64
    ) -> [Command] {
        let quantity = random.chance(50) ? 1 : Int64.random(in: 2...10, using: &random)
        let hasToken = random.chance(40)
        let price = random.chance(70) ? Int64.random(in: 100...9_999, using: &random) : nil
        func document(_ signed: Timestamp, _ revoked: Int64) -> SignedPurchase {
            jws(
                id, product, quantity: quantity, signed: signed, revoked: revoked, price: price,
                token: hasToken ? owner : nil)
        }
        var documents = [document(Int64.random(in: 1...3, using: &random), 0)]
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let copies = Int64.random(in: 1...quantity, using: &random)
            let shares = [
                100_000, 100_000, 0, copies * 100_000 / quantity, Int64.random(in: 1..<100_000, using: &random),
            ]
            documents.append(document(Int64.random(in: 1...6, using: &random), shares.randomElement(using: &random)!))
        }
        var commands: [Command] = []
        for (number, signed) in documents.enumerated() {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let named = random.chance(50) || !hasToken ? owner : nil
                if random.chance(60) {
                    commands.append(.credit(signed, account: named))
                } else {
                    commands.append(
                        .notify(notification("\(id)-\(number)", signed), account: random.chance(50) ? named : nil))
                }
            }
        }
        commands.append(.credit(documents[0], account: owner))
        if random.chance(10) { commands.append(.credit(documents[0], account: hasToken ? "eve" : nil)) }
        return commands
    }

    private static func keyed(
        _ accounts: [AccountName], _ codes: [CurrencyCode], _ random: inout SplitMix64
    ) -> [Command] {
        var commands: [Command] = []
        for number in 0..<Int.random(in: 0...10, using: &random) {
            let debits = codes.shuffled(using: &random).prefix(random.chance(25) ? 2 : 1).map {
                CurrencyAmount(currency: $0, amount: Amount(Int64.random(in: 1...250, using: &random))!)
            }
            let command = Command.spend(
                Spend(
                    key: RequestKey("spend-\(number)")!, account: accounts.randomElement(using: &random)!,
                    debits: debits, funds: random.chance(20) ? .paid : .any))
            commands += Array(repeating: command, count: random.chance(20) ? 2 : 1)
        }
        for number in 0..<Int.random(in: 0...4, using: &random) {
            let command = Command.grant(
                Grant(
                    key: RequestKey("grant-\(number)")!, account: accounts.randomElement(using: &random)!,
                    currency: codes.randomElement(using: &random)!,
                    amount: Amount(Int64.random(in: 1...150, using: &random))!))
            commands += Array(repeating: command, count: random.chance(20) ? 2 : 1)
        }
        return commands
    }
}
