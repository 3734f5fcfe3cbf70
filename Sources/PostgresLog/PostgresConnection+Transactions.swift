#if Postgres
import CPostgres

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension PostgresConnection {
    /// Begins a transaction. After an error in it there is ``endTransaction(milliseconds:)``, or the session is given
    /// up, and the server takes everything back.
    func beginTransaction(milliseconds: Int) throws(PostgresFault) {
        isInTransaction = true
        try run("BEGIN", milliseconds: milliseconds)
    }

    /// Makes everything durable that was done since the transaction began.
    /// - Throws: ``PostgresFault``, as ``run(_:_:milliseconds:)``.
    func commitTransaction(milliseconds: Int) throws(PostgresFault) {
        let commit = Statement(name: "commit", text: "COMMIT")
        try prepare(commit, milliseconds: milliseconds)
        isInTransaction = false
        _ = try run(commit, milliseconds: milliseconds)
    }

    /// Takes everything back that was done since the transaction began, if it has not ended. Where the server does not
    /// say that it did, the session is lost, and the server does it for that reason.
    func endTransaction(milliseconds: Int) {
        guard isInTransaction else { return }
        isInTransaction = false
        do throws(PostgresFault) { try run("ROLLBACK", milliseconds: milliseconds) } catch { isLost = true }
    }

    /// Copies rows into a table, in the protocol's binary form.
    /// - Parameters:
    ///   - target: the table, with its columns in parentheses.
    ///   - rows: adds them.
    /// - Returns: how many there were.
    func copy(
        into target: String, _ types: [PostgresColumnType], milliseconds: Int,
        _ rows: (inout PostgresCopy) throws -> Void
    ) throws -> Int64 {
        try begin()
        try check(PQsendQuery(connection, "COPY \(target) FROM STDIN (FORMAT binary)"))
        try awaitCopying(milliseconds: milliseconds)
        var copy = PostgresCopy(self, types, milliseconds: milliseconds)
        do {
            try rows(&copy)
            try copy.end()
        } catch {
            // Otherwise the server would wait for the rest of it.
            isLost = true
            throw error
        }
        while true {
            let code = PQputCopyEnd(connection, nil)
            if code == 1 { break }
            guard code == 0 else { throw lost() }
            try flush(milliseconds: milliseconds)
        }
        _ = try answer(within: milliseconds)
        return copy.count
    }

    private func awaitCopying(milliseconds: Int) throws(PostgresFault) {
        let end = boottimeNanoseconds() + UInt64(milliseconds) * 1_000_000
        while PQflush(connection) == 1 { try pause(for: Int32(POLLIN | POLLOUT), until: end) }
        while PQisBusy(connection) == 1 { try pause(for: Int32(POLLIN), until: end) }
        guard let result = PQgetResult(connection) else { throw lost() }
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COPY_IN else {
            isLost = true
            throw PostgresFault(of: result) ?? PostgresFault(.lost, words)
        }
    }

    /// Sends bytes of a copy.
    func put(_ bytes: [UInt8], milliseconds: Int) throws(PostgresFault) {
        while true {
            let code = bytes.withUnsafeBytes { bytes in
                PQputCopyData(
                    connection, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
            }
            if code == 1 { return try flush(milliseconds: milliseconds) }
            guard code == 0 else { throw lost() }
            try flush(milliseconds: milliseconds)
        }
    }

    /// Waits until the server has taken what was sent.
    private func flush(milliseconds: Int) throws(PostgresFault) {
        let end = boottimeNanoseconds() + UInt64(milliseconds) * 1_000_000
        while true {
            switch PQflush(connection) {
            case 0: return
            case 1: try pause(for: Int32(POLLIN | POLLOUT), until: end)
            default: throw lost()
            }
        }
    }

    private func lost() -> PostgresFault {
        isLost = true
        return PostgresFault(.lost, words)
    }
}
#endif
