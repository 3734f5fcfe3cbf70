import AppStore
import AppStoreServer
import Configuration
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
        var source = Source(
            file: try file.map { path throws(ConfigurationError) in try SettingsFile(path: path) }, flags: flags,
            environment: environment)
        return try source.settings(serves: serves)
    }
}

/// The values of the highest source that has them, checked one by one; what is wrong is noted.
private struct Source {
    /// One value, and where it stands.
    private struct Given {
        enum Origin {
            case flag(String)
            case variable(String)
            case file(JSONValue)
        }

        let text: String
        let origin: Origin
    }

    private var file: SettingsFile?
    /// What is being read: the service's settings, or one of several ledgers'.
    private var scope: SettingsFile.Scope?
    private let flags: [Setting: String]
    private let environment: [String: String]
    private let variables: EnvironmentVariablesProvider
    /// What is wrong outside of the file.
    private var faults: [String] = []
    /// Whether clients need a token.
    private var needsTokens = false
    /// Those that tokens name, whichever they are.
    private var currenciesOfTokens: [NamedCurrency] = []

    init(file: SettingsFile?, flags: [Setting: String], environment: [String: String]) {
        self.file = file
        scope = file?.service
        self.flags = flags
        self.environment = environment
        variables = EnvironmentVariablesProvider(environmentVariables: environment)
    }

    mutating func settings(serves: Bool) throws(ConfigurationError) -> Settings {
        var settings = Settings(ledgers: [])
        if let given = given(.listen) {
            settings.listen = given.compactMap { address($0) }
            if given.isEmpty, !isFaulty(.listen) { note("must name an address", .listen) }
        }
        settings.listenHTTP = given(.listenHTTP)?.compactMap { address($0) } ?? []
        settings.listenConsole = given(.consoleListen)?.compactMap { address($0) } ?? []
        settings.listenMetrics = given(.metricsListen)?.compactMap { address($0) } ?? []
        settings.httpClientCertificates = boolean(.httpClientCertificates) ?? true
        if let given = scalar(.socketMode) {
            let mode = SocketMode.read(given.text)
            if mode == nil { mustBe(SocketMode.rule, given) }
            settings.socketMode = mode ?? settings.socketMode
        }
        if let given = scalar(.logLevel) {
            let level = Logger.Level(rawValue: given.text)
            if level == nil { mustBe("trace, debug, info, notice, warning, error or critical", given) }
            settings.logLevel = level ?? settings.logLevel
        }
        if let given = scalar(.logFormat) {
            let format = LogOutput.Format(rawValue: given.text)
            if format == nil { mustBe("text or json", given) }
            settings.logFormat = format ?? settings.logFormat
        }
        if let milliseconds = integer(.logSlow, in: 0...3_600_000) { settings.slowMilliseconds = milliseconds }
        noteGiven(&settings)
        settings.access = access(serves: serves)
        settings.currenciesOfTokens = currenciesOfTokens
        settings.tls = tls()
        settings.allowsInsecurePlaintext = boolean(.insecurePlaintext) ?? false
        settings.tracing = tracing(allowsInsecurePlaintext: settings.allowsInsecurePlaintext)
        settings.ledgers = ledgers(&settings)
        checkLedgers(ofTokens: settings.access)
        refuseUnknownVariables()
        let all = (file?.json.lines ?? []) + faults
        if !all.isEmpty { throw ConfigurationError(all) }
        return settings
    }

    /// `nil` where nothing is traced.
    private mutating func tracing(allowsInsecurePlaintext: Bool) -> TracingSettings? {
        let ratio = number(.tracingRatio, in: 0...1)
        if given(.tracingRatio) != nil { require(.tracingEndpoint, because: "tracing.ratio is") }
        guard let given = filled(.tracingEndpoint) else { return nil }
        guard let endpoint = TraceEndpoint(given.text) else {
            // A user's password is not said again.
            if given.text.contains("@") {
                note("must be \(TraceEndpoint.rule), without a user", given)
            } else {
                mustBe(TraceEndpoint.rule, given)
            }
            return nil
        }
        if endpoint.isExposed && !allowsInsecurePlaintext {
            note(
                "must be https on another machine: set insecurePlaintext where the network is safe without it", given)
        }
        var tracing = TracingSettings(endpoint: endpoint)
        if let ratio { tracing.ratio = ratio }
        return tracing
    }

    /// Keeps what is given where it is read, so that it can be compared with what is given later.
    private func noteGiven(_ settings: inout Settings) {
        let name = scope?.member?.name
        for setting in Setting.allCases where setting.form != .object && (name == nil || setting.isOfLedger) {
            guard let given = given(setting) else { continue }
            let text = given.map(\.text).joined(separator: ", ")
            settings.given[GivenKey(setting: setting, ledger: name)] = text
        }
    }

    private mutating func ledgers(_ settings: inout Settings) -> [LedgerSettings] {
        guard let scopes = file?.ledgers else { return [ledger(name: nil)] }
        for setting in Setting.allCases where setting.isOfLedger {
            let rule = "is a setting of each ledger where there are ledgers: it stands in the file, under each name"
            if let given = given(setting) { given.first.map { note(rule, $0) } ?? note(rule, setting) }
        }
        defer { scope = file?.service }
        var seen = Seen()
        return scopes.map { scope in
            self.scope = scope
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
        guard let member = scope?.member else { return }
        let path = Source.realPath(ledger.path)
        if seen.paths.contains(path) {
            file?.json.note("has the path of another ledger", member)
        } else if let other = seen.paths.first(where: { $0.hasPrefix(path + "/") || path.hasPrefix($0 + "/") }) {
            file?.json.note("has a path that is within another ledger's, or has that within: \(other)", member)
        }
        seen.paths.append(path)
        if !ledger.bundleID.isEmpty, !seen.apps.insert("\(ledger.environment.rawValue) \(ledger.bundleID)").inserted {
            file?.json.note("has the app and the environment of another ledger", member)
        }
        if let headFile = ledger.headFile, !seen.headFiles.insert(Source.realPath(headFile)).inserted {
            file?.json.note("has the head.file of another ledger", member)
        }
    }

    /// Where a path leads, however it is written.
    private static func realPath(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }

    /// Tokens that are of one ledger must be of one that there is.
    private mutating func checkLedgers(ofTokens access: ServerConfiguration.Access) {
        guard case .tokens(let tokens) = access else { return }
        let names = file?.ledgers?.compactMap(\.member?.name) ?? []
        for token in tokens {
            guard let ledger = token.ledger, !names.contains(ledger.text) else { continue }
            note("\(token.name): there is no ledger \(ledger)", .tokens)
        }
    }

    private mutating func ledger(name: LedgerName?) -> LedgerSettings {
        let environment = required(.environment).flatMap { given in
            let environment = Environment.known.first { $0.rawValue == given.text }
            if environment == nil { mustBe("Production, Sandbox, Xcode or LocalTesting", given) }
            return environment
        }
        let bundleID = required(.bundleID)
        let catalog = required(.catalog)
        var settings = LedgerSettings(
            name: name, path: path("ledger"), bundleID: bundleID?.text ?? "", environment: environment ?? .sandbox,
            catalog: catalog.map { path($0) } ?? "")
        if let name { settings.path = path(name.text) }
        settings.appAppleID = integer(.appAppleID, in: 1...Int64.max)
        if let given = filled(.path) { settings.path = path(given) }
        settings.archives = given(.archive)?.compactMap { isFilled($0) ? path($0) : nil } ?? []
        settings.anchors = given(.anchors)?.compactMap { isFilled($0) ? path($0) : nil } ?? []
        settings.headKey = filled(.headKey).map { path($0) }
        settings.headFile = filled(.headFile).map { path($0) }
        settings.headPublicKey = filled(.headPublicKey).map { path($0) }
        if let seconds = integer(.headSeconds, in: 1...86_400) { settings.headSeconds = Int(seconds) }
        if settings.headFile != nil, settings.headKey == nil, given(.headKey) == nil, !isFaulty(.headKey) {
            note("is required where head.file is given: a head is written with its signature", .headKey)
        }
        if let players = integer(.cachedPlayers, in: 1_000...100_000_000) { settings.cachedPlayers = Int(players) }
        settings.appStore = appStore(environment)
        settings.follow = follow()
        settings.node = node(schema: name?.text ?? "ledger")
        if let count = integer(.standbysRequired, in: 0...8) { settings.standbysRequired = Int(count) }
        if let time = integer(.standbysTimeout, in: 100...60_000) { settings.standbysTimeoutMilliseconds = time }
        return settings
    }

    /// `nil` where no key is given.
    private mutating func appStore(_ environment: Environment?) -> AppStoreSettings? {
        let key = filled(.appStoreKey).map { path($0) }
        let keyID = filled(.appStoreKeyID)?.text
        let issuerID = filled(.appStoreIssuerID)?.text
        let own = filled(.appStoreAddress)
        let seconds = integer(.appStoreHistorySeconds, in: 0...86_400)
        let historyFrom = filled(.appStoreHistoryFrom).flatMap { time($0) }
        let sendsConsumption = boolean(.appStoreSendConsumption)
        let finishes = boolean(.appStoreFinish)
        let setsAccountTokens = boolean(.appStoreAccountTokens)
        for setting in Setting.allCases
        where setting.names[0] == "appStore" && setting != .appStoreKey && given(setting) != nil {
            require(.appStoreKey, because: "\(setting.rawValue) is")
        }
        if given(.appStoreKey) != nil {
            require(.appStoreKeyID, because: "appStore.key is")
            require(.appStoreIssuerID, because: "appStore.key is")
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

    private mutating func time(_ given: Given) -> Timestamp? {
        if let time = TimeText.milliseconds(given.text) { return time }
        mustBe("a time, as 2026-11-01 or 2026-11-01T08:30:00Z", given)
        return nil
    }

    private mutating func address(of environment: Environment?, own: Given?) -> AppStoreAddress? {
        guard let own else {
            if let address = environment.flatMap({ AppStoreAddress($0) }) { return address }
            if let environment {
                note(
                    "is required, for Apple has no server of the environment \(environment.rawValue)", .appStoreAddress)
            }
            return nil
        }
        do throws(AppStoreServerError) {
            return try AppStoreAddress(own.text)
        } catch {
            mustBe("https://HOST or https://HOST:PORT, or http:// on this machine", own)
            return nil
        }
    }

    private mutating func access(serves: Bool) -> ServerConfiguration.Access {
        let isOpen = boolean(.insecureLoopback) ?? false
        guard let tokens = tokens() else {
            if serves, !isOpen, !isFaulty(.tokens), !isFaulty(.insecureLoopback) {
                note(
                    """
                    is required: "currency-ledger token new" makes one. Only where whoever can connect from this \
                    machine may do everything, as on a developer's, none is needed: set insecureLoopback to true, or \
                    give --insecure-loopback
                    """, .tokens)
            }
            return .everyoneOnThisMachine
        }
        needsTokens = true
        if isOpen { note("must not be true where there are tokens", .insecureLoopback) }
        if tokens.contains(where: { !$0.certificates.isEmpty }) {
            require(.tlsClientCA, because: "a client is known by its certificate, as tokens")
        }
        return .tokens(tokens)
    }

    /// `nil` where none are given.
    private mutating func tokens() -> [Token]? {
        let variable = variable(.tokens)
        guard let text = variable.text else {
            guard let value = file?.service.items[.tokens]?.first?.value, let read = file?.json.tokens(value) else {
                return nil
            }
            currenciesOfTokens = read.currencies
            return read.tokens
        }
        do throws(ConfigurationError) {
            var json = try JSONFile(Array(text.utf8), name: variable.name)
            let read = json.tokens(json.root)
            faults += json.lines
            currenciesOfTokens = read.currencies
            return read.tokens
        } catch {
            faults += error.faults
            return []
        }
    }

    private mutating func tls() -> ServerTLSFiles? {
        let certificate = filled(.tlsCertificate).map { path($0) }
        let key = filled(.tlsKey).map { path($0) }
        let authorities = filled(.tlsClientCA).map { path($0) }
        requireTogether(.tlsCertificate, .tlsKey)
        if given(.tlsClientCA) != nil { require(.tlsCertificate, because: "tls.clientCA is") }
        guard let certificate, let key else { return nil }
        return ServerTLSFiles(certificate: certificate, key: key, clientAuthorities: authorities)
    }

    /// How another service is reached; `nil` where without TLS.
    private mutating func clientTLS(_ ca: Setting, _ certificate: Setting, _ key: Setting) -> ClientTLSFiles? {
        let authorities = filled(ca).map { path($0) }
        let own = (certificate: filled(certificate).map { path($0) }, key: filled(key).map { path($0) })
        requireTogether(certificate, key)
        if given(certificate) != nil { require(ca, because: "\(certificate.rawValue) is") }
        return authorities.map { ClientTLSFiles(authorities: $0, certificate: own.certificate, key: own.key) }
    }

    /// Notes the one that is missing of two.
    private mutating func requireTogether(_ first: Setting, _ second: Setting) {
        if given(first) != nil { require(second, because: "\(first.rawValue) is") }
        if given(second) != nil { require(first, because: "\(second.rawValue) is") }
    }

    private mutating func require(_ setting: Setting, because: String) {
        if given(setting) == nil, !isFaulty(setting) { note("is required where \(because) given", setting) }
    }

    private mutating func follow() -> LedgerSettings.Follow? {
        let leader = filled(.followLeader).flatMap { address($0) }
        let token = filled(.followToken)?.text
        let named = filled(.followName)
        let name = StandbyName(named?.text ?? ProcessInfo.processInfo.hostName)
        if name == nil {
            let rule = "1 to \(Limits.standbyNameBytesMax) letters, digits, _, -, . and :"
            if let named {
                mustBe(rule, named)
            } else if leader != nil {
                note("is required, for this host's own name is none: \(rule)", .followName)
            }
        }
        if given(.followLeader) == nil, !isFaulty(.followLeader) {
            for setting in [Setting.followToken, .followName, .followCA] where given(setting) != nil {
                note("is of no use without follow.leader", setting)
            }
        }
        let tls = clientTLS(.followCA, .followCertificate, .followKey)
        guard let leader, let name else { return nil }
        return LedgerSettings.Follow(leader: leader, token: token, name: name, tls: tls)
    }

    /// `nil` where the log is in files.
    /// - Parameter schema: the one by default.
    private mutating func node(schema: String) -> LedgerSettings.Node? {
        let log = filled(.nodeLog)?.text
        let name = filled(.nodeName)?.text ?? ProcessInfo.processInfo.hostName
        let address = filled(.nodeAddress).flatMap { self.address($0) }
        let ownSchema = filled(.nodeSchema)?.text
        let leads = boolean(.nodeLeads) ?? true
        let weight = integer(.nodeWeight, in: 1...100)
        let lease = integer(.nodeLease, in: 500...60_000)
        let requiresStandby = boolean(.nodeSynchronous) ?? false
        let passing = passing()
        guard given(.nodeLog) != nil || isFaulty(.nodeLog) else {
            for setting in Setting.allCases where setting.names[0] == "node" && given(setting) != nil {
                note("is of no use without node.log", setting)
            }
            return nil
        }
        if given(.nodeAddress) == nil, !isFaulty(.nodeAddress) {
            note("is required where node.log is given: where clients and other nodes reach this one", .nodeAddress)
        }
        if given(.followLeader) != nil {
            note("cannot stand beside node.log: a node follows whichever node leads", .followLeader)
        }
        if let required = scalar(.standbysRequired), required.text != "0" {
            note(
                "cannot stand beside node.log: set node.requireSynchronousStandby, for there the database has standbys",
                .standbysRequired)
        }
        if given(.archive) != nil {
            note("cannot stand beside node.log: of a log in PostgreSQL nothing is archived", .archive)
        }
        guard let log, let address else { return nil }
        var node = LedgerSettings.Node(log: log, schema: ownSchema ?? schema, name: name, address: address)
        node.leads = leads
        if let weight { node.weight = Int(weight) }
        if let lease { node.leaseMilliseconds = Int(lease) }
        node.requiresSynchronousStandby = requiresStandby
        node.passing = passing
        return node
    }

    /// `nil` where a node passes nothing on.
    private mutating func passing() -> LedgerSettings.Passing? {
        let passesOn = boolean(.nodePassesOn)
        let token = filled(.nodeToken)?.text
        let tls = clientTLS(.nodeCA, .nodeCertificate, .nodeKey)
        if passesOn == true, needsTokens { require(.nodeToken, because: "node.passesOn is true, and tokens are") }
        let passes = passesOn ?? (token != nil || !needsTokens)
        return passes ? LedgerSettings.Passing(token: token, tls: tls) : nil
    }

    private mutating func address(_ given: Given) -> ServerAddress? {
        do throws(ServerAddress.Malformed) {
            return try ServerAddress(given.text)
        } catch {
            note(error.description, given)
            return nil
        }
    }

    /// A value that must be there.
    private mutating func required(_ setting: Setting) -> Given? {
        if let given = filled(setting) { return given }
        if given(setting) == nil, !isFaulty(setting) {
            let variable = isInFileAlone ? "" : ": in the configuration file, or as \(variable(setting).name)"
            note("is required\(variable)", setting)
        }
        return nil
    }

    /// A value that may not be empty.
    private mutating func filled(_ setting: Setting) -> Given? { scalar(setting).flatMap { isFilled($0) ? $0 : nil } }

    private mutating func isFilled(_ given: Given) -> Bool {
        if given.text.isEmpty { note("must not be empty", given) }
        return !given.text.isEmpty
    }

    private mutating func integer(_ setting: Setting, in range: ClosedRange<Int64>) -> Int64? {
        guard let given = scalar(setting) else { return nil }
        if let value = Int64(given.text), range.contains(value) { return value }
        mustBe("an integer from \(range.lowerBound) to \(range.upperBound)", given)
        return nil
    }

    /// A number is written as JSON writes it in a variable and a flag too: `Double` reads `nan` and `0x1p-1` as well.
    private mutating func number(_ setting: Setting, in range: ClosedRange<Double>) -> Double? {
        guard let given = scalar(setting) else { return nil }
        do throws(ConfigurationError) {
            let json = try JSONFile(Array(given.text.utf8), name: setting.rawValue)
            if case .number(let digits) = json.root.content, digits == given.text, let value = Double(digits),
                range.contains(value)
            {
                return value
            }
        } catch {
            // It is no JSON, and so no number.
        }
        mustBe("a number from \(Int(range.lowerBound)) to \(Int(range.upperBound))", given)
        return nil
    }

    private mutating func boolean(_ setting: Setting) -> Bool? {
        guard let given = scalar(setting) else { return nil }
        if let value = Bool(given.text) { return value }
        mustBe("true or false", given)
        return nil
    }

    private func path(_ given: Given) -> String {
        if case .file = given.origin { path(given.text) } else { given.text }
    }

    /// - Parameter text: relative to the file's folder.
    private func path(_ text: String) -> String {
        file.map { URL(fileURLWithPath: text, relativeTo: $0.folder).path } ?? text
    }

    /// A variable that is spelt wrong would otherwise be a setting that is not there, and nobody would know.
    private mutating func refuseUnknownVariables() {
        let known = Set(Setting.allCases.map { variable($0).name }).union([ServerOptions.tokenVariable])
        for name in environment.keys.sorted() where name.hasPrefix("LEDGER_") && !known.contains(name) {
            if Source.isOfService(name) { continue }
            faults.append("\(name): is not a variable of a setting")
        }
    }

    /// What Kubernetes and Docker set in every container beside a service or a container of the name `ledger`.
    private static func isOfService(_ name: String) -> Bool {
        name == "LEDGER_PORT" || name == "LEDGER_NAME"
            || ["LEDGER_PORT_", "LEDGER_SERVICE_", "LEDGER_ENV_"].contains { name.hasPrefix($0) }
    }

    // MARK: What is given

    private func scalar(_ setting: Setting) -> Given? { given(setting)?.first }

    /// Whether its value is the file's, and of the wrong type, which was noted.
    private func isFaulty(_ setting: Setting) -> Bool {
        if isInFileAlone { return scope?.faulty.contains(setting) == true }
        return flags[setting] == nil && variable(setting).text == nil && scope?.faulty.contains(setting) == true
    }

    /// Whether neither flags nor variables have what is being read: the settings of one of several ledgers.
    private var isInFileAlone: Bool { scope?.member != nil }

    private func given(_ setting: Setting) -> [Given]? {
        if isInFileAlone { return givenInFile(setting) }
        if let text = flags[setting], let flag = setting.flag { return split(text, setting, .flag(flag)) }
        let variable = variable(setting)
        if let text = variable.text { return split(text, setting, .variable(variable.name)) }
        return givenInFile(setting)
    }

    private func givenInFile(_ setting: Setting) -> [Given]? {
        scope?.items[setting]?.map {
            Given(text: setting.form == .texts ? $0.text[...].trimmed : $0.text, origin: .file($0.value))
        }
    }

    private func split(_ text: String, _ setting: Setting, _ origin: Given.Origin) -> [Given] {
        guard setting.form == .texts else { return [Given(text: text, origin: origin)] }
        return text.split(separator: ",").map { Given(text: $0.trimmed, origin: origin) }
    }

    /// The environment variable of a setting.
    private func variable(_ setting: Setting) -> (name: String, text: String?) {
        do {
            let found = try variables.value(forKey: AbsoluteConfigKey(["ledger"] + setting.names), type: .string)
            guard case .string(let text) = found.value?.content else { return (found.encodedKey, nil) }
            return (found.encodedKey, text)
        } catch {
            preconditionFailure("every variable is a string: \(error)")
        }
    }

    // MARK: Faults

    private mutating func mustBe(_ what: String, _ given: Given) {
        switch given.origin {
        case .flag, .variable: note("must be \(what), not \(JSONValue.quoted(given.text))", given)
        case .file(let value): file?.json.mustBe(what, value)
        }
    }

    private mutating func note(_ rule: String, _ given: Given) {
        switch given.origin {
        case .flag(let name), .variable(let name): faults.append("\(name): \(rule)")
        case .file(let value): file?.json.note(rule, value)
        }
    }

    /// Notes what a setting lacks, where it is given or could be.
    private mutating func note(_ rule: String, _ setting: Setting) {
        let variable = variable(setting)
        if let member = scope?.member, let file {
            faults.append("\(file.json.name): ledgers.\(member.name).\(setting.rawValue): \(rule)")
        } else if flags[setting] != nil, let flag = setting.flag {
            faults.append("\(flag): \(rule)")
        } else if variable.text != nil {
            faults.append("\(variable.name): \(rule)")
        } else {
            faults.append("\(file.map { "\($0.json.name): " } ?? "")\(setting.rawValue): \(rule)")
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

extension Substring {
    fileprivate var trimmed: String {
        var text = self
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
