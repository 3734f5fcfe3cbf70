internal import CSQLite

/// Settings of SQLite that hold for the whole process.
enum SQLiteLibrary {
    /// Has SQLite not count the memory that it uses. Nothing of ours asks for that, and the counters stand under one
    /// lock, which every connection takes for each piece of memory: whoever decides requests waited there for threads
    /// that read reports.
    /// - Returns: `false` where SQLite goes on counting, as it does where it is in use already.
    static func stopCountingMemory() -> Bool { ledger_sqlite_count_memory(0) == SQLITE_OK }
}
