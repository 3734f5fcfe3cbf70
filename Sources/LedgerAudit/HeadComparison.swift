package import HeadSigning
import Ledger

/// A signed head, and where it was found.
package struct FoundHead: Sendable {
    /// For findings: a file and a line.
    package var place: String
    /// What was signed; or why it is no signed head, or not one by the operator's key.
    package var head: Result<SignedHead, SignedHeadFault>

    package init(place: String, head: Result<SignedHead, SignedHeadFault>) {
        self.place = place
        self.head = head
    }
}

/// Compares what was signed of a ledger with what its blocks say, block by block as they are computed again.
struct HeadComparison {
    /// How many heads the ledger agrees with.
    private(set) var compared = 0
    private var waiting: [BlockNumber: [(place: String, head: SignedHead)]] = [:]
    private let findings: Findings
    /// Those of which something did not hold.
    private var faulty: Set<String> = []

    init(_ heads: [FoundHead], _ findings: Findings) {
        self.findings = findings
        for found in heads {
            switch found.head {
            case .success(let head): waiting[head.block, default: []].append((found.place, head))
            case .failure(let fault): findings.add(block: nil, "\(found.place): \(fault)")
            }
        }
    }

    /// Whose the heads are.
    /// - Parameter identity: as the log's files say.
    mutating func compareLedger(_ ledger: BlockRows.LedgerRow, _ identity: Digest?) {
        for (place, head) in waiting.values.joined() {
            if head.bundleID != ledger.bundleID || head.environment != ledger.environment {
                fault(place, "it is a head of another ledger: of \(head.bundleID) in \(head.environment)")
            } else if head.identity != identity {
                let own = identity.map { "\($0.hexadecimal)" } ?? "not known"
                fault(
                    place,
                    "it names this ledger's app and environment, but another digest of them: "
                        + "\(head.identity.hexadecimal) was signed, and the log's is \(own)")
            }
        }
    }

    /// To be called after each block.
    mutating func compare(_ replay: Replay) {
        guard !waiting.isEmpty, let last = replay.head, let heads = waiting.removeValue(forKey: last.number) else {
            return
        }
        for (place, head) in heads {
            expect(head.hash == last.hash, place, last.number) {
                "the block's hash is \(last.hash.hexadecimal), and \(head.hash.hexadecimal) was signed"
            }
            if replay.isBroken {
                fault(place, block: last.number, "what was signed cannot be computed again, for blocks before are lost")
                continue
            }
            expect(head.time == replay.time, place, last.number) {
                "the block's time is \(replay.time), and \(head.time) was signed"
            }
            expect(head.entry == replay.position.entry, place, last.number) {
                "the last entry is \(replay.position.entry), and \(head.entry) was signed"
            }
            compareTotals(head, replay, place)
            if !faulty.contains(place) { compared += 1 }
        }
    }

    private mutating func compareTotals(_ head: SignedHead, _ replay: Replay, _ place: String) {
        let computed = replay.turnovers
        expect(head.currencies == replay.currencies, place, head.block) {
            "the currencies are \(HeadComparison.list(replay.currencies)), and \(HeadComparison.list(head.currencies)) "
                + "were signed"
        }
        for (index, code) in head.currencies.enumerated() {
            guard let own = replay.currencies.firstIndex(of: code) else { continue }
            for kind in AccountKind.allCases {
                let signed = head.totals[CurrencyID(index + 1), kind]
                let actual = computed[CurrencyID(own + 1), kind]
                expect(signed == actual, place, head.block) {
                    "\(kind.name) of \(code) has debits \(actual.debits) and credits \(actual.credits), and "
                        + "\(signed.debits) and \(signed.credits) were signed"
                }
            }
        }
    }

    private static func list(_ codes: [CurrencyCode]) -> String {
        codes.isEmpty ? "none" : codes.map(\.text).joined(separator: ", ")
    }

    /// What was signed of blocks that were not met.
    mutating func finish(_ replay: Replay) {
        let last = replay.head?.number ?? 0
        for (block, heads) in waiting.sorted(by: { $0.key < $1.key }) {
            for (place, _) in heads {
                fault(
                    place, block: block,
                    block > last
                        ? "it was signed, and the log ends with block \(last)"
                        : block < 1 ? "no ledger has such a block" : "it was signed, and is lost or was not read")
            }
        }
        waiting = [:]
    }

    private mutating func expect(_ holds: Bool, _ place: String, _ block: BlockNumber, _ words: () -> String) {
        if !holds { fault(place, block: block, words()) }
    }

    private mutating func fault(_ place: String, block: BlockNumber? = nil, _ words: String) {
        faulty.insert(place)
        findings.add(block: block, "the signed head of \(place): \(words)")
    }
}
