#if Postgres
import Ledger

/// The numbers that rows of a ledger's tables may have. Anybody who may write to the database may write others; a node
/// that read one goes no further, until it is mended.
enum PostgresRanges {
    /// Of a block; half of what a bigint has, so that the bounds of its partition are numbers too.
    static let blockNumbers: ClosedRange<Int64> = 1...Int64.max / 2
    /// Of a block: each term is one more than that before it.
    static let blockTerms: ClosedRange<Int64> = 1...Int64.max / 2
    /// Of the leader's row: 0 until somebody leads.
    static let terms: ClosedRange<Int64> = 0...Int64.max / 2
    static let renewals: ClosedRange<Int64> = 0...Int64.max / 2
    /// Up to a day; a node's setting has up to a minute.
    static let leaseMilliseconds: ClosedRange<Int64> = 0...86_400_000
    /// A node's setting has up to 100.
    static let weights: ClosedRange<Int64> = 1...1_000_000
    static let partitionBlocks: ClosedRange<Int64> = 1...1 << 40
    /// Of the tables that `project` writes: entries, accounts and whatever else is numbered.
    static let counts: ClosedRange<Int64> = 0...Int64.max / 2
}

extension PostgresRows {
    /// A number, which must be in its range.
    /// - Parameter place: what the number is called: its table and its column.
    /// - Throws: ``PostgresFault`` `corrupt`, which names the place and the number.
    func number(
        _ row: Int, _ column: Int32, in range: ClosedRange<Int64>, _ place: @autoclosure () -> String
    ) throws(PostgresFault) -> Int64 {
        let number = number(row, column)
        if range.contains(number) { return number }
        throw PostgresFault(.decided(.corrupt), PostgresRanges.words(number, range, place()))
    }
}

extension PostgresRanges {
    fileprivate static func words(_ number: Int64, _ range: ClosedRange<Int64>, _ place: String) -> String {
        "\(place) is \(number), and must be from \(range.lowerBound) to \(range.upperBound)"
    }
}

extension PostgresLeader {
    /// What of the row is outside of its range, in words.
    func faults(in table: String) -> [String] {
        [
            ("term", reign, PostgresRanges.terms), ("lease_ms", leaseMilliseconds, PostgresRanges.leaseMilliseconds),
            ("renewals", renewals, PostgresRanges.renewals),
        ].compactMap { name, number, range in
            range.contains(number) ? nil : PostgresRanges.words(number, range, "\(table).\(name)")
        }
    }

    /// The row, where all of its numbers are in their range; `nil` where there is no row.
    /// - Throws: ``PostgresFault`` `corrupt`, which names the columns and the numbers.
    init?(checked rows: PostgresRows, _ schema: PostgresSchema) throws(PostgresFault) {
        self.init(rows)
        let faults = faults(in: "\(schema.name).leader")
        if !faults.isEmpty { throw PostgresFault(.decided(.corrupt), faults.joined(separator: "; ")) }
    }
}

extension LogHead {
    /// The head that ``PostgresSchema/head`` answers; `nil` where there is no block.
    init?(
        _ rows: PostgresRows, _ schema: PostgresSchema, _ refuse: (String) -> PostgresFault
    ) throws(PostgresFault) {
        guard rows.count > 0 else { return nil }
        guard let hash = Digest(Array(rows.bytes(0, 2))) else { throw refuse("the last block has no hash") }
        let table = "\(schema.name).block"
        self.init(
            number: try rows.number(0, 0, in: PostgresRanges.blockNumbers, "\(table).id of the last block"),
            term: try rows.number(0, 1, in: PostgresRanges.blockTerms, "\(table).term of the last block"), hash: hash)
    }
}
#endif
