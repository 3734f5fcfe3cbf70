import Ledger

/// Where the chain that is here and the leader's part.
extension Follower {
    /// Finds the first block that the leader does not have.
    func difference(_ connection: any LeaderConnection, _ leaderBlock: BlockNumber) throws -> FollowingFault {
        let own = appender.head.number
        let common = min(own, leaderBlock)
        if own > leaderBlock, try accepts(connection, common) {
            return .ahead(leader: leader, block: own, leaderBlock: leaderBlock)
        }
        var (equal, different) = (BlockNumber(0), common)
        while different - equal > 1 {
            let middle = equal + (different - equal) / 2
            if try accepts(connection, middle) { equal = middle } else { different = middle }
        }
        guard try !accepts(connection, different) else {
            throw Garbled(description: "the leader did not know block \(different), and knows it now")
        }
        return .forked(leader: leader, first: different, block: own, leaderBlock: leaderBlock)
    }

    /// Whether the leader has the block of a number that is here.
    private func accepts(_ connection: any LeaderConnection, _ number: BlockNumber) throws -> Bool {
        var head = LogHead.empty
        if number > 0 {
            guard let sealed = try log.read(after: number - 1, bytesMax: 0).first else {
                throw LogError(.corrupt, "block \(number) is missing from the log")
            }
            head = sealed.head
        }
        var question = query(after: head, durable: 0)
        question.waitMilliseconds = 0
        question.bytesMax = 1
        connection.ask(question)
        do {
            _ = try connection.answer()
            return true
        } catch is ChainMismatch {
            return false
        }
    }
}
