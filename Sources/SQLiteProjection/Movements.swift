import GRDB
import Ledger

/// What was sold, where, for which money and by whom.
struct Sold: Hashable {
    var product: String
    var storefront: String?
    var priceCurrency: String?
    var source: PurchaseSource

    /// The values of the columns `product`, `storefront`, `priceCurrency` and `source`.
    var values: [ReportValue?] {
        [
            .text(product), storefront.map { .text($0) }, priceCurrency.map { .text($0) },
            .text(Stored.sources.text(source)),
        ]
    }

    static let columns = "p.product, p.storefront, p.price_currency, p.source"

    /// - Parameter first: the column in which the product stands.
    init?(_ row: PreparedStatement, from first: Int32) throws {
        guard let product = row.optionalText(first) else { return nil }
        guard let source = Stored.sources.item(row.text(first + 3)) else {
            throw StoreError.corrupt("a purchase of \(product) has a source that there is not")
        }
        self.product = product
        storefront = row.optionalText(first + 1)
        priceCurrency = row.optionalText(first + 2)
        self.source = source
    }
}

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

    fileprivate static let select = """
        SELECT
            t.id, t.entry, e.kind, e.time, t.account, t.currency, t.debit, t.credit, t.amount, t.lot, t.lot_left,
            t.lot_refunded, l.class, l.price, l.granted, l.transaction_id, e.first_transfer, p.quantity,
            p.purchase_date, \(Sold.columns), t.money_deferred, t.money_refunded, b.lot_left, b.lot_refunded,
            b.money_deferred, b.money_refunded, t.debt_lot, e.transaction_id, e.key, e.note, e.actor
        FROM transfer AS t
            JOIN entry AS e ON e.id = t.entry
            JOIN lot AS l ON l.id = t.lot
            LEFT JOIN transfer AS b ON b.id = t.lot_previous
            LEFT JOIN purchase AS p ON p.transaction_id = l.transaction_id
        WHERE t.id > ?1 AND t.id <= ?2 AND (?3 IS NULL OR t.currency = ?3)
        ORDER BY t.id
        """

    fileprivate init(_ row: PreparedStatement) throws {
        id = row.integer(0)
        let (amount, granted) = (row.integer(8), row.integer(14))
        guard let kind = Stored.entryKinds.item(row.text(2)), let debit = Stored.accountKinds.item(row.text(6)),
            let credit = Stored.accountKinds.item(row.text(7)), let lotClass = Stored.lotClasses.item(row.text(12)),
            granted > 0, ([8, 10, 11, 13, 14] + (23...28)).allSatisfy({ Plausible.isAmount(row.integer($0)) }),
            Plausible.isTime(row.integer(3)), (row.optionalInteger(25) == nil) == (id == row.integer(9)), amount > 0
        else { throw StoreError.corrupt("transfer \(id) or its lot has values that cannot be") }
        entry = row.integer(1)
        self.kind = kind
        time = row.integer(3)
        account = row.integer(4)
        currency = row.integer(5)
        self.debit = debit
        self.credit = credit
        self.amount = amount
        lot = row.integer(9)
        self.lotClass = lotClass
        let price = row.integer(13)
        self.price = price
        transaction = row.optionalInteger(15).map { TransactionID(number: $0) }
        sold = try Sold(row, from: 19)
        purchaseDate = row.optionalInteger(18)
        quantity = id == lot && row.integer(16) == id ? row.integer(17) : 0

        let opens = row.integer(0) == row.integer(9)
        if !opens, debit == .moved || credit == .moved {
            // To another account, and nothing is earned by it. What goes out comes in with the next transfer.
            change = LotValue()
            units = 0
            let isOut = credit == .moved
            let left = row.integer(25) + (isOut ? 0 : amount)
            let isOfWallet = debit != .receivable && credit != .receivable
            if isOfWallet && left > 0 && amount <= left {
                let money = left.dividingFullWidth(row.integer(23).multipliedFullWidth(by: amount)).quotient
                moved = isOut ? -money : money
            }
            return
        }
        func value(from first: Int32) -> LotValue {
            let (deferred, refunded) = (row.integer(first), row.integer(first + 1))
            return LotValue(deferred: deferred, recognised: price - deferred - refunded, refunded: refunded)
        }
        func consumed(from first: Int32) -> Int64 {
            LotValue.Units(granted: granted, left: row.integer(first), refunded: row.integer(first + 1)).consumed
        }
        change = value(from: 23) - (opens ? LotValue() : value(from: 27))
        // What expires is not consumed.
        units = opens || credit == .expired ? 0 : consumed(from: 10) - consumed(from: 25)
    }
}

/// Reads transfers in their order, with what each changed.
struct Movements {
    private let select: PreparedStatement
    private let selectDate: PreparedStatement

    init(_ db: Database) throws {
        select = try PreparedStatement(db, Movement.select)
        // By the JWS that the entry was posted for.
        selectDate = try PreparedStatement(
            db,
            """
            SELECT revocation_date FROM purchase_event WHERE transaction_id = ?1 AND entry = ?2
            UNION ALL
            SELECT revocation_date FROM purchase WHERE transaction_id = ?1 AND entry = ?2
            """)
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
            debtLot: select.optionalInteger(29),
            transaction: select.optionalInteger(30).map { TransactionID(number: $0) }, key: select.optionalText(31),
            note: select.optionalText(32), actor: select.optionalInteger(33))
    }

    /// When it happened: a sale when the customer bought, a refund when the App Store took it back, where that was
    /// said; anything else when it was posted.
    func effectiveTime(_ movement: Movement) throws -> Timestamp {
        if movement.isSale { return movement.purchaseDate ?? movement.time }
        guard movement.debit == .refunded || movement.credit == .refunded, let transaction = movement.transaction
        else { return movement.time }
        selectDate.bind(1, transaction.number)
        selectDate.bind(2, movement.entry)
        return try selectDate.first { $0.optionalInteger(0) }.flatMap { $0 } ?? movement.time
    }
}

/// A lot as it was after a transfer.
struct PastLot {
    var stored: StoredLot
    var sold: Sold?
    var purchaseDate: Timestamp?
    private(set) var left: Int64
    private(set) var refunded: Int64
    private(set) var value: LotValue
    private var last: TransferID

    static func select(_ condition: String) -> String {
        let columns = StoredLot.columns.split(separator: ",").map { "l." + $0.drop { $0 == " " || $0 == "\n" } }
        return """
            SELECT \(columns.joined(separator: ", ")), p.purchase_date, \(Sold.columns)
            FROM lot AS l LEFT JOIN purchase AS p ON p.transaction_id = l.transaction_id
            WHERE l.id > ?1 AND l.id <= ?2 AND (?3 IS NULL OR l.currency = ?3)\(condition)
            ORDER BY l.id
            """
    }

    /// The lot as it is now.
    init(_ row: PreparedStatement) throws {
        stored = try StoredLot(row)
        purchaseDate = row.optionalInteger(24)
        sold = try Sold(row, from: 25)
        left = stored.lot.remaining + stored.lot.held
        refunded = stored.lot.refunded
        value = stored.value
        last = stored.lastOwn
    }

    /// Goes back to what the lot was after a transfer, along its own transfers.
    /// - Returns: how many were looked at.
    mutating func rewind(to transfer: TransferID, _ selectTransfer: PreparedStatement) throws -> Int {
        var steps = 0
        while last > transfer {
            let newest = try read(selectTransfer)
            guard let newest, newest.previous < last, (newest.previous == 0) == (last == stored.lot.id),
                (newest.left, newest.refunded, newest.value) == (left, refunded, value)
            else { throw StoreError.corrupt("lot \(stored.lot.id) is not what its transfers left of it") }
            last = newest.previous
            steps += 1
            if last == 0 {
                (left, refunded, value) = (0, 0, LotValue())
                break
            }
            guard let before = try read(selectTransfer) else {
                throw StoreError.corrupt("transfer \(last) of lot \(stored.lot.id) is missing")
            }
            (left, refunded, value) = (before.left, before.refunded, before.value)
        }
        return steps
    }

    /// What the last transfer left of the lot; `nil` where it is none of its own.
    private func read(
        _ select: PreparedStatement
    ) throws -> (previous: TransferID, left: Int64, refunded: Int64, value: LotValue)? {
        select.bind(1, last)
        return try select.first { row in
            guard row.integer(0) == stored.lot.id, (1...5).allSatisfy({ Plausible.isAmount(row.integer($0)) }) else {
                return nil
            }
            let (deferred, refunded) = (row.integer(4), row.integer(5))
            return (
                row.integer(1), row.integer(2), row.integer(3),
                LotValue(
                    deferred: deferred, recognised: stored.lot.price - deferred - refunded, refunded: refunded)
            )
        } ?? nil
    }

    static let selectTransfer = """
        SELECT lot, lot_previous, lot_left, lot_refunded, money_deferred, money_refunded FROM transfer WHERE id = ?
        """
}
