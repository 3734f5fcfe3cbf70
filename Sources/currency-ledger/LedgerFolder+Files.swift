import FileLog

extension LedgerFolder {
    /// The tables, which can be made anew from the log at any time.
    var projection: String { path + "/projection.sqlite" }

    /// There where damage was found in the tables: the next start makes them anew.
    var damageMark: String { path + "/projection.damaged" }
}
