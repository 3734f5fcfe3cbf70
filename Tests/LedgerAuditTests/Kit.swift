import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import SQLiteProjection
import Synchronization

@testable import LedgerAudit

/// A folder that is gone when the test is.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-audit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// A ledger that random commands made, with an engine over a log in memory and real tables. What it credits is signed
/// by nobody: of signatures these tests say nothing.
final class RandomLedger {
    let folder: TemporaryFolder
    let blocks: [SealedBlock]
    /// What the log was, each time before names were erased.
    private(set) var beforeErasures: [[SealedBlock]] = []
    var tables: String { folder.path("projection.sqlite") }

    /// - Parameters:
    ///   - commands: how many are decided at least, beside a link that moves something.
    ///   - transfers: how many there are at least at the end.
    ///   - beginning: what is decided first, a block each.
    init(seed: UInt64, commands: Int = 0, transfers: Int64 = 0, beginning: [Command] = []) throws {
        folder = try TemporaryFolder()
        let log = MemoryLog()
        let row = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
        let clock = Mutex(Timestamp(1_750_000_000_000))
        let catalog = CatalogInForce(.init(Workload.catalog, digest: Digest(of: [0], Workload.hash)))
        let engine = try Engine(
            log: log,
            projection: try SQLiteProjection(
                path: folder.path("projection.sqlite"), ledger: row, hash: Workload.hash),
            configuration: Engine.Configuration(
                bundleID: row.bundleID, environment: row.environment, following: catalog),
            hash: Workload.hash, now: { clock.withLock { $0 } }, report: { _ in })
        var workload = Workload(seed: seed)
        var done = 0
        let last = Mutex(TransferID(0))
        func run(_ batch: [Command], closes: Bool, names: Bool = false, at now: Timestamp) throws {
            var needs = Needs()
            needs.time = now
            for command in batch { needs.add(command) }
            try engine.run(needs) { books in
                for command in batch { _ = books.decide(command, by: "a token", at: now) }
                if closes { books.close(through: now) }
                // A period is closed by name whether or not entries are later by then.
                if names {
                    let end = max(now - 50, books.periods.began)
                    if end > books.periods.closedThrough {
                        books.closePeriod(through: end, by: closes ? "a token" : nil, at: now)
                    }
                }
                last.withLock { [position = books.position] in $0 = position.transfer }
            }
        }
        for command in beginning { try run([command], closes: false, at: clock.withLock { $0 }) }
        while done < commands || last.withLock({ $0 }) < transfers {
            let now = clock.withLock { time in
                time += Int64.random(in: 0...60, using: &workload.generator)
                return time
            }
            workload.now = now
            var batch: [Command] = []
            for _ in 0..<Int.random(in: 1...8, using: &workload.generator) {
                if workload.generator.chance(3) {
                    let player = Workload.account(Int.random(in: 0..<workload.players, using: &workload.generator))
                    batch.append(.forget(player))
                } else {
                    batch.append(workload.next())
                }
            }
            let forgets = batch.contains { command in
                if case .forget = command { true } else { false }
            }
            if forgets { beforeErasures.append(log.blocks) }
            try run(
                batch, closes: workload.generator.chance(5), names: workload.generator.chance(20), at: now)
            done += batch.count
            // The same catalog from another file, now and then.
            let file = Digest(of: [UInt8(truncatingIfNeeded: done / 50)], Workload.hash)
            if catalog.current.digest != file { catalog.replace(by: .init(Workload.catalog, digest: file)) }
        }
        // Chance may have made no link that moved something.
        let guest = AppAccountToken("b0000000-0000-4000-8000-000000000001")!
        let grant = Grant(
            key: RequestKey("guest")!, account: guest.account, currency: CurrencyCode("gems")!, amount: Amount(7)!)
        for command in [.grant(grant), .link(Link(token: guest, account: AccountName("linked")!))] as [Command] {
            try run([command], closes: false, at: clock.withLock { $0 })
        }
        try engine.close()
        blocks = log.blocks
    }
}

/// What the books, computed from blocks, say of them.
struct Replayed {
    let replay: Replay
    let findings: [AuditFinding]
    let sums: TableSums

    init(_ blocks: [SealedBlock]) {
        let findings = Findings()
        let adder = RowAdder()
        replay = Replay(hash: Workload.hash, findings: findings, rows: adder)
        for block in blocks {
            let checked = CheckedBlock(block, Workload.hash)
            for finding in checked.findings { findings.add(finding) }
            replay.apply(checked)
        }
        replay.finish()
        replay.addState()
        self.findings = findings.take()
        sums = adder.sums
    }
}

/// Blocks as an inspection hands them over.
final class Steps: LogInspector {
    let identity: Digest?
    let head: LogHead?
    private var steps: ArraySlice<LogStep>

    init(_ blocks: [SealedBlock], identity: Digest?) {
        self.identity = identity
        head = blocks.last?.head
        steps = blocks.map { .block($0) }[...]
    }

    func next() -> LogStep? { steps.popFirst() }
}

extension SealedBlock {
    /// The same body behind another block: the previous hash stands at byte 28 of every body (docs: BlockFormat).
    func continuing(_ previous: Digest, _ hash: HashFunction) -> SealedBlock {
        var body = self.body
        body.replaceSubrange(28..<60, with: previous.bytes)
        return SealedBlock(
            number: number, term: term, previous: previous, hash: Digest(of: body, hash), body: body,
            redactable: redactable)
    }
}
