import AppStore
import Ledger

extension Operation {
    /// What takes effect for a request.
    /// - Parameter actor: the name of the token under which it came.
    init(_ request: LedgerRequest, by actor: String?) {
        switch request {
        case .credit(let credit):
            self = .signed(.transaction(credit.signedTransaction), account: credit.account, by: actor)
        case .notify(let notify):
            self = .signed(.notification(notify.signedPayload), account: notify.account, by: actor)
        case .keyed(let request): self = .command(.keyed(request), by: actor)
        case .purchase(let transaction): self = .command(.purchase(transaction))
        case .consumption(let query): self = .command(.consumption(query))
        case .forget(let account): self = .command(.forget(account), by: actor)
        case .balance(let query):
            if let asOf = query.asOf {
                self = .prepare(.balances(query, asOf: asOf))
            } else {
                self = .command(.balance(account: query.account, currency: query.currency))
            }
        case .history(let query): self = .prepare(.history(query))
        case .report(let request): self = .prepare(.report(request))
        case .journal(let query): self = .prepare(.journal(query))
        case .find(let query): self = .prepare(.find(query))
        }
    }
}
