import AppStore
import Ledger
import LedgerWire

extension Operation {
    /// What takes effect for a request that concerns the books.
    init(_ request: Request) {
        switch request {
        case .credit(let jws, let account): self = .signed(.transaction(jws), account: account)
        case .notify(let jws, let account): self = .signed(.notification(jws), account: account)
        case .purchase(let transaction): self = .command(.purchase(transaction))
        case .consumption(let query): self = .command(.consumption(query))
        case .spend(let spend): self = .command(.spend(spend))
        case .reverse(let reversal): self = .command(.reverse(reversal))
        case .hold(let hold): self = .command(.hold(hold))
        case .capture(let capture): self = .command(.capture(capture))
        case .release(let release): self = .command(.release(release))
        case .grant(let grant): self = .command(.grant(grant))
        case .atomic(let atomic): self = .command(.atomic(atomic))
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
