import AppStore
import Ledger

/// A block that was opened, with what of it can be told without the blocks before it.
struct CheckedBlock: Sendable {
    let sealed: SealedBlock
    /// `nil` where it cannot be read.
    var block: Block?
    /// Whether it says of each of its accounts what the name is, or that it was erased.
    var areNamesRead = true
    /// One for each request; `nil` where the answer cannot be read.
    var answers: [KeyedAnswer?] = []
    var findings: [AuditFinding] = []

    /// - Parameter hash: the log has compared the body's hash already.
    init(_ sealed: SealedBlock, _ hash: @escaping HashFunction) {
        self.sealed = sealed
        do throws(BlockError) {
            block = try Block(opening: sealed, checks: .names(hash))
        } catch {
            findings.append(CheckedBlock.finding(sealed, error))
            // Names are beside what the chain covers: without them the books can be computed all the same.
            if error.kind == .nameMismatch {
                block = try? Block(opening: sealed, checks: .bodyOnly)
                areNamesRead = false
            }
        }
        answers = block?.rows.requests.map { KeyedAnswer(encoded: $0.answer) { AccountName.erased($0) } } ?? []
    }

    private static func finding(_ sealed: SealedBlock, _ error: BlockError) -> AuditFinding {
        var words = error.section?.name ?? ""
        if let row = error.row { words += " row \(row)" }
        return AuditFinding(block: sealed.number, words.isEmpty ? error.words : words + ": " + error.words)
    }
}
