import AppStore
import AppStoreServer
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
import ServiceLifecycle

/// Puts the service together from its parts: the one place that knows them all.
enum Composition {
    /// - Parameters:
    ///   - catalogs: those of the ledgers, in their order, each of which may be replaced while the service runs.
    ///   - signatures: the same; what is wrong with any of them was said before one is made or opened.
    ///   - create: whether ledgers are made where there are none.
    ///   - acceptsClock: whether the clock is right however far it is ahead of the last entry.
    ///   - scratch: removed by the caller when the service has ended.
    /// - Throws: `LogError`, `ProjectionOpeningError` or `StoreError` for a ledger that cannot be opened, `ServerError`
    ///   where the process may have too few files open.
    static func service(
        _ settings: Settings, catalogs: [CatalogInForce], signatures: [Signatures], create: Bool, acceptsClock: Bool,
        scratch: ScratchFolder, logger: Logger
    ) throws -> LedgerService {
        var server = server(settings, try serverLimits(ledgers: settings.ledgers.count, logger))
        let exporter = exporter(settings, logger)
        server.traces = exporter.map(traces)
        for ledger in settings.ledgers where ledger.node == nil && !(create && isAbsentOrEmpty(ledger.path)) {
            try LedgerFolder(ledger.path).check()
        }
        let stop = LineService.StopSignal()
        let nodes = settings.ledgers.indices.filter { settings.ledgers[$0].node?.leads == true }
        let shares = LeadShares(weights: nodes.map { settings.ledgers[$0].node?.weight ?? 1 })
        let opened = try settings.ledgers.indices.map { place in
            let ledger = settings.ledgers[place]
            var logger = logger
            if let name = ledger.name { logger[metadataKey: "ledger"] = "\(name)" }
            return try open(
                ledger, at: place, catalogs[place], signatures[place], create: create, acceptsClock: acceptsClock,
                scratch: scratch, tracesCommits: exporter != nil, logger: logger,
                shares: nodes.count > 1 ? nodes.firstIndex(of: place).map { (shares, $0) } : nil
            ) {
                // The others go on: what is asked of this one is answered `storage_unavailable`.
                if settings.ledgers.count == 1 { stop.stop() }
            }
        }
        let deadline = Clock.now() + openingMilliseconds
        var failures: [any Error] = []
        for (_, store, _, _) in opened {
            do {
                if try store.wait(milliseconds: UInt64(max(0, deadline - Clock.now()))) { continue }
                logger.notice("the tables are still being made; until then requests are answered storage_unavailable")
            } catch {
                failures.append(error)
            }
        }
        if failures.count == opened.count { throw failures[0] }
        let ledgers = ServedLedgers(version: Version.current, members: opened.map(\.member))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: min(server.limits.eventLoopThreads, cores))
        var agents: [any Service] = settings.ledgers.indices.compactMap { place in
            agent(
                settings.ledgers[place], catalogs[place], signatures[place], opened[place].member, opened[place].log,
                opened[place].appStore, logger)
        }
        if let exporter { agents.append(exporter) }
        return LedgerService(
            ledgers: ledgers, agents: agents, group: group,
            lines: try LineService(configuration: server, ledgers: ledgers, group: group, logger: logger, stop: stop))
    }

    /// What verifies a ledger's purchases, and signs its heads and what it asks of the App Store.
    struct Signatures {
        let app: App
        let anchors: [Certificate]
        let signer: HeadSigner?
        let appStoreKey: InAppPurchaseKey?

        init(_ settings: LedgerSettings) throws(ConfigurationError) {
            app = App(
                bundleID: settings.bundleID, appAppleID: settings.appAppleID, environment: settings.environment)
            var faults: [String] = []
            func read<Value>(_ body: () throws(ConfigurationError) -> Value?) -> Value? {
                do throws(ConfigurationError) { return try body() } catch {
                    faults += error.faults
                    return nil
                }
            }
            anchors =
                read { () throws(ConfigurationError) in try Composition.anchors(settings.anchors) } ?? []
            signer = read { () throws(ConfigurationError) in try headSigner(settings) }
            appStoreKey = read { () throws(ConfigurationError) in try settings.appStore?.readKey() }
            if !faults.isEmpty { throw ConfigurationError(faults) }
        }
    }

    private static func open(
        _ settings: LedgerSettings, at place: Int, _ catalog: CatalogInForce, _ signatures: Signatures, create: Bool,
        acceptsClock: Bool, scratch: ScratchFolder, tracesCommits: Bool, logger: Logger,
        shares: (all: LeadShares, place: Int)?,
        failed: @escaping @Sendable () -> Void
    ) throws -> (
        member: ServedLedgers.Member, store: OpeningStore, log: any BlockLog, appStore: AppStoreFigures
    ) {
        if settings.environment == .production { logger.warn(ofAnchorsBesideApples: signatures.anchors) }
        let node = try settings.node.map { own in
            let (log, lock) = try openSharedLog(settings, own, create: create, logger: logger)
            return Node(log, shares: shares, lock: lock)
        }
        let log: any BlockLog
        if let node { log = node.log } else { log = try openLog(settings, create: create, logger: logger) }
        // Behind the log's lock: it may forget that the ledger was promoted, which a running service must find again.
        let following = try following(settings, catalog, logger: logger, failed: failed)
        let requirement = Standbys.Requirement(
            count: settings.standbysRequired, timeoutMilliseconds: UInt64(settings.standbysTimeoutMilliseconds))
        let figures = EngineFigures(tracesCommits: tracesCommits)
        let appStore = AppStoreFigures()
        let report = report(ofNode: node != nil, figures, logger)
        let standbys = try Standbys(requirement, report: report)
        let entries = try Feed()
        let store = try OpeningStore(engine: "\(log.engine), \(SQLiteProjection.engine)") { error in
            logger.critical("the ledger cannot be opened", metadata: ["error": "\(error)"])
            failed()
        } open: { progress in
            try engine(
                log, settings, catalog: catalog, acceptsClock: acceptsClock, following: following, node: node,
                standbys: standbys, entries: entries, figures: figures, scratch: scratch, logger: logger, progress)
        }
        let ledger = try RunningLedger(
            place: place, store: store, verifier: Verifier(app: signatures.app, anchors: signatures.anchors),
            signer: signatures.signer, publication: publication(settings), entries: entries, standbys: standbys,
            isShared: node != nil, limits: limits(settings), figures: figures, now: Clock.now, report: report)
        let relay = node.flatMap { node in
            settings.node.flatMap { own in
                own.passing.map { NodeRelay(node, own, $0, ledger: settings.name, logger: logger) }
            }
        }
        // One that leads no more, or never did, has nothing to give.
        let handOver = node.map { _ in { @Sendable () -> Void in _ = try? store.stepDown() } }
        let member = ServedLedgers.Member(
            name: settings.name, app: signatures.app, ledger: ledger, relay: relay, handOver: handOver,
            folder: settings.path, measure: appStore.add
        ) {
            LedgerInfo(
                name: settings.name, environment: settings.environment.rawValue, bundleID: settings.bundleID,
                engine: store.engine, currencies: catalog.current.catalog.currencies.keys.sorted(),
                standby: following.flatMap { StandbyStanding($0) } ?? node.flatMap { StandbyStanding($0) },
                replication: ReplicationStanding(standbys, block: log.head?.number ?? 0))
        }
        return (member, store, log, appStore)
    }

    /// How long a start waits for the tables before it listens without them: longer than they take after any crash,
    /// and not so long that who asks thinks that nobody is there.
    private static let openingMilliseconds: Int64 = 3_000

    /// Reads certificates.
    /// - Throws: ``ConfigurationError`` with all that cannot be read.
    static func anchors(_ paths: [String]) throws(ConfigurationError) -> [Certificate] {
        var anchors: [Certificate] = []
        var faults: [String] = []
        for path in paths {
            do {
                for anchor in try Certificate.all(file: try File.read(path, bytesMax: Settings.fileBytesMax)) {
                    if let fault = anchor.faultAsAnchor { faults.append("\(path): \(anchor.subject): \(fault)") }
                    anchors.append(anchor)
                }
            } catch let error as FileError {
                faults.append("\(error) (it is named by anchors)")
            } catch {
                faults.append("\(path): is not a certificate in DER or PEM: \(error)")
            }
        }
        if !faults.isEmpty { throw ConfigurationError(faults) }
        return anchors
    }

    private static func openLog(_ settings: LedgerSettings, create: Bool, logger: Logger) throws -> FileLog {
        let folder = LedgerFolder(settings.path)
        let identity = Digest(of: ledger(settings), sha256)
        if create && isAbsentOrEmpty(folder.path) {
            try make(folder, identity: identity)
            logger.notice("made a new ledger", metadata: ["path": "\(folder.path)"])
        }
        try folder.check()
        if let place = try folder.movedMark.read() {
            throw Failure("the ledger was moved away from \(folder.path): it is in \(place) now")
        }
        if try folder.isArchive() { throw Failure("\(folder.path) is an archive; no service is started on one") }
        let log = try FileLog.open(
            folder: folder.log, headFile: folder.headFile, identity: identity, hash: sha256,
            archives: archives(settings)
        ) { logger.notice("\($0)") }
        for notice in log.notices { logger.notice("\(notice)") }
        return log
    }

    static func ledger(_ settings: LedgerSettings) -> BlockRows.LedgerRow {
        BlockRows.LedgerRow(bundleID: settings.bundleID, environment: settings.environment.rawValue)
    }

    /// Cores that this process may use: those that its control group and its affinity (taskset(1), systemd's
    /// `CPUAffinity`) leave it.
    static var cores: Int {
        // proc_pid_status(5): a bit for each core, in hexadecimal, with commas.
        let status = (try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)) ?? ""
        let mask = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") }
        let digits = mask?.dropFirst("Cpus_allowed:".count).compactMap(\.hexDigitValue) ?? []
        let allowed = digits.reduce(0) { $0 + $1.nonzeroBitCount }
        return allowed > 0 ? min(System.coreCount, allowed) : System.coreCount
    }

    private static func limits(_ settings: LedgerSettings) -> EngineLimits {
        var limits = EngineLimits()
        limits.cachedPlayersMax = settings.cachedPlayers
        limits.verifierThreads = cores
        return limits
    }

    static func server(_ settings: Settings, _ limits: ServerLimits = ServerLimits()) -> ServerConfiguration {
        ServerConfiguration(
            listen: settings.listen, listenHTTP: settings.listenHTTP, listenConsole: settings.listenConsole,
            listenMetrics: settings.listenMetrics,
            access: settings.access, tls: tls(settings),
            needsCertificatesOverHTTP: settings.httpClientCertificates,
            allowsInsecurePlaintext: settings.allowsInsecurePlaintext, socketMode: settings.socketMode,
            limits: limits)
    }

    static func tls(_ settings: Settings) -> ServerConfiguration.TLS? {
        settings.tls.map { files in ServerConfiguration.TLS { try files.read() } }
    }

    /// As many connections as the system's limit of open files allows, which is raised as far as it goes.
    private static func serverLimits(ledgers: Int, _ logger: Logger) throws(ServerError) -> ServerLimits {
        var limits = ServerLimits()
        limits.reservedDescriptors *= ledgers
        let descriptors = DescriptorLimit.raise()
        let fitting = try limits.fitting(descriptors: descriptors)
        if fitting.connectionsMax < limits.connectionsMax {
            logger.warning(
                "fewer connections are served than could be, for the process may not have more files open",
                metadata: [
                    "connections": "\(fitting.connectionsMax)", "of": "\(limits.connectionsMax)",
                    "openFiles": "\(descriptors)",
                ])
        }
        return fitting
    }

    /// Whom this service follows; `nil` where it leads: nobody was configured, or it was promoted.
    private static func following(
        _ settings: LedgerSettings, _ catalog: CatalogInForce, logger: Logger, failed: @escaping @Sendable () -> Void
    ) throws -> Following? {
        guard let follow = settings.follow else { return nil }
        let folder = LedgerFolder(settings.path)
        let leader = follow.leader.description
        if let left = try folder.promotedMark.read() {
            if left == leader {
                logger.notice(
                    "this ledger was promoted and leads: the setting follow.leader is passed over, and can go",
                    metadata: ["leader": "\(leader)"])
                return nil
            }
            // Another leader was configured since.
            try folder.promotedMark.remove()
        }
        return Following(leader: leader, name: follow.name) {
            LeaderLink(
                follow, ledger: settings.name, catalog: catalog, logger: logger)
        } promoting: {
            try folder.promotedMark.write(leader)
        } ended: { fault in
            logger.critical("this standby does not go on", metadata: ["reason": "\(fault)"])
            failed()
        }
    }

    /// Counts what an engine reports, and tells the operator.
    static func report(
        ofNode isNode: Bool, _ figures: EngineFigures, _ logger: Logger
    ) -> @Sendable (LedgerEvent) -> Void {
        figures.counting { event in
            if isNode { logger.reportOfNode(event) } else { logger.report(event) }
        }
    }

    private static func names(of folder: LedgerFolder) -> NamesMark {
        NamesMark(place: folder.namesMark.path) {
            try folder.namesMark.read().map { NamesMark.Reason(rawValue: $0) ?? .unproven }
        } write: { reason in
            if let reason { try folder.namesMark.write(reason.rawValue) } else { try folder.namesMark.remove() }
        }
    }

    private static func engine(
        _ log: any BlockLog, _ settings: LedgerSettings, catalog: CatalogInForce, acceptsClock: Bool,
        following: Following?,
        node: Node?, standbys: Standbys, entries: Feed, figures: EngineFigures, scratch: ScratchFolder, logger: Logger,
        _ progress: @escaping @Sendable (String) throws -> Void
    ) throws -> Engine {
        let folder = LedgerFolder(settings.path)
        let report = report(ofNode: node != nil, figures, logger)
        let configuration = Engine.Configuration(
            bundleID: settings.bundleID, environment: settings.environment.rawValue, following: catalog,
            acceptsClock: acceptsClock, limits: limits(settings))
        let isWritable = (log as? FileLog)?.isWritable ?? true
        let path = isWritable ? folder.projection : try copyTables(of: folder, to: scratch, settings.name)
        let tables = Tables(
            folder: folder, path: path, log: log, ledger: ledger(settings), logger: logger, progress: progress)
        func engine() throws -> Engine {
            let projection = try tables.open()
            let engine: Engine
            do {
                if let node { try awaitBlocks(of: projection, in: node.log, logger: logger, progress) }
                engine = try Engine(
                    log: log, projection: projection, renewal: tables.renewal, configuration: configuration,
                    following: following, node: node, standbys: standbys, entries: entries,
                    names: node == nil ? names(of: folder) : nil, figures: figures, hash: sha256, now: Clock.now,
                    readingNames: tables.showNames, catchingUp: tables.show
                ) { event in
                    if case .tablesDamaged = event { mark(folder, logger) }
                    report(event)
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
            // Where the tables are damaged the engine says so, and has them made anew.
            if let state = try? projection.state() {
                logger.warn(ofCurrenciesMissingFrom: catalog.current.catalog, state)
            }
            return engine
        }
        return try tables.sayingWantOfRoom {
            if try folder.damageMark.isSet() {
                try tables.makeAnew(because: "damage was found in them while they were used")
            }
            for _ in 1..<Tables.openingsMax {
                do { return try engine() } catch let error as UnusableTables {
                    try tables.makeAnew(because: error.description)
                } catch let error as StoreError where error.kind == .corrupt && !error.isOfLog {
                    // Blocks cannot be applied to them: the log has all that they have.
                    try tables.makeAnew(because: "\(error)")
                }
            }
            return try engine()
        }
    }

    /// Waits until the server that a replica reads has the blocks that its tables have: a standby of the database may
    /// be behind the one that was read before. A node that may lead reads from the primary, which is behind nothing.
    private static func awaitBlocks(
        of tables: SQLiteProjection, in log: any SharedLog, logger: Logger,
        _ progress: @Sendable (String) throws -> Void
    ) throws {
        guard !log.mayLead, let head = try tables.state().head else { return }
        var hasTold = false
        while true {
            let block = try log.standing().block
            if block >= head.number { break }
            let words = "the database that is read has block \(block), and the tables have block \(head.number)"
            if !hasTold {
                logger.warning(
                    "the database that is read is behind this node's tables, and is waited for",
                    metadata: ["block": "\(block)", "tables": "\(head.number)"])
            }
            hasTold = true
            try progress(words)
            Thread.sleep(forTimeInterval: 0.2)
        }
        // From here on it is what the log is known to have.
        _ = try log.read(after: head.number - 1, bytesMax: 0)
    }

    /// Why tables of which nothing is damaged cannot be used.
    private struct UnusableTables: Error {
        let description: String
    }

    /// Notes that the next start is to make the tables anew.
    private static func mark(_ folder: LedgerFolder, _ logger: Logger) {
        if folder.damageMark.set() { return }
        logger.error("that the tables are damaged could not be noted", metadata: ["path": "\(folder.damageMark.path)"])
    }

    static func isAbsentOrEmpty(_ path: String) -> Bool {
        guard FileManager.default.fileExists(atPath: path) else { return true }
        return (try? FileManager.default.contentsOfDirectory(atPath: path).isEmpty) ?? false
    }

    static let sha256: HashFunction = { SHA256.hash($0, into: $1) }
}

/// The one clock: milliseconds since the UNIX epoch.
enum Clock {
    @Sendable static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
