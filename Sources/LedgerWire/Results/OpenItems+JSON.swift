package import LedgerTypes
package import StrictJSON

extension OpenLot: WireValue {
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

extension OpenHoldView: WireValue {
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

extension OpenLotsPage: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entry")
        writer.integer(entry)
        writer.key("lots")
        writer.write(lots)
        writer.next(next)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entry: EntryID?
        var lots: [OpenLot]?
        var next: Int64?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "entry": entry = try reader.integer()
            case "lots": lots = try reader.list(of: OpenLot.self)
            case "next": next = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            default: try reader.skip()
            }
        }
        self.init(
            entry: try reader.required(entry, "entry"), lots: try reader.required(lots, "lots"), next: next)
    }
}

extension OpenHoldsPage: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entry")
        writer.integer(entry)
        writer.key("holds")
        writer.write(holds)
        writer.next(next)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entry: EntryID?
        var holds: [OpenHoldView]?
        var next: Int64?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "entry": entry = try reader.integer()
            case "holds": holds = try reader.list(of: OpenHoldView.self)
            case "next": next = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            default: try reader.skip()
            }
        }
        self.init(
            entry: try reader.required(entry, "entry"), holds: try reader.required(holds, "holds"), next: next)
    }
}

extension JSONWriter {
    /// Where a page goes on; null where it does not.
    fileprivate mutating func next(_ number: Int64?) {
        key("next")
        if let number { integer(number) } else { null() }
    }
}
