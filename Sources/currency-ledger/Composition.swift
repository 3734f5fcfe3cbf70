import AppStore
import FileLog
import Foundation
import Ledger
import LedgerEngine
import LedgerServer
import LedgerWire
import Logging
import SQLiteProjection

/// Puts the service together from its parts: the one place that knows them all.
enum Composition {
    /// - Parameters:
    ///   - create: whether the ledger is made where there is none.
    ///   - acceptsClock: whether the clock is right however far it is ahead of the last entry.
    /// - Throws: ``ConfigurationError`` for an anchor that cannot be read; `LogError`, `ProjectionOpeningError` or
    ///   `StoreError` for a ledger that cannot be opened.
    static func service(
        _ settings: Settings, catalog: Catalog, create: Bool, acceptsClock: Bool, logger: Logger
    ) throws -> LedgerService {
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
        let engine = try engine(
            settings, catalog: catalog, create: create, acceptsClock: acceptsClock, logger: logger)
        let tokens = settings.tokens.map { ServerConfiguration.Token(token: $0.secret, role: $0.role) }
        let info = ServerInfo(
            version: Version.current, environment: settings.environment.rawValue, bundleID: settings.bundleID,
            engine: engine.engine, currencies: catalog.currencies.keys.sorted())
        return LedgerService(
            configuration: ServerConfiguration(listen: settings.listen, tokens: tokens), store: engine,
            verifier: Verifier(app: app, anchors: anchors), info: info, logger: logger, now: Clock.now)
    }

    private static func engine(
        _ settings: Settings, catalog: Catalog, create: Bool, acceptsClock: Bool, logger: Logger
    ) throws -> Engine {
        let folder = LedgerFolder(settings.path)
        let ledger = Journal.LedgerRow(bundleID: settings.bundleID, environment: settings.environment.rawValue)
        let identity = Digest(of: ledger, sha256)
        if create && isAbsentOrEmpty(folder.path) {
            try LedgerFolder.create(at: folder.path) { temporary in
                let made = LedgerFolder(temporary)
                try FileLog.create(folder: made.log, headFile: made.headFile, identity: identity)
            }
            logger.notice("made a new ledger", metadata: ["path": "\(folder.path)"])
        }
        try folder.check()
        let log = try FileLog.open(
            folder: folder.log, headFile: folder.headFile, identity: identity, hash: sha256)
        for notice in log.notices { logger.notice("\(notice)") }
        var limits = EngineLimits()
        limits.cachedPlayersMax = settings.cachedPlayers
        let configuration = Engine.Configuration(
            bundleID: settings.bundleID, environment: settings.environment.rawValue, catalog: catalog,
            acceptsClock: acceptsClock, limits: limits)
        let bar = ProgressBar("applying blocks")
        func engine(_ projection: SQLiteProjection) throws -> Engine {
            try Engine(log: log, projection: projection, configuration: configuration, hash: sha256, now: Clock.now) {
                event in
                if case .catchingUp(let block, let last) = event { bar.show(block, of: last) }
                if case .tablesDamaged = event { mark(folder, logger) }
                logger.report(event)
            }
        }
        let isMarked = FileManager.default.fileExists(atPath: folder.damageMark)
        if isMarked {
            logger.notice(
                "the tables are made anew", metadata: ["reason": "damage was found in them while they were used"])
            try SQLiteProjection.remove(at: folder.projection)
            try FileManager.default.removeItem(atPath: folder.damageMark)
        }
        do {
            return try engine(try projection(folder, ledger, logger))
        } catch let error as StoreError where !isMarked {
            // Tables that blocks cannot be applied to, or that cannot be read: the log has all that they have.
            logger.notice("the tables are made anew", metadata: ["reason": "\(error)"])
            try SQLiteProjection.remove(at: folder.projection)
            return try engine(try projection(folder, ledger, logger))
        }
    }

    /// Notes that the next start is to make the tables anew.
    private static func mark(_ folder: LedgerFolder, _ logger: Logger) {
        guard !FileManager.default.createFile(atPath: folder.damageMark, contents: nil) else { return }
        logger.error("that the tables are damaged could not be noted", metadata: ["path": "\(folder.damageMark)"])
    }

    private static func isAbsentOrEmpty(_ path: String) -> Bool {
        guard FileManager.default.fileExists(atPath: path) else { return true }
        return (try? FileManager.default.contentsOfDirectory(atPath: path).isEmpty) ?? false
    }

    /// Deletes the tables and computes them anew from the log, while no service runs.
    /// - Returns: the number of blocks.
    static func rebuild(_ settings: Settings) throws -> BlockNumber {
        let folder = LedgerFolder(settings.path)
        let ledger = Journal.LedgerRow(bundleID: settings.bundleID, environment: settings.environment.rawValue)
        try folder.check()
        let log = try FileLog.open(
            folder: folder.log, headFile: folder.headFile, identity: Digest(of: ledger, sha256), hash: sha256)
        defer { log.close() }
        guard let head = log.head else { throw Failure("\(folder.path) has no blocks yet") }
        // Beside the old ones until they are whole: an interrupted run leaves those.
        let new = folder.projection + ".new"
        try SQLiteProjection.remove(at: new)
        let projection = try SQLiteProjection(path: new, ledger: ledger, hash: sha256) { Console.error($0) }
        let bar = ProgressBar("applying blocks")
        do {
            try projection.catchUp(with: log, to: head.number) { bar.show($0, of: head.number) }
            bar.end()
            try projection.close()
        } catch {
            bar.end()
            try? SQLiteProjection.remove(at: new)
            throw error
        }
        try SQLiteProjection.move(from: new, to: folder.projection)
        return head.number
    }

    /// The tables as they are; made anew where they cannot be gone on with, for the log has everything that they have.
    private static func projection(
        _ folder: LedgerFolder, _ ledger: Journal.LedgerRow, _ logger: Logger
    ) throws -> SQLiteProjection {
        func open() throws -> SQLiteProjection {
            try SQLiteProjection(path: folder.projection, ledger: ledger, hash: sha256) { logger.warning("\($0)") }
        }
        do {
            return try open()
        } catch let error as ProjectionOpeningError where error.kind == .rebuild {
            logger.notice("the tables are made anew", metadata: ["reason": "\(error)"])
            try SQLiteProjection.remove(at: folder.projection)
            return try open()
        }
    }

    private static let sha256: HashFunction = { SHA256.hash($0, into: $1) }
}

extension Logger {
    /// Tells the operator what an engine reports.
    fileprivate func report(_ event: Engine.Event) {
        switch event {
        case .catchingUp(let block, let last):
            info("bringing the tables to the head of the log", metadata: ["block": "\(block)", "of": "\(last)"])
        case .projectionFailed(let error):
            self.error("the tables cannot be written; it is tried again", metadata: ["error": "\(error)"])
        case .tablesDamaged(let error):
            self.error(
                "the tables are damaged: requests that need what is damaged fail; the next start makes the tables anew",
                metadata: ["error": "\(error)"])
        case .projectionWorksAgain:
            notice("the tables are written again")
        case .logFailed(let error):
            self.error(
                "nothing can be made durable; it is tried again, and reads go on",
                metadata: ["kind": "\(error.kind)", "error": "\(error)"])
        case .logWorksAgain(let head):
            notice("the log is written again", metadata: ["block": "\(head.number)", "term": "\(head.term)"])
        case .clockHeldBack(let clock, let time):
            warning(
                """
                the clock is far ahead of the ledger: entries go on from the last time that was reasonable; where the \
                clock is right, restart with --accept-clock
                """, metadata: ["clock": "\(clock)", "time": "\(time)"])
        case .clockReasonable:
            notice("the clock is believed again")
        }
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
