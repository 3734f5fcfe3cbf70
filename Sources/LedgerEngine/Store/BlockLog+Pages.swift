import Ledger

extension BlockLog {
    /// Reads the blocks after one, up to `head` and none behind it, page by page.
    /// - Parameter bytesMax: of one page; one block at least.
    /// - Throws: ``LogError`` `corrupt` where one is missing, or what `body` threw.
    func readPages(
        after number: BlockNumber, through head: BlockNumber, bytesMax: Int, _ body: ([SealedBlock]) throws -> Void
    ) throws {
        var next = number
        while next < head {
            let blocks = try read(after: next, bytesMax: bytesMax).prefix { $0.number <= head }
            guard let last = blocks.last else {
                throw LogError(.corrupt, "block \(next + 1) is missing from the log, which ends at \(head)")
            }
            try body(Array(blocks))
            next = last.number
        }
    }
}
