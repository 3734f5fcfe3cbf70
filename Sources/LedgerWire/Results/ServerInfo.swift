public import LedgerTypes
package import StrictJSON

/// What a server says of itself: the answer to `info`.
public struct ServerInfo: Hashable, Sendable {
    /// The service's version.
    public var version: String
    /// The connection's ledger: its token's, or the one that it has named; where it has none, the first of them.
    public var ledger: LedgerInfo
    /// All that the connection may ask, where the service has several; none where it has one.
    public var ledgers: [LedgerInfo]

    /// What a server says of itself.
    public init(version: String, ledger: LedgerInfo, ledgers: [LedgerInfo] = []) {
        self.version = version
        self.ledger = ledger
        self.ledgers = ledgers
    }
}

/// What a server says of one of its ledgers.
public struct LedgerInfo: Hashable, Sendable {
    /// What the service calls it; `nil` where that has only one.
    public var name: LedgerName?
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

    /// What a server says of a ledger.
    public init(
        name: LedgerName? = nil, environment: String, bundleID: String, engine: String, currencies: [CurrencyCode],
        standby: StandbyStanding? = nil, replication: ReplicationStanding? = nil
    ) {
        self.name = name
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
        ledger.writeMembers(to: &writer)
        if !ledgers.isEmpty {
            writer.key("ledgers")
            writer.beginArray()
            for ledger in ledgers {
                writer.beginObject()
                ledger.writeMembers(to: &writer)
                writer.endObject()
            }
            writer.endArray()
        }
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var version: String?
        var members = LedgerInfo.Members()
        var ledgers: [LedgerInfo] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "version": version = try reader.string()
            case "ledgers":
                try reader.array { (reader, _) throws(JSONError) in
                    var members = LedgerInfo.Members()
                    try reader.object { (reader, key) throws(JSONError) in try members.read(key, &reader) }
                    ledgers.append(try members.ledger(reader))
                }
            default: try members.read(key, &reader)
            }
        }
        self.init(
            version: try reader.required(version, "version"), ledger: try members.ledger(reader), ledgers: ledgers)
    }
}

extension LedgerInfo {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("ledger", name?.text)
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
    }

    /// What was read of one.
    fileprivate struct Members {
        var name: LedgerName?
        var environment: String?
        var bundleID: String?
        var engine: String?
        var currencies: [CurrencyCode] = []
        var standby: StandbyStanding?
        var replication: ReplicationStanding?

        mutating func read(_ key: JSONText, _ reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "ledger": name = try reader.named(LedgerName.init)
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

        func ledger(_ reader: JSONReader) throws(JSONError) -> LedgerInfo {
            LedgerInfo(
                name: name, environment: try reader.required(environment, "environment"),
                bundleID: try reader.required(bundleID, "bundleId"), engine: try reader.required(engine, "engine"),
                currencies: currencies, standby: standby, replication: replication)
        }
    }
}
