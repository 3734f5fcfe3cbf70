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
/// A service keeps one ledger, whose settings stand beside its own, or several, each under its name in `ledgers`: those
/// stand in the file alone.
///
/// Several values in one variable or flag are separated by commas. Paths in the file are relative to the file's
/// folder.
struct Settings: Sendable {
    var listen = [ServerAddress.tcp(host: "127.0.0.1", port: 7_117)]
    /// Where it speaks HTTP.
    var listenHTTP: [ServerAddress] = []
    /// Where it shows the console.
    var listenConsole: [ServerAddress] = []
    /// Where it tells metrics and health.
    var listenMetrics: [ServerAddress] = []
    /// Whether clients of HTTP need a certificate, where others do.
    var httpClientCertificates = true
    /// `nil` without TLS.
    var tls: ServerTLSFiles?
    var allowsInsecurePlaintext = false
    var socketMode = ServerConfiguration.socketModeDefault
    var access = ServerConfiguration.Access.everyoneOnThisMachine
    /// Those that tokens name, for ``check(against:)``.
    var currenciesOfTokens: [NamedCurrency] = []
    var logFormat = LogOutput.Format.text
    var logLevel = Logger.Level.info
    /// From how many milliseconds on a request or a commit is slow, and told; 0 where none is.
    var slowMilliseconds: Int64 = 1_000
    /// `nil` where nothing is traced.
    var tracing: TracingSettings?
    /// What was given, as text; nothing of tokens, whose value is an object.
    var given: [GivenKey: String] = [:]
    /// At least one; with names where they stand in `ledgers`, and then in the order of these.
    var ledgers: [LedgerSettings]

    /// Bytes of a key's file: a key in PEM has some hundred.
    static let keyBytesMax = 65_536
    /// Bytes of a file of signed heads: one a minute of a year is 600 MB, and nobody compares that at once.
    static let headsBytesMax = 256 * 1_024 * 1_024
    /// Bytes of a configuration or catalog file: far more than a catalog of thousands of products needs.
    static let fileBytesMax = 16 * 1_024 * 1_024

    /// The ledger that a command is for.
    /// - Throws: ``ConfigurationError`` where there is none of this name, or there are several and none is named.
    func ledger(named name: String?) throws(ConfigurationError) -> LedgerSettings {
        let names = ledgers.compactMap { $0.name?.text }.joined(separator: ", ")
        guard let name else {
            if ledgers.count == 1 { return ledgers[0] }
            throw ConfigurationError(["--ledger: is required, for the configuration has several: \(names)"])
        }
        if let ledger = ledgers.first(where: { $0.name?.text == name }) { return ledger }
        let known = names.isEmpty ? "whose only ledger has no name" : "which has \(names)"
        throw ConfigurationError(["--ledger: \(name) is not a ledger of the configuration, \(known)"])
    }

    /// - Parameter catalogs: those of the ledgers, in their order.
    /// - Throws: ``ConfigurationError`` where a token names currencies that the catalogs of its ledgers lack: each by
    ///   its name.
    func check(against catalogs: [Catalog]) throws(ConfigurationError) {
        let all = zip(ledgers, catalogs)
        let faults = currenciesOfTokens.compactMap { named -> String? in
            let opened = all.filter { named.ledger == nil || $0.0.name == named.ledger }.map(\.1)
            if opened.contains(where: { $0.currencies[named.code] != nil }) { return nil }
            let names = Set(opened.flatMap(\.currencies.keys)).sorted().map(\.text).joined(separator: ", ")
            return "\(named.place): \(named.code) is not among the catalog's currencies: \(names)"
        }
        if !faults.isEmpty { throw ConfigurationError(faults) }
    }
}

/// Where a setting is given: of the service, or of one of several ledgers.
struct GivenKey: Hashable, Sendable {
    let setting: Setting
    var ledger: String?

    /// As the configuration spells it.
    var text: String { ledger.map { "ledgers.\($0).\(setting.rawValue)" } ?? setting.rawValue }
}

/// The settings of one ledger.
struct LedgerSettings: Sendable {
    /// Whose standby it is.
    struct Follow: Sendable {
        var leader: ServerAddress
        var token: String?
        var name: StandbyName
        /// `nil` where it comes without TLS.
        var tls: ClientTLSFiles?
    }

    /// As which node of a shared log it is served.
    struct Node: Sendable {
        /// Where the log is: a connection URI of PostgreSQL.
        var log: String
        var schema: String
        var name: String
        /// Where clients and other nodes reach it.
        var address: ServerAddress
        var leads = true
        /// How many ledgers it is to lead, beside what others are.
        var weight = 1
        var leaseMilliseconds = 2_000
        var requiresSynchronousStandby = false
        /// How it reaches the node that leads, to pass on what that has to carry out; `nil` where clients are told to
        /// ask that node.
        var passing: Passing?
    }

    /// What a node shows the one that leads.
    struct Passing: Sendable {
        /// `nil` where nobody needs a token.
        var token: String?
        /// `nil` where it comes without TLS.
        var tls: ClientTLSFiles?
    }

    /// `nil` where it is the only one, and its settings stand beside the service's.
    var name: LedgerName?
    var path: String
    /// Where blocks of its log are that were archived.
    var archives: [String] = []
    var bundleID: String
    var appAppleID: Int64?
    var environment: Environment
    var anchors: [String] = []
    var catalog: String
    /// `nil` where it leads.
    var follow: Follow?
    /// `nil` where its log is in files of its own.
    var node: Node?
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
    /// `nil` where the App Store is asked nothing.
    var appStore: AppStoreSettings?
}
