/// The tables of each engine, embedded in the binary.
package enum LedgerSchema {
    /// The number of the form of the tables in ``projection``. Tables of another form are computed anew from the
    /// blocks, so a change of the tables is a change of this number and nothing more.
    package static let projectionFormat: Int64 = 11

    /// The statements that create the tables of the SQLite projection.
    package static let projection = String(decoding: PackageResources.projection_sql, as: UTF8.self)
}
