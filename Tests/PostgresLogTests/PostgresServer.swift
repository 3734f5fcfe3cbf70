#if Postgres
import CPostgres
import Foundation
import Synchronization

/// A PostgreSQL server of this machine's package, in a temporary folder and on a Unix socket. It ends, and its folder
/// is removed, when this process ends, however it ends.
final class PostgresServer: Sendable {
    /// The port is only a part of the socket's name, except of a server that a test lets listen.
    static let port = 5432

    let folder: String
    let port: Int
    /// The programs' folder, with a slash; empty where they are found without.
    private let programs: String
    private let process: Process
    /// Open as long as the server is to run.
    private let leash: Pipe

    /// The one that most tests share, each with a schema of its own.
    static let shared = Result { try PostgresServer() }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Makes and starts one.
    /// - Parameters:
    ///   - settings: beside those of all tests, as `name=value`.
    ///   - primary: of which it is a standby, by the name `standby`; `nil`: it is none.
    init(_ settings: [String] = [], port: Int = port, standbyOf primary: PostgresServer? = nil) throws {
        self.port = port
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-postgres-\(UInt32.random(in: 0 ... .max))").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        self.folder = folder
        programs = PostgresServer.programs()
        // The server does not run as root.
        let user = getuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --init-groups " : ""
        let all =
            ["listen_addresses=", "unix_socket_directories=\(folder)", "max_connections=60", "shared_buffers=32MB"]
            + ["port=\(port)", "fsync=off", "log_min_messages=fatal"] + settings
        let options = all.map { "-c '\($0)'" }.joined(separator: " ")
        let making =
            primary.map {
                "pg_basebackup -D data -d 'host=\($0.folder) port=\(PostgresServer.port) user=postgres"
                    + " application_name=standby' -R --checkpoint=fast --no-sync"
            } ?? "initdb -D data -U postgres -A trust -E UTF8 --no-locale --no-sync"
        let script = """
            cd '\(folder)' || exit 1
            [ "$(id -u)" -ne 0 ] || chown postgres '\(folder)'
            \(user)\(programs)\(making) >log 2>&1 &&
                { \(user)\(programs)postgres -D data \(options) >>log 2>&1 & }
            server=$!
            read -r nothing
            kill -QUIT "$server"
            wait "$server"
            cd / && rm -rf '\(folder)'
            """
        leash = Pipe()
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        process.standardInput = leash
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        for _ in 0..<1200 {
            if PQping(uri()) == PQPING_OK { return }
            usleep(25_000)
        }
        let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
        throw Failure(description: "PostgreSQL did not start: \(log)")
    }

    /// Ends it at once, as if its machine had lost power.
    func stop() {
        try? leash.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    var socket: String { "\(folder)/.s.PGSQL.\(port)" }

    /// - Parameters:
    ///   - folder: where the socket is, or several, apart by commas; `nil`: the server's own.
    func uri(user: String = "postgres", folder: String? = nil) -> String {
        "postgresql://\(user)@/postgres?host=\(folder ?? self.folder)&port=\(port)"
    }

    /// Debian keeps the programs of each version in a folder of their own.
    private static func programs() -> String {
        let versions = "/usr/lib/postgresql"
        let found = (try? FileManager.default.contentsOfDirectory(atPath: versions)) ?? []
        guard let newest = found.compactMap({ Int($0) }).max() else { return "" }
        return "\(versions)/\(newest)/bin/"
    }
}

/// A session with plain SQL and values as text: the tests' own way to the tables, beside the log's.
final class PlainSession {
    private let connection: OpaquePointer

    init(_ uri: String) throws {
        guard let connection = PQconnectdb(uri) else { throw PostgresServer.Failure(description: "no memory") }
        self.connection = connection
        guard PQstatus(connection) == CONNECTION_OK else {
            throw PostgresServer.Failure(description: String(cString: PQerrorMessage(connection)))
        }
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit { PQfinish(connection) }

    /// The last statement's rows.
    @discardableResult
    func run(_ text: String) throws -> [[String]] {
        let result = PQexec(connection, text)
        defer { PQclear(result) }
        guard [PGRES_TUPLES_OK, PGRES_COMMAND_OK].contains(PQresultStatus(result)) else {
            throw PostgresServer.Failure(description: "\(text): \(String(cString: PQerrorMessage(connection)))")
        }
        return (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { String(cString: PQgetvalue(result, row, $0)) }
        }
    }
}
#endif
