package import LedgerTypes
package import StrictJSON

extension PostedAmount: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("currency")
        writer.string(currency.text)
        writer.key("amount")
        writer.integer(units)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var currency: CurrencyCode?
        var units: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "currency": currency = try reader.currencyCode()
            case "amount": units = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(currency: try reader.required(currency, "currency"), units: try reader.required(units, "amount"))
    }
}

extension PurchaseReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("outcome")
        writer.string(outcome.rawValue)
        writer.key("transactionId")
        writer.string(digitsOf: transaction.number)
        writer.key("account")
        writer.string(orNull: account?.text)
        writer.key("posted")
        writer.write(posted)
        writer.key("balances")
        writer.balances(balances)
        writer.key("entry")
        writer.integer(orNull: entry)
        writer.key("finish")
        writer.bool(finish)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var outcome: PurchaseOutcome?
        var transaction: TransactionID?
        var account: AccountName?
        var posted: [PostedAmount]?
        var balances: [CurrencyBalance]?
        var entry: EntryID?
        var finish: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "outcome": outcome = try reader.named(PurchaseOutcome.init(rawValue:))
            case "transactionId": transaction = try reader.transactionID()
            case "account": account = try reader.orNull { (reader) throws(JSONError) in try reader.toldAccountName() }
            case "posted": posted = try reader.list(of: PostedAmount.self)
            case "balances": balances = try reader.balances()
            case "entry": entry = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "finish": finish = try reader.bool()
            default: try reader.skip()
            }
        }
        self.init(
            outcome: try reader.required(outcome, "outcome"),
            transaction: try reader.required(transaction, "transactionId"), account: account,
            posted: try reader.required(posted, "posted"), balances: try reader.required(balances, "balances"),
            entry: entry, finish: try reader.required(finish, "finish"))
    }
}

extension NotificationReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("notificationType")
        writer.string(type)
        writer.key("subtype")
        writer.string(orNull: subtype)
        writer.key("notificationUUID")
        writer.string(uuid)
        writer.key("duplicate")
        writer.bool(duplicate)
        writer.key("purchase")
        if let purchase { purchase.write(to: &writer) } else { writer.null() }
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var type: String?
        var subtype: String?
        var uuid: String?
        var duplicate: Bool?
        var purchase: PurchaseReceipt?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "notificationType": type = try reader.string()
            case "subtype": subtype = try reader.orNull { (reader) throws(JSONError) in try reader.string() }
            case "notificationUUID": uuid = try reader.string()
            case "duplicate": duplicate = try reader.bool()
            case "purchase":
                purchase = try reader.orNull { (reader) throws(JSONError) in try PurchaseReceipt(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(
            type: try reader.required(type, "notificationType"), subtype: subtype,
            uuid: try reader.required(uuid, "notificationUUID"),
            duplicate: try reader.required(duplicate, "duplicate"), purchase: purchase)
    }
}
