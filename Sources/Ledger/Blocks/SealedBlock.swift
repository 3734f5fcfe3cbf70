/// The number of a block, dense from 1.
package typealias BlockNumber = Int64

/// The number of a writer's reign: each writer that takes the lead of a ledger begins the next.
package typealias Term = Int64

/// A block as a log keeps it: bytes that are chained by their hash, and beside them what may be erased.
package struct SealedBlock: Hashable, Sendable {
    package let number: BlockNumber
    package let term: Term
    /// The hash of the block before; zero bytes for the first.
    package let previous: Digest
    /// SHA-256 of `body`.
    package let hash: Digest
    /// The canonical form of the block's rows (docs: BlockFormat).
    package let body: [UInt8]
    /// Names and salts of the accounts that the block added, which the hash does not cover.
    package var redactable: [UInt8]

    package init(
        number: BlockNumber, term: Term, previous: Digest, hash: Digest, body: [UInt8], redactable: [UInt8]
    ) {
        self.number = number
        self.term = term
        self.previous = previous
        self.hash = hash
        self.body = body
        self.redactable = redactable
    }

    /// Bytes of both parts.
    package var byteCount: Int { body.count + redactable.count }

    /// What a block appended after this one continues.
    package var head: LogHead { LogHead(number: number, term: term, hash: hash) }
}

/// The last block of a log.
package struct LogHead: Hashable, Sendable {
    package var number: BlockNumber
    package var term: Term
    package var hash: Digest

    package init(number: BlockNumber, term: Term, hash: Digest) {
        self.number = number
        self.term = term
        self.hash = hash
    }
}
