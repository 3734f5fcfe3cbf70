import GRDBSQLite

/// The index of the write-ahead log. It is read under SQLite's locks
/// (https://sqlite.org/walformat.html#wal_locks), by which this program knows when it must say what.
extension PageChecks {
    /// The first of those that readers share; those before are for writing, copying and repairing.
    private static let firstReadLock: Int32 = 3
    /// How often a header is read that changes again and again, and is never right.
    private static let readingsMax = 100

    static func mapIndex(
        _ file: File?, _ region: Int32, _ bytes: Int32, _ extends: Int32,
        _ address: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        let code = below(file).pointee.pMethods.pointee.xShmMap(below(file), region, bytes, extends, address)
        if let address = address?.pointee { connection(file).index.note(Int(region), at: address) }
        return code
    }

    /// SQLite writes the first copy of the header, then this, then the second one.
    static func passBarrier(_ file: File?) {
        let connection = connection(file)
        if connection.isWriting, let snapshot = connection.newest?.frames.commit(), connection.snapshot != nil {
            connection.snapshot = snapshot
        }
        below(file).pointee.pMethods.pointee.xShmBarrier(below(file))
    }

    static func lock(_ file: File?, _ first: Int32, _ count: Int32, _ flags: Int32) -> Int32 {
        let connection = connection(file)
        let isGivenBack = flags & SQLITE_SHM_UNLOCK != 0
        if first == 0 && count == 1 {
            if isGivenBack && connection.isWriting {
                connection.isWriting = false
                connection.newest?.frames.endWriting()
            }
            let code = lockForWriting(file, flags)
            if !isGivenBack && code == SQLITE_OK {
                connection.isWriting = true
                connection.newest?.frames.beginWriting()
            }
            // Who only reads wants it where the header is not whole: to repair it, which the writer does.
            return code == SQLITE_BUSY && isWrong(connection) ? ioErrorData : code
        }
        let code = below(file).pointee.pMethods.pointee.xShmLock(below(file), first, count, flags)
        guard first >= firstReadLock, flags & SQLITE_SHM_SHARED != 0 else { return code }
        if isGivenBack { connection.snapshot = nil }
        guard code == SQLITE_OK, !isGivenBack, let newest = connection.newest else { return code }
        // SQLite has read the header, and compares it once more when it has the lock.
        let isSeen = judge(connection, newest) { $0.log }
        if case .isRight(let snapshot) = isSeen {
            connection.snapshot = snapshot
            return SQLITE_OK
        }
        _ = below(file).pointee.pMethods.pointee.xShmLock(
            below(file), first, count, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED)
        // SQLite tries again.
        if case .isBeingWritten = isSeen, !connection.isWriting { return SQLITE_BUSY }
        return ioErrorData
    }

    private static func isWrong(_ connection: Connection) -> Bool {
        guard let newest = connection.newest, connection.index.header != nil,
            case .isWrong = judge(connection, newest, { $0.isWhole ? $0.log : nil })
        else { return false }
        return true
    }

    /// What is right or wrong of the header. It is wrong where it is that twice in between nothing was written: it was
    /// read while the writer had not written all of it yet, or before a commit of which it is known already.
    /// - Parameter log: what it says; `nil` where that is wrong in itself.
    private static func judge(
        _ connection: Connection, _ newest: PageSums, _ log: (LogIndex.Header) -> LogHeader?
    ) -> OwnFrames.Judgement {
        var before: LogIndex.Header?
        for _ in 0..<readingsMax {
            guard let header = connection.index.header else { return .isWrong }
            let judgement = newest.frames.judge(log(header) ?? header.log, isWhole: log(header) != nil)
            guard case .isWrong = judgement, header != before else { return judgement }
            before = header
        }
        return .isWrong
    }
}
