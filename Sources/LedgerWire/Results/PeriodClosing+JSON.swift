package import LedgerTypes
package import StrictJSON

extension ClosingReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("through")
        writer.integer(through)
        writer.key("block")
        writer.integer(block)
        writer.key("hash")
        writer.string(hash)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var through: Timestamp?
        var block: Int64?
        var hash: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "through": through = try reader.integer()
            case "block": block = try reader.integer()
            case "hash": hash = try reader.string()
            default: try reader.skip()
            }
        }
        self.init(
            through: try reader.required(through, "through"), block: try reader.required(block, "block"),
            hash: try reader.required(hash, "hash"))
    }
}

/// A row of the report `closings`.
extension PeriodClosing {
    func writeMembers(to writer: inout JSONWriter) {
        writer.key("through")
        writer.integer(through)
        writer.key("block")
        writer.integer(block)
        writer.key("hash")
        writer.string(hash)
        writer.key("time")
        writer.integer(time)
        writer.key("actor")
        writer.string(orNull: actor)
    }

    init(from reader: inout JSONReader) throws(JSONError) {
        var through: Timestamp?
        var block: Int64?
        var hash: String?
        var time: Timestamp?
        var actor: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "through": through = try reader.integer()
            case "block": block = try reader.integer()
            case "hash": hash = try reader.string()
            case "time": time = try reader.integer()
            case "actor": actor = try reader.orNull { (reader) throws(JSONError) in try reader.string() }
            default: try reader.skip()
            }
        }
        self.init(
            through: try reader.required(through, "through"), block: try reader.required(block, "block"),
            hash: try reader.required(hash, "hash"), time: try reader.required(time, "time"), actor: actor)
    }
}
