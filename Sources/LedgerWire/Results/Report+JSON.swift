package import LedgerTypes
package import StrictJSON

extension ReportRow {
    package func write(to writer: inout JSONWriter) {
        if case .line(let line) = self { return line.write(to: &writer) }
        writer.beginObject()
        switch self {
        case .line: break
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
            writer.sum(debits)
            writer.key("credits")
            writer.sum(credits)
            writer.key("balance")
            writer.sum(debits - credits)
        case .notification(let row): row.writeMembers(to: &writer)
        case .consumptionRequest(let row): row.writeMembers(to: &writer)
        case .closing(let closing): closing.writeMembers(to: &writer)
        case .debt(let account, let currency, let transaction, let source, let lot, let debt, let since, let age):
            writer.key("account")
            writer.string(account.text)
            writer.key("currency")
            writer.string(currency.text)
            writer.key("transactionId")
            writer.string(transaction.description)
            writer.key("source")
            writer.string(source.name)
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

    init(_ kind: ReportKind, from reader: inout JSONReader) throws(JSONError) {
        switch kind {
        case .balances: self = try ReportRow.balance(&reader)
        case .trial: self = try ReportRow.trial(&reader)
        case .debts: self = try ReportRow.debt(&reader)
        case .notifications: self = .notification(try Notification(from: &reader))
        case .consumptionRequests: self = .consumptionRequest(try ConsumptionRequest(from: &reader))
        case .rollforward, .sales, .revenue, .deferred, .lots, .spends, .purchases, .unassigned, .journal:
            self = .line(try ReportLine(kind, from: &reader))
        case .closings: self = .closing(try PeriodClosing(from: &reader))
        }
    }

    private static func balance(_ reader: inout JSONReader) throws(JSONError) -> ReportRow {
        var account: AccountName?
        var currency: CurrencyCode?
        var available: Int64?
        var held: Int64?
        var debt: Int64?
        var paid: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.toldAccountName()
            case "currency": currency = try reader.currencyCode()
            case "available": available = try reader.integer()
            case "held": held = try reader.integer()
            case "debt": debt = try reader.integer()
            case "paid": paid = try reader.integer()
            default: try reader.skip()
            }
        }
        return .balance(
            account: try reader.required(account, "account"), currency: try reader.required(currency, "currency"),
            available: try reader.required(available, "available"), held: try reader.required(held, "held"),
            debt: try reader.required(debt, "debt"), paid: try reader.required(paid, "paid"))
    }

    private static func trial(_ reader: inout JSONReader) throws(JSONError) -> ReportRow {
        var account: AccountKind?
        var currency: CurrencyCode?
        var debits: Int128?
        var credits: Int128?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.named(AccountKind.init(name:))
            case "currency": currency = try reader.currencyCode()
            case "debits": debits = try reader.sum()
            case "credits": credits = try reader.sum()
            default: try reader.skip()
            }
        }
        return .trial(
            currency: try reader.required(currency, "currency"), account: try reader.required(account, "account"),
            debits: try reader.required(debits, "debits"), credits: try reader.required(credits, "credits"))
    }

    private static func debt(_ reader: inout JSONReader) throws(JSONError) -> ReportRow {
        var account: AccountName?
        var currency: CurrencyCode?
        var transaction: TransactionID?
        // Of servers that said it of no purchase.
        var source = PurchaseSource.appStore
        var lot: LotID?
        var debt: Int64?
        var since: Timestamp?
        var age: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.toldAccountName()
            case "currency": currency = try reader.currencyCode()
            case "transactionId": transaction = try reader.transactionID()
            case "source": source = try reader.named(PurchaseSource.init(name:))
            case "lot": lot = try reader.integer()
            case "debt": debt = try reader.integer()
            case "since": since = try reader.integer()
            case "ageMilliseconds": age = try reader.integer()
            default: try reader.skip()
            }
        }
        return .debt(
            account: try reader.required(account, "account"), currency: try reader.required(currency, "currency"),
            transaction: try reader.required(transaction, "transactionId"), source: source,
            lot: try reader.required(lot, "lot"), debt: try reader.required(debt, "debt"),
            since: try reader.required(since, "since"), age: try reader.required(age, "ageMilliseconds"))
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
        writer.beginArray()
        for row in rows { row.write(to: &writer) }
        writer.endArray()
        writer.key("next")
        writer.string(orNull: next)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var kind: ReportKind?
        var asOf: Timestamp?
        var rows: [ReportRow]?
        var earlyRows: Range<Int>?
        var next: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "kind": kind = try reader.named(ReportKind.init(rawValue:))
            case "asOf": asOf = try reader.integer()
            case "rows":
                if let kind { rows = try reader.rows(kind) } else { earlyRows = try reader.raw() }
            case "next": next = try reader.orNull { (reader) throws(JSONError) in try reader.string() }
            default: try reader.skip()
            }
        }
        let known = try reader.required(kind, "kind")
        if let earlyRows {
            var own = JSONReader(reader.bytes(earlyRows))
            rows = try own.rows(known)
        }
        self.init(
            kind: known, asOf: try reader.required(asOf, "asOf"), rows: try reader.required(rows, "rows"), next: next)
    }
}

extension JSONWriter {
    /// A sum over all players: a number where every JSON client holds it exactly, otherwise text.
    mutating func sum(_ value: Int128) {
        if let number = Int64(exactly: value), number.magnitude <= Limits.amountMax {
            integer(number)
        } else {
            string(digitsOf: value)
        }
    }
}

extension JSONReader {
    /// A turnover, which is never negative: a number, or decimal digits as text.
    fileprivate mutating func sum() throws(JSONError) -> Int128 {
        guard try peek() == .string else { return Int128(try integer(in: 0...Int64.max)) }
        let text = try string()
        guard let sum = Int128(text), sum >= 0, String(sum) == text else {
            throw fail("must be a sum in decimal digits")
        }
        return sum
    }

    fileprivate mutating func rows(_ kind: ReportKind) throws(JSONError) -> [ReportRow] {
        var rows: [ReportRow] = []
        try array { (reader, _) throws(JSONError) in rows.append(try ReportRow(kind, from: &reader)) }
        return rows
    }
}
