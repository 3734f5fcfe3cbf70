import GRDB
import Ledger
import LedgerSchema

/// The row of `projection`, with the currencies and totals.
struct StoredState {
    /// `nil` where nothing was applied yet.
    var head: LogHead?
    /// Whose books these are; `nil` where nothing was applied yet.
    var ledger: BlockRows.LedgerRow?
    var time: Timestamp = 0
    var position = LastNumbers()
    var closedThrough: Timestamp = -1
    var currencies: [CurrencyCode] = []
    var totals = ClassTotals(currencies: 0)
    /// Of all tables but this row's own.
    var sums = TableSums()

    init() {}

    // MARK: Advancing

    /// Goes on by one block, which must be the next.
    mutating func advance(by opened: OpenedBlock) throws {
        let block = opened.block
        guard block.number == (head?.number ?? 0) + 1 else {
            throw StoreError("block \(block.number) does not follow block \(head?.number ?? 0), the last of the tables")
        }
        guard block.previous == head?.hash ?? Digest.zero else {
            throw StoreError.corrupt("block \(block.number) does not continue the block before it, by its hash")
        }
        guard (block.rows.ledger != nil) == (block.number == 1) else {
            throw StoreError.corrupt("block \(block.number): the first, and it alone, says whose books these are")
        }
        guard position.after(block.rows) == block.position else {
            throw StoreError.corrupt("block \(block.number): the rows do not end where the block does")
        }
        guard block.time >= time else {
            throw StoreError.corrupt("block \(block.number) is earlier than the block before it")
        }
        if let row = block.rows.ledger { ledger = row }
        head = opened.head
        time = block.time
        position = block.position
        if let closed = block.rows.closedThrough { closedThrough = closed }
    }

    mutating func add(_ rows: [BlockRows.CurrencyRow]) {
        if rows.isEmpty { return }
        currencies += rows.map(\.code)
        totals.extend(to: currencies.count)
    }

    mutating func add(_ turnovers: Turnovers) throws {
        for number in stride(from: 1, through: currencies.count, by: 1) {
            let currency = CurrencyID(truncatingIfNeeded: number)
            for (lotClass, kind) in ClassTotals.kinds {
                let added = turnovers[currency, lotClass, kind]
                let total = totals[currency, lotClass, kind]
                let debits = total.debits.addingReportingOverflow(added.debits)
                let credits = total.credits.addingReportingOverflow(added.credits)
                guard !debits.overflow, !credits.overflow else {
                    throw StoreError.corrupt("the turnovers of currency \(currency) leave their range")
                }
                totals[currency, lotClass, kind] = Totals.Turnover(
                    debits: debits.partialValue, credits: credits.partialValue)
            }
        }
    }

    // MARK: The row

    static let columns = [
        "bundle_id", "environment", "block", "term", "hash", "time", "currency", "actor", "account", "header", "entry",
        "transfer", "evidence", "assignment", "notification", "request", "entry_time", "closed_through", "sums",
    ]

    static let insert = """
        INSERT INTO projection (id, format, \(columns.joined(separator: ", ")))
        VALUES (1, \(LedgerSchema.projectionFormat)\(String(repeating: ", ?", count: columns.count)))
        """

    static let update = """
        UPDATE projection SET \(columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE id = 1
        """

    /// Writes the row.
    func write(to statement: PreparedStatement) throws {
        var statement = statement
        bind(to: &statement)
        let bytes = sums.bytes + bytes(of: hash)
        bytes.withUnsafeBytes { statement.bind(19, copiedBlob: $0) }
        try statement.run(changing: 1)
    }

    /// Of this row's other columns and of the sums.
    private var hash: RowHash {
        var hash = RowHash()
        bind(to: &hash)
        sums.bytes.withUnsafeBytes { hash.add(blob: $0) }
        return hash
    }

    private func bytes(of hash: RowHash) -> [UInt8] { withUnsafeBytes(of: hash.value.littleEndian) { [UInt8]($0) } }

    private func bind(to statement: inout some RowSink) {
        statement.bind(1, ledger?.bundleID)
        statement.bind(2, ledger?.environment)
        statement.bind(3, head?.number ?? 0)
        statement.bind(4, head?.term ?? 0)
        statement.bind(5, head?.hash ?? Digest.zero)
        statement.bind(6, time)
        statement.bind(7, position.currency)
        statement.bind(8, position.actor)
        statement.bind(9, position.account)
        statement.bind(10, position.header)
        statement.bind(11, position.entry)
        statement.bind(12, position.transfer)
        statement.bind(13, position.evidence)
        statement.bind(14, position.assignment)
        statement.bind(15, position.notification)
        statement.bind(16, position.request)
        statement.bind(17, position.time)
        statement.bind(18, closedThrough)
    }

    /// Reads the row, and compares it with the ends of the tables.
    /// - Throws: ``StoreError`` where there is none, or one that does not fit.
    init(_ db: Database) throws {
        try self.init(rowOf: db)
        try checkEnds(db)
        currencies = try StoredState.currencies(db)
        guard currencies.count == Int(position.currency) else {
            throw StoreError.corrupt("there are \(currencies.count) currencies, not \(position.currency)")
        }
        try readTotals(db)
    }

    /// Reads the row alone, without currencies and totals.
    /// - Throws: ``StoreError`` where there is none, or one that does not fit its own hash.
    init(rowOf db: Database) throws {
        let row = try PreparedStatement(
            db, "SELECT \(StoredState.columns.joined(separator: ", ")) FROM projection WHERE id = 1")
        guard try row.next() else { throw StoreError.corrupt("the tables do not say what they hold") }
        defer { row.reset() }
        guard let hash = Digest(row.blob(4)), (2...17).allSatisfy({ $0 == 4 || Plausible.isTime(row.integer($0)) }),
            row.integer(2) >= 0
        else { throw StoreError.corrupt("what the tables say of themselves cannot be read") }
        if row.integer(2) > 0 { head = LogHead(number: row.integer(2), term: row.integer(3), hash: hash) }
        if let bundleID = row.optionalText(0), let environment = row.optionalText(1) {
            ledger = BlockRows.LedgerRow(bundleID: bundleID, environment: environment)
        }
        time = row.integer(5)
        position.currency = row.integer(6)
        position.actor = row.integer(7)
        position.account = row.integer(8)
        position.header = row.integer(9)
        position.entry = row.integer(10)
        position.transfer = row.integer(11)
        position.evidence = row.integer(12)
        position.assignment = row.integer(13)
        position.notification = row.integer(14)
        position.request = row.integer(15)
        position.time = row.integer(16)
        closedThrough = row.integer(17)
        let bytes = row.blob(18)
        sums = try StoredState.sums(bytes)
        guard bytes.suffix(8).elementsEqual(self.bytes(of: self.hash)) else {
            throw StoreError.corrupt("what the tables say of themselves does not fit their sums")
        }
    }

    /// What the rows of the tables must sum up to.
    static func sums(_ db: Database) throws -> TableSums {
        let bytes = try PreparedStatement(db, "SELECT sums FROM projection WHERE id = 1").first { $0.blob(0) }
        return try sums(bytes ?? [])
    }

    private static func sums(_ bytes: [UInt8]) throws -> TableSums {
        guard let sums = TableSums(bytes.dropLast(8)) else {
            throw StoreError.corrupt("the sums of the tables cannot be read")
        }
        return sums
    }

    /// The currencies by number.
    static func currencies(_ db: Database) throws -> [CurrencyCode] {
        var codes: [CurrencyCode] = []
        try PreparedStatement(db, "SELECT id, code FROM currency ORDER BY id").forEach { row in
            guard row.integer(0) == Int64(codes.count + 1), let code = CurrencyCode(row.text(1)) else {
                throw StoreError.corrupt("currency \(row.integer(0)) is not the next, or has a name that cannot be")
            }
            codes.append(code)
        }
        guard codes.count <= Limits.currenciesMax else { throw StoreError.corrupt("there are too many currencies") }
        return codes
    }

    /// The last row of each table that is numbered without gaps is the last that was given.
    private func checkEnds(_ db: Database) throws {
        let ends: [(table: String, column: String, expected: Int64)] = [
            ("block", "number", head?.number ?? 0), ("actor", "id", position.actor),
            ("account", "id", position.account), ("jws_header", "id", position.header),
            ("entry", "id", position.entry), ("transfer", "id", position.transfer),
        ]
        for end in ends {
            let last = try Int64.fetchOne(db, sql: "SELECT max(\(end.column)) FROM \(end.table)") ?? 0
            guard last == end.expected else {
                throw StoreError.corrupt("\(end.table) ends with \(last), not with \(end.expected)")
            }
        }
    }

    private mutating func readTotals(_ db: Database) throws {
        totals = ClassTotals(currencies: currencies.count)
        let count = currencies.count
        var read = 0
        try PreparedStatement(db, "SELECT currency, class, kind, debits, credits FROM total").forEach { row in
            guard let lotClass = Stored.lotClasses.item(row.text(1)), let kind = Stored.accountKinds.item(row.text(2)),
                row.integer(0) >= 1, row.integer(0) <= count, let debits = row.sum(3), let credits = row.sum(4)
            else { throw StoreError.corrupt("a total of currency \(row.integer(0)) cannot be read") }
            totals[CurrencyID(truncatingIfNeeded: row.integer(0)), lotClass, kind] =
                Totals.Turnover(debits: debits, credits: credits)
            read += 1
        }
        guard read == count * ClassTotals.kinds.count else { throw StoreError.corrupt("totals are missing") }
        let sums = totals.sums
        for number in stride(from: 1, through: count, by: 1) {
            let currency = CurrencyID(truncatingIfNeeded: number)
            guard sums.balance(of: currency) == 0 else {
                throw StoreError.corrupt("the totals of currency \(currency) do not balance")
            }
        }
    }
}

extension LastNumbers {
    /// Where the rows that follow this place end.
    fileprivate func after(_ rows: BlockRows) -> LastNumbers {
        var end = self
        end.currency += Int64(rows.currencies.count)
        end.actor += Int64(rows.actors.count)
        end.account += Int64(rows.accounts.count)
        end.header += Int64(rows.headers.count)
        end.entry += Int64(rows.entries.count)
        end.transfer += Int64(rows.transfers.count)
        end.evidence += Int64(rows.evidence.count)
        end.assignment += Int64(rows.assignments.count)
        end.notification += Int64(rows.notifications.count)
        end.request += Int64(rows.requests.count)
        if let last = rows.entries.last { end.time = last.time }
        return end
    }
}
