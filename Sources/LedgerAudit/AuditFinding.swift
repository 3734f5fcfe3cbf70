package import Ledger

/// Something that does not hold.
package struct AuditFinding: Hashable, Sendable, CustomStringConvertible {
    /// Where; `nil` for what is in no block: a file of the log, the tables.
    package var block: BlockNumber?
    /// What, with the place in the block or the row of the table.
    package var words: String

    package init(block: BlockNumber? = nil, _ words: String) {
        self.block = block
        self.words = words
    }

    package var description: String { block.map { "block \($0): \(words)" } ?? words }
}

/// What an audit looked at.
package struct AuditSummary: Hashable, Sendable {
    /// Whose books these are, as the first block says.
    package var bundleID = ""
    package var environment = ""
    /// The block before the first one that was looked at; `nil` where that was block 1. Behind it the files, the chain
    /// and the form of the blocks were checked, and nothing was computed.
    package var base: LogHead?
    /// The last block; `nil` where the log has none that could be read.
    package var head: LogHead?
    /// The last numbers that the blocks gave.
    package var position = LastNumbers()
    package var purchases = 0
    /// JWS whose signatures and certificates were verified.
    package var signatures = 0
    /// Per currency the turnover of each kind of account.
    package var currencies: [CurrencyCode] = []
    package var totals = Totals(currencies: 0)
    /// The block up to which the tables are exact, where they were compared.
    package var tables: BlockNumber?
    package var tableRows: Int64 = 0
    /// Signed heads that the ledger is what they say, or was.
    package var heads = 0
    /// How many things did not hold.
    package var findings = 0

    package init() {}
}

/// The bounds of an audit.
package enum AuditLimits {
    /// Bytes of blocks that are opened together: enough that the cores have work, and little of memory.
    package static let chunkBytes = 8 << 20
    /// Rows of signed evidence that a core verifies together; what it gains by a batch is flat from 32 on.
    static let signaturesPerBatch = 256
    /// Parts into which each table's rows fall by their keys. Where the sums of one differ, its rows are looked at one
    /// by one.
    static let parts = 4_096
    /// Rows of a table that differ and are named; of more it is said how many.
    static let rowsNamedMax = 100
    /// Findings that are told one by one; more are counted.
    package static let findingsToldMax = 1_000
}
