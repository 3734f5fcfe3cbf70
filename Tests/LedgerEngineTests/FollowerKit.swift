import Ledger
import LedgerTestKit
import SQLiteProjection
import Synchronization

@testable import LedgerEngine

/// Between a leader and a standby of one process: hands pages over, garbled or not at all where a test says so.
final class EngineLink: LeaderConnection {
    struct Lost: Error {}

    private let leader: Engine
    private let ledger: BlockRows.LedgerRow
    private let change: @Sendable (inout BlocksPage) throws -> Void
    private let state = Mutex((query: BlocksQuery?.none, isClosed: false))

    init(
        _ leader: Engine, ledger: BlockRows.LedgerRow = Bench.ledger,
        change: @escaping @Sendable (inout BlocksPage) throws -> Void
    ) {
        self.leader = leader
        self.ledger = ledger
        self.change = change
    }

    func open() throws -> BlockRows.LedgerRow { ledger }

    func ask(_ query: BlocksQuery) { state.withLock { $0.query = query } }

    func answer() throws -> BlocksPage {
        let end = monotonicNanoseconds() + 20_000_000
        while true {
            let (query, isClosed) = state.withLock { $0 }
            guard let query, !isClosed else { throw Lost() }
            do {
                var page = try leader.blocks(query)
                if page.blocks.isEmpty, query.waitMilliseconds > 0, monotonicNanoseconds() < end {
                    pause(milliseconds: 1)
                    continue
                }
                try change(&page)
                return page
            } catch Fault.chainMismatch(let head) {
                throw ChainMismatch(head: head)
            }
        }
    }

    func close() { state.withLock { $0.isClosed = true } }
}

/// A standby of an engine in the same process, with a log of any kind and real tables.
final class StandbyBench: Sendable {
    static let name = StandbyName("b")!

    let engine: Engine
    let folder: TemporaryFolder
    let status: StandbyStatus

    /// - Parameters:
    ///   - folder: of the tables, which go on where they are; new ones by default.
    ///   - change: what becomes of each page.
    init(
        of leader: Engine, log: any BlockLog, folder: TemporaryFolder? = nil, name: StandbyName = name,
        ledger: BlockRows.LedgerRow = Bench.ledger, bytesMax: Int = 4_000, names: MemoryMark = MemoryMark(),
        change: @escaping @Sendable (inout BlocksPage) throws -> Void = { _ in }
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        var limits = EngineLimits()
        limits.followRetryMillisecondsMin = 1
        limits.followRetryMillisecondsMax = 4
        limits.followReportMilliseconds = 0
        limits.followReportMillisecondsMin = 0
        limits.followBytesMax = bytesMax
        limits.logRetryMilliseconds = 0
        let notes = Notes()
        let following = Following(leader: "leader:1", name: name) {
            EngineLink(leader, ledger: ledger, change: change)
        } promoting: {
        } ended: {
            notes.end($0)
        }
        status = following.status
        self.notes = notes
        engine = try Engine(
            log: log,
            projection: try SQLiteProjection(
                path: self.folder.path("projection.sqlite"), ledger: Bench.ledger, hash: Workload.hash),
            configuration: Engine.Configuration(
                bundleID: Bench.ledger.bundleID, environment: Bench.ledger.environment, catalog: .small,
                limits: limits),
            following: following, names: names.mark, hash: Workload.hash, now: { Bench.now },
            report: { notes.add("\($0)") })
    }

    private let notes: Notes

    var reports: [String] { notes.reports }
    var faults: [FollowingFault] { notes.faults }

    private final class Notes: Sendable {
        private let told = Mutex<(reports: [String], faults: [FollowingFault])>(([], []))
        var reports: [String] { told.withLock { $0.reports } }
        var faults: [FollowingFault] { told.withLock { $0.faults } }
        func add(_ text: String) { told.withLock { $0.reports.append(text) } }
        func end(_ fault: FollowingFault) { told.withLock { $0.faults.append(fault) } }
    }

    func available(_ account: String) throws -> Int64 {
        var needs = Needs()
        let command = Command.balance(account: AccountName(account)!, currency: nil)
        needs.add(command)
        let outcome = try engine.run(needs) { books in books.decide(command, at: Bench.now) }
        guard case .balance(let answer) = outcome else { return -1 }
        return answer.balances.first { $0.currency == Bench.gems }?.balance.available ?? 0
    }
}

extension Bench {
    /// Grants, spends and erasures of a few players, and what each has then.
    func live(_ requests: Int, seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for number in 0..<requests {
            let player = "player-\(Int.random(in: 0..<9, using: &random))"
            switch Int.random(in: 0..<10, using: &random) {
            case 0: _ = try ask(.forget(AccountName(player)!))
            case 1...3: _ = try ask(.spend("s-\(seed)-\(number)", player, 1))
            default: _ = try ask(.grant("g-\(seed)-\(number)", player, 7))
            }
        }
    }
}
