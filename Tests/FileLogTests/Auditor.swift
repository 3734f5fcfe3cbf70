import FileLog
import Ledger
import LedgerTestKit
import Testing

/// Appends to a log and keeps account of what it was told: what is acknowledged must be there whatever happens, what
/// was answered `notAppended` must never be.
final class Auditor {
    private(set) var acknowledged: [SealedBlock] = []
    private var refused: Set<Digest> = []
    /// Blocks of which nobody knows whether they are there: one of them may be, after the acknowledged ones.
    private var inDoubt: [SealedBlock] = []
    /// Redactable parts that were to be replaced when something failed: any of these may be there.
    private var redactionsInDoubt: [BlockNumber: [[UInt8]]] = [:]
    /// The log was led since the last redaction in doubt: from then on what is read stays.
    private var redactionsAreSettled = true
    private(set) var failures: [LogError] = []
    private var random: SplitMix64
    let context: String

    init(seed: UInt64, _ context: String) {
        random = SplitMix64(seed: seed)
        self.context = "\(context), seed \(seed)"
    }

    /// Leads, appends `count` blocks and redacts now and then; leads again after a failure, some times.
    func work(_ log: FileLog, appends count: Int) {
        var attempts = 4
        var isLeading = false
        var rest = count
        while rest > 0, attempts > 0 {
            let goesOn = isLeading ? step(log) : lead(log)
            if goesOn {
                isLeading = true
                rest -= 1
            } else {
                isLeading = false
                attempts -= 1
            }
        }
    }

    private func lead(_ log: FileLog) -> Bool {
        var termBlock: SealedBlock?
        do {
            let block = try log.lead { last in
                settle(last)
                let block = TestBlock.term(after: last, &random)
                termBlock = block
                return block
            }
            acknowledged.append(block)
            return true
        } catch {
            failed(termBlock, error)
            return false
        }
    }

    private func step(_ log: FileLog) -> Bool {
        if random.chance(15) { return redact(log) }
        let block = TestBlock.after(
            acknowledged.last?.head, bodyBytes: random.chance(5) ? 9000 : .random(in: 0..<1500, using: &random),
            redactableBytes: .random(in: 0..<100, using: &random), &random)
        do {
            try log.append(block)
            acknowledged.append(block)
            return true
        } catch {
            failed(block, error)
            return false
        }
    }

    private func redact(_ log: FileLog) -> Bool {
        let index = Int.random(in: 0..<acknowledged.count, using: &random)
        let bytes = TestBlock.bytes(acknowledged[index].redactable.count, &random)
        do {
            try log.redact(acknowledged[index].number, bytes)
            acknowledged[index].redactable = bytes
            redactionsInDoubt[acknowledged[index].number] = nil
            return true
        } catch {
            redactionsInDoubt[acknowledged[index].number, default: []].append(bytes)
            redactionsAreSettled = false
            failures.append(error)
            return false
        }
    }

    private func failed(_ block: SealedBlock?, _ error: any Error) {
        guard let error = error as? LogError else {
            Issue.record("\(error) is no LogError: \(context)")
            return
        }
        failures.append(error)
        guard let block else { return }
        switch error.kind {
        case .notAppended: refused.insert(block.hash)
        case .unknown: inDoubt.append(block)
        case .superseded, .corrupt, .archived: Issue.record("\(error): \(context)")
        }
    }

    /// The leader was given `last`: that settles what was in doubt.
    private func settle(_ last: SealedBlock?) {
        if last?.number == acknowledged.last?.number {
            // A redaction in doubt may have changed it.
            #expect(last?.hash == acknowledged.last?.hash, "\(context)")
        } else if let last, inDoubt.contains(where: { $0.hash == last.hash }) {
            #expect(last.number == (acknowledged.last?.number ?? 0) + 1, "\(context)")
            acknowledged.append(last)
        } else {
            Issue.record(
                "the leader was given block \(last?.number ?? 0) after \(acknowledged.count) acknowledged: \(context)")
        }
        redactionsAreSettled = true
        for block in inDoubt where block.hash != last?.hash { refused.insert(block.hash) }
        inDoubt = []
    }

    /// Compares what is read with what was told.
    func audit(_ log: FileLog, _ moment: String) throws {
        let blocks: [SealedBlock]
        do { blocks = try log.readAll(bytesMax: 5000) } catch {
            Issue.record("\(error): \(context), \(moment)")
            throw error
        }
        try #require(blocks.count >= acknowledged.count, "acknowledged blocks are lost: \(context), \(moment)")
        try #require(blocks.count <= acknowledged.count + 1, "too many blocks: \(context), \(moment)")
        for index in acknowledged.indices {
            let others = redactionsInDoubt[BlockNumber(index + 1)] ?? []
            if others.contains(blocks[index].redactable) {
                redactionsInDoubt[BlockNumber(index + 1), default: []].append(acknowledged[index].redactable)
                acknowledged[index].redactable = blocks[index].redactable
            }
            try #require(blocks[index] == acknowledged[index], "block \(index + 1): \(context), \(moment)")
        }
        if redactionsAreSettled { redactionsInDoubt = [:] }
        #expect(!blocks.contains { refused.contains($0.hash) }, "a refused block is back: \(context), \(moment)")
        if blocks.count > acknowledged.count, let extra = blocks.last {
            #expect(inDoubt.contains { $0.hash == extra.hash }, "an unknown block: \(context), \(moment)")
        }
    }
}
