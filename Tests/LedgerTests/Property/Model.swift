import Ledger

/// What the ledger should say, predicted without lots, transfers or registers: of each purchase the set of JWS that
/// were seen, of each wallet one number. It shares no code with the ledger's decisions.
struct Model {
    struct Wallet: Hashable {
        var account: AccountName
        var currency: CurrencyCode
    }

    private struct Purchase {
        /// For the full quantity.
        var grants: [CurrencyCode: Int64]
        var seen: [(signedDate: Timestamp, revoked: Int64)] = []
        var account: AccountName?
        /// What of its refunds the operator bore.
        var borne: [CurrencyCode: Int64] = [:]

        var revoked: Int64 { seen.max { $0 < $1 }?.revoked ?? 0 }
        var newest: (Timestamp, Int64)? { seen.max { $0 < $1 } }

        func standing(_ currency: CurrencyCode) -> Int64 {
            let left = (grants[currency] ?? 0) * (100_000 - revoked)
            return left / 100_000 + (left % 100_000 == 0 ? 0 : 1)
        }
    }

    /// What one unit of each product grants.
    let products: [String: [CurrencyCode: Int64]]
    /// The currencies whose shortfall is written off.
    let writtenOff: Set<CurrencyCode>
    /// Available − debt.
    private(set) var net: [Wallet: Int64] = [:]
    /// What was spent, by wallet.
    private(set) var spent: [Wallet: Int64] = [:]
    /// What was seen to happen, so that a test can say that its random cases reach it.
    private(set) var reached: Set<String> = []
    private var granted: [CurrencyCode: Int64] = [:]
    private var purchases: [TransactionID: Purchase] = [:]
    private var notifications: Set<String> = []
    private var answers: [RequestKey: Outcome] = [:]

    init(products: [String: [CurrencyCode: Int64]], writtenOff: Set<CurrencyCode>) {
        self.products = products
        self.writtenOff = writtenOff
    }

    func available(_ wallet: Wallet) -> Int64 { max(net[wallet] ?? 0, 0) }
    func debt(_ wallet: Wallet) -> Int64 { max(-(net[wallet] ?? 0), 0) }

    /// What the operator bore of a wallet's refunds.
    func borne(_ wallet: Wallet) -> Int64 {
        purchases.values.reduce(0) { $0 + ($1.account == wallet.account ? $1.borne[wallet.currency] ?? 0 : 0) }
    }

    func total(_ kind: AccountKind, _ currency: CurrencyCode) -> Int64 {
        let own = net.filter { $0.key.currency == currency }
        let assigned = purchases.values.filter { $0.account != nil }
        return switch kind {
        case .wallet: -own.values.reduce(0) { $0 + max($1, 0) }
        case .receivable: own.values.reduce(0) { $0 + max(-$1, 0) }
        case .purchased: assigned.reduce(0) { $0 + ($1.grants[currency] ?? 0) }
        case .refunded: -assigned.reduce(0) { $0 + ($1.grants[currency] ?? 0) - $1.standing(currency) }
        case .granted: granted[currency] ?? 0
        case .spent: -spent.filter { $0.key.currency == currency }.values.reduce(0, +)
        case .writtenOff: purchases.values.reduce(0) { $0 + ($1.borne[currency] ?? 0) }
        case .held, .expired, .moved, .adjusted, .imported: 0
        }
    }

    /// What stands of every purchase that has an account.
    var posted: [TransactionID: [CurrencyCode: Int64]] {
        purchases.filter { $0.value.account != nil }.mapValues { purchase in
            purchase.grants.keys.reduce(into: [:]) { $0[$1] = purchase.standing($1) }
        }
    }

    // MARK: Predicting

    /// Takes a command, and says how the ledger's answer differs from what it should be.
    mutating func take(_ command: Command, _ outcome: Outcome) -> String? {
        switch command {
        case .credit(let signed, let account):
            return take(signed, account, outcome, isCredit: true)
        case .notify(let signed, let account):
            guard case .notification(let receipt) = outcome else { return "notify answered \(outcome)" }
            let isDuplicate = !notifications.insert(signed.uuid).inserted
            if receipt.duplicate != isDuplicate { return "duplicate should be \(isDuplicate)" }
            guard let purchase = signed.purchase, let posted = receipt.purchase else { return nil }
            return take(purchase, account, .purchase(posted), isCredit: false)
        case .keyed(.spend(let spend)): return take(spend, outcome)
        case .keyed(.grant(let grant)): return take(grant, outcome)
        case .keyed, .atomic, .expire:
            return "the model takes purchases, spends and grants"
        case .external, .adjust, .importLots, .link, .consent, .record, .balance, .consumption, .forget:
            return "the model takes no such command"
        }
    }

    private mutating func take(
        _ signed: SignedPurchase, _ named: AccountName?, _ outcome: Outcome, isCredit: Bool
    ) -> String? {
        let account = signed.facts.token ?? named
        if isCredit && account == nil { return refusal(.accountRequired, outcome) }
        if named != nil && named != account { return refusal(.accountMismatch, outcome) }
        guard case .purchase(let receipt) = outcome else { return "credit answered \(outcome)" }
        let unit = products[signed.facts.product] ?? [:]
        let id = signed.facts.transaction
        let before = purchases[id] ?? Purchase(grants: unit.mapValues { $0 * signed.facts.quantity })
        var after = before
        after.account = before.account ?? account
        after.seen.append((signed.signedDate, signed.revoked))
        purchases[id] = after
        guard let owner = after.account else {
            return difference(receipt, .unassigned, nil, [:])
        }

        var posted: [CurrencyCode: Int64] = [:]
        for currency in after.grants.keys {
            let was = before.account == nil ? 0 : before.standing(currency)
            let change = after.standing(currency) - was
            if change != 0 { posted[currency] = change }
            move(Wallet(account: owner, currency: currency), change, id)
        }
        let knew = before.newest.map { $0.1 } ?? 0
        let expected: PurchaseOutcome =
            if after.revoked > knew {
                .reversed
            } else if before.account != nil && after.revoked < knew {
                .reinstated
            } else if before.account == nil && after.revoked < 100_000 {
                .credited
            } else {
                after.revoked == 0 ? .alreadyCredited : .alreadyReversed
            }
        return difference(receipt, expected, owner, posted)
    }

    private mutating func move(_ wallet: Wallet, _ change: Int64, _ purchase: TransactionID) {
        var change = change
        if writtenOff.contains(wallet.currency) {
            let borne = purchases[purchase]?.borne[wallet.currency] ?? 0
            let more = change < 0 ? max(-change - (net[wallet] ?? 0), 0) : -min(change, borne)
            if more != 0 { reached.insert(more > 0 ? "written off" : "write-off undone") }
            purchases[purchase]?.borne[wallet.currency] = borne + more
            change += more
        }
        let debt = debt(wallet)
        net[wallet, default: 0] += change
        if self.debt(wallet) > debt { reached.insert("debt") }
        if self.debt(wallet) < debt { reached.insert("debt recovered") }
    }

    private mutating func difference(
        _ receipt: PurchaseReceipt, _ outcome: PurchaseOutcome, _ owner: AccountName?, _ posted: [CurrencyCode: Int64]
    ) -> String? {
        reached.insert(outcome.rawValue)
        let told = Dictionary(uniqueKeysWithValues: receipt.posted.map { ($0.currency, $0.units) })
        if receipt.outcome != outcome { return "\(receipt.transaction) is \(receipt.outcome), not \(outcome)" }
        if receipt.account != owner { return "\(receipt.transaction) is not \(owner?.text ?? "nobody")'s" }
        if receipt.finish != (owner != nil) { return "\(receipt.transaction) says finish \(receipt.finish)" }
        if told != posted { return "\(receipt.transaction) posted \(told), not \(posted)" }
        if let owner { return difference(receipt.balances, owner) }
        return receipt.balances.isEmpty ? nil : "\(receipt.transaction) tells balances of nobody"
    }

    /// How told balances differ from the model's.
    func difference(_ balances: [CurrencyBalance], _ account: AccountName) -> String? {
        for told in balances {
            let wallet = Wallet(account: account, currency: told.currency)
            let balance = told.balance
            if balance.available != available(wallet) || balance.debt != debt(wallet) || balance.held != 0 {
                return "\(account) has \(balance), not \(available(wallet)) and owes \(debt(wallet))"
            }
        }
        return nil
    }

    private mutating func take(_ spend: Spend, _ outcome: Outcome) -> String? {
        if let first = answers[spend.key] { return repetition(of: first, outcome) }
        answers[spend.key] = outcome
        let short = spend.debits.first {
            available(Wallet(account: spend.account, currency: $0.currency)) < $0.amount.units
        }
        guard case .spend(let receipt) = outcome else {
            guard case .refused(let refusal) = outcome, case .insufficientFunds = refusal.reason, !refusal.replayed
            else { return "spend answered \(outcome)" }
            reached.insert("insufficient funds")
            // How much of a wallet was bought is not known here, so a refusal for want of paid funds is taken as
            // given.
            return short == nil && spend.funds == .any ? "a spend was refused that could be paid" : nil
        }
        if let short { return "\(spend.account) overspent \(short.currency)" }
        reached.insert("spent")
        for debit in spend.debits {
            let wallet = Wallet(account: spend.account, currency: debit.currency)
            net[wallet, default: 0] -= debit.amount.units
            self.spent[wallet, default: 0] += debit.amount.units
            let drawn = receipt.drawn.filter { $0.currency == debit.currency }
            let units = drawn.reduce(0) { $0 + $1.amount.units }
            if receipt.drawnMore > 0 ? units > debit.amount.units : units != debit.amount.units {
                return "drawn is not what was spent"
            }
            if spend.funds == .paid && drawn.contains(where: { $0.transaction == nil }) {
                return "free lots were drawn"
            }
        }
        return receipt.replayed ? "the first answer is no repetition" : difference(receipt.balances, spend.account)
    }

    private mutating func take(_ grant: Grant, _ outcome: Outcome) -> String? {
        if let first = answers[grant.key] { return repetition(of: first, outcome) }
        answers[grant.key] = outcome
        guard case .grant(let receipt) = outcome else { return "grant answered \(outcome)" }
        let wallet = Wallet(account: grant.account, currency: grant.currency)
        if debt(wallet) > 0 { reached.insert("debt recovered by a grant") }
        net[wallet, default: 0] += grant.amount.units
        granted[grant.currency, default: 0] += grant.amount.units
        return difference(receipt.balances, grant.account)
    }

    private mutating func repetition(of first: Outcome, _ outcome: Outcome) -> String? {
        reached.insert("repeated")
        switch (first, outcome) {
        case (.spend(var receipt), .spend(let again)):
            receipt.replayed = true
            return receipt == again ? nil : "a spend has two answers"
        case (.grant(var receipt), .grant(let again)):
            receipt.replayed = true
            return receipt == again ? nil : "a grant has two answers"
        case (.refused(let refusal), .refused(let again)):
            return again == Refusal(refusal.reason, replayed: true) ? nil : "a refusal has two answers"
        case (_, let again): return "a key was answered \(first), then \(again)"
        }
    }

    private mutating func refusal(_ reason: Refusal.Reason, _ outcome: Outcome) -> String? {
        guard case .refused(let refusal) = outcome, refusal == Refusal(reason) else {
            return "\(outcome) where \(reason) was due"
        }
        reached.insert("\(reason)")
        return nil
    }
}
