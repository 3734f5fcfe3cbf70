import FileLog
import Foundation
import Ledger
import LedgerAudit
import PostgresLog

/// Where a ledger's log is, as commands name it: a ledger's folder, or a URI of PostgreSQL.
enum LogPlace: CustomStringConvertible {
    case folder(LedgerFolder)
    #if Postgres
    case postgres(PostgresLogConfiguration)
    #endif

    /// - Parameters:
    ///   - text: a path, or `postgresql://…`; the parameter `schema` of that URI is the ledger's schema, and
    ///     everything else is libpq's.
    ///   - defaultSchema: where the URI names none.
    /// - Throws: ``Failure`` where the URI cannot be used, or this build has no PostgreSQL.
    init(_ text: String, defaultSchema: String = PostgresPlace.defaultSchema) throws(Failure) {
        guard LogPlace.isURI(text) else {
            if let scheme = LogPlace.scheme(of: text) {
                throw Failure(
                    "\(scheme)://… is no place of a ledger's log: that is a folder, or "
                        + "postgresql://HOST/DATABASE?schema=NAME")
            }
            self = .folder(LedgerFolder(text))
            return
        }
        #if Postgres
        let (uri, schema) = try PostgresPlace.parts(text, defaultSchema: defaultSchema)
        self = .postgres(LogPlace.reading(uri, schema: schema))
        #else
        throw PostgresPlace.absence
        #endif
    }

    /// The ledger that a configuration names.
    /// - Throws: ``Failure`` where it is one of several nodes, and this build has no PostgreSQL.
    init(_ settings: LedgerSettings) throws(Failure) {
        guard let node = settings.node else {
            self = .folder(LedgerFolder(settings.path))
            return
        }
        #if Postgres
        guard PostgresLogConfiguration.isSchema(node.schema) else { throw PostgresPlace.noSchema(node.schema) }
        self = .postgres(LogPlace.reading(node.log, schema: node.schema))
        #else
        throw PostgresPlace.absence
        #endif
    }

    /// That of a URI; `nil` for a path.
    private static func scheme(of text: String) -> Substring? {
        guard let end = text.firstRange(of: "://")?.lowerBound, end > text.startIndex else { return nil }
        let scheme = text[..<end]
        return scheme.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) } ? scheme : nil
    }

    static func isURI(_ text: String) -> Bool { text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") }

    #if Postgres
    private static func reading(_ uri: String, schema: String) -> PostgresLogConfiguration {
        // A name of its own: two runs must not take each other for themselves.
        let node = "command \(ProcessInfo.processInfo.hostName) \(getpid())"
        var configuration = PostgresLogConfiguration(uri: uri, schema: schema, node: node, right: .reading)
        configuration.opensMoved = true
        return configuration
    }
    #endif

    /// Says nothing of what may be in a URI: a password.
    var description: String {
        switch self {
        case .folder(let folder): folder.path
        #if Postgres
        case .postgres(let configuration): "the schema \(configuration.schema)"
        #endif
        }
    }

    /// Begins to read all of the log for an audit.
    /// - Parameter archives: where blocks are that were archived.
    func inspection(_ archives: [LedgerFolder] = []) throws -> any LogInspector {
        switch self {
        case .folder(let folder):
            try folder.check()
            if !archives.isEmpty {
                return try ChainInspection(archives: archives, of: folder, hash: Composition.sha256)
            }
            return try LogInspection(folder: folder.log, headFile: folder.headFile, hash: Composition.sha256)
        #if Postgres
        case .postgres(let configuration):
            guard archives.isEmpty else { throw Failure("--archive: of a log in PostgreSQL nothing is archived") }
            return try PostgresInspection(configuration, hash: Composition.sha256)
        #endif
        }
    }

    /// Whose ledger is there; `nil` where there is none yet.
    func identity() throws -> Digest? {
        switch self {
        case .folder(let folder):
            if Composition.isAbsentOrEmpty(folder.path) { return nil }
            try folder.check()
            guard let identity = try LogInspection.identity(folder: folder.log) else {
                throw LogError(.corrupt, "no segment file of \(folder.log) says whose ledger it is")
            }
            return identity
        #if Postgres
        case .postgres(let configuration):
            return try PostgresLog.identity(configuration, hash: Composition.sha256)
        #endif
        }
    }

    /// Makes a log without blocks.
    func create(_ identity: Digest) throws {
        switch self {
        case .folder(let folder):
            try LedgerFolder.create(at: folder.path) { temporary in
                let made = LedgerFolder(temporary)
                try FileLog.create(folder: made.log, headFile: made.headFile, identity: identity)
            }
        #if Postgres
        case .postgres(let configuration): try PostgresLog.create(configuration, identity: identity)
        #endif
        }
    }

    /// Opens the log as its one writer, who keeps every service out until it is closed.
    /// - Parameter archives: where blocks are that were archived.
    func open(_ identity: Digest, _ archives: [LedgerFolder] = []) throws -> any BlockLog {
        switch self {
        case .folder(let folder):
            return try FileLog.open(
                folder: folder.log, headFile: folder.headFile, identity: identity, hash: Composition.sha256,
                archives: archives)
        #if Postgres
        case .postgres(var configuration):
            configuration.right = .leading
            return try PostgresLog.open(configuration, identity: identity, hash: Composition.sha256)
        #endif
        }
    }

    /// Notes, durably when it returns, where the ledger is from now on: no service is started here then.
    /// - Parameters:
    ///   - place: `nil` where it is here.
    ///   - log: as it was opened here; it can no more be appended to.
    func note(movedTo place: LogPlace?, _ log: any BlockLog) throws {
        switch self {
        case .folder(let folder):
            if let place { try folder.movedMark.write("\(place)") } else { try folder.movedMark.remove() }
        #if Postgres
        case .postgres: try (log as? PostgresLog)?.note(movedTo: place.map { "\($0)" } ?? "")
        #endif
        }
    }

    /// Whether a service has it open, as far as that can be seen.
    func isLed(_ log: any BlockLog) throws -> Bool {
        switch self {
        case .folder(let folder): return FileLog.isWritten(folder: folder.log)
        #if Postgres
        case .postgres: return try (log as? PostgresLog)?.leader().map { $0.leaseMilliseconds > 0 } ?? false
        #endif
        }
    }

    /// Opens the log beside whoever writes it: it has the blocks that are durable now.
    /// - Parameter archives: where blocks are that were archived.
    func openForReading(_ identity: Digest, _ archives: [LedgerFolder] = []) throws -> any BlockLog {
        switch self {
        case .folder(let folder):
            return try FileLog.openForReading(
                folder: folder.log, headFile: folder.headFile, identity: identity, hash: Composition.sha256,
                archives: archives)
        #if Postgres
        case .postgres(let configuration):
            return try PostgresLog.open(configuration, identity: identity, hash: Composition.sha256)
        #endif
        }
    }
}

/// URIs of PostgreSQL on the command line.
enum PostgresPlace {
    static let defaultSchema = "ledger"
    /// Of tables for others' SQL.
    static let defaultTablesSchema = "ledger_tables"

    static let absence = Failure(
        "this build of currency-ledger has no PostgreSQL: build it with `swift build --traits Postgres`")

    #if Postgres
    static func noSchema(_ name: String) -> Failure {
        Failure("schema=\(name): a schema's name has small letters, digits and _, at most 48, and no pg_")
    }

    /// A URI without the parameter `schema`, which libpq does not know, and that parameter.
    static func parts(_ text: String, defaultSchema: String) throws(Failure) -> (uri: String, schema: String) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let parameters = parts.count < 2 ? [] : parts[1].split(separator: "&")
        let prefix = "schema="
        let rest = parameters.filter { !$0.hasPrefix(prefix) }
        let schemas = parameters.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        guard schemas.count <= 1 else {
            throw Failure("the URI names \(schemas.count) schemas (\(schemas.joined(separator: ", "))): it names one")
        }
        let schema = schemas.first
        let name = schema ?? defaultSchema
        guard PostgresLogConfiguration.isSchema(name) else {
            throw noSchema(name)
        }
        return (parts[0] + (rest.isEmpty ? "" : "?" + rest.joined(separator: "&")), name)
    }
    #endif
}
