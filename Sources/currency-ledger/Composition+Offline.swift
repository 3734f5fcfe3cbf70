import FileLog
import Foundation
import Ledger
import LedgerAudit
import LedgerWire
import Logging
import PostgresLog
import SQLiteProjection

/// What commands do with a ledger's folder themselves, beside its service or without one.
extension Composition {
    /// Makes a ledger without blocks, in a folder that is absent or empty.
    static func make(_ folder: LedgerFolder, identity: Digest) throws {
        try LedgerFolder.create(at: folder.path) { temporary in
            let made = LedgerFolder(temporary)
            try FileLog.create(folder: made.log, headFile: made.headFile, identity: identity)
        }
    }

    /// Makes the ledger that a configuration is for.
    /// - Throws: ``Failure`` where there is something at its place, or nodes are to share its log.
    static func make(_ settings: LedgerSettings) throws {
        if settings.node != nil {
            throw Failure("the log that nodes share is made by the first of them: serve --create")
        }
        guard isAbsentOrEmpty(settings.path) else { throw Failure("there is something at \(settings.path)") }
        try make(LedgerFolder(settings.path), identity: Digest(of: ledger(settings), sha256))
    }

    /// Computes the tables anew from the log, while no service runs.
    /// - Returns: the number of blocks.
    static func rebuild(_ settings: LedgerSettings) throws -> BlockNumber {
        let folder = LedgerFolder(settings.path)
        let ledger = ledger(settings)
        try folder.check()
        let log = try FileLog.open(
            folder: folder.log, headFile: folder.headFile, identity: Digest(of: ledger, sha256), hash: sha256,
            archives: archives(settings))
        defer { log.close() }
        guard let head = log.head else { throw Failure("\(folder.path) has no blocks yet") }
        let logger = Logger(label: "rebuild") { _ in SwiftLogNoOpLogHandler() }
        let tables = Tables(
            folder: folder, path: folder.projection, log: log, ledger: ledger, logger: logger, progress: { _ in })
        try tables.sayingWantOfRoom { try tables.make() }
        return head.number
    }

    /// An audit of a ledger, beside its service or without one.
    /// - Parameters:
    ///   - archives: where blocks are that were archived.
    ///   - tables: where the tables are that are compared; `nil`: in the ledger's folder, where it has one.
    static func audit(
        _ place: LogPlace, archives: [LedgerFolder], tables: String?, _ configuration: LedgerAudit.Audit.Configuration,
        scratch: ScratchFolder
    ) throws -> LedgerAudit.Audit {
        if case .folder(let folder) = place { try folder.check() }
        let tablesPlace = try tables.map { text throws(Failure) in
            try LogPlace(text, defaultSchema: PostgresPlace.defaultTablesSchema)
        }
        return LedgerAudit.Audit(configuration, hash: sha256) {
            try place.inspection(archives)
        } openTables: {
            switch tablesPlace ?? place {
            case .folder(let folder): try openTables(of: folder, connections: configuration.jobs, scratch)
            #if Postgres
            case .postgres(let tables): tablesPlace == nil ? nil : try PostgresTableReader(tables)
            #endif
            }
        }
    }

    private static func openTables(
        of folder: LedgerFolder, connections: Int, _ scratch: ScratchFolder
    ) throws -> SQLiteTables? {
        let isReadOnly = access(folder.path, W_OK) != 0 && errno == EROFS
        return try tables(of: folder) {
            let tables = isReadOnly ? try copyTables(of: folder, to: scratch) : folder.projection
            return try SQLiteTables(path: tables, connections: connections)
        }
    }

    /// Opens the tables of a folder; `nil` where there are none. A service that makes them anew puts its files in their
    /// place one by one: where one runs, what is missing or cannot be opened is looked for again, for some seconds.
    private static func tables(of folder: LedgerFolder, _ open: () throws -> SQLiteTables) throws -> SQLiteTables? {
        for _ in 1..<tablesAttemptsMax where FileLog.isWritten(folder: folder.log) {
            if FileManager.default.fileExists(atPath: folder.projection), let tables = try? open() { return tables }
            Thread.sleep(forTimeInterval: secondsBetweenAttempts)
        }
        return FileManager.default.fileExists(atPath: folder.projection) ? try open() : nil
    }

    private static let tablesAttemptsMax = 250
    private static let secondsBetweenAttempts = 0.02

    /// SQLite writes beside a database that is only read: where nothing can be written, the tables are read from a
    /// copy.
    static func copyTables(
        of folder: LedgerFolder, to scratch: ScratchFolder, _ name: LedgerName? = nil
    ) throws -> String {
        let copy = try scratch.path("\(name?.text ?? "projection").sqlite")
        try SQLiteProjection.copy(at: folder.projection, to: copy)
        return copy
    }

    /// The folder of the ledger that a command names, or its configuration.
    /// - Parameters:
    ///   - path: goes before that of the configuration.
    ///   - ledger: which of several ledgers of the configuration it is.
    static func ledgerPath(
        _ path: String?, config: String?, ledger: String?
    ) throws(ConfigurationError) -> String {
        if config == nil, ledger != nil { throw ConfigurationError([ledgerWithoutConfig]) }
        guard let config else { return path ?? "ledger" }
        if let path { return path }
        return try ledgerSettings(config: config, ledger: ledger).path
    }

    /// Refuses a command for ledgers in files where the log that it is to use is in PostgreSQL.
    /// - Parameters:
    ///   - path: goes before that of the configuration.
    ///   - instead: what is to be done.
    /// - Throws: ``Failure``, or ``ConfigurationError``.
    static func checkIsInFiles(_ path: String?, config: String?, ledger: String?, instead: String) throws {
        var isInPostgres = path.map(LogPlace.isURI) ?? false
        if path == nil, config != nil { isInPostgres = try ledgerSettings(config: config, ledger: ledger).node != nil }
        if isInPostgres { throw Failure("this ledger's log is in PostgreSQL: \(instead)") }
    }

    private static let ledgerWithoutConfig = "--ledger: names a ledger of a configuration, so --config is required"

    /// The settings of the ledger that a command is for.
    /// - Parameter path: where the ledger is, where that is not the configuration's.
    static func ledgerSettings(
        config: String?, ledger: String?, path: String? = nil
    ) throws(ConfigurationError) -> LedgerSettings {
        let settings = try Settings.load(
            file: config, flags: [:], environment: ProcessInfo.processInfo.environment, serves: false)
        var one = try settings.ledger(named: ledger)
        if let path { one.path = path }
        return one
    }

    /// A backup of the ledger at `path`, beside its service or without one.
    static func backup(of path: String, in backup: String, archives: [String]) -> LogBackup {
        LogBackup(
            of: LedgerFolder(path), in: LedgerFolder(backup), archives: archives.map { LedgerFolder($0) }, hash: sha256)
    }

    /// The archives that a command names, and those of its configuration.
    static func archives(
        _ named: [String], config: String?, ledger: String?
    ) throws(ConfigurationError) -> [String] {
        guard let config else { return named }
        return named + (try ledgerSettings(config: config, ledger: ledger).archives).filter { !named.contains($0) }
    }

    /// Where blocks of a ledger are that were archived.
    static func archives(_ settings: LedgerSettings) -> [LedgerFolder] { settings.archives.map { LedgerFolder($0) } }

    /// A restore of the ledger at `path`, while no service has it open.
    static func restore(
        of path: String, from backup: String, source: LogRestore.Source, lostFrom: BlockNumber?
    ) -> LogRestore {
        LogRestore(
            of: LedgerFolder(path), from: LedgerFolder(backup), source: source, lostFrom: lostFrom, hash: sha256)
    }
}
