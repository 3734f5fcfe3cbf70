package import Ledger
package import StrictJSON

extension DrawnLot: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("currency")
        writer.string(currency.text)
        writer.key("amount")
        writer.integer(amount.units)
        writer.key("lot")
        writer.integer(lot)
        writer.key("transactionId")
        writer.string(orNull: transaction?.description)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var currency: CurrencyCode?
        var amount: Amount?
        var lot: LotID?
        var transaction: TransactionID?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "currency": currency = try reader.currencyCode()
            case "amount": amount = try reader.amount()
            case "lot": lot = try reader.integer()
            case "transactionId":
                transaction = try reader.orNull { (reader) throws(JSONError) in try reader.transactionID() }
            default: try reader.skip()
            }
        }
        self.init(
            currency: try reader.required(currency, "currency"), amount: try reader.required(amount, "amount"),
            lot: try reader.required(lot, "lot"), transaction: transaction)
    }
}

extension SpendReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entry")
        writer.integer(entry)
        writer.key("replayed")
        writer.bool(replayed)
        writer.key("drawn")
        writer.write(drawn)
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entry: EntryID?
        var replayed: Bool?
        var drawn: [DrawnLot]?
        var balances: [CurrencyBalance]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "entry": entry = try reader.integer()
            case "replayed": replayed = try reader.bool()
            case "drawn": drawn = try reader.list(of: DrawnLot.self)
            case "balances": balances = try reader.balances()
            default: try reader.skip()
            }
        }
        self.init(
            entry: try reader.required(entry, "entry"), replayed: try reader.required(replayed, "replayed"),
            drawn: try reader.required(drawn, "drawn"), balances: try reader.required(balances, "balances"))
    }
}

extension GrantReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entry")
        writer.integer(entry)
        writer.key("replayed")
        writer.bool(replayed)
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entry: EntryID?
        var replayed: Bool?
        var balances: [CurrencyBalance]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "entry": entry = try reader.integer()
            case "replayed": replayed = try reader.bool()
            case "balances": balances = try reader.balances()
            default: try reader.skip()
            }
        }
        self.init(
            entry: try reader.required(entry, "entry"), replayed: try reader.required(replayed, "replayed"),
            balances: try reader.required(balances, "balances"))
    }
}
