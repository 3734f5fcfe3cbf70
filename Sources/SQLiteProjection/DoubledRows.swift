import GRDB
import Ledger

/// Rows of which a log must not have a second one, and does.
final class DoubledRows {
    private unowned let db: Database
    private let areMade: Bool
    private let warn: @Sendable (String) -> Void

    /// - Parameters:
    ///   - areMade: whether the tables were made from nothing by this process.
    ///   - warn: told of them. Such tables go on all the same, so that they can be read.
    init(_ db: Database, areMade: Bool, warn: @escaping @Sendable (String) -> Void) {
        self.db = db
        self.areMade = areMade
        self.warn = warn
    }

    /// What a log must not have: tables made from nothing are of such a log, and can be read. In others it is more
    /// likely that they lost what they had.
    /// - Parameter blocks: which the second one is in one of.
    func meet(
        _ what: String, in table: StoredTable, _ blocks: ClosedRange<BlockNumber>, _ sums: inout TableSums
    ) throws {
        guard areMade else {
            throw StoreError.corrupt(
                "\(what), of which the tables have one already: they are damaged, or the log has it twice")
        }
        let place =
            blocks.count == 1 ? "block \(blocks.lowerBound)" : "blocks \(blocks.lowerBound) to \(blocks.upperBound)"
        warn("\(place): \(what) in the log; the first stays: verify the log")
        sums[table] = try TableSum(db, table)
    }
}
