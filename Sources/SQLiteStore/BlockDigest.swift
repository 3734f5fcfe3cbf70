import Dispatch
import Ledger

/// The hash that closes a block: that of a large one is computed on another core while its rows are inserted.
struct BlockDigest {
    /// What the work item writes and who has waited for it reads. It knows nothing of the work item, so that one that nobody waits
    /// for, after a failed insert, goes with its journal.
    private final class Result: @unchecked Sendable {
        var digest: Digest?
    }

    private let result = Result()
    private var work: DispatchWorkItem?
    private static let queue = DispatchQueue(label: "ledger.block-digest", qos: .userInitiated)

    /// - Parameters:
    ///   - journal: the rows of the block.
    ///   - head: the block before it.
    init(
        of journal: Journal, after head: BlockHead, currencies: [CurrencyCode], _ hash: @escaping HashFunction
    ) {
        let rows = journal.entries.count + journal.evidence.count + journal.requests.count
        guard rows >= SQLiteLimits.digestBesideRowsMin else {
            result.digest = journal.digest(after: head.hash, block: head.id + 1, currencies: currencies, hash)
            return
        }
        let work = DispatchWorkItem { [result] in
            result.digest = journal.digest(after: head.hash, block: head.id + 1, currencies: currencies, hash)
        }
        self.work = work
        BlockDigest.queue.async(execute: work)
    }

    /// Waits for it.
    func value() -> Digest {
        work?.wait()
        guard let digest = result.digest else { preconditionFailure("a block's hash was not computed") }
        return digest
    }
}
