/// The tables of each engine, embedded in the binary.
package enum LedgerSchema {
    /// The number of the form of the tables in ``projection``. Tables of another form are computed anew from the
    /// blocks, so a change of the tables is a change of this number and nothing more.
    package static let projectionFormat: Int64 = 12

    /// The statements that create the tables of the SQLite projection.
    package static let projection = String(decoding: PackageResources.projection_sql, as: UTF8.self)

    /// The statements that create the same tables and views in PostgreSQL, in the schema that is searched first.
    ///
    /// Integers are `bigint`, sums `numeric`, and `lot.is_open` is a `boolean`, so that conditions on it can be written
    /// as they are here. Sums of rows are left out: they are for the tables that decisions are made on.
    package static var postgresTables: String {
        var text = projection
        for (sqlite, postgres) in differences { text = text.replacing(sqlite, with: postgres) }
        return text
    }

    private static let differences = [
        (" STRICT, WITHOUT ROWID;", ";"), (" STRICT;", ";"),
        ("is_open INTEGER", "is_open boolean"), (" INTEGER", " bigint"), (" TEXT", " text"), (" BLOB", " bytea"),
        (" ANY NOT NULL CHECK (typeof(debits) IN ('integer', 'text'))", " numeric NOT NULL"),
        (" ANY NOT NULL CHECK (typeof(credits) IN ('integer', 'text'))", " numeric NOT NULL"),
        ("result IS 'refused'", "result IS NOT DISTINCT FROM 'refused'"),
        ("closed_through bigint NOT NULL,", "closed_through bigint NOT NULL"),
        ("    sums bytea NOT NULL\n", ""),
    ]
}
