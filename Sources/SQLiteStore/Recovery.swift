import GRDB
import Ledger

/// The state of the tables at start, or after a commit that failed: where the journal ends, and how far behind it the
/// projection is.
struct Recovery {
    let books: Books
    let head: BlockHead?
    let watermark: JournalPosition
    private let totalsTransfer: TransferID

    init(_ db: Database, catalog: Catalog, hash: @escaping HashFunction) throws {
        let codes = try String.fetchAll(db, sql: "SELECT code FROM currency ORDER BY id").map { text in
            guard let code = CurrencyCode(text) else { throw StoreError("the name of a currency cannot be read") }
            return code
        }
        var position = JournalPosition()
        let block = try PreparedStatement(
            db,
            """
            SELECT id, hash, time, account, entry, transfer, evidence, assignment, notification, request
            FROM block ORDER BY id DESC LIMIT 1
            """)
        if try block.next() {
            guard let hash = Digest(block.blob(1)) else {
                throw StoreError("the hash of block \(block.integer(0)) has not 32 bytes")
            }
            head = BlockHead(id: block.integer(0), hash: hash)
            position.time = block.integer(2)
            position.account = block.integer(3)
            position.entry = block.integer(4)
            position.transfer = block.integer(5)
            position.evidence = block.integer(6)
            position.assignment = block.integer(7)
            position.notification = block.integer(8)
            position.request = block.integer(9)
            block.reset()
        } else {
            head = nil
        }
        try Recovery.checkEnd(db, position)

        var totals = Totals(currencies: codes.count)
        for row in try Row.fetchAll(db, sql: "SELECT currency, kind, debits, credits FROM total") {
            let currency: Int64 = row["currency"]
            guard let kind = AccountKind(rawValue: row["kind"]), currency >= 1, currency <= codes.count else {
                throw StoreError("a total of currency \(currency) belongs to no account")
            }
            totals[CurrencyID(currency), kind] = Totals.Turnover(debits: row["debits"], credits: row["credits"])
        }
        guard let row = try Row.fetchOne(db, sql: "SELECT transfer, account, totals_transfer FROM watermark") else {
            throw StoreError("the projection has no watermark")
        }
        var watermark = JournalPosition()
        watermark.transfer = row["transfer"]
        watermark.account = row["account"]
        self.watermark = watermark
        totalsTransfer = row["totals_transfer"]
        books = Books(catalog: catalog, known: codes, position: position, totals: totals, hash: hash)
    }

    /// Applies the transfers after the watermark, each to the wallets and totals that do not include it yet.
    func replay(_ db: Database, into books: inout Books, _ loader: BooksLoader) throws {
        let tail = try PreparedStatement(
            db,
            """
            SELECT t.id, t.entry, t.debit, t.credit, t.amount, t.lot, t.debt_lot, t.previous, opening.credit, e.time,
                e.transaction_id, p.price, h.expires_at, x.expires_at, t.reference
            FROM transfer AS t
                JOIN entry AS e ON e.id = t.entry
                JOIN transfer AS opening ON opening.id = t.lot
                LEFT JOIN purchase AS p ON p.transaction_id = e.transaction_id AND t.id = t.lot
                LEFT JOIN hold AS h ON h.id = t.id
                LEFT JOIN lot_expiry AS x ON x.lot = t.id
            WHERE t.id > ? ORDER BY t.id
            """)
        tail.bind(1, watermark.transfer)
        var expected = watermark.transfer
        while try tail.next() {
            let id = tail.integer(0)
            expected += 1
            guard id == expected else { throw StoreError("transfer \(expected) is missing from the journal") }
            guard let debit = LedgerAccount(number: tail.integer(2)),
                let credit = LedgerAccount(number: tail.integer(3)),
                debit.currency >= 1, debit.currency <= books.currencies.count,
                let owner = LedgerAccount(number: tail.integer(8))
            else { throw StoreError("transfer \(id) names an account that cannot be") }
            let transfer = Transfer(
                id: id, entry: tail.integer(1), debit: debit, credit: credit, amount: tail.integer(4),
                lot: tail.integer(5), debtLot: tail.optionalInteger(6), previous: tail.integer(7),
                reference: tail.optionalInteger(14))
            try loader.load(player: owner.player, into: &books)
            let isProjected = books.lastTransfer(owner.player, debit.currency) >= id
            let isTotalled = totalsTransfer >= id
            if isProjected {
                if !isTotalled { books.addToTotals(transfer) }
                continue
            }
            var opening: Lot?
            if transfer.lot == id {
                opening = Lot(
                    id: id, lotClass: debit.kind == .purchased ? .paid : .free,
                    transaction: tail.optionalInteger(10).map { TransactionID(number: $0) }, time: tail.integer(9),
                    price: tail.optionalInteger(11) ?? 0, granted: transfer.amount, remaining: 0,
                    expiresAt: tail.optionalInteger(13))
            } else {
                try loader.load(lots: [transfer.lot], of: owner.player, debit.currency, into: &books)
            }
            let hold = tail.optionalInteger(12).map { OpenHold(id: id, currency: debit.currency, expiresAt: $0) }
            let previous = books.apply(
                transfer, player: owner.player, opening: opening, hold: hold, isTotalled: isTotalled)
            guard previous == transfer.previous else {
                throw StoreError("transfer \(id) follows \(previous) in its wallet, but names \(transfer.previous)")
            }
        }
    }

    /// Rows after the last block were written by other hands: a commit writes both or neither.
    private static func checkEnd(_ db: Database, _ position: JournalPosition) throws {
        let lastTransfer = try Int64.fetchOne(db, sql: "SELECT max(id) FROM transfer") ?? 0
        let lastEntry = try Int64.fetchOne(db, sql: "SELECT max(id) FROM entry") ?? 0
        guard lastTransfer == position.transfer, lastEntry == position.entry else {
            throw StoreError(
                """
                the journal ends at entry \(lastEntry) and transfer \(lastTransfer), \
                but its last block at \(position.entry) and \(position.transfer)
                """)
        }
    }
}
