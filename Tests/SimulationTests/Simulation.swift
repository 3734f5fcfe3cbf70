import AppStore
import FileLog
import Foundation
import GRDB
import Ledger
import LedgerAudit
import LedgerTestKit
import SQLiteProjection

@testable import LedgerEngine

/// One life of a ledger under one seed: clients, network, clock, disk, crashes and damage, with the engine, the log of
/// files and the tables that are in operation.
final class Simulation: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// What may happen in a life.
    private struct Fates {
        var crashes: Bool
        var diskFaults: Bool
        var tableFaults: Bool
        var tableDamage: Bool
        var clockJumps: Bool
        var lies: Bool
        var logDamage: Bool

        init(_ random: inout SplitMix64) {
            crashes = random.chance(55)
            diskFaults = random.chance(45)
            tableFaults = random.chance(20)
            tableDamage = random.chance(12)
            clockJumps = random.chance(40)
            lies = random.chance(6)
            logDamage = random.chance(10)
        }
    }

    static let ledger = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
    private static let catalog = Catalog(
        currencies: World.settings.mapValues {
            CurrencySettings(spendOrder: $0.order, refundShortfall: $0.isWrittenOff ? .writtenOff : .debt)
        },
        products: World.products.mapValues { grants in
            [Catalog.Offer(from: 0, grants: grants.map { CurrencyAmount(currency: $0.0, amount: Amount($0.1)!) })]
        })

    private let items: AppStoreItems
    private let folder = LedgerFolder("/ledger/main")
    private let tables: String
    private let machine: SimulatedThreads
    private let disk: SimulatedDisk
    private let stepped: SteppedDisk
    private let auditor = Auditor()
    private var random: SplitMix64
    private var clients: Clients
    private let fates: Fates
    private let limits: EngineLimits
    private let configuration: FileLogConfiguration
    private let bounds: SQLiteBounds
    private let clock: WallClock
    private let outbox = Outbox()
    private var power = TablePower()
    private var running: RunningLedger?
    /// In whose turns connections are served.
    private var tenants: [Tenant] = []
    private var connections: [Connection] = []
    private var connectionCount = 0
    /// What has no answer yet, for all that its client knows.
    private var toRepeat: [Ask] = []
    /// Whether what is stored was damaged, or a sync lied, so that it may be refused.
    private var isDamaged = false
    private var areTablesDamaged = false
    /// Why the ledger was refused, where it was.
    private var refusal: String?

    /// The wall clock.
    private final class WallClock: @unchecked Sendable {
        let machine: SimulatedThreads
        var offset: Timestamp = 0
        init(_ machine: SimulatedThreads) { self.machine = machine }
        var now: Timestamp { SandboxApp.date - 3_000_000 + Timestamp(machine.nanoseconds / 1_000_000) + offset }
    }

    /// What the ledger has handed to the network.
    private final class Outbox: @unchecked Sendable {
        var waiting: [@Sendable () -> Void] = []
    }

    init(seed: UInt64, _ items: AppStoreItems, folder: String) {
        self.items = items
        tables = folder + "/projection.sqlite"
        var random = SplitMix64(seed: seed)
        machine = SimulatedThreads(seed: seed, preemptions: [0, 5, 20].randomElement(using: &random) ?? 5)
        disk = SimulatedDisk(seed: random.next())
        stepped = SteppedDisk(disk, machine)
        clock = WallClock(machine)
        clients = Clients(seed: random.next(), items)
        fates = Fates(&random)
        var limits = EngineLimits()
        limits.cachedPlayersMax = [1, 3, 100].randomElement(using: &random) ?? 3
        limits.blocksAheadMax = Int.random(in: 1...3, using: &random)
        limits.projectionStepBytes = [600, 4_000, 4 << 20].randomElement(using: &random) ?? 4_000
        limits.projectionStepBytesMax = max(limits.projectionStepBytes, 6_000)
        limits.unprojectedBlocksMax = [4, 30, 20_000].randomElement(using: &random) ?? 30
        // The auditor tells by each request what the ledger decides: none is left out.
        limits.waitMillisecondsMax = 1 << 40
        limits.idleMilliseconds = [1, 20, 200].randomElement(using: &random) ?? 20
        limits.operationsPerCommitMin = [1, 4, 64].randomElement(using: &random) ?? 64
        limits.operationsPerCommitWorthwhile = [2, 1_024].randomElement(using: &random) ?? 2
        limits.verificationsPerThreadMin = [1, 8].randomElement(using: &random) ?? 8
        limits.expirySweepMilliseconds = [20, 500].randomElement(using: &random) ?? 500
        limits.renewalRetryMilliseconds = 300
        limits.renewalRepeatMilliseconds = 300
        self.limits = limits
        let segment = [4_096, 16_384, 1 << 20].randomElement(using: &random) ?? 16_384
        configuration = FileLogConfiguration(
            segmentBytes: segment, writeAheadBytes: 1_024, writeAheadRecordBytesMax: 700)
        var bounds = SQLiteBounds()
        bounds.walBytesReserved = 0
        bounds.checkpointPages = [4, 40, 500].randomElement(using: &random) ?? 40
        self.bounds = bounds
        self.random = random
        auditor.keepsPast = fates.lies
        auditor.keepsBefore = fates.logDamage
    }

    /// Whether a life is told step by step.
    var isTold = false

    private func tell(_ text: @autoclosure () -> String) {
        if isTold { print("\(machine.nanoseconds / 1_000) \(text())") }
    }

    /// What happened, by kinds.
    var counts: [String: Int] { auditor.counts }

    /// Lives. Gives the trace, which is the same whenever the seed is.
    func run() throws -> UInt64 {
        var failure: (any Error)?
        machine.run {
            do {
                try live()
            } catch {
                failure = error
                abandon()
            }
        }
        if let failure { throw failure }
        return machine.trace
    }

    // MARK: The life

    private func live() throws {
        try LedgerFolder.create(at: folder.path, disk: disk) { path in
            let temporary = LedgerFolder(path)
            try FileLog.create(
                folder: temporary.log, headFile: temporary.headFile,
                identity: Digest(of: Simulation.ledger, testSHA256), configuration: configuration, disk: disk)
        }
        try open()
        let steps = Int.random(in: 30...90, using: &random)
        for _ in 0..<steps where refusal == nil {
            try step()
            try check()
        }
        disk.clearFault()
        power.failures = 0
        if refusal == nil { try conclude() }
    }

    private func check() throws {
        if let problem = auditor.problem { throw Failure(problem) }
    }

    private func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45: submit()
        case 45..<62: deliver()
        case 62..<72: machine.pass()
        case 72..<84: machine.sleep(microseconds: UInt64.random(in: 10...3_000, using: &random))
        case 84..<92: machine.sleep(microseconds: UInt64.random(in: 3_000...700_000, using: &random))
        case 92..<94: if fates.clockJumps { jump() }
        case 94..<96: if fates.diskFaults { beginFaults() }
        case 96: if fates.tableFaults { power.failures = Int.random(in: 1...4, using: &random) }
        case 97: if fates.tableDamage { for _ in 0..<Int.random(in: 1...6, using: &random) { try damageTables() } }
        case 98: try readFromOutside()
        default: if fates.crashes { try restart() } else { try readFromOutside() }
        }
    }

    // MARK: The network

    private func connect() -> Connection? {
        guard let running else { return nil }
        connectionCount += 1
        let connection = Connection(connectionCount, actor: "server \(connectionCount % 3)")
        auditor.connections[connection.probe] = connection
        let outbox = outbox
        let life = auditor.life
        connection.session = running.session(
            of: tenants[Int.random(in: 0..<tenants.count, using: &random)],
            outlet: Outlet { outbox.waiting.append($0) }
        ) { [weak self, weak connection] answers in
            guard let self, let connection, auditor.life == life else { return }
            delivered(answers, to: connection)
        }
        connection.session?.allowRead(.read, taken: 0)
        connections.append(connection)
        return connection
    }

    private func submit(_ asks: [Ask]? = nil) {
        let isNew = connections.isEmpty || connections.count < 4 && random.chance(10)
        guard let connection = isNew ? connect() : connections.randomElement(using: &random) else { return }
        // A client takes some care not to fill its connection.
        if asks == nil && connection.unanswered.count > 30 { return }
        var list: [Ask] = []
        if let asks {
            list = asks
        } else {
            for _ in 0..<(random.chance(30) ? 1 : Int.random(in: 2...6, using: &random)) {
                if random.chance(40), let place = toRepeat.indices.randomElement(using: &random) {
                    list.append(toRepeat.remove(at: place))
                } else {
                    list.append(clients.next(clock.now))
                }
            }
        }
        var all: [Ask] = []
        var begins = true
        for ask in list {
            if begins { all.append(.probe(connection.probe)) }
            all.append(ask)
            // Behind these the ledger may take the rest with another batch.
            begins = ask.endsSubmission
        }
        connection.unanswered += all
        connection.undecided += all
        tell("\(connection.probe) submits \(all)")
        connection.session?.submit(all.map { $0.operation(by: connection.actor) })
    }

    private func deliver() {
        let waiting = outbox.waiting
        outbox.waiting = []
        for delivery in waiting { delivery() }
    }

    private func delivered(_ answers: [Answer], to connection: Connection) {
        for (ask, answer) in zip(connection.unanswered, answers) {
            tell("\(connection.probe) is told \(answer)")
            machine.note(UInt64(bitPattern: Int64(connection.probe.text.utf8.count)))
            guard case .failure(let fault) = answer else { continue }
            machine.note("\(fault)")
            if case .store = fault, !ask.isProbe && !ask.isQuery { toRepeat.append(ask) }
        }
        machine.note(UInt64(auditor.worlds[0].entries.count))
        let reads = connection.readsTaken
        auditor.delivered(answers, to: connection)
        if connection.readsTaken > reads { connection.session?.allowRead(.read, taken: connection.readsTaken) }
    }

    /// Waits until every request is answered.
    private func settleDown() throws {
        for round in 0..<1_500 {
            deliver()
            try check()
            if connections.allSatisfy(\.unanswered.isEmpty) && outbox.waiting.isEmpty && auditor.isIdle { break }
            machine.sleep(microseconds: round < 200 ? 500 : 20_000)
        }
        auditor.expectIdle()
        try check()
        if let waiting = connections.first(where: { !$0.unanswered.isEmpty }) {
            throw Failure("\(waiting.unanswered[0]) is never answered")
        }
    }

    // MARK: Fate

    private func jump() {
        auditor.count("clock jump")
        let jumps: [Timestamp] = [-400_000, -3_000, -50, 70, 2_000, 250_000, 40 * 86_400_000]
        // What Apple signed is never of the future.
        clock.offset = max(clock.offset + (jumps.randomElement(using: &random) ?? 0), -500_000)
    }

    private func beginFaults() {
        auditor.count("disk faults")
        tell("the disk begins to fail")
        if random.chance(20) {
            disk.setCapacity(disk.usedBytes + Int.random(in: 0...3_000, using: &random))
            return
        }
        disk.setCapacity(.max)
        let generator = FaultGenerator(seed: random.next(), lies: fates.lies)
        if fates.lies { isDamaged = true }
        disk.setFault { generator.next($0) }
    }

    /// Faults of the next calls, then none.
    private final class FaultGenerator: @unchecked Sendable {
        var random: SplitMix64
        var left: Int
        let lies: Bool
        let percent: Int

        init(seed: UInt64, lies: Bool) {
            random = SplitMix64(seed: seed)
            self.lies = lies
            left = Int.random(in: 1...6, using: &random)
            percent = [10, 40, 100].randomElement(using: &random) ?? 40
        }

        func next(_ call: SimulatedDisk.Call) -> SimulatedDisk.Fault? {
            guard left > 0, call.isChange || random.chance(2), random.chance(percent) else { return nil }
            left -= 1
            if lies, call.kind == .sync { return .lie }
            let error = random.chance(30) ? DiskError.full : DiskError.failed
            if call.kind == .write, random.chance(30) { return .short }
            switch Int.random(in: 0..<3, using: &random) {
            case 0: return .failure(error)
            case 1: return .partThenFailure(error)
            default: return .doneThenFailure(error)
            }
        }
    }

    /// A bit of the tables' files turns.
    private func damageTables() throws {
        let path = tables + (random.chance(70) ? "" : "-wal")
        guard let file = FileHandle(forUpdatingAtPath: path) else { return }
        defer { try? file.close() }
        let size = try file.seekToEnd()
        if size == 0 { return }
        auditor.count("table damage")
        tell("the tables are damaged")
        areTablesDamaged = true
        auditor.mayLeaveOut = true
        let place = UInt64.random(in: 0..<size, using: &random)
        try file.seek(toOffset: place)
        guard let byte = try file.read(upToCount: 1)?.first else { return }
        try file.seek(toOffset: place)
        try file.write(contentsOf: [byte ^ (1 << UInt8.random(in: 0..<8, using: &random))])
    }

    /// A bit of the log's files turns.
    /// - Parameter isPowerCut: whether the machine ended before, not only the process.
    private func damageLog(isPowerCut: Bool) throws {
        let files =
            try disk.list(folder.log).map { folder.log + "/" + $0 } + [folder.headFile]
        guard let path = files.randomElement(using: &random) else { return }
        var bytes = try disk.bytes(path)
        if bytes.isEmpty { return }
        // Mostly what is written, not the zeros ahead of it.
        let end = random.chance(80) ? (bytes.lastIndex { $0 != 0 } ?? 0) + 1 : bytes.count
        let place = Int.random(in: 0..<max(end, 1), using: &random)
        bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        try disk.setBytes(path, bytes)
        tell("byte \(place) of \(path) is damaged")
        isDamaged = true
        if isPowerCut && path != folder.headFile { auditor.mayLoseLastBlock() }
        auditor.count("log damage")
    }

    // MARK: Starts and ends

    private func restart() throws {
        let kind = Int.random(in: 0..<10, using: &random)
        switch kind {
        case 0..<2: try close()
        case 2..<5: crash(isPowerCut: false)
        default: crash(isPowerCut: true)
        }
        if fates.logDamage && random.chance(25) { try damageLog(isPowerCut: kind >= 5) }
        if refusal == nil { try open() }
    }

    private func close() throws {
        disk.clearFault()
        disk.setCapacity(.max)
        power.failures = 0
        try settleDown()
        auditor.count("stop")
        for connection in connections { connection.session?.close() }
        connections = []
        try running?.stopNow()
        running = nil
        deliver()
        auditor.crash()
        disk.kill()
    }

    private static let suffixes = ["", "-wal", "-checkpoint", "-sums"]

    private func crash(isPowerCut: Bool) {
        auditor.count(isPowerCut ? "power cut" : "kill")
        tell(isPowerCut ? "the power is cut" : "the process is killed")
        // What the clients have no answer to, they send again some day; or never.
        if random.chance(50) { deliver() }
        for connection in connections {
            for ask in connection.unanswered where !ask.isProbe && !ask.isQuery && random.chance(80) {
                toRepeat.append(ask)
            }
        }
        auditor.crash()
        var files = Simulation.suffixes.map { try? Data(contentsOf: URL(fileURLWithPath: tables + $0)) }
        disk.setFault { _ in .off }
        power.isOff = true
        for connection in connections { connection.session?.close() }
        connections = []
        try? running?.stopNow()
        running = nil
        outbox.waiting = []
        if isPowerCut {
            disk.cutPower()
            // Of what was not synced of the tables' write-ahead log something is lost.
            if random.chance(50), var wal = files[1], !wal.isEmpty {
                wal = wal.prefix(Int.random(in: 0...wal.count, using: &random))
                files[1] = wal
            }
        } else {
            disk.kill()
        }
        disk.setCapacity(.max)
        for suffix in ["-shm", "-journal", ".new", ".new-wal", ".new-shm", ".new-checkpoint", ".new-sums"] {
            try? FileManager.default.removeItem(atPath: tables + suffix)
        }
        for (suffix, bytes) in zip(Simulation.suffixes, files) {
            try? FileManager.default.removeItem(atPath: tables + suffix)
            if let bytes { FileManager.default.createFile(atPath: tables + suffix, contents: bytes) }
        }
        power = TablePower()
        if isPowerCut && isDamaged && fates.lies { auditor.goBack() }
    }

    /// Ends everything after a failure, so that the next life begins with nothing.
    private func abandon() {
        if running == nil { return }
        crash(isPowerCut: false)
    }

    private func open() throws {
        for attempt in 1... {
            // The first tries may meet a disk that fails.
            if fates.diskFaults && attempt == 1 && random.chance(30) { beginFaults() }
            if attempt > 2 {
                disk.clearFault()
                disk.setCapacity(.max)
            }
            do {
                try openOnce()
                return
            } catch let error as LogError {
                if error.kind == .corrupt && isDamaged { return refuse("\(error)") }
                guard attempt < 6, error.kind != .corrupt else {
                    throw Failure("the ledger cannot be opened: \(error)")
                }
            } catch let error as StoreError {
                if error.kind == .corrupt && isDamaged { return refuse("\(error)") }
                guard attempt < 6 else { throw Failure("the ledger cannot be opened: \(error)") }
            } catch let error as BlockError where isDamaged {
                return refuse("\(error)")
            }
            disk.kill()
        }
    }

    private func refuse(_ text: String) {
        auditor.count("refused by name")
        refusal = text
        if text.isEmpty { auditor.fail("a damaged ledger was refused without a word") }
    }

    private func openOnce() throws {
        let files = try FileLog.open(
            folder: folder.log, headFile: folder.headFile, identity: Digest(of: Simulation.ledger, testSHA256),
            hash: testSHA256, configuration: configuration, disk: stepped)
        tell("the log is open at block \(files.head?.number ?? 0) \(files.notices)")
        let log = SteppedLog(files, stepped)
        do {
            try start(log)
        } catch {
            log.close()
            throw error
        }
    }

    private func openTables(_ path: String) throws -> SQLiteProjection {
        do {
            return try SQLiteProjection(path: path, ledger: Simulation.ledger, hash: testSHA256, bounds: bounds)
        } catch let error as ProjectionOpeningError where error.kind == .rebuild {
            auditor.count("tables made anew at a start")
            try SQLiteProjection.remove(at: path)
            return try SQLiteProjection(path: path, ledger: Simulation.ledger, hash: testSHA256, bounds: bounds)
        }
    }

    private func start(_ log: SteppedLog) throws {
        let power = power
        let new = tables + ".new"
        let renewal = TableRenewal { [self] in
            if power.isOff { throw StoreError("the process has ended") }
            try SQLiteProjection.remove(at: new)
            return SteppedProjection(
                try SQLiteProjection(path: new, ledger: Simulation.ledger, hash: testSHA256, bounds: bounds), machine,
                power)
        } replace: { [tables] in
            if power.isOff { throw StoreError("the process has ended") }
            try SQLiteProjection.move(from: new, to: tables)
        } open: { [self] in
            SteppedProjection(
                try SQLiteProjection(path: tables, ledger: Simulation.ledger, hash: testSHA256, bounds: bounds),
                machine,
                power)
        }
        func makeEngine() throws -> Engine {
            let projection = SteppedProjection(try openTables(tables), machine, power)
            do {
                return try Engine(
                    log: log, projection: projection, renewal: renewal,
                    configuration: Engine.Configuration(
                        bundleID: Simulation.ledger.bundleID, environment: Simulation.ledger.environment,
                        catalog: Simulation.catalog, limits: limits),
                    hash: testSHA256, now: { [clock] in clock.now }, report: { [weak self] in self?.report($0) })
            } catch {
                try? projection.close()
                throw error
            }
        }
        let engine: Engine
        do {
            engine = try makeEngine()
        } catch let error as StoreError where error.kind == .corrupt {
            // As the service does: blocks cannot be applied to them, and the log has all that they have.
            auditor.count("tables made anew at a start")
            try SQLiteProjection.remove(at: tables)
            engine = try makeEngine()
        }
        let verifier = Verifier(app: items.app.app, anchors: [items.app.root])
        let running = try RunningLedger(
            store: ObservedStore(engine, auditor), verifier: verifier, limits: limits, now: { [clock] in clock.now },
            report: { [weak self] in self?.report($0) })
        self.running = running
        tenants = [Tenant(), Tenant(share: 2)]
        running.start()
    }

    private func report(_ event: LedgerEvent) {
        tell("event: \(event)")
        auditor.count("event \("\(event)".prefix { $0 != "(" })")
        if case .tablesBeingRenewed(let reason) = event, !areTablesDamaged && !isDamaged {
            auditor.fail("tables that nothing damaged are made anew: \(reason)")
        }
    }

    // MARK: From outside

    /// What other programs see of the tables: the views, and reports without a server.
    private func readFromOutside() throws {
        if areTablesDamaged || running == nil || auditor.worlds.count != 1 { return }
        guard let outside = try? SQLiteReports(path: tables) else { return }
        let state = try outside.state()
        var world = auditor.worlds[0]
        // What is durable may not be known to anybody yet; and before the second block there are no currencies.
        if state.position.entry > Int64(world.entries.count) || state.currencies.isEmpty { return }
        auditor.count("read from outside")
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: tables, configuration: configuration)
        defer { try? queue.close() }
        // The tables may not know yet who was forgotten.
        let names = try queue.read { db in try String?.fetchAll(db, sql: "SELECT name FROM account ORDER BY id") }
        for (account, name) in names.enumerated() where account < world.names.count {
            let known = world.names[account]
            if !known.isErased && known.text != name { throw Failure("account \(account + 1) is not \(known)") }
            if let name { world.names[account] = AccountName(stored: name) }
        }
        let extent = world.extent(through: state.position.entry)
        for kind in World.reportKinds {
            var rows: [ReportRow] = []
            var asOf: Timestamp = 0
            try outside.report(ReportRequest(kind: kind), begin: { asOf = $1 }, each: { rows += $0 })
            let expected = world.report(kind, asOf: asOf, nil, in: extent)
            if rows != expected { throw Failure("from outside, \(kind) as of \(asOf) are \(rows), not \(expected)") }
        }
        let told = try queue.read { db in
            try Row.fetchAll(
                db, sql: "SELECT account, currency, available, paid, free, held, debt FROM balance"
            ).map { row in
                [row[0] as String? ?? "", row[1] as String] + (2...6).map { "\(row[$0] as Int64)" }
            }
        }
        let expected = world.wallets(extent).map { place, balance in
            let name = world.names[place.account]
            return [name.isErased ? "" : name.text, place.currency.text]
                + [balance.available, balance.paid, balance.free, balance.held, balance.debt].map { "\($0)" }
        }
        let (left, right) = (told.map { $0.joined(separator: " ") }, expected.map { $0.joined(separator: " ") })
        if left.sorted() != right.sorted() {
            throw Failure("the view balance is \(left.sorted()), not \(right.sorted())")
        }
    }

    // MARK: The end

    /// Everything is asked once more; then the books are audited, and the tables made anew and compared.
    private func conclude() throws {
        disk.clearFault()
        disk.setCapacity(.max)
        try settleDown()
        if areTablesDamaged {
            // What is damaged and was not met yet is nobody's; the log has it all.
            try close()
            try SQLiteProjection.remove(at: tables)
            areTablesDamaged = false
            auditor.mayLeaveOut = false
            try open()
        } else if random.chance(50) {
            try close()
            try open()
        }
        if refusal != nil { return }
        disk.clearFault()
        disk.setCapacity(.max)
        try expectToWorkAgain()
        var asks: [Ask] = []
        for ask in toRepeat.prefix(10) { asks.append(ask) }
        for player in Clients.players {
            asks.append(.balance(player, nil))
            asks.append(.query(.history(HistoryQuery(account: player, limit: Limits.historyPageMax))))
            asks.append(.query(.lots(OpenItemsQuery(account: player, limit: 2))))
            asks.append(.query(.lots(OpenItemsQuery(account: player, limit: Limits.openItemsPageMax))))
            asks.append(.query(.holds(OpenItemsQuery(account: player))))
        }
        for kind in World.reportKinds {
            asks.append(.query(.report(ReportRequest(kind: kind, limit: Limits.reportPageMax))))
        }
        asks.append(.query(.journal(JournalQuery(after: 0, limit: Limits.journalPageMax))))
        submit(asks)
        try settleDown()
        try close()
        try audit()
    }

    /// Once nothing fails any more, a request is carried out within some seconds.
    private func expectToWorkAgain() throws {
        let grants = { [unowned auditor] in auditor.counts["grant"] ?? 0 }
        for attempt in 0..<40 {
            let before = grants()
            submit([
                .keyed(
                    .grant(
                        Grant(
                            key: RequestKey("again-\(attempt)")!, account: Clients.players[0], currency: .gems,
                            amount: Amount(1)!)))
            ])
            try settleDown()
            if grants() > before { return }
            machine.sleep(microseconds: 100_000)
        }
        // A log that is damaged is refused by name from the place on where that is met.
        if isDamaged { return auditor.count("refused by name") }
        throw Failure("nothing fails any more, and still no request is carried out")
    }

    private func audit() throws {
        var findings: [AuditFinding] = []
        let audit = Audit(Audit.Configuration(anchors: [items.app.root], jobs: 1), hash: testSHA256) { [folder, disk] in
            try LogInspection(folder: folder.log, headFile: folder.headFile, hash: testSHA256, disk: disk)
        } openTables: { [tables] in
            try SQLiteTables(path: tables, connections: 1)
        }
        let summary = try audit.run(progress: { _, _ in }, tell: { findings.append($0) })
        if isDamaged { return }
        if let finding = findings.first { throw Failure("the audit finds: \(finding)") }
        // A world that no answer has told from another may be left beside the true one.
        guard auditor.worlds.contains(where: { $0.entries.count == Int(summary.position.entry) }) else {
            throw Failure(
                "the audit counts \(summary.position.entry) entries, not \(auditor.worlds[0].entries.count)")
        }
        auditor.count("audit")
        if random.chance(20) { try compareWithRebuilt() }
    }

    private func compareWithRebuilt() throws {
        auditor.count("rebuilt")
        let log = try FileLog.openForReading(
            folder: folder.log, headFile: folder.headFile, identity: Digest(of: Simulation.ledger, testSHA256),
            hash: testSHA256, disk: disk)
        let path = tables + ".rebuilt"
        try SQLiteProjection.remove(at: path)
        let rebuilt = try SQLiteProjection(path: path, ledger: Simulation.ledger, hash: testSHA256, bounds: bounds)
        // Those that could not be written at the end lack some, which the next start applies.
        let isBehind = try SQLiteReports(path: tables).state().head != log.head
        try rebuilt.catchUp(with: log, to: log.head?.number ?? 0) { _ in }
        try rebuilt.close()
        if isBehind { return }
        let (old, new) = (try rows(tables), try rows(path))
        if let table = old.keys.sorted().first(where: { old[$0] != new[$0] }) {
            throw Failure("table \(table) is \(old[table] ?? []), rebuilt \(new[table] ?? [])")
        }
        try SQLiteProjection.remove(at: path)
    }

    private func rows(_ path: String) throws -> [String: [String]] {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read { db in
            var rows: [String: [String]] = [:]
            for table in try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'") {
                rows[table] = try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"").map { "\($0)" }.sorted()
            }
            return rows
        }
    }
}
