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
            let blocks = try page(after: next, through: head, bytesMax: bytesMax)
            try body(blocks)
            next += BlockNumber(blocks.count)
        }
    }

    /// Reads all blocks up to `head` that can be read, page by page, in their order.
    /// - Parameter unreadable: told between two pages which blocks are damaged, or in archives that cannot be read
    ///   here, and what is wrong with the first. Where these are many, as in a file that is damaged where its blocks
    ///   are found, some that can be read may be among them.
    /// - Throws: ``LogError`` but for `corrupt` and `archived`, or what `body` and `unreadable` threw.
    func readReadablePages(
        through head: BlockNumber, bytesMax: Int, _ body: ([SealedBlock]) throws -> Void,
        unreadable: (ClosedRange<BlockNumber>, LogError) throws -> Void
    ) throws {
        var next = BlockNumber(0)
        var isOneByOne = false
        while next < head {
            let blocks: [SealedBlock]
            do throws(LogError) {
                blocks = try page(after: next, through: head, bytesMax: isOneByOne ? 0 : bytesMax)
            } catch {
                guard error.isOfBlock else { throw error }
                if isOneByOne {
                    let last = try lastUnreadable(from: next + 1, through: head)
                    try unreadable(next + 1...last, error)
                    next = last
                }
                // Up to the damaged one the page's blocks are read one by one.
                isOneByOne.toggle()
                continue
            }
            try body(blocks)
            next += BlockNumber(blocks.count)
        }
    }

    /// - Returns: one block at least, and none behind `head`.
    private func page(
        after number: BlockNumber, through head: BlockNumber, bytesMax: Int
    ) throws(LogError) -> [SealedBlock] {
        let blocks = try read(after: number, bytesMax: bytesMax).prefix { $0.number <= head }
        if blocks.isEmpty {
            throw LogError(.corrupt, "block \(number + 1) is missing from the log, which ends at \(head)")
        }
        return Array(blocks)
    }

    /// Where the blocks that cannot be read end, the first of which is `first`. Steps that double, and then halve, find
    /// it: each look at a damaged file may read much of it.
    private func lastUnreadable(
        from first: BlockNumber, through head: BlockNumber
    ) throws(LogError) -> BlockNumber {
        func isReadable(_ number: BlockNumber) throws(LogError) -> Bool {
            do throws(LogError) {
                _ = try page(after: number - 1, through: head, bytesMax: 0)
                return true
            } catch {
                guard error.isOfBlock else { throw error }
                return false
            }
        }
        var (last, readable) = (first, head + 1)
        var step = BlockNumber(1)
        while last < head, readable > head {
            let number = min(last + step, head)
            if try isReadable(number) { readable = number } else { last = number }
            step *= 2
        }
        while readable - last > 1 {
            let middle = last + (readable - last) / 2
            if try isReadable(middle) { readable = middle } else { last = middle }
        }
        return last
    }
}

extension LogError {
    /// Whether it says of certain blocks that they cannot be read, and of others nothing.
    var isOfBlock: Bool { kind == .corrupt || kind == .archived }
}
