import GRDB
import Ledger

/// A transfer, with what it changed of the value of its lot.
struct Movement {
    var id: TransferID
    var entry: EntryID
    var kind: EntryKind
    var time: Timestamp
    var account: PlayerID
    var currency: Int64
    var debit: AccountKind
    var credit: AccountKind
    var amount: Int64
    var lot: LotID
    var lotClass: LotClass
    var price: Int64
    /// The purchase that the lot came from.
    var transaction: TransactionID?
    var sold: Sold?
    /// How many were bought, where it opens the first lot of a purchase; otherwise 0.
    var quantity: Int64
    /// Of the purchase.
    var purchaseDate: Timestamp?
    var change: LotValue
    /// The money that units took along to another account; less than 0 where they left.
    var moved: Int64 = 0
    /// What it consumed of the lot; negative where it gave that back.
    var units: Int64

    /// Whether it sells something.
    var isSale: Bool { id == lot && debit == .purchased }

    /// Whether it carries over what other books had sold.
    var isImport: Bool { id == lot && debit == .imported }

    /// What is read of a movement, in the order of the columns: of the transfer, its entry, its lot, the transfer of
    /// that lot before, and the lot's purchase.
    fileprivate enum Column: Int32, CaseIterable {
        case id, entry, account, currency, debit, credit, amount, lot, debtLot
        case left, refunded, moneyDeferred, moneyRefunded
        case kind, time, firstTransfer, entryTransaction, key, note, actor
        case lotClass, price, granted, transaction
        case leftBefore, refundedBefore, moneyDeferredBefore, moneyRefundedBefore
        case quantity, purchaseDate
        /// And the columns of ``Sold`` behind it.
        case sold

        var expression: String {
            switch self {
            case .id: "t.id"
            case .entry: "t.entry"
            case .account: "t.account"
            case .currency: "t.currency"
            case .debit: "t.debit"
            case .credit: "t.credit"
            case .amount: "t.amount"
            case .lot: "t.lot"
            case .debtLot: "t.debt_lot"
            case .left: "t.lot_left"
            case .refunded: "t.lot_refunded"
            case .moneyDeferred: "t.money_deferred"
            case .moneyRefunded: "t.money_refunded"
            case .kind: "e.kind"
            case .time: "e.time"
            case .firstTransfer: "e.first_transfer"
            case .entryTransaction: "e.transaction_id"
            case .key: "e.key"
            case .note: "e.note"
            case .actor: "e.actor"
            case .lotClass: "l.class"
            case .price: "l.price"
            case .granted: "l.granted"
            case .transaction: "l.transaction_id"
            case .leftBefore: "b.lot_left"
            case .refundedBefore: "b.lot_refunded"
            case .moneyDeferredBefore: "b.money_deferred"
            case .moneyRefundedBefore: "b.money_refunded"
            case .quantity: "p.quantity"
            case .purchaseDate: "p.purchase_date"
            case .sold: Sold.columns
            }
        }

        /// Amounts, which are 0 of a transfer before that there is not.
        static let amounts: [Column] = [
            .amount, .price, .granted, .left, .refunded, .moneyDeferred, .moneyRefunded, .leftBefore, .refundedBefore,
            .moneyDeferredBefore, .moneyRefundedBefore,
        ]
    }

    fileprivate static let select = """
        SELECT \(Column.allCases.map(\.expression).joined(separator: ", "))
        FROM transfer AS t
            JOIN entry AS e ON e.id = t.entry
            JOIN lot AS l ON l.id = t.lot
            LEFT JOIN transfer AS b ON b.id = t.lot_previous
            LEFT JOIN purchase AS p ON p.transaction_id = l.transaction_id
        WHERE t.id > ?1 AND t.id <= ?2 AND (?3 IS NULL OR t.currency = ?3)
        ORDER BY t.id
        """

    fileprivate init(_ row: PreparedStatement) throws {
        id = row.integer(.id)
        lot = row.integer(.lot)
        let (amount, granted) = (row.integer(.amount), row.integer(.granted))
        let opens = id == lot
        guard let kind = Stored.entryKinds.item(row.text(.kind)),
            let debit = Stored.accountKinds.item(row.text(.debit)),
            let credit = Stored.accountKinds.item(row.text(.credit)),
            let lotClass = Stored.lotClasses.item(row.text(.lotClass)), granted > 0, amount > 0,
            Column.amounts.allSatisfy({ Plausible.isAmount(row.integer($0)) }), Plausible.isTime(row.integer(.time)),
            (row.optionalInteger(.leftBefore) == nil) == opens
        else { throw StoreError.corrupt("transfer \(id) or its lot has values that cannot be") }
        entry = row.integer(.entry)
        self.kind = kind
        time = row.integer(.time)
        account = row.integer(.account)
        currency = row.integer(.currency)
        self.debit = debit
        self.credit = credit
        self.amount = amount
        self.lotClass = lotClass
        let price = row.integer(.price)
        self.price = price
        transaction = row.optionalInteger(.transaction).map { TransactionID(number: $0) }
        sold = try Sold(row, from: Column.sold.rawValue)
        purchaseDate = row.optionalInteger(.purchaseDate)
        quantity = opens && row.integer(.firstTransfer) == id ? row.integer(.quantity) : 0

        let deferred = row.integer(.moneyDeferred)
        if !opens, debit == .moved || credit == .moved {
            // To another account, and nothing is earned by it. What is left of a lot goes out in parts, of the wallet
            // and of what is held, and then comes in so: its money goes with the last part, and comes with the first.
            change = LotValue()
            units = 0
            let left = row.integer(.leftBefore)
            if debit == .receivable || credit == .receivable { return }
            if credit == .moved {
                moved = left == amount ? -deferred : 0
            } else {
                moved = left == 0 ? deferred : 0
            }
            return
        }
        func value(_ deferred: Int64, _ refunded: Int64) -> LotValue {
            LotValue(deferred: deferred, recognised: price - deferred - refunded, refunded: refunded)
        }
        func consumed(_ left: Column, _ refunded: Column) -> Int64 {
            LotValue.Units(granted: granted, left: row.integer(left), refunded: row.integer(refunded)).consumed
        }
        let before =
            opens ? LotValue() : value(row.integer(.moneyDeferredBefore), row.integer(.moneyRefundedBefore))
        change = value(deferred, row.integer(.moneyRefunded)) - before
        // What expires is not consumed.
        units =
            opens || credit == .expired
            ? 0 : consumed(.left, .refunded) - consumed(.leftBefore, .refundedBefore)
    }
}

extension PreparedStatement {
    fileprivate func integer(_ column: Movement.Column) -> Int64 { integer(column.rawValue) }
    fileprivate func optionalInteger(_ column: Movement.Column) -> Int64? { optionalInteger(column.rawValue) }
    fileprivate func text(_ column: Movement.Column) -> String { text(column.rawValue) }
    fileprivate func optionalText(_ column: Movement.Column) -> String? { optionalText(column.rawValue) }
}

/// Reads transfers in their order, with what each changed.
struct Movements {
    private let select: PreparedStatement
    private let dates: EffectiveDates

    init(_ db: Database) throws {
        select = try PreparedStatement(db, Movement.select)
        dates = try EffectiveDates(db)
    }

    /// Calls `each` for the transfers after one up to another, until it returns false.
    /// - Returns: the last of which `each` returned true; `nil` where it did of all.
    func forEach(
        after first: TransferID, through last: TransferID, currency: Int64?, _ each: (Movement) throws -> Bool
    ) throws -> TransferID? {
        select.bind(1, first)
        select.bind(2, last)
        select.bind(3, currency)
        var passed = first
        defer { select.reset() }
        while try select.next() {
            let movement = try Movement(select)
            guard movement.id > passed else { throw StoreError.corrupt("transfers are not in their order") }
            guard try each(movement) else { return passed }
            passed = movement.id
        }
        return nil
    }

    /// What the journal says of the transfer that `forEach` is at.
    struct Details {
        var debtLot: LotID?
        var transaction: TransactionID?
        var key: String?
        var note: String?
        var actor: Int64?
    }

    var details: Details {
        Details(
            debtLot: select.optionalInteger(.debtLot),
            transaction: select.optionalInteger(.entryTransaction).map { TransactionID(number: $0) },
            key: select.optionalText(.key), note: select.optionalText(.note), actor: select.optionalInteger(.actor))
    }

    /// When it happened; `nil` where that is when it was posted.
    func effectiveDate(_ movement: Movement) throws -> Timestamp? {
        try dates.date(
            debit: movement.debit, credit: movement.credit, entry: movement.entry, transaction: movement.transaction,
            purchaseDate: movement.purchaseDate)
    }
}
