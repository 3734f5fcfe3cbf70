/// A block's rows, with what stands above them.
package struct Block: Sendable {
    package var number: BlockNumber
    package var term: Term
    /// The server's clock when the block was decided; never earlier than that of the block before.
    package var time: Timestamp
    /// The hash of the block before; zero bytes for the first.
    package var previous: Digest
    /// The last number of each sequence after this block. With the counts of the rows it says each row's own number.
    package var position: LastNumbers
    package var rows: BlockRows
    /// Tags of sections that a later version wrote and this one skipped: of them nothing is in `rows`, so a block that
    /// has any cannot be sealed again.
    package var skippedSections: [UInt8] = []

    package init(
        number: BlockNumber, term: Term, time: Timestamp, previous: Digest, position: LastNumbers, rows: BlockRows
    ) {
        self.number = number
        self.term = term
        self.time = time
        self.previous = previous
        self.position = position
        self.rows = rows
    }

    /// Takes in what was decided right behind it: this block is then the one that both would be, had they been decided
    /// together.
    /// - Parameter later: the block behind this one, of the same term.
    package mutating func join(_ later: Block) {
        precondition(later.number == number + 1 && later.term == term, "block \(later.number) is not the next")
        time = later.time
        position = later.position
        rows.append(later.rows)
    }
}
