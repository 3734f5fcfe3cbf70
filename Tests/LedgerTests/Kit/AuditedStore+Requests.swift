import Ledger
import Testing

/// Requests as tests write them: a refusal is thrown.
extension AuditedStore {
    /// One request, one batch. What the auditor finds fails the test that asked.
    mutating func ask(_ command: Command) -> Outcome {
        let outcome = commit([command])[0]
        for problem in auditor.problems { Issue.record("audit: \(problem)") }
        return outcome
    }

    @discardableResult
    mutating func credit(_ signed: SignedPurchase, _ account: AccountName? = nil) throws -> PurchaseReceipt {
        switch ask(.credit(signed, account: account)) {
        case .purchase(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func notify(
        _ uuid: String, _ signed: SignedPurchase?, _ account: AccountName? = nil
    ) throws -> NotificationReceipt {
        switch ask(.notify(notification(uuid, signed), account: account)) {
        case .notification(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func spend(_ spend: Spend) throws -> SpendReceipt {
        switch ask(.spend(spend)) {
        case .spend(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func spend(
        _ key: RequestKey, _ account: AccountName, _ amount: Amount, of currency: CurrencyCode = "gems",
        funds: Funds = .any
    ) throws -> SpendReceipt {
        try spend(
            Spend(
                key: key, account: account, debits: [CurrencyAmount(currency: currency, amount: amount)], funds: funds))
    }

    @discardableResult
    mutating func grant(
        _ key: RequestKey, _ account: AccountName, _ amount: Amount, of currency: CurrencyCode = "gems",
        note: String? = nil
    ) throws -> GrantReceipt {
        let grant = Grant(key: key, account: account, currency: currency, amount: amount, note: note)
        switch ask(.grant(grant)) {
        case .grant(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    mutating func view(_ transaction: TransactionID) throws -> PurchaseView {
        switch ask(.purchase(transaction)) {
        case .purchaseView(let view): return view
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    /// The balance of one wallet; all zero where there is none.
    mutating func balance(_ account: AccountName, _ currency: CurrencyCode = "gems") throws -> Balance {
        switch ask(.balance(account: account, currency: currency)) {
        case .balance(let answer): return answer.balances.first?.balance ?? Balance()
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    /// `[available, debt]` of one wallet, for tables.
    mutating func standing(_ account: AccountName, _ currency: CurrencyCode = "gems") throws -> [Int64] {
        let balance = try balance(account, currency)
        return [balance.available, balance.debt]
    }

    /// Debits − credits of a kind of account.
    func total(_ kind: AccountKind, _ currency: CurrencyCode = "gems") -> Int64 {
        books.totals[books.currencyID(currency)!, kind].balance
    }
}

struct UnexpectedOutcome: Error {
    let outcome: Outcome
    init(_ outcome: Outcome) { self.outcome = outcome }
}

extension PostedAmount {
    static func posted(_ currency: CurrencyCode, _ units: Int64) -> PostedAmount {
        PostedAmount(currency: currency, units: units)
    }
}
