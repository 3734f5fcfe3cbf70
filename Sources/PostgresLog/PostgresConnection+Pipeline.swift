#if Postgres
import CPostgres

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension PostgresConnection {
    /// Carries out two statements in one round trip. Each has a Sync of its own behind it (protocol, "Pipelining"), so
    /// the server begins with the second when the first has committed, and waited for whatever its commit waits for.
    /// - Throws: ``PostgresFault`` of the first, as ``run(_:_:milliseconds:)``; `warned` where that was carried out and
    ///   the second was refused.
    func run(
        _ first: Statement, _ values: [Value], then second: Statement, milliseconds: Int
    ) throws(PostgresFault) -> (first: PostgresRows, second: PostgresRows) {
        try prepare(first, milliseconds: milliseconds)
        try prepare(second, milliseconds: milliseconds)
        try begin()
        try check(PQenterPipelineMode(connection))
        try send(first, values)
        try check(PQpipelineSync(connection))
        try send(second, [])
        try check(PQpipelineSync(connection))
        let end = boottimeNanoseconds() + UInt64(milliseconds) * 1_000_000
        do throws(PostgresFault) {
            while PQflush(connection) == 1 { try pause(for: POLLIN | POLLOUT, until: end) }
            let answers = (try answerUpToSync(until: end), try answerUpToSync(until: end))
            try check(PQexitPipelineMode(connection))
            let first = try checked(answers.0)
            try checkWarnings()
            return (first, try PostgresFault.behindCommit { () throws(PostgresFault) in try checked(answers.1) })
        } catch {
            if case .lost = error.kind { isLost = true }
            throw error
        }
    }

    /// A statement's answer, up to the server's word that it has come to the Sync behind it.
    private func answerUpToSync(until end: UInt64) throws(PostgresFault) -> PostgresRows? {
        var last: PostgresRows?
        var isAnswered = false
        while true {
            while PQisBusy(connection) == 1 { try pause(for: POLLIN, until: end) }
            guard let result = PQgetResult(connection) else {
                // It says once that the statement has no more results, and again and again that the connection is lost.
                guard !isAnswered else { throw PostgresFault(.lost, last?.fault?.words ?? words) }
                isAnswered = true
                continue
            }
            if PQresultStatus(result) == PGRES_PIPELINE_SYNC {
                PQclear(result)
                return last
            }
            let rows = PostgresRows(result)
            if last?.fault == nil { last = rows }
        }
    }
}
#endif
