import LedgerTypes
import StrictJSON

/// The parameters of what a game server asks; an operation of an atomic is written without its key.
extension JSONWriter {
    mutating func members(_ spend: Spend, _ place: OperationPlace) {
        member(spend.key, place)
        member("account", spend.account.text)
        member("debits", spend.debits)
        member("note", spend.note)
        switch spend.funds {
        case .any: break  // as if it were not given
        case .paid: member("funds", spend.funds.rawValue)
        }
        member("expectedVersion", spend.expectedVersion)
        member("minimumRemaining", spend.minimumRemaining)
    }

    mutating func members(_ reversal: Reversal, _ place: OperationPlace) {
        member(reversal.key, place)
        member("spendKey", reversal.spendKey.text)
        member("operation", reversal.operation.map { Int64($0) })
        member("debits", reversal.debits)
    }

    mutating func members(_ hold: Hold, _ place: OperationPlace) {
        member(hold.key, place)
        member("account", hold.account.text)
        members(CurrencyAmount(currency: hold.currency, amount: hold.amount))
        member("timeoutMilliseconds", hold.timeoutMilliseconds)
    }

    mutating func members(_ capture: Capture, _ place: OperationPlace) {
        member(capture.key, place)
        member("holdKey", capture.holdKey.text)
        member("operation", capture.operation.map { Int64($0) })
        member("amount", capture.amount?.units)
    }

    mutating func members(_ release: Release, _ place: OperationPlace) {
        member(release.key, place)
        member("holdKey", release.holdKey.text)
        member("operation", release.operation.map { Int64($0) })
    }

    mutating func members(_ grant: Grant, _ place: OperationPlace) {
        member(grant.key, place)
        member("account", grant.account.text)
        members(CurrencyAmount(currency: grant.currency, amount: grant.amount))
        member("note", grant.note)
        member("expiresAt", grant.expiresAt)
    }

    mutating func members(_ atomic: Atomic) {
        member("key", atomic.key.text)
        key("operations")
        beginArray()
        for operation in atomic.operations {
            beginObject()
            key("method")
            ascii(operation.method.name)
            params { $0.members(operation) }
            endObject()
        }
        endArray()
    }

    private mutating func members(_ operation: AtomicOperation) {
        switch operation {
        case .spend(let spend): members(spend, .inAtomic)
        case .reverse(let reversal): members(reversal, .inAtomic)
        case .grant(let grant): members(grant, .inAtomic)
        case .hold(let hold): members(hold, .inAtomic)
        case .capture(let capture): members(capture, .inAtomic)
        case .release(let release): members(release, .inAtomic)
        }
    }

    private mutating func member(_ key: RequestKey, _ place: OperationPlace) {
        switch place {
        case .alone: member("key", key.text)
        case .inAtomic: break
        }
    }

    private mutating func member(_ name: StaticString, _ debits: [CurrencyAmount]?) {
        guard let debits else { return }
        key(name)
        beginArray()
        for debit in debits {
            beginObject()
            members(debit)
            endObject()
        }
        endArray()
    }
}

extension AtomicOperation {
    fileprivate var method: Method {
        switch self {
        case .spend: .spend
        case .reverse: .reverse
        case .grant: .grant
        case .hold: .hold
        case .capture: .capture
        case .release: .release
        }
    }
}
