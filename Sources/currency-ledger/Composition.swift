import AppStore
import Foundation
import Ledger
import LedgerServer
import LedgerWire
import Logging
import SQLiteStore

/// Puts the service together from its parts: the one place that knows them all.
enum Composition {
    /// - Throws: ``ConfigurationError`` for an anchor that cannot be read, `StoreError` for a database that cannot be opened.
    static func service(_ settings: Settings, catalog: Catalog, logger: Logger) throws -> LedgerService {
        let anchors = try settings.anchors.map { path in
            let bytes = try File.read(path, bytesMax: Settings.fileBytesMax)
            do {
                return try Certificate(file: bytes)
            } catch {
                throw ConfigurationError(path, "is not a certificate in DER or PEM: \(error)")
            }
        }
        let app = App(
            bundleID: settings.bundleID, appAppleID: settings.appAppleID, environment: settings.environment)
        var bounds = SQLiteBounds()
        bounds.cachedPlayersMax = settings.cachedPlayers
        let store = try SQLiteStore(
            path: settings.database,
            identity: LedgerIdentity(bundleID: settings.bundleID, environment: settings.environment.rawValue),
            catalog: catalog, hash: { SHA256.hash($0, into: $1) }, now: Clock.now(), bounds: bounds)
        let tokens = settings.tokens.map { ServerConfiguration.Token(token: $0.secret, role: $0.role) }
        let info = ServerInfo(
            version: Version.current, environment: settings.environment.rawValue, bundleID: settings.bundleID,
            engine: store.engine, currencies: catalog.currencies.keys.sorted())
        return LedgerService(
            configuration: ServerConfiguration(listen: settings.listen, tokens: tokens), store: store,
            verifier: Verifier(app: app, anchors: anchors), info: info, logger: logger, now: Clock.now)
    }
}

/// The one clock: milliseconds since the UNIX epoch.
enum Clock {
    @Sendable static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
