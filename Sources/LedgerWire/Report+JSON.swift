package import LedgerTypes
package import StrictJSON

extension ReportRow: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .balance(let account, let currency, let available, let held, let debt, let paid):
            writer.key("account")
            writer.string(account.text)
            writer.key("currency")
            writer.string(currency.text)
            writer.key("available")
            writer.integer(available)
            writer.key("held")
            writer.integer(held)
            writer.key("debt")
            writer.integer(debt)
            writer.key("paid")
            writer.integer(paid)
            writer.key("free")
            writer.integer(available - paid)
        case .trial(let currency, let account, let debits, let credits):
            writer.key("currency")
            writer.string(currency.text)
            writer.key("account")
            writer.string(account.name)
            writer.key("debits")
            writer.integer(debits)
            writer.key("credits")
            writer.integer(credits)
            writer.key("balance")
            writer.integer(debits - credits)
        case .debt(let account, let currency, let transaction, let lot, let debt, let since, let age):
            writer.key("account")
            writer.string(account.text)
            writer.key("currency")
            writer.string(currency.text)
            writer.key("transactionId")
            writer.string(transaction.description)
            writer.key("lot")
            writer.integer(lot)
            writer.key("debt")
            writer.integer(debt)
            writer.key("since")
            writer.integer(since)
            writer.key("ageMilliseconds")
            writer.integer(age)
        }
        writer.endObject()
    }

    /// A row of `trial` is the one that has `debits`, one of `debts` the one that has `since`.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var account: String?
        var currency: CurrencyCode?
        var available: Int64?
        var held: Int64?
        var debt: Int64?
        var paid: Int64?
        var debits: Int64?
        var credits: Int64?
        var transaction: TransactionID?
        var lot: LotID?
        var since: Timestamp?
        var age: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.string()
            case "currency": currency = try reader.currencyCode()
            case "available": available = try reader.integer()
            case "held": held = try reader.integer()
            case "debt": debt = try reader.integer()
            case "paid": paid = try reader.integer()
            case "debits": debits = try reader.integer()
            case "credits": credits = try reader.integer()
            case "transactionId": transaction = try reader.transactionID()
            case "lot": lot = try reader.integer()
            case "since": since = try reader.integer()
            case "ageMilliseconds": age = try reader.integer()
            default: try reader.skip()
            }
        }
        let owner = try reader.required(account, "account")
        let code = try reader.required(currency, "currency")
        if let debits {
            guard let kind = AccountKind(name: owner) else {
                throw reader.invalid("account", "is a name that this version does not know")
            }
            self = .trial(
                currency: code, account: kind, debits: debits, credits: try reader.required(credits, "credits"))
            return
        }
        guard let name = AccountName(told: owner) else { throw reader.invalid("account", "is not an account's name") }
        if let since {
            self = .debt(
                account: name, currency: code, transaction: try reader.required(transaction, "transactionId"),
                lot: try reader.required(lot, "lot"), debt: try reader.required(debt, "debt"), since: since,
                age: try reader.required(age, "ageMilliseconds"))
        } else {
            self = .balance(
                account: name, currency: code, available: try reader.required(available, "available"),
                held: try reader.required(held, "held"), debt: try reader.required(debt, "debt"),
                paid: try reader.required(paid, "paid"))
        }
    }
}

extension ReportPage: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("kind")
        writer.string(kind.rawValue)
        writer.key("asOf")
        writer.integer(asOf)
        writer.key("rows")
        writer.write(rows)
        writer.key("next")
        writer.string(orNull: next)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var kind: ReportKind?
        var asOf: Timestamp?
        var rows: [ReportRow]?
        var next: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "kind": kind = try reader.named(ReportKind.init(rawValue:))
            case "asOf": asOf = try reader.integer()
            case "rows": rows = try reader.list(of: ReportRow.self)
            case "next": next = try reader.orNull { (reader) throws(JSONError) in try reader.string() }
            default: try reader.skip()
            }
        }
        self.init(
            kind: try reader.required(kind, "kind"), asOf: try reader.required(asOf, "asOf"),
            rows: try reader.required(rows, "rows"), next: next)
    }
}
