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
        connection(file).lock = argument.load(as: Int32.self) != 0 ? .toBeKept : .passed
        return SQLITE_OK
    }

    /// - Returns: SQLite's code.
    static func lockForWriting(_ file: File?, _ flags: Int32) -> Int32 {
        let connection = connection(file)
        switch (connection.lock, flags & SQLITE_SHM_UNLOCK != 0) {
        case (.toBeKept, true):
            connection.lock = .kept
            return SQLITE_OK
        case (.kept, false):
            connection.lock = .toBeKept
            return SQLITE_OK
        case (.toBeKept, false), (.kept, true), (.passed, _):
            return below(file).pointee.pMethods.pointee.xShmLock(below(file), 0, 1, flags)
        }
    }

    static func giveBack(_ file: File?) {
        guard connection(file).lock == .kept else { return }
        connection(file).lock = .passed
        _ = below(file).pointee.pMethods.pointee.xShmLock(
            below(file), 0, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE)
    }
}
