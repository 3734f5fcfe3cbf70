import GRDBSQLite

/// The lock for writing, which a connection keeps that is told to.
extension PageChecks {
    /// Of the lock for writing of a connection.
    enum Lock: UInt64 {
        /// It is taken and given back as SQLite asks for it.
        case passed
        /// It is to be kept once it is taken.
        case toBeKept
        /// SQLite has given it back, and it is kept.
        case kept
    }

    static func lock(_ file: File?) -> UnsafeMutablePointer<Lock> {
        guard let file else { preconditionFailure("SQLite calls a file's method without a file") }
        return (UnsafeMutableRawPointer(file) + 16).assumingMemoryBound(to: Lock.self)
    }

    /// Of this VFS's own, above those of SQLite's (https://sqlite.org/c3ref/file_control.html).
    private static let keepLockOpcode: Int32 = 0x4C44_6701

    /// Has a connection to tables with checksums keep the lock for writing from its next transaction that writes on,
    /// until this is said again, or it is closed.
    static func keepLock(_ keeps: Bool, for database: OpaquePointer?) {
        var keeps: Int32 = keeps ? 1 : 0
        let code = sqlite3_file_control(database, "main", keepLockOpcode, &keeps)
        precondition(code == SQLITE_OK, "the tables were not opened with checksums")
    }

    static func control(_ file: File?, _ opcode: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        guard opcode == keepLockOpcode, let argument else {
            return below(file).pointee.pMethods.pointee.xFileControl(below(file), opcode, argument)
        }
        giveBack(file)
        lock(file).pointee = argument.load(as: Int32.self) != 0 ? .toBeKept : .passed
        return SQLITE_OK
    }

    /// The lock for writing is the first one (https://sqlite.org/walformat.html#wal_locks).
    static func lock(_ file: File?, _ first: Int32, _ count: Int32, _ flags: Int32) -> Int32 {
        if first == 0 && count == 1 {
            switch (lock(file).pointee, flags & SQLITE_SHM_UNLOCK != 0) {
            case (.toBeKept, true):
                lock(file).pointee = .kept
                return SQLITE_OK
            case (.kept, false):
                lock(file).pointee = .toBeKept
                return SQLITE_OK
            case (.toBeKept, false), (.kept, true), (.passed, _): break
            }
        }
        return below(file).pointee.pMethods.pointee.xShmLock(below(file), first, count, flags)
    }

    static func giveBack(_ file: File?) {
        guard lock(file).pointee == .kept else { return }
        lock(file).pointee = .passed
        _ = below(file).pointee.pMethods.pointee.xShmLock(
            below(file), 0, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE)
    }
}
