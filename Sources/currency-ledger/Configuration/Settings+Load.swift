import AppStore
import Configuration
import LedgerWire
import Logging

extension Settings {
    /// Reads the settings: flags over environment variables over the file over the defaults.
    /// - Parameters:
    ///   - flags: by key, as given on the command line.
    ///   - environment: the process's environment variables.
    /// - Throws: ``ConfigurationError`` that names the key and says why.
    static func load(file: String?, flags: [String: String], environment: [String: String]) throws -> Settings {
        let settingsFile = try file.map { try SettingsFile(path: $0) } ?? SettingsFile()
        let reader = ConfigReader(providers: [
            provider(name: "flags", scalars: flags, lists: [:]),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "ledger"),
            provider(name: "file", scalars: settingsFile.scalars, lists: settingsFile.lists),
        ])
        return try Source(reader: reader, name: file ?? "configuration").settings()
    }

    private static let listKeys: Set<String> = [
        "listen", "anchors", "tokens.purchases", "tokens.game", "tokens.finance", "tokens.admin",
    ]

    private static func provider(
        name: String, scalars: [String: String], lists: [String: [String]]
    ) -> InMemoryProvider {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (key, value) in scalars {
            let content: ConfigContent =
                listKeys.contains(key)
                ? .stringArray(value.split(separator: ",").map { $0.trimmed }) : .string(value)
            values[absolute(key)] = ConfigValue(content, isSecret: key.hasPrefix("tokens."))
        }
        for (key, value) in lists {
            values[absolute(key)] = ConfigValue(.stringArray(value), isSecret: key.hasPrefix("tokens."))
        }
        return InMemoryProvider(name: name, values: values)
    }

    private static func absolute(_ key: String) -> AbsoluteConfigKey {
        AbsoluteConfigKey(key.split(separator: ".").map(String.init))
    }
}

/// The values of the highest provider that has them, checked one by one.
private struct Source {
    let reader: ConfigReader
    let name: String

    func settings() throws -> Settings {
        let environmentName = try required("app.environment")
        let known: [Environment] = [.production, .sandbox, .xcode, .localTesting]
        guard let environment = known.first(where: { $0.rawValue == environmentName }) else {
            throw wrong("app.environment", "must be Production, Sandbox, Xcode or LocalTesting")
        }
        let bundleID = try required("app.bundleId")
        guard !bundleID.isEmpty else { throw wrong("app.bundleId", "must not be empty") }
        var settings = Settings(bundleID: bundleID, environment: environment, catalog: try required("catalog"))
        settings.appAppleID = try integer("app.appAppleId", in: 1...Int64.max)
        if let path = scalar("path") {
            guard !path.isEmpty else { throw wrong("path", "must not be empty") }
            settings.path = path
        }
        if let listen = list("listen") {
            settings.listen = try listen.map { text in
                do throws(ServerAddress.Malformed) {
                    return try ServerAddress(text)
                } catch {
                    throw wrong("listen", error.description)
                }
            }
        }
        guard !settings.listen.isEmpty else { throw wrong("listen", "must name an address") }
        if let anchors = list("anchors") { settings.anchors = anchors }
        if let players = try integer("cache.players", in: 1_000...100_000_000) { settings.cachedPlayers = Int(players) }
        if let level = scalar("log.level") {
            guard let parsed = Logger.Level(rawValue: level) else {
                throw wrong("log.level", "must be trace, debug, info, notice, warning, error or critical")
            }
            settings.logLevel = parsed
        }
        settings.tokens = try tokens()
        return settings
    }

    private func tokens() throws -> [Settings.Token] {
        var tokens: [Settings.Token] = []
        for role in [Role.purchases, .game, .finance, .admin] {
            for secret in list("tokens.\(role.rawValue)") ?? [] {
                guard secret.utf8.count >= Settings.tokenBytesMin else {
                    throw wrong("tokens.\(role.rawValue)", "must have at least \(Settings.tokenBytesMin) bytes each")
                }
                if tokens.contains(where: { $0.secret == secret }) {
                    throw wrong("tokens.\(role.rawValue)", "gives a token that another role has, or gives one twice")
                }
                tokens.append(Settings.Token(role: role, secret: secret))
            }
        }
        return tokens
    }

    private func required(_ key: String) throws -> String {
        guard let value = scalar(key) else { throw wrong(key, "is required") }
        return value
    }

    private func integer(_ key: String, in range: ClosedRange<Int64>) throws -> Int64? {
        guard let text = scalar(key) else { return nil }
        guard let value = Int64(text), range.contains(value) else {
            throw wrong(key, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    private func scalar(_ key: String) -> String? { reader.string(forKey: configKey(key)) }

    private func list(_ key: String) -> [String]? {
        reader.stringArray(forKey: configKey(key), isSecret: key.hasPrefix("tokens."))?.map { $0[...].trimmed }
    }

    private func configKey(_ key: String) -> ConfigKey { ConfigKey(key.split(separator: ".").map(String.init)) }

    private func wrong(_ key: String, _ why: String) -> ConfigurationError { ConfigurationError(name, "\(key) \(why)") }
}

extension Substring {
    fileprivate var trimmed: String {
        var text = self
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
