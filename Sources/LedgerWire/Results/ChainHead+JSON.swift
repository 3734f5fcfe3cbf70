package import LedgerTypes
package import StrictJSON

extension ChainHead: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("block")
        writer.integer(block)
        writer.key("hash")
        writer.string(hash)
        writer.key("entry")
        writer.integer(entry)
        writer.key("time")
        writer.integer(time)
        writer.key("signature")
        writer.string(orNull: signature)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var block: Int64?
        var hash: String?
        var entry: EntryID?
        var time: Timestamp?
        var signature: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "block": block = try reader.integer()
            case "hash": hash = try reader.string()
            case "entry": entry = try reader.integer()
            case "time": time = try reader.integer()
            case "signature": signature = try reader.orNull { (reader) throws(JSONError) in try reader.string() }
            default: try reader.skip()
            }
        }
        self.init(
            block: try reader.required(block, "block"), hash: try reader.required(hash, "hash"),
            entry: try reader.required(entry, "entry"), time: try reader.required(time, "time"), signature: signature)
    }
}
