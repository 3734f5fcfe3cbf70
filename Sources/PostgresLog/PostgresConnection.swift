#if Postgres
import CPostgres

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A session with a server: the owner of libpq's connection. One thread at a time uses it.
///
/// Values go both ways in the protocol's binary form. Nothing waits for a server longer than it is told to: a session
/// whose answer did not come in time is lost, as one is whose connection broke. Only a host's name takes as long as the
/// system's resolver does (resolv.conf: 5 s for each of its servers and tries): libpq's `connect_timeout` does not
/// count that. A URI with addresses (`hostaddr`) needs none.
final class PostgresConnection {
    /// What a statement is given in place of `$1`, `$2` …
    enum Value {
        case number(Int64)
        /// In microseconds, as the server gave it.
        case time(Int64)
        case bytes([UInt8])
        case text(String)
        case flag(Bool)

        /// As the protocol sends it in binary form.
        fileprivate var sent: [UInt8] {
            switch self {
            case .number(let value), .time(let value): Swift.withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) }
            case .bytes(let bytes): bytes
            case .text(let text): Array(text.utf8)
            case .flag(let isTrue): [isTrue ? 1 : 0]
            }
        }
    }

    /// A statement, and the name under which a session prepares it at its first use.
    struct Statement {
        let name: String
        let text: String
    }

    /// A notice of severity WARNING or worse: a commit that was not waited for says so in this way only.
    private final class Warnings {
        var words: [String] = []
    }

    let connection: OpaquePointer
    private let warnings = Warnings()
    private var prepared: Set<String> = []
    /// Whether an answer did not come in time, so that the next one would be taken for another's.
    var isLost = false
    /// Whether statements are carried out within a transaction, until it is committed.
    var isInTransaction = false

    /// Begins a session.
    /// - Parameters:
    ///   - settings: libpq's keywords and values, in their order; of a keyword that is there twice the last one counts,
    ///     and a `dbname` that is a URI stands for all that it says.
    /// - Throws: ``PostgresFault`` `lost`, with libpq's words: of a URI that it can read it says no password.
    init(_ settings: [(keyword: String, value: String)]) throws(PostgresFault) {
        for setting in settings where setting.keyword == "dbname" { try PostgresConnection.check(uri: setting.value) }
        var keywords: [UnsafeMutablePointer<CChar>?] = settings.map { strdup($0.keyword) }
        var values: [UnsafeMutablePointer<CChar>?] = settings.map { strdup($0.value) }
        defer { for text in keywords + values { free(text) } }
        keywords.append(nil)
        values.append(nil)
        let opened = keywords.map { UnsafePointer($0) }.withUnsafeBufferPointer { keywords in
            values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
                PQconnectdbParams(keywords.baseAddress, values.baseAddress, 1)
            }
        }
        guard let opened else { throw PostgresFault(.lost, "there is no memory for a connection") }
        connection = opened
        guard PQstatus(connection) == CONNECTION_OK, PQsetnonblocking(connection, 1) == 0 else {
            throw PostgresFault(.lost, words)
        }
        PQsetNoticeReceiver(
            connection,
            { context, notice in
                guard let context, let fault = PostgresFault(of: notice) else { return }
                if ["WARNING", "ERROR", "FATAL", "PANIC"].contains(fault.severity) {
                    Unmanaged<Warnings>.fromOpaque(context).takeUnretainedValue().words.append(fault.words)
                }
            }, Unmanaged.passUnretained(warnings).toOpaque())
    }

    deinit { PQfinish(connection) }

    /// Refuses a URI of which libpq would say a part that may be a password: one that it cannot read, or whose
    /// password has an `@` that is taken for the one before the host.
    private static func check(uri: String) throws(PostgresFault) {
        let isURI = uri.hasPrefix("postgresql://") || uri.hasPrefix("postgres://")
        var words: UnsafeMutablePointer<CChar>?
        guard isURI, let options = PQconninfoParse(uri, &words) else {
            PQfreemem(words)
            throw PostgresFault(
                .lost,
                "the database's URI cannot be read: it is postgresql://user@host/database, with %XX for characters "
                    + "that mean something in it")
        }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            if strcmp(keyword, "host") == 0, let host = option.pointee.val, String(cString: host).contains("@") {
                throw PostgresFault(.lost, "the database's URI has an @ within its host: one before it is %40")
            }
            option += 1
        }
    }

    /// The server's version, as 150018 for 15.18.
    var serverVersion: Int { Int(PQserverVersion(connection)) }

    /// Whether nothing is known to have gone wrong with it.
    var isUsable: Bool { !isLost && PQstatus(connection) == CONNECTION_OK }

    /// Carries out statements without values, all of them or none.
    func run(_ text: String, milliseconds: Int) throws(PostgresFault) {
        try begin()
        try check(PQsendQuery(connection, text))
        _ = try answer(within: milliseconds)
    }

    /// Carries out one statement, which commits by itself.
    /// - Throws: ``PostgresFault``: `refused` where the server took everything back, `warned` where it was carried out
    ///   and a warning came with it, `lost` where nobody knows.
    func run(
        _ statement: Statement, _ values: [Value] = [], milliseconds: Int
    ) throws(PostgresFault) -> PostgresRows {
        try prepare(statement, milliseconds: milliseconds)
        try begin()
        try send(statement, values)
        let rows = try answer(within: milliseconds)
        try checkWarnings()
        return rows
    }

    /// Prepares a statement, unless this session has it.
    func prepare(_ statement: Statement, milliseconds: Int) throws(PostgresFault) {
        if prepared.contains(statement.name) { return }
        try begin()
        try check(PQsendPrepare(connection, statement.name, statement.text, 0, nil))
        _ = try answer(within: milliseconds)
        prepared.insert(statement.name)
    }

    // MARK: - One exchange

    func begin() throws(PostgresFault) {
        guard isUsable else { throw PostgresFault(.lost, "the session was lost before") }
        warnings.words = []
    }

    /// Sends a statement that is prepared.
    func send(_ statement: Statement, _ values: [Value]) throws(PostgresFault) {
        let code = PostgresConnection.withPointers(values.map(\.sent)) { pointers, counts in
            let formats = [Int32](repeating: 1, count: values.count)
            return PQsendQueryPrepared(
                connection, statement.name, Int32(values.count), pointers, counts, formats, 1)
        }
        try check(code)
    }

    /// Whether all that was carried out since ``begin()`` was carried out as it has to be.
    func checkWarnings() throws(PostgresFault) {
        if !warnings.words.isEmpty { throw PostgresFault(.warned, warnings.words.joined(separator: "; ")) }
    }

    func check(_ code: Int32) throws(PostgresFault) {
        guard code == 1 else {
            isLost = true
            throw PostgresFault(.lost, words)
        }
    }

    /// Everything up to the server's word that it is ready again. What was carried out before a commit that fails has
    /// answered already: only the last result counts, and only when no other can come.
    func answer(within milliseconds: Int) throws(PostgresFault) -> PostgresRows {
        let end = boottimeNanoseconds() + UInt64(milliseconds) * 1_000_000
        do throws(PostgresFault) {
            var last: PostgresRows?
            while PQflush(connection) == 1 { try pause(for: POLLIN | POLLOUT, until: end) }
            while true {
                while PQisBusy(connection) == 1 { try pause(for: POLLIN, until: end) }
                guard let result = PQgetResult(connection) else { break }
                let rows = PostgresRows(result)
                // The first failure says why; those behind it follow from it.
                if last?.fault == nil { last = rows }
            }
            return try checked(last)
        } catch {
            if case .lost = error.kind { isLost = true }
            throw error
        }
    }

    /// The last result of a statement, where it is an answer and the session goes on.
    func checked(_ last: PostgresRows?) throws(PostgresFault) -> PostgresRows {
        guard let last else { throw PostgresFault(.lost, words) }
        if let fault = last.fault {
            let isOver = PQstatus(connection) != CONNECTION_OK || ["FATAL", "PANIC"].contains(fault.severity)
            throw isOver ? PostgresFault(.lost, fault.words) : fault
        }
        guard isUsable, PQtransactionStatus(connection) == (isInTransaction ? PQTRANS_INTRANS : PQTRANS_IDLE) else {
            throw PostgresFault(.lost, "the server's answer is not whole: \(words)")
        }
        return last
    }

    func pause(for events: Int32, until end: UInt64) throws(PostgresFault) {
        let now = boottimeNanoseconds()
        guard now < end else { throw PostgresFault(.lost, "the server did not answer in time") }
        var waited = pollfd(fd: PQsocket(connection), events: Int16(events), revents: 0)
        let code = poll(&waited, 1, Int32(clamping: (end - now) / 1_000_000 + 1))
        guard code >= 0 || errno == EINTR else { throw PostgresFault(.lost, "poll: errno \(errno)") }
        if waited.revents & Int16(POLLOUT) == 0, code <= 0 { return }
        guard PQconsumeInput(connection) == 1 else {
            // What came before the connection broke may be an answer that says why.
            if PQisBusy(connection) == 1 { throw PostgresFault(.lost, words) }
            return
        }
        _ = PQflush(connection)
    }

    var words: String {
        let words = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        return words.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    /// Addresses of all values at once, without copying them.
    private static func withPointers<Result>(
        _ values: [[UInt8]],
        _ body: (_ pointers: UnsafePointer<UnsafePointer<CChar>?>?, _ counts: UnsafePointer<Int32>?) -> Result
    ) -> Result {
        func take(_ index: Int, _ pointers: inout [UnsafePointer<CChar>?]) -> Result {
            guard index < values.count else {
                return pointers.withUnsafeBufferPointer { pointers in
                    values.map { Int32($0.count) }.withUnsafeBufferPointer { counts in
                        body(pointers.baseAddress, counts.baseAddress)
                    }
                }
            }
            return values[index].withUnsafeBytes { bytes in
                // A value of no bytes is no NULL, which is what libpq takes a null pointer for.
                pointers.append(bytes.baseAddress?.assumingMemoryBound(to: CChar.self) ?? UnsafePointer(empty))
                return take(index + 1, &pointers)
            }
        }
        var pointers: [UnsafePointer<CChar>?] = []
        return take(0, &pointers)
    }

    /// Allocated once for the whole process and never written.
    private nonisolated(unsafe) static let empty: UnsafeMutablePointer<CChar> = {
        let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        byte.initialize(to: 0)
        return byte
    }()
}

/// What a statement answered, in binary form.
final class PostgresRows {
    private let result: OpaquePointer

    /// Takes the result over.
    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    var count: Int { Int(PQntuples(result)) }

    /// How many rows were inserted or updated.
    var changed: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    func isNull(_ row: Int, _ column: Int32) -> Bool { PQgetisnull(result, Int32(row), column) == 1 }

    func bytes(_ row: Int, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(result, Int32(row), column), count: Int(PQgetlength(result, Int32(row), column)))
    }

    /// A number of 16, 32 or 64 bits, or a time in microseconds; 0 where there is none.
    func number(_ row: Int, _ column: Int32) -> Int64 {
        let bytes = bytes(row, column)
        guard let first = bytes.first else { return 0 }
        return bytes.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
    }

    func flag(_ row: Int, _ column: Int32) -> Bool { bytes(row, column).first == 1 }

    func text(_ row: Int, _ column: Int32) -> String { String(decoding: bytes(row, column), as: UTF8.self) }

    /// Why it is no answer.
    var fault: PostgresFault? {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: nil
        default: PostgresFault(of: result)
        }
    }
}

/// A clock that nobody sets, and that goes on while the machine sleeps: a lease ends meanwhile. (The engine's stands
/// still while the machine sleeps: times of one are not compared with the other's.)
func boottimeNanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_BOOTTIME, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
#endif
