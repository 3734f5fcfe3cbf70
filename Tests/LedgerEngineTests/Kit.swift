import Dispatch
import Foundation
import Ledger
import LedgerTestKit
import SQLiteProjection
import Synchronization

@testable import LedgerEngine

/// A folder that is gone when the test is.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-engine-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// A projection whose steps wait, or fail, when a test says so.
final class SlowProjection: Projection {
    private struct Plan {
        var isHeld = false
        var failures = 0
        var steps = 0
    }

    let base: SQLiteProjection
    private let plan = Mutex(Plan())

    init(_ base: SQLiteProjection) { self.base = base }

    func hold() { plan.withLock { $0.isHeld = true } }
    func release() { plan.withLock { $0.isHeld = false } }
    /// The next steps fail.
    func failSteps(_ count: Int) { plan.withLock { $0.failures = count } }
    /// How many steps were applied.
    var steps: Int { plan.withLock { $0.steps } }

    var engine: String { base.engine }
    func state() throws -> ProjectedState { try base.state() }

    func apply(_ blocks: [SealedBlock]) throws {
        while plan.withLock({ $0.isHeld }) { pause(milliseconds: 1) }
        let fails = plan.withLock { plan in
            guard plan.failures > 0 else { return false }
            plan.failures -= 1
            return true
        }
        if fails { throw StoreError("the test's tables cannot be written") }
        try base.apply(blocks)
        plan.withLock { $0.steps += 1 }
    }

    func load(_ needs: Needs, into books: inout Books) throws -> StoreError? { try base.load(needs, into: &books) }
    func history(_ query: HistoryQuery) throws -> HistoryPage { try base.history(query) }
    func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot> {
        try base.lots(query, at: time)
    }
    func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView> {
        try base.holds(query, at: time)
    }
    func balances(_ account: AccountName, currency: CurrencyCode?, asOf: Timestamp) throws -> [CurrencyBalance] {
        try base.balances(account, currency: currency, asOf: asOf)
    }
    func report(_ query: ReportQuery) throws -> ReportPage { try base.report(query) }
    func journal(_ query: JournalQuery) throws -> JournalPage { try base.journal(query) }
    func purchase(_ query: PurchaseQuery) throws -> PurchaseView { try base.purchase(query) }
    func find(_ query: FindQuery) throws -> Finding { try base.find(query) }
    func closing(through time: Timestamp) throws -> PeriodClosing? { try base.closing(through: time) }
    func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork { try base.appStoreWork(query) }
    func figures() throws -> ProjectedFigures? { try base.figures() }
    func close() throws { try base.close() }
}

/// An engine over a log in memory and real tables, with what it reported.
final class Bench: Sendable {
    static let now: Timestamp = 1_750_000_000_000
    static let gems = CurrencyCode("gems")!
    static let ledger = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")

    let folder: TemporaryFolder
    let log: MemoryLog
    let projection: SlowProjection
    let engine: Engine
    let figures: EngineFigures
    private let reported = Mutex<[String]>([])

    /// - Parameters:
    ///   - storage: the blocks of an engine before this one.
    ///   - folder: of the tables, which go on where they are; new ones by default.
    ///   - following: goes before `catalog`, and may be replaced.
    ///   - prepare: says how the log fails from the beginning on.
    ///   - readingNames: what a start does while it compares names.
    init(
        _ storage: MemoryLog.Storage = .init(), folder: TemporaryFolder? = nil, catalog: Catalog = .small,
        following: CatalogInForce? = nil, standbys: Standbys? = nil, names: MemoryMark = MemoryMark(),
        figures: EngineFigures = EngineFigures(), limits: (inout EngineLimits) -> Void = { _ in },
        prepare: (MemoryLog) -> Void = { _ in },
        readingNames: (BlockNumber, BlockNumber) throws -> Void = { _, _ in }
    ) throws {
        self.figures = figures
        self.folder = try folder ?? TemporaryFolder()
        log = MemoryLog(storage)
        prepare(log)
        projection = SlowProjection(
            try SQLiteProjection(
                path: self.folder.path("projection.sqlite"), ledger: Bench.ledger, hash: Workload.hash))
        var chosen = EngineLimits()
        chosen.logRetryMilliseconds = 0
        chosen.projectionRetryMilliseconds = 1
        limits(&chosen)
        let reported = Box()
        engine = try Engine(
            log: log, projection: projection,
            configuration: Engine.Configuration(
                bundleID: Bench.ledger.bundleID, environment: Bench.ledger.environment,
                following: following ?? CatalogInForce(.init(catalog)), limits: chosen),
            standbys: standbys, names: names.mark, figures: figures, hash: Workload.hash, now: { Bench.now },
            readingNames: readingNames, catchingUp: { block, head in reported.add("catchingUp \(block) of \(head)") },
            report: { reported.add("\($0)") })
        events = reported
    }

    private let events: Box

    /// What the engine told its operator.
    var reports: [String] { events.texts }

    private final class Box: Sendable {
        private let list = Mutex<[String]>([])
        var texts: [String] { list.withLock { $0 } }
        func add(_ text: String) { list.withLock { $0.append(text) } }
    }

    // MARK: Asking

    /// Commits one batch and waits.
    func ask(_ commands: [Command], at now: Timestamp = now) throws -> [Outcome] {
        var needs = Needs()
        for command in commands { needs.add(command) }
        return try engine.run(needs) { books in commands.map { books.decide($0, at: now) } }
    }

    func ask(_ command: Command, at now: Timestamp = now) throws -> Outcome { try ask([command], at: now)[0] }

    /// Commits without waiting; the result comes later.
    func send(_ command: Command, isLast: Bool = false, at now: Timestamp = now) -> Pending {
        let pending = Pending()
        var needs = Needs()
        needs.add(command)
        engine.commit(needs, isLast: isLast) { books in
            books.decide(command, at: now)
        } done: { result in
            pending.finish(result)
        }
        return pending
    }

    final class Pending: Sendable {
        private let result = Mutex<Result<Outcome, StoreError>?>(nil)
        func finish(_ value: Result<Outcome, StoreError>) { result.withLock { $0 = value } }
        /// `nil` while it is not done.
        var value: Result<Outcome, StoreError>? { result.withLock { $0 } }
        func get() throws -> Outcome {
            for _ in 0..<20_000 {
                if let value { return try value.get() }
                pause(milliseconds: 1)
            }
            throw StoreError("a batch is never done")
        }
    }

    func available(_ account: String) throws -> Int64 {
        guard case .balance(let answer) = try ask(.balance(account: AccountName(account)!, currency: nil)) else {
            return -1
        }
        return answer.balances.first { $0.currency == Bench.gems }?.balance.available ?? 0
    }
}

/// What a file notes of a log's names.
final class MemoryMark: Sendable {
    struct Unwritable: Error {}

    private let state: Mutex<(reason: NamesMark.Reason?, isWritable: Bool)>

    init(_ reason: NamesMark.Reason? = nil) { state = Mutex((reason, true)) }

    var reason: NamesMark.Reason? { state.withLock { $0.reason } }
    func setWritable(_ isWritable: Bool) { state.withLock { $0.isWritable = isWritable } }

    var mark: NamesMark {
        NamesMark(place: "the mark") { [self] in
            reason
        } write: { [self] reason in
            try state.withLock { state in
                if !state.isWritable { throw Unwritable() }
                state.reason = reason
            }
        }
    }
}

extension Command {
    static func grant(_ key: String, _ account: String, _ amount: Int64, expiresAt: Timestamp? = nil) -> Command {
        .grant(
            Grant(
                key: RequestKey(key)!, account: AccountName(account)!, currency: Bench.gems, amount: Amount(amount)!,
                expiresAt: expiresAt))
    }

    static func spend(_ key: String, _ account: String, _ amount: Int64) -> Command {
        .spend(
            Spend(
                key: RequestKey(key)!, account: AccountName(account)!,
                debits: [CurrencyAmount(currency: Bench.gems, amount: Amount(amount)!)]))
    }
}

/// Waits until something holds.
func eventually(_ body: () throws -> Bool) throws -> Bool {
    for _ in 0..<5_000 {
        if try body() { return true }
        pause(milliseconds: 1)
    }
    return false
}

extension Outlet {
    /// A queue of its own.
    static func queue() -> Outlet {
        let queue = DispatchQueue(label: "ledger-engine-tests")
        return Outlet { queue.async(execute: $0) }
    }
}
