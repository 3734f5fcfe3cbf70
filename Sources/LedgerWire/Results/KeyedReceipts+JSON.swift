package import LedgerTypes
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

/// The members that the answer to every keyed request begins with, and those that follow it.
private struct Posted {
    var entry: EntryID?
    var replayed: Bool?
    var lots: [DrawnLot]?
    var lotsMore = 0
    var expiresAt: Timestamp?
    var balances: [CurrencyBalance]?

    /// - Parameters:
    ///   - lots: the name of the member that lists lots, where the answer has one.
    ///   - more: the name of the member that says how many more they are.
    init(
        _ reader: inout JSONReader, lots name: StaticString? = nil, more: StaticString? = nil
    ) throws(JSONError) {
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "entry": entry = try reader.integer()
            case "replayed": replayed = try reader.bool()
            case "expiresAt": expiresAt = try reader.integer()
            case "balances": balances = try reader.balances()
            default:
                if let name, key == name {
                    lots = try reader.list(of: DrawnLot.self)
                } else if let more, key == more {
                    lotsMore = Int(try reader.integer())
                } else {
                    try reader.skip()
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func posted(_ entry: EntryID, _ replayed: Bool) {
        key("entry")
        integer(entry)
        key("replayed")
        bool(replayed)
    }
}

extension SpendReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.posted(entry, replayed)
        writer.key("drawn")
        writer.write(drawn)
        if drawnMore > 0 {
            writer.key("drawnMore")
            writer.integer(Int64(drawnMore))
        }
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let posted = try Posted(&reader, lots: "drawn", more: "drawnMore")
        self.init(
            entry: try reader.required(posted.entry, "entry"),
            replayed: try reader.required(posted.replayed, "replayed"),
            drawn: try reader.required(posted.lots, "drawn"), drawnMore: posted.lotsMore,
            balances: try reader.required(posted.balances, "balances"))
    }
}

extension GrantReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.posted(entry, replayed)
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let posted = try Posted(&reader)
        self.init(
            entry: try reader.required(posted.entry, "entry"),
            replayed: try reader.required(posted.replayed, "replayed"),
            balances: try reader.required(posted.balances, "balances"))
    }
}

extension ReversalReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.posted(entry, replayed)
        writer.key("returned")
        writer.write(returned)
        if returnedMore > 0 {
            writer.key("returnedMore")
            writer.integer(Int64(returnedMore))
        }
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let posted = try Posted(&reader, lots: "returned", more: "returnedMore")
        self.init(
            entry: try reader.required(posted.entry, "entry"),
            replayed: try reader.required(posted.replayed, "replayed"),
            returned: try reader.required(posted.lots, "returned"), returnedMore: posted.lotsMore,
            balances: try reader.required(posted.balances, "balances"))
    }
}

extension HoldReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.posted(entry, replayed)
        writer.key("expiresAt")
        writer.integer(expiresAt)
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let posted = try Posted(&reader)
        self.init(
            entry: try reader.required(posted.entry, "entry"),
            replayed: try reader.required(posted.replayed, "replayed"),
            expiresAt: try reader.required(posted.expiresAt, "expiresAt"),
            balances: try reader.required(posted.balances, "balances"))
    }
}

extension CaptureReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.posted(entry, replayed)
        writer.key("drawn")
        writer.write(drawn)
        if drawnMore > 0 {
            writer.key("drawnMore")
            writer.integer(Int64(drawnMore))
        }
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let posted = try Posted(&reader, lots: "drawn", more: "drawnMore")
        self.init(
            entry: try reader.required(posted.entry, "entry"),
            replayed: try reader.required(posted.replayed, "replayed"),
            drawn: try reader.required(posted.lots, "drawn"), drawnMore: posted.lotsMore,
            balances: try reader.required(posted.balances, "balances"))
    }
}

extension ReleaseReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.posted(entry, replayed)
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let posted = try Posted(&reader)
        self.init(
            entry: try reader.required(posted.entry, "entry"),
            replayed: try reader.required(posted.replayed, "replayed"),
            balances: try reader.required(posted.balances, "balances"))
    }
}

extension AdjustmentReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.posted(entry, replayed)
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let posted = try Posted(&reader)
        self.init(
            entry: try reader.required(posted.entry, "entry"),
            replayed: try reader.required(posted.replayed, "replayed"),
            balances: try reader.required(posted.balances, "balances"))
    }
}
