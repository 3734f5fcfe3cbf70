import LedgerTypes
import StrictJSON

/// Where an operation of a game server stands: its members are the same but for the key.
enum OperationPlace {
    /// A request of its own, with a key of its own.
    case alone
    /// An operation of an `atomic`, whose key it has.
    case inAtomic

    /// Stands for the atomic's key until that has been read, which may come after the operations; `Atomic` puts the
    /// real one in its place. No request can have it as its own.
    fileprivate static let keyToCome = RequestKey(stored: "")
}

extension JSONReader {
    fileprivate mutating func requestKey(_ place: OperationPlace) throws(JSONError) -> RequestKey {
        switch place {
        case .alone: return try requestKey()
        case .inAtomic: throw fail("must be left out: the key of the atomic is the key of its operations")
        }
    }

    /// For an object whose members have all been read.
    fileprivate func required(_ key: RequestKey?, _ place: OperationPlace) throws(JSONError) -> RequestKey {
        switch place {
        case .alone: return try required(key, "key")
        case .inAtomic: return OperationPlace.keyToCome
        }
    }

    /// The index of an operation of an atomic.
    fileprivate mutating func operation() throws(JSONError) -> Int {
        Int(try integer(in: 0...Int64(Limits.atomicOperationsMax - 1)))
    }
}

extension Spend {
    init(_ reader: inout JSONReader, _ place: OperationPlace) throws(JSONError) {
        var key: RequestKey?
        var account: AccountName?
        var debits: [CurrencyAmount]?
        var note: String?
        var funds = Funds.any
        var expectedVersion: Int64?
        var minimumRemaining: Int64?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey(place)
            case "account": account = try reader.accountName()
            case "debits": debits = try reader.debits()
            case "note": note = try reader.note()
            case "funds": funds = try reader.funds()
            case "expectedVersion": expectedVersion = try reader.integer(in: 0...Limits.amountMax)
            case "minimumRemaining": minimumRemaining = try reader.integer(in: 0...Limits.amountMax)
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            key: try reader.required(key, place), account: try reader.required(account, "account"),
            debits: try reader.required(debits, "debits"), note: note, funds: funds, expectedVersion: expectedVersion,
            minimumRemaining: minimumRemaining)
        guard self.debits.count == 1 else {
            if expectedVersion != nil { throw reader.invalid("expectedVersion", "is allowed only with one debit") }
            if minimumRemaining != nil { throw reader.invalid("minimumRemaining", "is allowed only with one debit") }
            return
        }
    }
}

extension Reversal {
    init(_ reader: inout JSONReader, _ place: OperationPlace) throws(JSONError) {
        var key: RequestKey?
        var spendKey: RequestKey?
        var operation: Int?
        var debits: [CurrencyAmount]?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey(place)
            case "spendKey": spendKey = try reader.requestKey()
            case "operation": operation = try reader.operation()
            case "debits": debits = try reader.debits()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            key: try reader.required(key, place), spendKey: try reader.required(spendKey, "spendKey"),
            operation: operation, debits: debits)
    }
}

extension Hold {
    init(_ reader: inout JSONReader, _ place: OperationPlace) throws(JSONError) {
        var key: RequestKey?
        var account: AccountName?
        var currency: CurrencyCode?
        var amount: Amount?
        var timeout: Int64?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey(place)
            case "account": account = try reader.accountName()
            case "currency": currency = try reader.currencyCode()
            case "amount": amount = try reader.amount()
            case "timeoutMilliseconds": timeout = try reader.integer(in: 1...Limits.holdMillisecondsMax)
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            key: try reader.required(key, place), account: try reader.required(account, "account"),
            currency: try reader.required(currency, "currency"), amount: try reader.required(amount, "amount"),
            timeoutMilliseconds: try reader.required(timeout, "timeoutMilliseconds"))
    }
}

extension Capture {
    init(_ reader: inout JSONReader, _ place: OperationPlace) throws(JSONError) {
        var key: RequestKey?
        var holdKey: RequestKey?
        var operation: Int?
        var amount: Amount?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey(place)
            case "holdKey": holdKey = try reader.requestKey()
            case "operation": operation = try reader.operation()
            case "amount": amount = try reader.amount()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            key: try reader.required(key, place), holdKey: try reader.required(holdKey, "holdKey"),
            operation: operation, amount: amount)
    }
}

extension Release {
    init(_ reader: inout JSONReader, _ place: OperationPlace) throws(JSONError) {
        var key: RequestKey?
        var holdKey: RequestKey?
        var operation: Int?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey(place)
            case "holdKey": holdKey = try reader.requestKey()
            case "operation": operation = try reader.operation()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            key: try reader.required(key, place), holdKey: try reader.required(holdKey, "holdKey"),
            operation: operation)
    }
}

extension Grant {
    init(_ reader: inout JSONReader, _ place: OperationPlace) throws(JSONError) {
        var key: RequestKey?
        var account: AccountName?
        var currency: CurrencyCode?
        var amount: Amount?
        var note: String?
        var expiresAt: Timestamp?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey(place)
            case "account": account = try reader.accountName()
            case "currency": currency = try reader.currencyCode()
            case "amount": amount = try reader.amount()
            case "note": note = try reader.note()
            case "expiresAt": expiresAt = try reader.timestamp()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            key: try reader.required(key, place), account: try reader.required(account, "account"),
            currency: try reader.required(currency, "currency"), amount: try reader.required(amount, "amount"),
            note: note, expiresAt: expiresAt)
    }
}
