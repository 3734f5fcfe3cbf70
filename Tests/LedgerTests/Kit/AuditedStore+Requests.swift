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
        note: String? = nil, expiresAt: Timestamp? = nil
    ) throws -> GrantReceipt {
        let grant = Grant(
            key: key, account: account, currency: currency, amount: amount, note: note, expiresAt: expiresAt)
        switch ask(.grant(grant)) {
        case .grant(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func reverse(
        _ key: RequestKey, _ spendKey: RequestKey, operation: Int? = nil, _ debits: [CurrencyAmount]? = nil
    ) throws -> ReversalReceipt {
        switch ask(.reverse(Reversal(key: key, spendKey: spendKey, operation: operation, debits: debits))) {
        case .reversal(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func hold(
        _ key: RequestKey, _ account: AccountName, _ amount: Amount, of currency: CurrencyCode = "gems",
        timeout: Int64 = 1_000
    ) throws -> HoldReceipt {
        let hold = Hold(
            key: key, account: account, currency: currency, amount: amount, timeoutMilliseconds: timeout)
        switch ask(.hold(hold)) {
        case .hold(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func capture(
        _ key: RequestKey, _ holdKey: RequestKey, operation: Int? = nil, _ amount: Amount? = nil
    ) throws -> CaptureReceipt {
        switch ask(.capture(Capture(key: key, holdKey: holdKey, operation: operation, amount: amount))) {
        case .capture(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func release(
        _ key: RequestKey, _ holdKey: RequestKey, operation: Int? = nil
    ) throws -> ReleaseReceipt {
        switch ask(.release(Release(key: key, holdKey: holdKey, operation: operation))) {
        case .release(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func atomic(_ key: RequestKey, _ operations: [KeyedOperation]) throws -> AtomicReceipt {
        switch ask(.atomic(Atomic(key: key, operations: operations))) {
        case .atomic(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func external(_ purchase: ExternalPurchase) throws -> PurchaseReceipt {
        switch ask(.external(StatedPurchase(purchase, testHash))) {
        case .purchase(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func adjust(
        _ key: RequestKey, _ account: AccountName, _ units: Int64, _ lotClass: LotClass = .free,
        of currency: CurrencyCode = "gems", reason: String = "a mistake"
    ) throws -> AdjustmentReceipt {
        let adjustment = Adjustment(
            key: key, account: account, currency: currency, lotClass: lotClass, units: units, reason: reason)
        switch ask(.adjust(adjustment, approvedBy: "another")) {
        case .adjustment(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func importLots(
        _ key: RequestKey, _ account: AccountName, _ lots: ImportedLot..., usedUp: [UsedUpPurchase] = []
    ) throws -> ImportReceipt {
        switch ask(.importLots(LotImport(key: key, account: account, lots: lots, usedUp: usedUp))) {
        case .imported(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func link(
        _ token: AppAccountToken, to account: AccountName, moves: Bool = false
    ) throws -> LinkReceipt {
        switch ask(.link(Link(token: token, account: account, moves: moves))) {
        case .link(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    @discardableResult
    mutating func consent(_ key: RequestKey, _ account: AccountName, _ consumption: Bool) throws -> ConsentReceipt {
        switch ask(.consent(Consent(key: key, account: account, consumption: consumption))) {
        case .consent(let receipt): return receipt
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    /// Whether it was recorded now.
    mutating func record(_ call: AppStoreCall) throws -> Bool {
        switch ask(.record(call)) {
        case .recorded(let duplicate): return !duplicate
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    /// How many players had something expired.
    @discardableResult
    mutating func expire() throws -> Int {
        switch ask(.expire) {
        case .expired(let players): return players
        case let other: throw UnexpectedOutcome(other)
        }
    }

    /// The transfers of an entry as a test reads them.
    func transfers(ofEntry entry: EntryID) -> [String] {
        index.rows.transfers.filter { $0.entry == entry }.map {
            "\($0.debit.kind.name)→\($0.credit.kind.name) \($0.amount) lot \($0.lot)"
                + ($0.debtLot.map { " for \($0)" } ?? "") + ($0.reference.map { " of \($0)" } ?? "")
        }
    }

    mutating func view(_ transaction: TransactionID) throws -> PurchaseView {
        let view = view(PurchaseQuery(transaction: transaction))
        for problem in auditor.problems { Issue.record("audit: \(problem)") }
        return try #require(view)
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
        Int64(books.totals[books.currencyID(currency)!, kind].balance)
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
