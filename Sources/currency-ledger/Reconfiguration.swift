import Ledger
import LedgerEngine
import LedgerWire
import LineServer
import Logging
import Synchronization

/// What a running service takes over from a configuration that is read again: all of it, or nothing where something of
/// it is wrong or needs a restart.
final class Reconfiguration: Sendable {
    private let running: Mutex<Settings>
    private let catalogs: [CatalogInForce]
    private let service: LedgerService
    private let output: LogOutput
    private let logger: Logger
    private let read: @Sendable () throws -> Settings

    /// - Parameters:
    ///   - settings: those with which the service was started.
    ///   - catalogs: of its ledgers, in their order.
    ///   - read: reads the settings of now.
    init(
        _ settings: Settings, catalogs: [CatalogInForce], service: LedgerService, output: LogOutput, logger: Logger,
        read: @escaping @Sendable () throws -> Settings
    ) {
        running = Mutex(settings)
        self.catalogs = catalogs
        self.service = service
        self.output = output
        self.logger = logger
        self.read = read
        apply(settings)
    }

    /// Reads and checks everything, and lets it hold, or says what is wrong. Blocks.
    @discardableResult
    func reload() -> ReloadReport { service.lines.reload { try renewal() } }

    /// What is to hold from now on.
    /// - Throws: ``ConfigurationError`` with everything that is wrong, and all that needs a restart.
    private func renewal() throws -> ServerConfiguration.Renewal {
        let old = running.withLock { $0 }
        let new = try read()
        guard new.ledgers.map(\.name) == old.ledgers.map(\.name) else {
            throw ConfigurationError(["ledgers: can change only at a start"])
        }
        var faults: [String] = []
        var changes: [SettingChange] = []
        for change in new.changes(from: old) {
            if change.setting.changesWhileRunning {
                changes.append(change.told)
            } else {
                faults.append("\(change.told): can change only at a start")
            }
        }
        changes += SettingChange.ofTokens(from: old.access, to: new.access)
        var editions: [CatalogInForce.Edition] = []
        do throws(ConfigurationError) { editions = try CheckedConfiguration(new, isReload: true).catalogs } catch {
            faults += error.faults
        }
        for (place, edition) in editions.enumerated() where edition.digest != catalogs[place].current.digest {
            changes.append(SettingChange(catalogs[place].current, edition, of: new.ledgers[place]))
            if let fault = fault(ofCurrencies: edition.catalog, at: place) {
                faults.append("\(new.ledgers[place].catalog): \(fault)")
            }
        }
        if !faults.isEmpty { throw ConfigurationError(faults) }
        return ServerConfiguration.Renewal(access: new.access, tls: Composition.tls(new), changes: changes) {
            [self, editions] in
            take(new, editions)
        }
    }

    /// Why a ledger cannot have the currencies of a catalog beside those that it has; `nil` where it can.
    private func fault(ofCurrencies catalog: Catalog, at place: Int) -> String? {
        // Whatever it has, they bring nothing new.
        if Set(catalog.currencies.keys).isSubset(of: catalogs[place].current.catalog.currencies.keys) { return nil }
        do {
            return catalog.excess(beside: try service.ledgers.members[place].ledger.projectedState().currencies)
        } catch {
            return "it cannot be told now whether the ledger may have its new currencies: \(error)"
        }
    }

    private func take(_ settings: Settings, _ editions: [CatalogInForce.Edition]) {
        apply(settings)
        for (place, edition) in editions.enumerated() where edition.digest != catalogs[place].current.digest {
            catalogs[place].replace(by: edition)
            let member = service.ledgers.members[place]
            var logger = logger
            if let name = member.name { logger[metadataKey: "ledger"] = "\(name)" }
            // Where the tables cannot be read, the ledger says so itself.
            if let state = try? member.ledger.projectedState() {
                logger.warn(ofCurrenciesMissingFrom: edition.catalog, state)
            }
        }
        running.withLock { $0 = settings }
    }

    /// What needs no check.
    private func apply(_ settings: Settings) {
        output.level = settings.logLevel
        service.lines.slowRequests.set(milliseconds: settings.slowMilliseconds)
        for member in service.ledgers.members {
            member.ledger.figures.slowCommits.set(milliseconds: settings.slowMilliseconds)
        }
    }
}

extension Settings {
    /// A setting that is different in two configurations.
    struct Difference {
        let setting: Setting
        let told: SettingChange
    }

    /// What is given otherwise than before, but for tokens, in the order of its keys.
    func changes(from old: Settings) -> [Difference] {
        Set<GivenKey>(given.keys).union(old.given.keys).sorted { $0.text < $1.text }.compactMap { key in
            let (before, now) = (old.given[key], given[key])
            if before == now { return nil }
            let told =
                key.setting.isSecret
                ? SettingChange(key.text, word: "changed") : SettingChange(key.text, from: before, to: now)
            return Difference(setting: key.setting, told: told)
        }
    }
}

extension SettingChange {
    /// A catalog by the beginning of its file's SHA-256, which the blocks name whole.
    fileprivate init(
        _ old: CatalogInForce.Edition, _ new: CatalogInForce.Edition, of ledger: LedgerSettings
    ) {
        func short(_ edition: CatalogInForce.Edition) -> String { edition.digest?.hexadecimal ?? "none" }
        let key = ledger.name.map { "ledgers.\($0).catalog" } ?? "catalog"
        self.init("\(key) (SHA-256)", from: short(old), to: short(new))
    }

    /// Tokens by their names: what they open, and what they are, is not told.
    fileprivate static func ofTokens(
        from old: ServerConfiguration.Access, to new: ServerConfiguration.Access
    ) -> [SettingChange] {
        let (before, now) = (old.byName, new.byName)
        return Set<String>(before.keys).union(now.keys).sorted().compactMap { name in
            switch (before[name], now[name]) {
            case (nil, _?): SettingChange("tokens.\(name)", word: "added")
            case (_?, nil): SettingChange("tokens.\(name)", word: "removed")
            case (let before, let now): before == now ? nil : SettingChange("tokens.\(name)", word: "changed")
            }
        }
    }
}

extension ServerConfiguration.Access {
    fileprivate var byName: [String: Token] {
        switch self {
        case .everyoneOnThisMachine: [:]
        case .tokens(let tokens): Dictionary(tokens.map { ($0.name, $0) }) { first, _ in first }
        }
    }
}
