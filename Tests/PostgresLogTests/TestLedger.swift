#if Postgres
import Foundation
import Ledger
import LedgerTestKit
import PostgresLog
import Synchronization

/// A log in a schema of its own, which a test opens as one node or as several.
struct TestLedger {
    static let identity = Digest(of: Array("com.example.game".utf8), testSHA256)
    private static let made = Mutex(0)

    let server: PostgresServer
    let schema: String

    private let identity: Digest

    /// - Parameters:
    ///   - partitionBlocks: how many blocks go into a partition.
    ///   - identity: whose ledger it is.
    init(
        on server: PostgresServer? = nil, partitionBlocks: Int64 = PostgresLogLimits.partitionBlocks,
        identity: Digest = TestLedger.identity
    ) throws {
        self.identity = identity
        self.server = try server ?? PostgresServer.shared.get()
        schema = TestLedger.made.withLock { made in
            made += 1
            return "ledger_\(made)"
        }
        var configuration = configuration()
        configuration.partitionBlocks = partitionBlocks
        try PostgresLog.create(configuration, identity: identity)
    }

    /// - Parameter folder: that of a proxy's socket; `nil`: the server's.
    func configuration(node: String = "a", user: String = "postgres", folder: String? = nil) -> PostgresLogConfiguration
    {
        PostgresLogConfiguration(
            uri: server.uri(user: user, folder: folder), schema: schema, node: node, address: "\(node):7000",
            leaseMilliseconds: 1000, answerMilliseconds: 10_000)
    }

    /// - Parameter clock: by which the node counts leases; `nil`: the machine's.
    func open(_ configuration: PostgresLogConfiguration? = nil, clock: TestClock? = nil) throws -> PostgresLog {
        let configuration = configuration ?? self.configuration()
        guard let clock else {
            return try PostgresLog.open(configuration, identity: identity, hash: testSHA256)
        }
        return try PostgresLog.open(configuration, identity: identity, hash: testSHA256) { clock.now }
    }

    /// Plain SQL, in which `block`, `leader` and `ledger` are this ledger's.
    func session() throws -> PlainSession {
        let session = try PlainSession(server.uri())
        try session.run("SET search_path = \(schema), pg_catalog")
        return session
    }
}

/// The failure of a log that `body` throws; `nil` where it throws nothing.
func logError(_ body: () throws -> Void) -> LogError? {
    do {
        try body()
        return nil
    } catch {
        return error as? LogError ?? LogError(.corrupt, "another error: \(error)")
    }
}
#endif
