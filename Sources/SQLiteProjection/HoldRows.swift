import GRDB
import Ledger

/// Writes the rows of `hold`: new ones, and the ends of those that were open.
final class HoldRows {
    private let insertHold: RowInsertion
    private let updateHold: PreparedStatement
    private let changedHold: ChangedRow

    init(_ db: Database) throws {
        insertHold = try RowInsertion(db, into: .hold)
        updateHold = try PreparedStatement(
            db, "UPDATE hold SET state = ?, ended = ? WHERE id = ? AND state = 'open'")
        changedHold = try ChangedRow(db, of: .hold, key: "id")
    }

    func write(
        _ holds: [BlockRows.HoldRow], ended: [WalletChanges.EndedHold], after before: LastNumbers,
        _ sums: inout TableSums
    ) throws {
        if holds.isEmpty && ended.isEmpty { return }
        var ends: [TransferID: WalletChanges.EndedHold] = [:]
        for end in ended {
            guard ends.updateValue(end, forKey: end.id) == nil else {
                throw StoreError.corrupt("hold \(end.id) ends twice")
            }
        }
        try insertHold.run(holds, &sums) { parameters, row in
            let end = ends[row.pointee.id]
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.entry)
            parameters.bind(3, row.pointee.account)
            parameters.bind(4, Int64(row.pointee.currency))
            parameters.bind(5, row.pointee.amount)
            parameters.bind(6, row.pointee.expiresAt)
            parameters.bind(7, Stored.holdStates.name(end?.state ?? .open))
            parameters.bind(8, end?.entry)
        }
        for end in ended.sorted(by: { $0.id < $1.id }) where end.id <= before.transfer {
            updateHold.bind(1, Stored.holdStates.name(end.state))
            updateHold.bind(2, end.entry)
            updateHold.bind(3, end.id)
            try changedHold.keep(&sums, end.id) { try updateHold.run(changing: 1) }
        }
    }
}
