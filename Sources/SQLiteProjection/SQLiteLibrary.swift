internal import CSQLite

/// Settings of SQLite that hold for the whole process.
enum SQLiteLibrary {
    /// Has SQLite not count the memory that it uses, where it is not in use yet. Nothing of ours asks for that, and the
    /// counters stand under one lock, which every connection takes for each piece of memory: whoever decides requests
    /// waited there for threads that read reports.
    /// - Returns: whether SQLite does not count.
    static let countsNoMemory = ledger_sqlite_count_memory(0) == SQLITE_OK
}
