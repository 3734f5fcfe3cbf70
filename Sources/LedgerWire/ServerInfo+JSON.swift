import LedgerTypes
package import StrictJSON

extension ServerInfo: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("version")
        writer.string(version)
        writer.key("environment")
        writer.string(environment)
        writer.key("bundleId")
        writer.string(bundleID)
        writer.key("engine")
        writer.string(engine)
        writer.key("currencies")
        writer.beginArray()
        for currency in currencies { writer.string(currency.text) }
        writer.endArray()
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var version: String?
        var environment: String?
        var bundleID: String?
        var engine: String?
        var currencies: [CurrencyCode] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "version": version = try reader.string()
            case "environment": environment = try reader.string()
            case "bundleId": bundleID = try reader.string()
            case "engine": engine = try reader.string()
            case "currencies":
                try reader.array { (reader, _) throws(JSONError) in currencies.append(try reader.currencyCode()) }
            default: try reader.skip()
            }
        }
        self.init(
            version: try reader.required(version, "version"),
            environment: try reader.required(environment, "environment"),
            bundleID: try reader.required(bundleID, "bundleId"), engine: try reader.required(engine, "engine"),
            currencies: currencies)
    }
}

extension Role: WireValue {
    /// The result of `authenticate`.
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("role")
        writer.string(rawValue)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var role: Role?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "role": role = try reader.named(Role.init(rawValue:))
            default: try reader.skip()
            }
        }
        self = try reader.required(role, "role")
    }
}
