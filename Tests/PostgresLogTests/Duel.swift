#if Postgres
import Foundation
import Ledger
import LedgerTestKit
import PostgresLog
import Synchronization

/// Nodes that all want to lead one ledger, each behind a proxy that cuts, delays and loses.
struct Duel {
    /// Shorter than the longest delay, so that appends of former leaders arrive late.
    static let leaseMilliseconds = 60
    static let delayMillisecondsMax = 150

    let ledger: TestLedger
    let history = History()
    /// Nodes by the role as which they come.
    let nodes: [(name: String, user: String)]

    /// - Parameter mayEnd: whether a node may end another's session; otherwise each has a role of its own.
    init(nodes count: Int, mayEnd: Bool, on server: PostgresServer? = nil) throws {
        ledger = try TestLedger(on: server)
        nodes = (1...count).map { ("node\($0)", mayEnd ? "postgres" : "role\($0)") }
        if !mayEnd {
            let session = try ledger.session()
            for node in nodes {
                _ = try? session.run("CREATE ROLE \(node.user) LOGIN")
                try session.run(
                    """
                    GRANT USAGE ON SCHEMA \(ledger.schema) TO \(node.user);
                    GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA \(ledger.schema) TO \(node.user)
                    """)
            }
        }
    }

    /// Lets them fight until so many blocks were acknowledged, and returns when all are done.
    func fight(seed: UInt64, blocks: Int) throws {
        let end = DispatchTime.now() + .seconds(240)
        let running = Mutex(nodes.count)
        for (index, node) in nodes.enumerated() {
            let proxy = try FaultyProxy(of: ledger.server)
            let random = Mutex(SplitMix64(seed: seed &* 1000 &+ UInt64(index)))
            proxy.decide { random.withLock { Duel.fault(&$0) } }
            var configuration = ledger.configuration(node: node.name, user: node.user, folder: proxy.folder)
            configuration.leaseMilliseconds = Duel.leaseMilliseconds
            inThread { [configuration] in
                var random = SplitMix64(seed: seed &* 1000 &+ UInt64(index) &+ 500)
                while !history.isOver(blocks), DispatchTime.now() < end {
                    if let log = try? ledger.open(configuration) {
                        play(log, node.name, proxy, blocks, &random)
                        // Half of them end without giving the lead back.
                        if random.chance(50) { log.close() }
                    }
                }
                proxy.stop()
                running.withLock { $0 -= 1 }
            }
        }
        while running.withLock({ $0 }) > 0 { usleep(1000) }
    }

    private static func fault(_ random: inout SplitMix64) -> NetworkFault? {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<2: .cutBefore
        case 2..<4: .cutBeforeCommit
        case 4..<6: .cutAfterCommit
        case 6..<8: .loseReply
        case 8..<14: .delay(milliseconds: .random(in: 1...delayMillisecondsMax, using: &random))
        case 14..<16: .duplicate
        case 16..<18: .delayReply(milliseconds: .random(in: 1...delayMillisecondsMax, using: &random))
        default: nil
        }
    }

    private func play(
        _ log: PostgresLog, _ node: String, _ proxy: FaultyProxy, _ blocks: Int, _ random: inout SplitMix64
    ) {
        for _ in 0..<4 where !history.isOver(blocks) {
            guard let first = lead(log, node, &random) else {
                usleep(.random(in: 1000...30_000, using: &random))
                continue
            }
            var head = first.head
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                let block = TestBlock.after(head, bodyBytes: 60, redactableBytes: 3, &random)
                guard note(node, block, { try log.append(block) }) else { break }
                head = block.head
                if random.chance(5) { usleep(.random(in: 1000...90_000, using: &random)) }
                if random.chance(4) { proxy.hold(milliseconds: .random(in: 10...200, using: &random)) }
                if random.chance(20) { read(log, node, times: .random(in: 1...50, using: &random)) }
            }
        }
    }

    /// What a leader answers of the head has everything that anybody was told before.
    private func read(_ log: PostgresLog, _ node: String, times: Int) {
        for _ in 0..<times {
            let before = history.lastDurable
            guard logError({ try log.confirmLead() }) == nil else { return }
            history.noteRead(node, head: log.head?.number ?? 0, before: before)
            usleep(1000)
        }
    }

    private func lead(_ log: PostgresLog, _ node: String, _ random: inout SplitMix64) -> SealedBlock? {
        var last: [SealedBlock] = []
        let error = logError {
            try log.settle()
            last = try log.head.map { try log.read(after: $0.number - 1, bytesMax: 0) } ?? []
        }
        if error?.kind == .corrupt { history.noteDamage() }
        guard error == nil else { return nil }
        let block = TestBlock.term(after: last.first, &random)
        return note(node, block) { try log.append(block) } ? block : nil
    }

    /// - Returns: whether it was acknowledged.
    private func note(_ node: String, _ block: SealedBlock, _ append: () throws -> Void) -> Bool {
        let outcome: History.Outcome =
            switch logError(append)?.kind {
            case nil: .durable
            case .notAppended: .notAppended
            case .superseded: .superseded
            case .unknown, .corrupt, .archived: .unknown
            }
        history.note(node, block, outcome)
        return outcome == .durable
    }
}
#endif
