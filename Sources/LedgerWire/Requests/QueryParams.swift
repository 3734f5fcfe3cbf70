package import LedgerTypes
package import StrictJSON

extension BalanceQuery: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
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
        self.init(account: try reader.required(account, "account"), currency: currency, asOf: asOf)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("account", account.text)
        writer.member("currency", currency?.text)
        writer.member("asOf", asOf)
    }
}

extension HistoryQuery: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var account: AccountName?
        var currency: CurrencyCode?
        var limit = Limits.historyPageDefault
        var before: EntryID?
        var skip = 0
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.accountName()
            case "currency": currency = try reader.currencyCode()
            case "limit": limit = Int(try reader.integer(in: 1...Int64(Limits.historyPageMax)))
            case "before": before = try reader.integer(in: 1...Limits.amountMax)
            case "skipTransfers": skip = try reader.skippedTransfers()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            account: try reader.required(account, "account"), currency: currency, limit: limit, before: before,
            skipTransfers: skip)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("account", account.text)
        writer.member("currency", currency?.text)
        writer.member("limit", Int64(limit))
        writer.member("before", before)
        if skipTransfers > 0 { writer.member("skipTransfers", Int64(skipTransfers)) }
    }
}

extension OpenItemsQuery: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var account: AccountName?
        var currency: CurrencyCode?
        var limit = Limits.openItemsPageDefault
        var before: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.accountName()
            case "currency": currency = try reader.currencyCode()
            case "limit": limit = Int(try reader.integer(in: 1...Int64(Limits.openItemsPageMax)))
            case "before": before = try reader.integer(in: 1...Limits.amountMax)
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            account: try reader.required(account, "account"), currency: currency, limit: limit, before: before)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("account", account.text)
        writer.member("currency", currency?.text)
        writer.member("limit", Int64(limit))
        writer.member("before", before)
    }
}

extension ReportRequest: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var kind: ReportKind?
        var asOf: Timestamp?
        var from: Timestamp?
        var to: Timestamp?
        var dates: ReportDates?
        var scope: ReportScope?
        var currency: CurrencyCode?
        var limit = Limits.reportPageDefault
        var after: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "kind": kind = try reader.oneOf()
            case "asOf": asOf = try reader.timestamp()
            case "from": from = try reader.timestamp()
            case "to": to = try reader.timestamp()
            case "by": dates = try reader.oneOf()
            case "scope": scope = try reader.oneOf()
            case "currency": currency = try reader.currencyCode()
            case "limit": limit = Int(try reader.integer(in: 1...Int64(Limits.reportPageMax)))
            case "after": after = try reader.string()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            kind: try reader.required(kind, "kind"), asOf: to ?? asOf, from: from, dates: dates ?? .posted,
            scope: scope ?? .open, currency: currency, limit: limit, after: after)
        if asOf != nil && to != nil { throw reader.invalid("to", "and asOf are the same: give one of them") }
        if to != nil && !self.kind.isOfPeriods {
            throw reader.invalid("to", "is of reports of a period; the report \(self.kind.rawValue) has asOf")
        }
        if currency != nil && !self.kind.isOfCurrencies {
            throw reader.invalid("currency", "is not of the report \(self.kind.rawValue)")
        }
        if from != nil && !self.kind.isOfPeriods {
            throw reader.invalid("from", "is not of the report \(self.kind.rawValue)")
        }
        if let from, let end = self.asOf, from > end { throw reader.invalid("from", "is later than the period's end") }
        if dates != nil && !self.kind.hasEffectiveDates {
            throw reader.invalid("by", "is not of the report \(self.kind.rawValue)")
        }
        if scope != nil && !self.kind.hasScopes {
            throw reader.invalid("scope", "is of the reports consumption_requests and lots only")
        }
        guard let after else { return }
        guard ReportCursor(self.kind, after) != nil else {
            throw reader.invalid("after", "is not the next of a page of \(self.kind.rawValue)")
        }
        // The pages of one report are of one time.
        if self.asOf == nil { throw reader.invalid("asOf", "must be given with after: the asOf of the page before") }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("kind", kind.rawValue)
        writer.member("asOf", asOf)
        writer.member("from", from)
        if kind.hasEffectiveDates { writer.member("by", dates.rawValue) }
        if kind.hasScopes { writer.member("scope", scope.rawValue) }
        writer.member("currency", currency?.text)
        writer.member("limit", Int64(limit))
        writer.member("after", after)
    }
}

extension ClosePeriod: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var through: Timestamp?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "through": through = try reader.timestamp()
            default: throw reader.unknownParameter()
            }
        }
        self.init(through: try reader.required(through, "through"))
    }

    package func writeMembers(to writer: inout JSONWriter) { writer.member("through", through) }
}

extension JournalQuery: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var after: EntryID?
        var limit = Limits.journalPageDefault
        var wait: Int64 = 0
        var skip = 0
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "after": after = try reader.integer(in: 0...Limits.amountMax)
            case "limit": limit = Int(try reader.integer(in: 1...Int64(Limits.journalPageMax)))
            case "waitMilliseconds": wait = try reader.integer(in: 0...Limits.journalWaitMillisecondsMax)
            case "skipTransfers": skip = try reader.skippedTransfers()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            after: try reader.required(after, "after"), limit: limit, waitMilliseconds: wait, skipTransfers: skip)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("after", after)
        writer.member("limit", Int64(limit))
        writer.member("waitMilliseconds", waitMilliseconds)
        if skipTransfers > 0 { writer.member("skipTransfers", Int64(skipTransfers)) }
    }
}

extension JSONReader {
    /// How many transfers of an entry a client has already.
    fileprivate mutating func skippedTransfers() throws(JSONError) -> Int {
        Int(try integer(in: 0...Limits.amountMax))
    }
}

extension FindQuery: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var query: FindQuery?
        try reader.object { (reader, key) throws(JSONError) in
            let given: FindQuery
            switch key {
            case "account": given = .account(try reader.accountName())
            case "token": given = .token(try reader.appAccountToken())
            case "key": given = .key(try reader.requestKey())
            case "transactionId": given = .transaction(try reader.transactionID())
            default: throw reader.unknownParameter()
            }
            if query != nil { throw reader.fail("is one too many: params \(FindQuery.rule)") }
            query = given
        }
        guard let query else { throw reader.invalid("", FindQuery.rule) }
        self = query
    }

    private static let rule = "must have exactly one of account, token, key and transactionId"

    package func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .account(let account): writer.member("account", account.text)
        case .token(let token): writer.member("token", token.text)
        case .key(let key): writer.member("key", key.text)
        case .transaction(let transaction): writer.member("transactionId", transaction.description)
        }
    }
}
