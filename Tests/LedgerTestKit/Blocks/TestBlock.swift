package import Ledger

/// Blocks with random bytes, for logs, which do not look into them.
package enum TestBlock {
    /// The block after `last`.
    package static func after(
        _ last: LogHead?, term: Term? = nil, bodyBytes: Int, redactableBytes: Int,
        _ random: inout SplitMix64
    ) -> SealedBlock {
        let body = bytes(bodyBytes, &random)
        return SealedBlock(
            number: (last?.number ?? 0) + 1, term: term ?? last?.term ?? 1,
            previous: last?.hash ?? Digest { $0.initializeMemory(as: UInt8.self, repeating: 0) },
            hash: Digest(of: body, testSHA256), body: body, redactable: bytes(redactableBytes, &random))
    }

    /// The first block of the term after that of `last`.
    package static func term(after last: SealedBlock?, _ random: inout SplitMix64) -> SealedBlock {
        after(last?.head, term: (last?.term ?? 0) + 1, bodyBytes: 40, redactableBytes: 0, &random)
    }

    package static func bytes(_ count: Int, _ random: inout SplitMix64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes += $0 } }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}

extension BlockLog {
    /// Takes the lead with a block of random bytes.
    @discardableResult
    package func leadWithTestBlock(_ random: inout SplitMix64) throws -> SealedBlock {
        var mine = random
        defer { random = mine }
        return try lead { TestBlock.term(after: $0, &mine) }
    }

    /// All blocks from the first on, read in pieces.
    package func readAll(bytesMax: Int = 1 << 20) throws(LogError) -> [SealedBlock] {
        var blocks: [SealedBlock] = []
        while true {
            let more = try read(after: blocks.last?.number ?? 0, bytesMax: bytesMax)
            if more.isEmpty { return blocks }
            blocks += more
        }
    }
}
