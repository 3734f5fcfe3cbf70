package import LedgerTypes
package import StrictJSON

/// What an ``OpenItemsPage`` lists.
package protocol OpenItem: WireValue {
    /// The member of the page that has them.
    static var listName: StaticString { get }
}

extension OpenLot: OpenItem {
    package static let listName: StaticString = "lots"

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("lot")
        writer.integer(lot)
        writer.member("currency", currency.text)
        writer.member("class", lotClass.name)
        writer.member("time", time)
        writer.member("transactionId", transaction?.description)
        writer.member("product", product)
        writer.member("granted", granted)
        writer.member("remaining", remaining)
        writer.member("held", held)
        writer.member("debt", debt)
        writer.member("expiresAt", expiresAt)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var lot: LotID?
        var currency: CurrencyCode?
        var lotClass: LotClass?
        var time: Timestamp?
        var transaction: TransactionID?
        var product: String?
        var granted: Int64?
        var remaining: Int64?
        var held: Int64?
        var debt: Int64?
        var expiresAt: Timestamp?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "lot": lot = try reader.integer()
            case "currency": currency = try reader.currencyCode()
            case "class":
                lotClass = try reader.named { (name: String) in LotClass.allCases.first { $0.name == name } }
            case "time": time = try reader.integer()
            case "transactionId": transaction = try reader.transactionID()
            case "product": product = try reader.string()
            case "granted": granted = try reader.integer()
            case "remaining": remaining = try reader.integer()
            case "held": held = try reader.integer()
            case "debt": debt = try reader.integer()
            case "expiresAt": expiresAt = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(
            lot: try reader.required(lot, "lot"), currency: try reader.required(currency, "currency"),
            lotClass: try reader.required(lotClass, "class"), time: try reader.required(time, "time"),
            transaction: transaction, product: product, granted: try reader.required(granted, "granted"),
            remaining: try reader.required(remaining, "remaining"), held: try reader.required(held, "held"),
            debt: try reader.required(debt, "debt"), expiresAt: expiresAt)
    }
}

extension OpenHoldView: OpenItem {
    package static let listName: StaticString = "holds"

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("key")
        writer.string(key.text)
        writer.member("operation", operation.map { Int64($0) })
        writer.member("entry", entry)
        writer.member("time", time)
        writer.member("currency", currency.text)
        writer.member("amount", amount)
        writer.member("expiresAt", expiresAt)
        writer.member("actor", actor)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var key: RequestKey?
        var operation: Int?
        var entry: EntryID?
        var time: Timestamp?
        var currency: CurrencyCode?
        var amount: Int64?
        var expiresAt: Timestamp?
        var actor: String?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey()
            case "operation": operation = Int(try reader.integer())
            case "entry": entry = try reader.integer()
            case "time": time = try reader.integer()
            case "currency": currency = try reader.currencyCode()
            case "amount": amount = try reader.integer()
            case "expiresAt": expiresAt = try reader.integer()
            case "actor": actor = try reader.string()
            default: try reader.skip()
            }
        }
        self.init(
            key: try reader.required(key, "key"), operation: operation, entry: try reader.required(entry, "entry"),
            time: try reader.required(time, "time"), currency: try reader.required(currency, "currency"),
            amount: try reader.required(amount, "amount"), expiresAt: try reader.required(expiresAt, "expiresAt"),
            actor: actor)
    }
}

extension OpenItemsPage: WireValue where Item: OpenItem {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entry")
        writer.integer(entry)
        writer.key(Item.listName)
        writer.write(items)
        writer.key("next")
        if let next { writer.integer(next) } else { writer.null() }
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let list = Item.listName
        var entry: EntryID?
        var items: [Item]?
        var next: Int64?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "entry": entry = try reader.integer()
            case list: items = try reader.list(of: Item.self)
            case "next": next = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            default: try reader.skip()
            }
        }
        self.init(
            entry: try reader.required(entry, "entry"), items: try reader.required(items, list), next: next)
    }
}
