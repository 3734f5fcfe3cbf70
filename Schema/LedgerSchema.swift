/// The schema of each engine, embedded in the binary.
package enum LedgerSchema {
    /// The SQLite migrations in order; a database is at the format that is their number.
    package static let sqlite: [Migration] = [
        Migration(name: "format 1", sql: String(decoding: PackageResources.format1_sql, as: UTF8.self))
    ]

    /// One shipped step of a schema.
    package struct Migration: Sendable {
        package let name: String
        package let sql: String
    }
}
