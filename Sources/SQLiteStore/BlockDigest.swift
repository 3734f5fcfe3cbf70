import Dispatch
import Ledger

/// The hash that closes a block: that of a large one is computed on another core while its rows are inserted.
final class BlockDigest: @unchecked Sendable {
    // `@unchecked Sendable`: written by the one work item, read by who has waited for it.
    private var digest: Digest?
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
            digest = journal.digest(after: head.hash, block: head.id + 1, currencies: currencies, hash)
            return
        }
        let work = DispatchWorkItem { [self] in
            digest = journal.digest(after: head.hash, block: head.id + 1, currencies: currencies, hash)
        }
        self.work = work
        BlockDigest.queue.async(execute: work)
    }

    /// Waits for it.
    func value() -> Digest {
        work?.wait()
        work = nil
        guard let digest else { preconditionFailure("a block's hash was not computed") }
        return digest
    }
}
