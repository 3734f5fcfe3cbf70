import FileLog

extension LedgerFolder {
    /// The tables, which can be made anew from the log at any time.
    var projection: String { path + "/projection.sqlite" }

    var damageMark: DamageMark { DamageMark(path: path + "/projection.damaged") }
}
