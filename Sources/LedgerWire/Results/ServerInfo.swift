public import LedgerTypes
package import StrictJSON

/// What a server says of itself: the answer to `info`.
public struct ServerInfo: Hashable, Sendable {
    /// The service's version.
    public var version: String
    /// The App Store environment whose purchases it credits.
    public var environment: String
    /// The app whose purchases it credits.
    public var bundleID: String
    /// Where the books are kept, as `sqlite 3.45.1`.
    public var engine: String
    /// The currencies of its catalog.
    public var currencies: [CurrencyCode]
    /// Whom it follows, where it is a standby; `nil` where it leads.
    public var standby: StandbyStanding?
    /// Who follows it, where somebody does or must.
    public var replication: ReplicationStanding?

    /// What a server says of itself.
    public init(
        version: String, environment: String, bundleID: String, engine: String, currencies: [CurrencyCode],
        standby: StandbyStanding? = nil, replication: ReplicationStanding? = nil
    ) {
        self.version = version
        self.environment = environment
        self.bundleID = bundleID
        self.engine = engine
        self.currencies = currencies
        self.standby = standby
        self.replication = replication
    }
}

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
        if let standby {
            writer.key("standby")
            writer.write(standby)
        }
        if let replication {
            writer.key("replication")
            writer.write(replication)
        }
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var version: String?
        var environment: String?
        var bundleID: String?
        var engine: String?
        var currencies: [CurrencyCode] = []
        var standby: StandbyStanding?
        var replication: ReplicationStanding?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "version": version = try reader.string()
            case "environment": environment = try reader.string()
            case "bundleId": bundleID = try reader.string()
            case "engine": engine = try reader.string()
            case "currencies":
                try reader.array { (reader, _) throws(JSONError) in currencies.append(try reader.currencyCode()) }
            case "standby": standby = try StandbyStanding(from: &reader)
            case "replication": replication = try ReplicationStanding(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(
            version: try reader.required(version, "version"),
            environment: try reader.required(environment, "environment"),
            bundleID: try reader.required(bundleID, "bundleId"), engine: try reader.required(engine, "engine"),
            currencies: currencies, standby: standby, replication: replication)
    }
}
