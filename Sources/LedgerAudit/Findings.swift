import Ledger
import Synchronization

/// What was found since it was taken last: from several threads, told in the order of the blocks.
final class Findings: Sendable {
    private let found = Mutex<[AuditFinding]>([])

    func add(_ finding: AuditFinding) { found.withLock { $0.append(finding) } }

    func add(block: BlockNumber?, _ words: String) { add(AuditFinding(block: block, words)) }

    /// Takes those that are there, in the order of the blocks.
    func take() -> [AuditFinding] {
        let taken = found.withLock { found in
            defer { found = [] }
            return found
        }
        return taken.enumerated().sorted {
            ($0.element.block ?? .max, $0.offset) < ($1.element.block ?? .max, $1.offset)
        }.map(\.element)
    }
}
