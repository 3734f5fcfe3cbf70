import AppStore
import Ledger
import LedgerWire
import LineServer
import Logging

/// What the service is told by its configuration: a JSON file, environment variables over it, flags over both.
///
/// Each setting with its default and its meaning stands on the page Configuration, which a test compares with
/// `Settings.load`.
///
/// Several values in one variable or flag are separated by commas. Paths in the file are relative to the file's
/// folder.
struct Settings: Sendable {
    /// Whose standby it is.
    struct Follow: Sendable {
        var leader: ServerAddress
        var token: String?
        var name: StandbyName
        /// `nil` where it comes without TLS.
        var tls: ClientTLSFiles?
    }

    var path = "ledger"
    var listen = [ServerAddress.tcp(host: "127.0.0.1", port: 7_117)]
    /// `nil` without TLS.
    var tls: ServerTLSFiles?
    var allowsInsecurePlaintext = false
    var socketMode = ServerConfiguration.socketModeDefault
    var bundleID: String
    var appAppleID: Int64?
    var environment: Environment
    var anchors: [String] = []
    var catalog: String
    var access = ServerConfiguration.Access.everyoneOnThisMachine
    /// Those that tokens name, for ``check(against:)``.
    var currenciesOfTokens: [NamedCurrency] = []
    /// `nil` where it leads.
    var follow: Follow?
    var standbysRequired = 0
    var standbysTimeoutMilliseconds: Int64 = 5_000
    /// The file of the private key that signs heads.
    var headKey: String?
    /// Where the signed head is written at an interval.
    var headFile: String?
    var headSeconds = 60
    /// The file of the public key by which an auditor verifies heads.
    var headPublicKey: String?
    var cachedPlayers = 300_000
    var logLevel = Logger.Level.info

    /// Bytes of a key's file: a key in PEM has some hundred.
    static let keyBytesMax = 65_536
    /// Bytes of a file of signed heads: one a minute of a year is 600 MB, and nobody compares that at once.
    static let headsBytesMax = 256 * 1_024 * 1_024
    /// Bytes of a configuration or catalog file: far more than a catalog of thousands of products needs.
    static let fileBytesMax = 16 * 1_024 * 1_024

    /// - Parameter catalog: that of the service for which the settings are.
    /// - Throws: ``ConfigurationError`` where a token names currencies that the catalog lacks: each by its name.
    func check(against catalog: Catalog) throws(ConfigurationError) {
        let lacking = currenciesOfTokens.filter { catalog.currencies[$0.code] == nil }
        if lacking.isEmpty { return }
        let names = catalog.currencies.keys.sorted().map(\.text).joined(separator: ", ")
        throw ConfigurationError(
            lacking.map { "\($0.place): \($0.code) is not among the catalog's currencies: \(names)" })
    }
}
