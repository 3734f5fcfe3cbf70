package import Ledger
package import StrictJSON

/// The members that the answer to every keyed request begins with, and those that follow it.
private struct Posted {
    var entry: EntryID?
    var replayed: Bool?
    var lots: [DrawnLot]?
    var expiresAt: Timestamp?
    var balances: [CurrencyBalance]?

    /// - Parameter lots: the name of the member that lists lots, where the answer has one.
    init(_ reader: inout JSONReader, lots name: StaticString? = nil) throws(JSONError) {
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "entry": entry = try reader.integer()
            case "replayed": replayed = try reader.bool()
            case "expiresAt": expiresAt = try reader.integer()
            case "balances": balances = try reader.balances()
            default:
                guard let name, key == name else { return try reader.skip() }
                lots = try reader.list(of: DrawnLot.self)
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

extension ReversalReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.posted(entry, replayed)
        writer.key("returned")
        writer.write(returned)
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let posted = try Posted(&reader, lots: "returned")
        self.init(
            entry: try reader.required(posted.entry, "entry"),
            replayed: try reader.required(posted.replayed, "replayed"),
            returned: try reader.required(posted.lots, "returned"),
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
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        let posted = try Posted(&reader, lots: "drawn")
        self.init(
            entry: try reader.required(posted.entry, "entry"),
            replayed: try reader.required(posted.replayed, "replayed"),
            drawn: try reader.required(posted.lots, "drawn"),
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
