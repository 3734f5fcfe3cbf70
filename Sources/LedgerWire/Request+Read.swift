import LedgerTypes
import StrictJSON

/// Parameters, by name: a member that is unknown, missing, given twice or of a wrong type is an error whose path names
/// it.
extension Request {
    /// Reads the object of a method's parameters.
    init(_ method: Method, _ reader: inout JSONReader) throws(JSONError) {
        switch method {
        case .ping: self = try Request.withoutMembers(.ping, &reader)
        case .info: self = try Request.withoutMembers(.info, &reader)
        case .authenticate: self = try Request.authenticate(&reader)
        case .credit: self = try Request.credit(&reader)
        case .notify: self = try Request.notify(&reader)
        case .purchase: self = try Request.purchase(&reader)
        case .consumption: self = .consumption(try ConsumptionQuery(&reader))
        case .spend: self = .spend(try Spend(&reader, .alone))
        case .reverse: self = .reverse(try Reversal(&reader, .alone))
        case .hold: self = .hold(try Hold(&reader, .alone))
        case .capture: self = .capture(try Capture(&reader, .alone))
        case .release: self = .release(try Release(&reader, .alone))
        case .grant: self = .grant(try Grant(&reader, .alone))
        case .atomic: self = .atomic(try Atomic(&reader))
        case .balance: self = try Request.balance(&reader)
        case .history: self = .history(try HistoryQuery(&reader))
        case .report: self = try Request.report(&reader)
        case .journal: self = try Request.journal(&reader)
        case .forget: self = try Request.forget(&reader)
        }
    }

    /// The request has no `params`, which is as if they were empty.
    init(withoutParams method: Method) throws(JSONError) {
        let empty: StaticString = "{}"
        var reader = JSONReader(UnsafeBufferPointer(start: empty.utf8Start, count: empty.utf8CodeUnitCount))
        try self.init(method, &reader)
    }

    private static func withoutMembers(_ request: Request, _ reader: inout JSONReader) throws(JSONError) -> Request {
        try reader.object { (reader, _) throws(JSONError) in throw reader.unknownParameter() }
        return request
    }

    private static func authenticate(_ reader: inout JSONReader) throws(JSONError) -> Request {
        var token: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "token": token = try reader.token()
            default: throw reader.unknownParameter()
            }
        }
        return .authenticate(token: try reader.required(token, "token"))
    }

    private static func credit(_ reader: inout JSONReader) throws(JSONError) -> Request {
        var transaction: [UInt8]?
        var account: AccountName?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "signedTransaction": transaction = try reader.signedObject()
            case "account": account = try reader.accountName()
            default: throw reader.unknownParameter()
            }
        }
        return .credit(signedTransaction: try reader.required(transaction, "signedTransaction"), account: account)
    }

    private static func notify(_ reader: inout JSONReader) throws(JSONError) -> Request {
        var payload: [UInt8]?
        var account: AccountName?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "signedPayload": payload = try reader.signedObject()
            case "account": account = try reader.accountName()
            default: throw reader.unknownParameter()
            }
        }
        return .notify(signedPayload: try reader.required(payload, "signedPayload"), account: account)
    }

    private static func purchase(_ reader: inout JSONReader) throws(JSONError) -> Request {
        var transaction: TransactionID?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "transactionId": transaction = try reader.transactionID()
            default: throw reader.unknownParameter()
            }
        }
        return .purchase(try reader.required(transaction, "transactionId"))
    }

    private static func balance(_ reader: inout JSONReader) throws(JSONError) -> Request {
        var account: AccountName?
        var currency: CurrencyCode?
        var asOf: Timestamp?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.accountName()
            case "currency": currency = try reader.currencyCode()
            case "asOf": asOf = try reader.timestamp()
            default: throw reader.unknownParameter()
            }
        }
        return .balance(account: try reader.required(account, "account"), currency: currency, asOf: asOf)
    }

    private static func forget(_ reader: inout JSONReader) throws(JSONError) -> Request {
        var account: AccountName?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.accountName()
            default: throw reader.unknownParameter()
            }
        }
        return .forget(try reader.required(account, "account"))
    }

    private static func report(_ reader: inout JSONReader) throws(JSONError) -> Request {
        var kind: ReportKind?
        var asOf: Timestamp?
        var currency: CurrencyCode?
        var limit = Limits.reportPageDefault
        var after: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "kind": kind = try reader.oneOf()
            case "asOf": asOf = try reader.timestamp()
            case "currency": currency = try reader.currencyCode()
            case "limit": limit = Int(try reader.integer(in: 1...Int64(Limits.reportPageMax)))
            case "after":
                let text = try reader.string()
                guard ReportCursor(text) != nil else { throw reader.fail("is not the next of a page") }
                after = text
            default: throw reader.unknownParameter()
            }
        }
        return .report(
            kind: try reader.required(kind, "kind"), asOf: asOf, currency: currency, limit: limit, after: after)
    }

    private static func journal(_ reader: inout JSONReader) throws(JSONError) -> Request {
        var after: EntryID?
        var limit = Limits.journalPageDefault
        var wait: Int64 = 0
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "after": after = try reader.integer(in: 0...Int64.max)
            case "limit": limit = Int(try reader.integer(in: 1...Int64(Limits.journalPageMax)))
            case "waitMilliseconds": wait = try reader.integer(in: 0...Limits.journalWaitMillisecondsMax)
            default: throw reader.unknownParameter()
            }
        }
        return .journal(
            JournalQuery(after: try reader.required(after, "after"), limit: limit), waitMilliseconds: wait)
    }
}

extension HistoryQuery {
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        var account: AccountName?
        var currency: CurrencyCode?
        var limit = Limits.historyPageDefault
        var before: EntryID?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.accountName()
            case "currency": currency = try reader.currencyCode()
            case "limit": limit = Int(try reader.integer(in: 1...Int64(Limits.historyPageMax)))
            case "before": before = try reader.integer(in: 1...Int64.max)
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            account: try reader.required(account, "account"), currency: currency, limit: limit, before: before)
    }
}
