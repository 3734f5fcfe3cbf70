#if Postgres
import Ledger
import Synchronization

/// What nodes were told about their blocks, and whether the table agrees. It knows nothing of how a log works: it reads
/// rows with SQL of its own.
final class History: Sendable {
    enum Outcome: Hashable, Sendable {
        case durable
        case notAppended
        case superseded
        case unknown
    }

    private struct Told {
        let node: String
        let number: BlockNumber
        let term: Term
        let hash: String
        let outcome: Outcome
    }

    private let told = Mutex<[Told]>([])
    private let isDamaged = Atomic(false)
    private let stale = Mutex<Set<String>>([])

    func note(_ node: String, _ block: SealedBlock, _ outcome: Outcome) {
        told.withLock {
            $0.append(
                Told(
                    node: node, number: block.number, term: block.term, hash: block.hash.hexadecimal,
                    outcome: outcome))
        }
    }

    /// The last block of which a node was told that it is durable.
    var lastDurable: BlockNumber { told.withLock { told in told.last { $0.outcome == .durable }?.number ?? 0 } }

    /// Notes a read of the head by a node that was told that it leads.
    /// - Parameter before: ``lastDurable`` before it asked whether it leads.
    func noteRead(_ node: String, head: BlockNumber, before: BlockNumber) {
        if head < before {
            _ = stale.withLock { $0.insert("\(node) read block \(head) as the head after \(before)") }
        }
    }

    /// A node found the chain broken, and nobody leads any more.
    func noteDamage() { isDamaged.store(true, ordering: .relaxed) }

    /// Whether so many blocks were acknowledged, or none can be any more.
    func isOver(_ blocks: Int) -> Bool { isDamaged.load(ordering: .relaxed) || count(.durable) >= blocks }

    /// How many blocks have an outcome.
    func count(_ outcome: Outcome) -> Int { told.withLock { told in told.count { $0.outcome == outcome } } }

    /// What does not fit, in words. Nobody writes any more.
    func faults(_ session: PlainSession) throws -> [String] {
        let rows = try session.run(
            "SELECT id, term, encode(previous, 'hex'), encode(hash, 'hex') FROM block ORDER BY id, hash")
        let told = told.withLock { $0 }
        var faults = stale.withLock { $0.sorted() }
        var previous = String(repeating: "0", count: 64)
        var term = "0"
        var places: [String: Int] = [:]
        for (index, row) in rows.enumerated() {
            if row[0] != "\(index + 1)" { faults.append("block \(row[0]) is row \(index + 1)") }
            if row[2] != previous { faults.append("block \(row[0]) does not continue the row before it") }
            if Int(row[1]) ?? 0 < Int(term) ?? 0 { faults.append("block \(row[0]) of term \(row[1]) follows \(term)") }
            places[row[3], default: 0] += 1
            (term, previous) = (row[1], row[3])
        }
        let authors = Dictionary(told.map { ($0.hash, $0.node) }) { first, _ in first }
        var leaders: [String: String] = [:]
        for row in rows {
            guard let node = authors[row[3]] else {
                faults.append("nobody appended block \(row[0])")
                continue
            }
            if let other = leaders[row[1]], other != node { faults.append("\(other) and \(node) led term \(row[1])") }
            leaders[row[1]] = node
        }
        for block in told {
            let found = places[block.hash] ?? 0
            switch block.outcome {
            case .durable where found != 1:
                faults.append("block \(block.number) of \(block.node) was acknowledged, and is there \(found) times")
            case .notAppended where found != 0, .superseded where found != 0:
                faults.append("block \(block.number) of \(block.node) was not appended, and is there")
            case .unknown where found > 1:
                faults.append("block \(block.number) of \(block.node) is there \(found) times")
            default: break
            }
        }
        return faults
    }
}
#endif
