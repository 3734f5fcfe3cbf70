import AppStore
import LedgerWire
import Logging

/// What the service is told by its configuration: a JSON file, environment variables over it, flags over both.
///
/// | key | environment | default | meaning |
/// |---|---|---|---|
/// | `path` | `LEDGER_PATH` | `ledger` | the ledger's folder; made by `serve --create` and by nothing else |
/// | `listen` | `LEDGER_LISTEN` | `127.0.0.1:7117` | addresses: `host:port`, `[v6]:port` or `unix:/path`; port 0 picks a free one |
/// | `app.bundleId` | `LEDGER_APP_BUNDLE_ID` | required | the app whose purchases are credited |
/// | `app.appAppleId` | `LEDGER_APP_APP_APPLE_ID` | none | its App Store id; where it is given, notifications must name it |
/// | `app.environment` | `LEDGER_APP_ENVIRONMENT` | required | `Production`, `Sandbox`, `Xcode` or `LocalTesting` |
/// | `anchors` | `LEDGER_ANCHORS` | none | certificates (DER or PEM files) trusted beside Apple Root CA – G3 |
/// | `catalog` | `LEDGER_CATALOG` | required | the catalog: a JSON file |
/// | `tokens.ROLE` | `LEDGER_TOKENS_ROLE` | none | the tokens of a role: `purchases`, `game`, `finance` or `admin` |
/// | `cache.players` | `LEDGER_CACHE_PLAYERS` | `300000` | players kept in memory, each with one open lot, some 900 bytes; one with many lots counts for more |
/// | `log.level` | `LEDGER_LOG_LEVEL` | `info` | `trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical` |
///
/// Several values in one variable or flag are separated by commas. Paths in the file are relative to the file's
/// folder.
struct Settings: Sendable {
    struct Token: Sendable {
        var role: Role
        var secret: String
    }

    var path = "ledger"
    var listen = [ServerAddress.tcp(host: "127.0.0.1", port: 7_117)]
    var bundleID: String
    var appAppleID: Int64?
    var environment: Environment
    var anchors: [String] = []
    var catalog: String
    var tokens: [Token] = []
    var cachedPlayers = 300_000
    var logLevel = Logger.Level.info

    /// Bytes of a token at the least: one that is guessed opens the ledger.
    static let tokenBytesMin = 16
    /// Bytes of a configuration or catalog file: far more than a catalog of thousands of products needs.
    static let fileBytesMax = 16 * 1_024 * 1_024
}
