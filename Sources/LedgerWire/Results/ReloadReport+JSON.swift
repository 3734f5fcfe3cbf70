import LedgerTypes
package import StrictJSON

extension ReloadReport: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("applied")
        writer.bool(applied)
        writer.key("changes")
        ReloadReport.write(changes, to: &writer)
        writer.key("faults")
        ReloadReport.write(faults, to: &writer)
        writer.endObject()
    }

    private static func write(_ lines: [String], to writer: inout JSONWriter) {
        writer.beginArray()
        for line in lines { writer.string(line) }
        writer.endArray()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var applied: Bool?
        var changes: [String] = []
        var faults: [String] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "applied": applied = try reader.bool()
            case "changes":
                try reader.array { (reader, _) throws(JSONError) in changes.append(try reader.string()) }
            case "faults":
                try reader.array { (reader, _) throws(JSONError) in faults.append(try reader.string()) }
            default: try reader.skip()
            }
        }
        self.init(applied: try reader.required(applied, "applied"), changes: changes, faults: faults)
    }
}
