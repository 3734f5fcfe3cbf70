import AppStore
import Ledger
import LedgerWire

extension Operation {
    /// What takes effect for a request that concerns the books.
    /// - Parameter actor: the name of the token under which it came.
    init(_ request: Request, by actor: String?) {
        switch request {
        case .credit(let jws, let account): self = .signed(.transaction(jws), account: account, by: actor)
        case .notify(let jws, let account): self = .signed(.notification(jws), account: account, by: actor)
        case .purchase(let transaction): self = .command(.purchase(transaction))
        case .consumption(let query): self = .command(.consumption(query))
        case .spend(let spend): self = .command(.spend(spend), by: actor)
        case .reverse(let reversal): self = .command(.reverse(reversal), by: actor)
        case .hold(let hold): self = .command(.hold(hold), by: actor)
        case .capture(let capture): self = .command(.capture(capture), by: actor)
        case .release(let release): self = .command(.release(release), by: actor)
        case .grant(let grant): self = .command(.grant(grant), by: actor)
        case .atomic(let atomic): self = .command(.atomic(atomic), by: actor)
        case .forget(let account): self = .command(.forget(account), by: actor)
        case .balance(let account, let currency, let asOf):
            guard let asOf else {
                self = .command(.balance(account: account, currency: currency))
                return
            }
            self = .prepare(.balances(account, currency: currency, asOf: asOf))
        case .history(let query): self = .prepare(.history(query))
        case .report(let kind, let asOf, let currency, let limit, let after):
            self = .prepare(.report(kind: kind, asOf: asOf, currency: currency, limit: limit, after: after))
        case .journal(let query, let wait): self = .prepare(.journal(query, waitMilliseconds: wait))
        case .ping, .authenticate, .info:
            preconditionFailure("a request of the connection itself is answered by it")
        }
    }
}
