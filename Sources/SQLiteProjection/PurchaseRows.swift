import GRDB
import Ledger

/// Writes what the tables have of purchases: the rows of `purchase`, `assignment` and `event`.
final class PurchaseRows {
    private let insertPurchase: RowInsertion
    private let updatePurchase: PreparedStatement
    private let changedPurchase: ChangedRow
    private let insertAssignment: RowInsertion
    private let eventCount: EventCount
    private let insertEvent: RowInsertion
    private let doubles: DoubledRows

    init(_ db: Database, _ doubles: DoubledRows) throws {
        self.doubles = doubles
        insertPurchase = try RowInsertion(db, into: .purchase, firstOf: "transaction_id")
        updatePurchase = try PreparedStatement(
            db, "UPDATE purchase SET account = ?, entry = ? WHERE transaction_id = ? AND account IS NULL")
        changedPurchase = try ChangedRow(db, of: .purchase, key: "transaction_id")
        insertAssignment = try RowInsertion(db, into: .assignment)
        eventCount = try EventCount(db)
        insertEvent = try RowInsertion(db, into: .event)
    }

    func insert(
        _ rows: [BatchRows.NewPurchase], of blocks: ClosedRange<BlockNumber>, _ codes: [CurrencyCode],
        _ sums: inout TableSums
    ) throws {
        // The same for each purchase of a product: made once for as many as follow each other.
        var grants: (of: [PurchaseRegister.Grant], text: String) = ([], "")
        let isWhole = try insertPurchase.run(rows, &sums) { parameters, row in
            let purchase = row.pointee.row
            if purchase.grants != grants.of {
                grants = (purchase.grants, try StoredGrants.text(purchase.grants, codes))
            }
            parameters.bind(1, purchase.facts.transaction.number)
            parameters.bind(2, purchase.account)
            parameters.bind(3, purchase.entry)
            parameters.bind(4, purchase.facts.product)
            parameters.bind(5, purchase.facts.quantity)
            parameters.bind(6, purchase.facts.purchaseDate)
            parameters.bind(7, purchase.facts.price)
            parameters.bind(8, purchase.facts.priceCurrency)
            parameters.bind(9, Stored.sources.name(purchase.facts.source))
            parameters.bind(10, purchase.facts.storefront)
            parameters.bind(11, purchase.facts.offer?.type)
            parameters.bind(12, purchase.facts.offer?.identifier)
            parameters.bind(13, purchase.facts.offer?.discountType)
            parameters.bind(14, purchase.facts.original?.number)
            parameters.bind(15, purchase.facts.ownership)
            parameters.bind(16, grants.text)
            parameters.bind(17, row.pointee.first.signedDate)
            parameters.bind(18, row.pointee.first.revoked)
            parameters.bind(19, row.pointee.first.revocationDate)
            parameters.bind(20, row.pointee.first.time)
            parameters.bind(21, row.pointee.first.evidence)
            parameters.bind(22, row.pointee.block)
        }
        if !isWhole { try doubles.meet("a transaction id is two purchases", in: .purchase, blocks, &sums) }
    }

    func insert(_ rows: [BlockRows.AssignmentRow], _ sums: inout TableSums) throws {
        try insertAssignment.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.transaction.number)
            parameters.bind(3, row.pointee.account)
            parameters.bind(4, row.pointee.entry)
            parameters.bind(5, row.pointee.time)
        }
    }

    func assign(_ row: BlockRows.AssignmentRow, _ sums: inout TableSums) throws {
        updatePurchase.bind(1, row.account)
        updatePurchase.bind(2, row.entry)
        updatePurchase.bind(3, row.transaction.number)
        try changedPurchase.keep(&sums, row.transaction.number) { try updatePurchase.run(changing: 1) }
    }

    func insert(_ rows: [BatchRows.NewEvent], _ sums: inout TableSums) throws {
        // Those of one purchase follow each other.
        var last: (transaction: TransactionID, number: Int64)?
        try insertEvent.run(rows, &sums) { parameters, row in
            let event = row.pointee.event
            let before = last?.transaction == event.transaction ? last?.number : nil
            let number = try (before ?? eventCount.last(of: event.transaction)) + 1
            last = (event.transaction, number)
            parameters.bind(1, event.transaction.number)
            parameters.bind(2, number)
            parameters.bind(3, event.kind.rawValue)
            parameters.bind(4, event.record)
            parameters.bind(5, event.time)
            parameters.bind(6, event.signedDate)
            parameters.bind(7, event.revoked)
            parameters.bind(8, row.pointee.revocationDate)
            parameters.bind(9, event.entry)
            parameters.bind(10, event.reason)
            parameters.bind(11, event.end?.name)
            parameters.bind(12, event.end?.code)
            parameters.bind(13, event.body)
            parameters.bind(14, row.pointee.block)
        }
    }
}
