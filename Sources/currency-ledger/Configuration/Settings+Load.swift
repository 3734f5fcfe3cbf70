import AppStore
import AppStoreServer
import Foundation
import LedgerWire
import LineServer
import Logging
import TraceExport

extension Settings {
    /// Reads the settings: flags over environment variables over the file over the defaults.
    /// - Parameters:
    ///   - flags: as given on the command line.
    ///   - environment: the process's environment variables.
    ///   - serves: whether they are for a service, which must know who may do what.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    static func load(
        file: String?, flags: [Setting: String], environment: [String: String], serves: Bool = true
    ) throws(ConfigurationError) -> Settings {
        let sources = SettingSources(
            file: try file.map { path throws(ConfigurationError) in try SettingsFile(path: path) }, flags: flags,
            environment: environment)
        var reader = SettingsReader(sources)
        return try reader.settings(serves: serves)
    }
}

/// Makes settings of what is given, checked one by one; what is wrong is noted.
struct SettingsReader {
    var sources: SettingSources
    /// Whether clients need a token.
    private(set) var needsTokens = false
    /// Whether the network between machines is said to be safe without TLS.
    private(set) var allowsInsecurePlaintext = false
    /// Those that tokens name, whichever they are.
    private var currenciesOfTokens: [NamedCurrency] = []

    init(_ sources: SettingSources) { self.sources = sources }

    mutating func settings(serves: Bool) throws(ConfigurationError) -> Settings {
        var settings = Settings(ledgers: [])
        if let given = sources.given(.listen) {
            settings.listen = given.compactMap { address($0) }
            if given.isEmpty, !sources.isFaulty(.listen) { sources.note("must name an address", .listen) }
        }
        settings.listenHTTP = sources.given(.listenHTTP)?.compactMap { address($0) } ?? []
        settings.listenConsole = sources.given(.consoleListen)?.compactMap { address($0) } ?? []
        settings.listenMetrics = sources.given(.metricsListen)?.compactMap { address($0) } ?? []
        noteRepeatedAddresses(settings)
        settings.httpClientCertificates = sources.boolean(.httpClientCertificates) ?? true
        if let given = sources.scalar(.socketMode) {
            let mode = SocketMode.read(given.text)
            if mode == nil { sources.mustBe(SocketMode.rule, given) }
            settings.socketMode = mode ?? settings.socketMode
        }
        if let given = sources.scalar(.logLevel) {
            let level = Logger.Level(rawValue: given.text)
            if level == nil { sources.mustBe("trace, debug, info, notice, warning, error or critical", given) }
            settings.logLevel = level ?? settings.logLevel
        }
        if let given = sources.scalar(.logFormat) {
            let format = LogOutput.Format(rawValue: given.text)
            if format == nil { sources.mustBe("text or json", given) }
            settings.logFormat = format ?? settings.logFormat
        }
        if let milliseconds = sources.integer(.logSlow, in: 0...3_600_000) { settings.slowMilliseconds = milliseconds }
        noteGiven(&settings)
        settings.access = access(serves: serves)
        settings.currenciesOfTokens = currenciesOfTokens
        settings.tls = tls()
        allowsInsecurePlaintext = sources.boolean(.insecurePlaintext) ?? false
        settings.allowsInsecurePlaintext = allowsInsecurePlaintext
        settings.tracing = tracing()
        settings.ledgers = ledgers(&settings)
        checkLedgers(ofTokens: settings.access)
        sources.refuseUnknownVariables()
        let faults = sources.faults
        if !faults.isEmpty { throw ConfigurationError(faults) }
        return settings
    }

    /// `nil` where nothing is traced.
    private mutating func tracing() -> TracingSettings? {
        let ratio = sources.number(.tracingRatio, in: 0...1)
        if sources.given(.tracingRatio) != nil { sources.require(.tracingEndpoint, because: "tracing.ratio is") }
        guard let given = sources.filled(.tracingEndpoint) else { return nil }
        guard let endpoint = TraceEndpoint(given.text) else {
            // A user's password is not said again.
            if given.text.contains("@") {
                sources.note("must be \(TraceEndpoint.rule), without a user", given)
            } else {
                sources.mustBe(TraceEndpoint.rule, given)
            }
            return nil
        }
        if endpoint.isExposed && !allowsInsecurePlaintext {
            sources.note(
                "must be https on another machine: set insecurePlaintext where the network is safe without it", given)
        }
        var tracing = TracingSettings(endpoint: endpoint)
        if let ratio { tracing.ratio = ratio }
        return tracing
    }

    /// Keeps what is given where it is read, so that it can be compared with what is given later.
    private func noteGiven(_ settings: inout Settings) {
        let name = sources.scope?.member?.name
        for setting in Setting.allCases where setting.form != .object && (name == nil || setting.isOfLedger) {
            guard let given = sources.given(setting) else { continue }
            let text = given.map(\.text).joined(separator: ", ")
            settings.given[GivenKey(setting: setting, ledger: name)] = text
        }
    }

    private mutating func ledgers(_ settings: inout Settings) -> [LedgerSettings] {
        guard let scopes = sources.file?.ledgers else { return [ledger(name: nil)] }
        for setting in Setting.allCases where setting.isOfLedger {
            let rule = "is a setting of each ledger where there are ledgers: it stands in the file, under each name"
            guard let given = sources.given(setting) else { continue }
            given.first.map { sources.note(rule, $0) } ?? sources.note(rule, setting)
        }
        defer { sources.scope = sources.file?.service }
        var seen = Seen()
        return scopes.map { scope in
            sources.scope = scope
            let ledger = ledger(name: scope.member.flatMap { LedgerName($0.name) })
            noteGiven(&settings)
            refuse(ledger, beside: &seen)
            return ledger
        }
    }

    /// What no two ledgers may share.
    private struct Seen {
        var paths: [String] = []
        var apps: Set<String> = []
        var headFiles: Set<String> = []
    }

    private mutating func refuse(_ ledger: LedgerSettings, beside seen: inout Seen) {
        guard let member = sources.scope?.member else { return }
        let path = Self.realPath(ledger.path)
        if seen.paths.contains(path) {
            sources.note("has the path of another ledger", member)
        } else if let other = seen.paths.first(where: { $0.hasPrefix(path + "/") || path.hasPrefix($0 + "/") }) {
            sources.note("has a path that is within another ledger's, or has that within: \(other)", member)
        }
        seen.paths.append(path)
        if !ledger.bundleID.isEmpty, !seen.apps.insert("\(ledger.environment.rawValue) \(ledger.bundleID)").inserted {
            sources.note("has the app and the environment of another ledger", member)
        }
        if let headFile = ledger.headFile, !seen.headFiles.insert(Self.realPath(headFile)).inserted {
            sources.note("has the head.file of another ledger", member)
        }
    }

    /// Where a path leads, however it is written.
    private static func realPath(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }

    /// Tokens that are of one ledger must be of one that there is.
    private mutating func checkLedgers(ofTokens access: ServerConfiguration.Access) {
        guard case .tokens(let tokens) = access else { return }
        let names = sources.file?.ledgers?.compactMap(\.member?.name) ?? []
        for token in tokens {
            guard let ledger = token.ledger, !names.contains(ledger.text) else { continue }
            sources.note("\(token.name): there is no ledger \(ledger)", .tokens)
        }
    }

    private mutating func ledger(name: LedgerName?) -> LedgerSettings {
        let environment = sources.required(.environment).flatMap { given in
            let environment = Environment.known.first { $0.rawValue == given.text }
            if environment == nil { sources.mustBe("Production, Sandbox, Xcode or LocalTesting", given) }
            return environment
        }
        let bundleID = sources.required(.bundleID)
        let catalog = sources.required(.catalog)
        var settings = LedgerSettings(
            name: name, path: sources.path("ledger"), bundleID: bundleID?.text ?? "",
            environment: environment ?? .sandbox, catalog: catalog.map { sources.path($0) } ?? "")
        if let name { settings.path = sources.path(name.text) }
        settings.appAppleID = sources.integer(.appAppleID, in: 1...Int64.max)
        if let given = sources.filled(.path) { settings.path = sources.path(given) }
        settings.archives = sources.given(.archive)?.compactMap { sources.isFilled($0) ? sources.path($0) : nil } ?? []
        settings.anchors = sources.given(.anchors)?.compactMap { sources.isFilled($0) ? sources.path($0) : nil } ?? []
        settings.headKey = sources.filled(.headKey).map { sources.path($0) }
        settings.headFile = sources.filled(.headFile).map { sources.path($0) }
        settings.headPublicKey = sources.filled(.headPublicKey).map { sources.path($0) }
        if let seconds = sources.integer(.headSeconds, in: 1...86_400) { settings.headSeconds = Int(seconds) }
        if settings.headFile != nil, settings.headKey == nil, sources.lacks(.headKey) {
            sources.note("is required where head.file is given: a head is written with its signature", .headKey)
        }
        if let players = sources.integer(.cachedPlayers, in: 1_000...100_000_000) {
            settings.cachedPlayers = Int(players)
        }
        settings.appStore = appStore(environment)
        settings.follow = follow()
        settings.node = node(schema: name?.text ?? "ledger")
        if let count = sources.integer(.standbysRequired, in: 0...8) { settings.standbysRequired = Int(count) }
        if let time = sources.integer(.standbysTimeout, in: 100...60_000) {
            settings.standbysTimeoutMilliseconds = time
        }
        return settings
    }

    /// `nil` where no key is given.
    private mutating func appStore(_ environment: Environment?) -> AppStoreSettings? {
        let key = sources.filled(.appStoreKey).map { sources.path($0) }
        let keyID = sources.filled(.appStoreKeyID)?.text
        let issuerID = sources.filled(.appStoreIssuerID)?.text
        let own = sources.filled(.appStoreAddress)
        let seconds = sources.integer(.appStoreHistorySeconds, in: 0...86_400)
        let historyFrom = sources.filled(.appStoreHistoryFrom).flatMap { time($0) }
        let sendsConsumption = sources.boolean(.appStoreSendConsumption)
        let finishes = sources.boolean(.appStoreFinish)
        let setsAccountTokens = sources.boolean(.appStoreAccountTokens)
        for setting in Setting.allCases
        where setting.names[0] == "appStore" && setting != .appStoreKey && sources.given(setting) != nil {
            sources.require(.appStoreKey, because: "\(setting.rawValue) is")
        }
        if sources.given(.appStoreKey) != nil {
            sources.require(.appStoreKeyID, because: "appStore.key is")
            sources.require(.appStoreIssuerID, because: "appStore.key is")
        }
        guard let key, let keyID, let issuerID, let address = address(of: environment, own: own) else { return nil }
        var settings = AppStoreSettings(keyFile: key, keyID: keyID, issuerID: issuerID, address: address)
        if let seconds { settings.historySeconds = Int(seconds) }
        settings.historyFrom = historyFrom
        settings.sendsConsumption = sendsConsumption ?? settings.sendsConsumption
        settings.finishes = finishes ?? settings.finishes
        settings.setsAccountTokens = setsAccountTokens ?? settings.setsAccountTokens
        return settings
    }

    private mutating func time(_ given: SettingSources.Given) -> Timestamp? {
        if let time = TimeText.milliseconds(given.text) { return time }
        sources.mustBe("a time, as 2026-11-01 or 2026-11-01T08:30:00Z", given)
        return nil
    }

    private mutating func address(of environment: Environment?, own: SettingSources.Given?) -> AppStoreAddress? {
        guard let own else {
            if let address = environment.flatMap({ AppStoreAddress($0) }) { return address }
            if let environment {
                sources.note(
                    "is required, for Apple has no server of the environment \(environment.rawValue)", .appStoreAddress)
            }
            return nil
        }
        do throws(AppStoreServerError) {
            return try AppStoreAddress(own.text)
        } catch {
            sources.mustBe("https://HOST or https://HOST:PORT, or http:// on this machine", own)
            return nil
        }
    }

    private mutating func access(serves: Bool) -> ServerConfiguration.Access {
        let isOpen = sources.boolean(.insecureLoopback) ?? false
        guard let read = sources.tokens() else {
            if serves, !isOpen, !sources.isFaulty(.tokens), !sources.isFaulty(.insecureLoopback) {
                sources.note(
                    """
                    is required: "currency-ledger token new" makes one. Only where whoever can connect from this \
                    machine may do everything, as on a developer's, none is needed: set insecureLoopback to true, or \
                    give --insecure-loopback
                    """, .tokens)
            }
            return .everyoneOnThisMachine
        }
        needsTokens = true
        currenciesOfTokens = read.currencies
        if isOpen { sources.note("must not be true where there are tokens", .insecureLoopback) }
        if read.tokens.contains(where: { !$0.certificates.isEmpty }) {
            sources.require(.tlsClientCA, because: "a client is known by its certificate, as tokens")
        }
        return .tokens(read.tokens)
    }

    private mutating func tls() -> ServerTLSFiles? {
        let certificate = sources.filled(.tlsCertificate).map { sources.path($0) }
        let key = sources.filled(.tlsKey).map { sources.path($0) }
        let authorities = sources.filled(.tlsClientCA).map { sources.path($0) }
        sources.requireTogether(.tlsCertificate, .tlsKey)
        if sources.given(.tlsClientCA) != nil { sources.require(.tlsCertificate, because: "tls.clientCA is") }
        guard let certificate, let key else { return nil }
        return ServerTLSFiles(certificate: certificate, key: key, clientAuthorities: authorities)
    }

    /// A service listens once on each address. Of port 0 it has another one each time.
    private mutating func noteRepeatedAddresses(_ settings: Settings) {
        var taken: Set<ServerAddress> = []
        let all: [(Setting, [ServerAddress])] = [
            (.listen, settings.listen), (.listenHTTP, settings.listenHTTP), (.consoleListen, settings.listenConsole),
            (.metricsListen, settings.listenMetrics),
        ]
        for (setting, addresses) in all {
            for address in addresses {
                if case .tcp(_, port: 0) = address { continue }
                if !taken.insert(address).inserted {
                    sources.note("names \(address), which is listened on already", setting)
                }
            }
        }
    }

    mutating func address(_ given: SettingSources.Given) -> ServerAddress? {
        do throws(ServerAddress.Malformed) {
            return try ServerAddress(given.text)
        } catch {
            sources.note(error.description, given)
            return nil
        }
    }
}

/// A file's mode as chmod(1) takes it.
private enum SocketMode {
    static let rule = "an octal mode, as 0660, in which the owner may read and write"

    static func read(_ text: String) -> UInt32? {
        let digits = text.utf8.count == 4 && text.hasPrefix("0") ? text.dropFirst() : text[...]
        guard digits.utf8.count == 3, digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 8 }),
            let mode = UInt32(digits, radix: 8), mode & 0o600 == 0o600
        else { return nil }
        return mode
    }
}
