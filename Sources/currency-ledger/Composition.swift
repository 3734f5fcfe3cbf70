import AppStore
import FileLog
import Foundation
import HeadSigning
import Ledger
import LedgerAudit
import LedgerEngine
import LedgerWire
import LineServer
import Logging
import NIOCore
import NIOPosix
import SQLiteProjection
import Synchronization

/// Puts the service together from its parts: the one place that knows them all.
enum Composition {
    /// - Parameters:
    ///   - create: whether the ledger is made where there is none.
    ///   - acceptsClock: whether the clock is right however far it is ahead of the last entry.
    ///   - scratch: removed by the caller when the service has ended.
    /// - Throws: ``ConfigurationError`` for anchors that cannot be read; `LogError`, `ProjectionOpeningError` or
    ///   `StoreError` for a ledger that cannot be opened.
    static func service(
        _ settings: Settings, catalog: Catalog, create: Bool, acceptsClock: Bool, scratch: ScratchFolder,
        logger: Logger
    ) throws -> LedgerService {
        let anchors = try anchors(settings.anchors)
        let signer = try headSigner(settings)
        let app = App(
            bundleID: settings.bundleID, appAppleID: settings.appAppleID, environment: settings.environment)
        let stop = LineService.StopSignal()
        let following = try following(settings, catalog, logger: logger, stop: stop)
        let log = try openLog(settings, create: create, logger: logger)
        let requirement = Standbys.Requirement(
            count: settings.standbysRequired, timeoutMilliseconds: UInt64(settings.standbysTimeoutMilliseconds))
        let standbys = try Standbys(requirement, report: logger.report)
        let entries = try Feed()
        let store = try OpeningStore(engine: "\(log.engine), \(SQLiteProjection.engine)") { error in
            logger.critical("the ledger cannot be opened", metadata: ["error": "\(error)"])
            stop.stop()
        } open: { progress in
            try engine(
                log, settings, catalog: catalog, acceptsClock: acceptsClock, following: following, standbys: standbys,
                entries: entries, scratch: scratch, logger: logger, progress)
        }
        if try !store.wait(milliseconds: openingMilliseconds) {
            logger.notice("the tables are still being made; until then requests are answered storage_unavailable")
        }
        let tokens = settings.tokens.map { ServerConfiguration.Token(token: $0.secret, role: $0.role) }
        let info: @Sendable () -> ServerInfo = {
            ServerInfo(
                version: Version.current, environment: settings.environment.rawValue, bundleID: settings.bundleID,
                engine: store.engine, currencies: catalog.currencies.keys.sorted(),
                standby: following.flatMap { StandbyStanding($0) },
                replication: ReplicationStanding(standbys, block: log.head?.number ?? 0))
        }
        let server = ServerConfiguration(listen: settings.listen, tokens: tokens)
        let ledger = try RunningLedger(
            store: store, verifier: Verifier(app: app, anchors: anchors), signer: signer,
            publication: publication(settings), entries: entries, standbys: standbys, limits: limits(settings),
            now: Clock.now, report: logger.report)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: server.limits.eventLoopThreads)
        return LedgerService(
            ledger: ledger, group: group,
            lines: LineService(
                configuration: server, ledger: ledger, group: group, info: info, logger: logger, stop: stop))
    }

    /// How long a start waits for the tables before it listens without them: longer than they take after any crash,
    /// and not so long that who asks thinks that nobody is there.
    private static let openingMilliseconds: UInt64 = 3_000

    /// Reads certificates.
    /// - Throws: ``ConfigurationError`` with all that cannot be read.
    static func anchors(_ paths: [String]) throws(ConfigurationError) -> [Certificate] {
        var anchors: [Certificate] = []
        var faults: [String] = []
        for path in paths {
            do {
                anchors.append(try Certificate(file: try File.read(path, bytesMax: Settings.fileBytesMax)))
            } catch let error as FileError {
                faults.append("\(error) (it is named by anchors)")
            } catch {
                faults.append("\(path): is not a certificate in DER or PEM: \(error)")
            }
        }
        if !faults.isEmpty { throw ConfigurationError(faults) }
        return anchors
    }

    /// The signer of heads; `nil` where no key is configured.
    private static func headSigner(_ settings: Settings) throws(ConfigurationError) -> HeadSigner? {
        guard let path = settings.headKey else { return nil }
        let key: Ed25519PrivateKey
        do {
            key = try Ed25519PrivateKey(pem: try File.readSecret(path, bytesMax: Settings.keyBytesMax))
        } catch let error as KeyFault {
            throw ConfigurationError(["\(path): \(error) (it is named by head.key)"])
        } catch {
            throw ConfigurationError(["\(error) (it is named by head.key)"])
        }
        if let path = settings.headPublicKey, try headPublicKey(path) != key.publicKey {
            throw ConfigurationError([
                "\(path): is not the public key of head.key, so auditors would refuse every head "
                    + "(it is named by head.publicKey)"
            ])
        }
        let ledger = ledger(settings)
        return HeadSigner(key, ledger: ledger, identity: Digest(of: ledger, sha256), now: Clock.now)
    }

    /// The key that verifies heads.
    static func headPublicKey(_ path: String) throws(ConfigurationError) -> Ed25519PublicKey {
        do {
            return try Ed25519PublicKey(pem: try File.read(path, bytesMax: Settings.keyBytesMax))
        } catch let error as KeyFault {
            throw ConfigurationError(["\(path): \(error) (it is named by head.publicKey)"])
        } catch {
            throw ConfigurationError(["\(error) (it is named by head.publicKey)"])
        }
    }

    private static func publication(_ settings: Settings) -> HeadPublication? {
        settings.headFile.map { path in
            HeadPublication(intervalMilliseconds: UInt64(settings.headSeconds) * 1_000) {
                try File.replace(path, with: Array("\($0)\n".utf8))
            }
        }
    }

    private static func openLog(_ settings: Settings, create: Bool, logger: Logger) throws -> FileLog {
        let folder = LedgerFolder(settings.path)
        let identity = Digest(of: ledger(settings), sha256)
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
        return log
    }

    private static func ledger(_ settings: Settings) -> BlockRows.LedgerRow {
        BlockRows.LedgerRow(bundleID: settings.bundleID, environment: settings.environment.rawValue)
    }

    private static func limits(_ settings: Settings) -> EngineLimits {
        var limits = EngineLimits()
        limits.cachedPlayersMax = settings.cachedPlayers
        limits.verifierThreads = System.coreCount
        return limits
    }

    /// Whom this service follows; `nil` where it leads: nobody was configured, or it was promoted.
    private static func following(
        _ settings: Settings, _ catalog: Catalog, logger: Logger, stop: LineService.StopSignal
    ) throws -> Following? {
        guard let follow = settings.follow else { return nil }
        let folder = LedgerFolder(settings.path)
        let leader = follow.leader.description
        if let left = try folder.promotedFrom() {
            if left == leader {
                logger.notice(
                    "this ledger was promoted and leads: the setting follow.leader is passed over, and can go",
                    metadata: ["leader": "\(leader)"])
                return nil
            }
            // Another leader was configured since.
            try folder.forgetPromotion()
        }
        return Following(leader: leader, name: follow.name) {
            LeaderLink(follow, currencies: Set(catalog.currencies.keys), logger: logger)
        } promoting: {
            try folder.notePromotion(from: leader)
        } ended: { fault in
            logger.critical("this standby does not go on", metadata: ["reason": "\(fault)"])
            stop.stop()
        }
    }

    private static func engine(
        _ log: FileLog, _ settings: Settings, catalog: Catalog, acceptsClock: Bool, following: Following?,
        standbys: Standbys, entries: Feed, scratch: ScratchFolder, logger: Logger,
        _ progress: @escaping @Sendable (String) throws -> Void
    ) throws -> Engine {
        let folder = LedgerFolder(settings.path)
        let configuration = Engine.Configuration(
            bundleID: settings.bundleID, environment: settings.environment.rawValue, catalog: catalog,
            acceptsClock: acceptsClock, limits: limits(settings))
        let path = log.isWritable ? folder.projection : try copyTables(of: folder, to: scratch)
        let tables = Tables(
            folder: folder, path: path, log: log, ledger: ledger(settings), logger: logger, progress: progress)
        func engine() throws -> Engine {
            let projection = try tables.open()
            let engine: Engine
            do {
                engine = try Engine(
                    log: log, projection: projection, renewal: tables.renewal, configuration: configuration,
                    following: following, standbys: standbys, entries: entries, hash: sha256, now: Clock.now,
                    catchingUp: tables.show
                ) { event in
                    if case .tablesDamaged = event { mark(folder, logger) }
                    logger.report(event)
                }
            } catch {
                // Somebody outside keeps them from being written.
                let reason = projection.reasonForRenewal
                // Tables that are made anew get the same names.
                do {
                    try projection.close()
                } catch let second {
                    logger.error("the tables could not be closed", metadata: ["error": "\(second)"])
                }
                if let reason { throw UnusableTables(description: reason) }
                throw error
            }
            logger.warn(ofCurrenciesMissingFrom: catalog, try projection.state())
            return engine
        }
        if FileManager.default.fileExists(atPath: folder.damageMark) {
            try tables.makeAnew(because: "damage was found in them while they were used")
        }
        do {
            return try engine()
        } catch let error as UnusableTables {
            try tables.makeAnew(because: error.description)
            return try engine()
        } catch let error as StoreError where error.kind == .corrupt {
            // Blocks cannot be applied to them: the log has all that they have.
            try tables.makeAnew(because: "\(error)")
            return try engine()
        }
    }

    /// Why tables of which nothing is damaged cannot be used.
    private struct UnusableTables: Error {
        let description: String
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

    /// Computes the tables anew from the log, while no service runs.
    /// - Returns: the number of blocks.
    static func rebuild(_ settings: Settings) throws -> BlockNumber {
        let folder = LedgerFolder(settings.path)
        let ledger = ledger(settings)
        try folder.check()
        let log = try FileLog.open(
            folder: folder.log, headFile: folder.headFile, identity: Digest(of: ledger, sha256), hash: sha256)
        defer { log.close() }
        guard let head = log.head else { throw Failure("\(folder.path) has no blocks yet") }
        let logger = Logger(label: "rebuild") { _ in SwiftLogNoOpLogHandler() }
        try Tables(
            folder: folder, path: folder.projection, log: log, ledger: ledger, logger: logger, progress: { _ in }
        ).make()
        return head.number
    }

    /// An audit of the ledger at `path`, beside its service or without one.
    static func audit(
        _ path: String, _ configuration: LedgerAudit.Audit.Configuration, scratch: ScratchFolder
    ) throws -> LedgerAudit.Audit {
        let folder = LedgerFolder(path)
        try folder.check()
        let isReadOnly = access(path, W_OK) != 0 && errno == EROFS
        return LedgerAudit.Audit(configuration, hash: sha256) {
            try LogInspection(folder: folder.log, headFile: folder.headFile, hash: sha256)
        } openTables: {
            guard FileManager.default.fileExists(atPath: folder.projection) else { return nil }
            let tables = isReadOnly ? try copyTables(of: folder, to: scratch) : folder.projection
            return try SQLiteTables(path: tables, connections: configuration.jobs)
        }
    }

    /// SQLite writes beside a database that is only read: where nothing can be written, the tables are read from a
    /// copy.
    private static func copyTables(of folder: LedgerFolder, to scratch: ScratchFolder) throws -> String {
        try SQLiteProjection.copy(at: folder.projection, to: scratch.path("projection.sqlite"))
        return try scratch.path("projection.sqlite")
    }

    /// The folder of the ledger that a command names, or its configuration.
    static func ledgerPath(_ named: String?, config: String?) throws(ConfigurationError) -> String {
        guard let config else { return named ?? "ledger" }
        return try Settings.load(
            file: config, flags: [.path: named].compactMapValues { $0 },
            environment: ProcessInfo.processInfo.environment
        ).path
    }

    /// A backup of the ledger at `path`, beside its service or without one.
    static func backup(of path: String, in backup: String) -> LogBackup {
        LogBackup(of: LedgerFolder(path), in: LedgerFolder(backup), hash: sha256)
    }

    /// A restore of the ledger at `path`, while no service has it open.
    static func restore(
        of path: String, from backup: String, source: LogRestore.Source, lostFrom: BlockNumber?
    ) -> LogRestore {
        LogRestore(
            of: LedgerFolder(path), from: LedgerFolder(backup), source: source, lostFrom: lostFrom, hash: sha256)
    }

    private final class HighMark: Sendable {
        private let value = Mutex(Int64(-1))

        /// Whether it was lower before.
        func rise(to new: Int64) -> Bool {
            value.withLock { value in
                defer { value = max(value, new) }
                return new > value
            }
        }
    }

    /// A ledger's tables, and the log that they can always be made from.
    private struct Tables {
        let folder: LedgerFolder
        /// Where they are.
        let path: String
        let log: FileLog
        let ledger: BlockRows.LedgerRow
        let logger: Logger
        /// Told in words how far they are; what it throws ends the work.
        let progress: @Sendable (String) throws -> Void
        private let bar = ProgressBar("applying blocks")
        /// The tenths of the work that were logged.
        private let told = HighMark()

        init(
            folder: LedgerFolder, path: String, log: FileLog, ledger: BlockRows.LedgerRow, logger: Logger,
            progress: @escaping @Sendable (String) throws -> Void
        ) {
            self.folder = folder
            self.path = path
            self.log = log
            self.ledger = ledger
            self.logger = logger
            self.progress = progress
        }

        /// The tables as they are; made anew where they cannot be gone on with.
        func open() throws -> SQLiteProjection {
            do {
                return try open(path)
            } catch let error as ProjectionOpeningError where error.kind == .rebuild {
                try makeAnew(because: "\(error)")
                return try open(path)
            }
        }

        func makeAnew(because reason: String) throws {
            logger.notice("the tables are made anew", metadata: ["reason": "\(reason)"])
            try make()
        }

        /// Makes them beside the old ones, which stay until the new ones are whole: an interrupted run, or a block
        /// that cannot be read, leaves those.
        func make() throws {
            try SQLiteProjection.remove(at: newPath)
            do {
                let projection = try open(newPath)
                if let head = log.head {
                    try projection.catchUp(with: log, to: head.number) { try show($0, of: head.number) }
                }
                bar.end()
                try projection.close()
            } catch {
                bar.end()
                try? SQLiteProjection.remove(at: newPath)
                throw error
            }
            try SQLiteProjection.move(from: newPath, to: path)
            try? FileManager.default.removeItem(atPath: folder.damageMark)
        }

        /// How they are made anew while they are in use.
        var renewal: TableRenewal {
            TableRenewal {
                try SQLiteProjection.remove(at: newPath)
                return try open(newPath)
            } replace: {
                try SQLiteProjection.move(from: newPath, to: path)
                try? FileManager.default.removeItem(atPath: folder.damageMark)
            } open: {
                try open(path)
            }
        }

        private var newPath: String { path + ".new" }

        func show(_ block: BlockNumber, of head: BlockNumber) throws {
            bar.show(block, of: head)
            if told.rise(to: block * 10 / max(head, 1)) {
                logger.info("applying blocks to the tables", metadata: ["block": "\(block)", "of": "\(head)"])
            }
            try progress("the ledger's tables are being made: block \(block) of \(head)")
        }

        private func open(_ path: String) throws -> SQLiteProjection {
            try SQLiteProjection(path: path, ledger: ledger, hash: Composition.sha256) { logger.warning("\($0)") }
        }
    }

    private static let sha256: HashFunction = { SHA256.hash($0, into: $1) }
}

extension Logger {
    /// Tells the operator which currencies players still have though the catalog lacks them: nothing is lost, but what
    /// the catalog said of them is.
    fileprivate func warn(ofCurrenciesMissingFrom catalog: Catalog, _ state: ProjectedState) {
        for (index, code) in state.currencies.enumerated() where catalog.currencies[code] == nil {
            let currency = CurrencyID(index + 1)
            let available = -state.totals[currency, .wallet].balance
            let held = -state.totals[currency, .held].balance
            let debt = state.totals[currency, .receivable].balance
            if available == 0 && held == 0 && debt == 0 { continue }
            let settings = CurrencySettings()
            warning(
                """
                the catalog lacks a currency that players have: no product grants it, and it is spent and refunded by \
                the default settings
                """,
                metadata: [
                    "currency": "\(code)", "available": "\(available)", "held": "\(held)", "debt": "\(debt)",
                    "spendOrder": "\(settings.spendOrder.rawValue)",
                    "refundShortfall": "\(settings.refundShortfall.rawValue)",
                ])
        }
    }

    /// Tells the operator what an engine reports.
    fileprivate func report(_ event: LedgerEvent) {
        switch event {
        case .projectionFailed(let error):
            self.error("the tables cannot be written; it is tried again", metadata: ["error": "\(error)"])
        case .tablesDamaged(let error):
            self.error(
                "the tables are damaged: requests that need what is damaged fail until the tables are made anew",
                metadata: ["error": "\(error)"])
        case .tablesBeingRenewed(let reason):
            notice("the tables are made anew beside those in use", metadata: ["reason": "\(reason)"])
        case .tablesRenewed(let block, let failures):
            notice(
                "the tables were made anew and are in use", metadata: ["block": "\(block)", "failures": "\(failures)"])
        case .renewalFailed(let error):
            self.error("the tables could not be made anew; it is tried again", metadata: ["error": "\(error)"])
        case .projectionWorksAgain:
            notice("the tables are written again")
        case .logFailed(let error):
            self.error(
                "nothing can be made durable; it is tried again, and reads go on where the tables can be written",
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
        case .standbysLacking(let required, let block, let connected):
            self.error(
                "too few standbys have the last blocks in time: nothing is answered until they have",
                metadata: ["required": "\(required)", "connected": "\(connected)", "block": "\(block)"])
        case .standbysEnough(let block):
            notice("enough standbys have the last blocks again", metadata: ["block": "\(block)"])
        case .standbyCame(let name):
            notice("a standby has come", metadata: ["standby": "\(name)"])
        case .standbyLeft(let name):
            notice("a standby is gone", metadata: ["standby": "\(name)"])
        case .follows(let block):
            notice("following the leader", metadata: ["block": "\(block)"])
        case .leaderLost(let reason):
            warning("no blocks come from the leader; it is tried again", metadata: ["reason": "\(reason)"])
        case .promoted(let head):
            notice("promoted: this ledger leads", metadata: ["block": "\(head.number)", "term": "\(head.term)"])
        case .commitFailed(let error, let requests):
            self.error("a commit failed", metadata: ["error": "\(error)", "requests": "\(requests)"])
        case .readFailed(let error):
            self.error("a read failed", metadata: ["error": "\(error)"])
        case .headNotWritten(let error):
            self.error("the signed head could not be written; it is tried again", metadata: ["error": "\(error)"])
        case .headWrittenAgain:
            notice("the signed head is written again")
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
