/// What nobody signed.
extension BlockRows {
    /// What was stated of a purchase that the App Store did not sign: with the purchase's own row the first word on it,
    /// later how much of it is revoked by then.
    package struct StatementRow: Hashable, Sendable {
        package var transaction: TransactionID
        /// 0 … 100000 thousandths of a percent of the full quantity.
        package var revoked: Int64
        package var time: Timestamp
        /// What it led to; `nil` where it changed nothing.
        package var entry: EntryID?
        package var actor: ActorID?

        package init(
            transaction: TransactionID, revoked: Int64, time: Timestamp, entry: EntryID?, actor: ActorID?
        ) {
            self.transaction = transaction
            self.revoked = revoked
            self.time = time
            self.entry = entry
            self.actor = actor
        }
    }

    /// A purchase that another source than the App Store sold: its number in the register, and what the source calls
    /// it.
    package struct ExternalRow: Hashable, Sendable {
        package var transaction: TransactionID
        package var source: String
        package var identifier: String

        package init(transaction: TransactionID, source: String, identifier: String) {
            self.transaction = transaction
            self.source = source
            self.identifier = identifier
        }
    }

    /// The first word on each purchase that the block records and that nothing signed proves.
    package var firstStatements: [TransactionID: StatementRow] {
        if statements.isEmpty { return [:] }
        let recorded = Set(purchases.lazy.filter { $0.evidence == 0 }.map(\.facts.transaction))
        var first: [TransactionID: StatementRow] = [:]
        for row in statements where recorded.contains(row.transaction) && first[row.transaction] == nil {
            first[row.transaction] = row
        }
        return first
    }
}
