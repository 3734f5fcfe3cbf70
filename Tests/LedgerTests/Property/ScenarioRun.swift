import Ledger
import LedgerTestKit

/// One order of a scenario's requests, run in batches on a store that is checkpointed, forgets, restarts and loses
/// batches at random; after every batch the books are held against the model.
struct ScenarioRun {
    /// How a wallet or purchase ended, for comparing runs.
    struct End: Equatable {
        var balances: [Model.Wallet: Balance] = [:]
        var posted: [TransactionID: [CurrencyCode: Int64]] = [:]
        /// Debits − credits by currency and kind.
        var totals: [CurrencyCode: [AccountKind: Int64]] = [:]
        /// Available − debt, with what was spent and borne put back.
        var worth: [Model.Wallet: Int64] = [:]
    }

    struct Mismatch: Error, CustomStringConvertible {
        var description: String
    }

    private let scenario: Scenario
    private(set) var model: Model
    private(set) var store: AuditedStore

    init(_ scenario: Scenario) {
        self.scenario = scenario
        model = scenario.model
        store = AuditedStore(scenario.catalog)
    }

    mutating func run(_ commands: [Command], _ random: inout SplitMix64) throws(Mismatch) {
        var rest = commands[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(random.chance(50) ? 1 : Int.random(in: 2...8, using: &random)))
            rest = rest.dropFirst(batch.count)
            disturb(batch, &random)
            for (command, outcome) in zip(batch, store.commit(batch)) {
                if let difference = model.take(command, outcome) { throw Mismatch(description: difference) }
            }
            try check()
        }
        let before = store.snapshot()
        store.restart(fromGenesis: true)
        if store.snapshot() != before { throw Mismatch(description: "the journal replayed gives other books") }
        try check()
    }

    private mutating func disturb(_ batch: [Command], _ random: inout SplitMix64) {
        store.now += Int64.random(in: -5...50, using: &random)
        if random.chance(10) { store.checkpoint() }
        if random.chance(10) { store.forget() }
        if random.chance(5) { store.restart(fromGenesis: random.chance(30)) }
        if random.chance(3) { store.lose(batch) }
    }

    private mutating func check() throws(Mismatch) {
        if let problem = store.auditor.problems.first { throw Mismatch(description: "audit: \(problem)") }
        for account in scenario.accounts {
            guard case .balance(let told) = ask(.balance(account: account, currency: nil)) else { continue }
            if let difference = model.difference(told.balances, account) { throw Mismatch(description: difference) }
            let missing = model.net.filter { wallet, net in
                wallet.account == account && net != 0 && !told.balances.contains { $0.currency == wallet.currency }
            }
            if !missing.isEmpty { throw Mismatch(description: "\(account) lacks \(missing)") }
        }
        for currency in scenario.catalog.currencies.keys {
            for kind in AccountKind.allCases {
                let (total, expected) = (store.total(kind, currency), model.total(kind, currency))
                if total != expected {
                    throw Mismatch(description: "\(kind) of \(currency) is \(total), not \(expected)")
                }
            }
        }
        let posted = posted()
        if posted != model.posted { throw Mismatch(description: "posted is \(posted), not \(model.posted)") }
    }

    /// What stands of every purchase, by the ledger's own view of its lots.
    private mutating func posted() -> [TransactionID: [CurrencyCode: Int64]] {
        var posted: [TransactionID: [CurrencyCode: Int64]] = [:]
        for id in scenario.transactions {
            guard let view = store.view(PurchaseQuery(transaction: id)), view.account != nil else { continue }
            posted[id] = view.grants.reduce(into: [:]) { $0[$1.currency] = $1.granted - $1.revoked }
        }
        return posted
    }

    private mutating func ask(_ question: Command) -> Outcome { store.commit([question])[0] }

    mutating func end() -> End {
        var end = End(posted: posted())
        for account in scenario.accounts {
            guard case .balance(let told) = ask(.balance(account: account, currency: nil)) else { continue }
            for item in told.balances {
                let wallet = Model.Wallet(account: account, currency: item.currency)
                var balance = item.balance
                balance.version = 0
                end.balances[wallet] = balance
                end.worth[wallet] =
                    balance.available - balance.debt + (model.spent[wallet] ?? 0) - model.borne(wallet)
            }
        }
        for currency in scenario.catalog.currencies.keys {
            for kind in AccountKind.allCases { end.totals[currency, default: [:]][kind] = store.total(kind, currency) }
        }
        return end
    }
}
