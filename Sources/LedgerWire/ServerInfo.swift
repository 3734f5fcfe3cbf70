public import LedgerTypes

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

    /// What a server says of itself.
    public init(version: String, environment: String, bundleID: String, engine: String, currencies: [CurrencyCode]) {
        self.version = version
        self.environment = environment
        self.bundleID = bundleID
        self.engine = engine
        self.currencies = currencies
    }
}
