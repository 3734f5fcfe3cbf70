#if Postgres
import CPostgres
import Ledger

/// Why a statement was not carried out, or may not have been.
struct PostgresFault: Error {
    enum Kind: Hashable {
        /// The server took everything back, and the session goes on.
        /// - code: the SQLSTATE.
        case refused(code: String)
        /// It was carried out, and not as it has to be: a commit did not wait for its standby, for instance.
        case warned
        /// The session is over. Nobody knows whether the statement was carried out.
        case lost
        /// The server answered, and this node goes no further because of what it said.
        case decided(LogError.Kind)
    }

    let kind: Kind
    let severity: String
    /// The server's first line, or libpq's; never its details, in which are values of rows.
    let words: String

    init(_ kind: Kind, _ words: String) {
        self.kind = kind
        severity = ""
        self.words = words
    }

    init?(of result: OpaquePointer?) {
        func field(_ code: Int) -> String? {
            PQresultErrorField(result, Int32(code)).map { String(cString: $0) }
        }
        guard let result else { return nil }
        let code = field(ledger_pg_sqlstate)
        severity = field(ledger_pg_severity) ?? ""
        // libpq's own failures have no code.
        kind = code.map { .refused(code: $0) } ?? .lost
        let words = field(ledger_pg_message) ?? String(cString: PQresultErrorMessage(result))
        self.words = words.split(whereSeparator: \.isNewline).joined(separator: " ") + (code.map { " (\($0))" } ?? "")
    }

    /// The SQLSTATE with which the server refused.
    var code: String? {
        if case .refused(let code) = kind { return code }
        return nil
    }

    /// Does something behind a commit that is there: whatever is refused now, that is not taken back by it.
    static func behindCommit<Result>(_ body: () throws(PostgresFault) -> Result) throws(PostgresFault) -> Result {
        do throws(PostgresFault) {
            return try body()
        } catch {
            if case .refused = error.kind { throw PostgresFault(.warned, error.words) }
            throw error
        }
    }

    var isOfShutdown: Bool { code.map(PostgresCode.isOfShutdown) ?? false }

    /// Whether it may be tried again as it is: another transaction was in the way (40001, 40P01).
    var isOfTwoTransactions: Bool { code == PostgresCode.serialization || code == PostgresCode.deadlock }
}

extension PostgresFault {
    /// What it means for what was being done.
    func error(_ doing: String) -> LogError {
        let words = "\(doing): \(self.words)"
        switch kind {
        case .warned, .lost, .refused(PostgresCode.readOnly): return LogError(.unknown, words)
        case .refused(let code) where PostgresCode.isOfDamage(code): return LogError(.corrupt, words)
        case .refused(let code):
            return LogError(PostgresCode.isOfShutdown(code) ? .unknown : .notAppended, words)
        case .decided(let kind): return LogError(kind, words)
        }
    }

    /// What it means for a read, which is tried again whatever it was, unless something is damaged.
    func reading(_ doing: String) -> LogError {
        let error = error(doing)
        return error.kind == .corrupt ? error : LogError(.unknown, error.description)
    }
}

/// The SQLSTATEs that mean something to a log (PostgreSQL's appendix "Error Codes").
enum PostgresCode {
    static let unique = "23505"
    static let serialization = "40001"
    static let deadlock = "40P01"
    static let privilege = "42501"
    static let duplicateTable = "42P07"
    static let undefinedTable = "42P01"
    static let undefinedSchema = "3F000"
    static let lockTimeout = "55P03"
    static let readOnly = "25006"
    static let dataCorrupted = "XX001"
    static let indexCorrupted = "XX002"

    static func isOfDamage(_ code: String?) -> Bool { code == dataCorrupted || code == indexCorrupted }

    /// Of a server that stops, or ends a session (57P01 to 57P05), and of a connection's failure (class 08).
    static func isOfShutdown(_ code: String) -> Bool { code.hasPrefix("57P") || code.hasPrefix("08") }
}
#endif
