import Dispatch
import Ledger
import LedgerClient
import LedgerEngine
import LedgerWire
import Logging
import Synchronization

/// A standby's connection to its leader, over the line protocol.
final class LeaderLink: LeaderConnection {
    /// How long one answer may take, beside what the leader was asked to wait: a page of blocks over a slow line.
    private static let answerTimeoutMilliseconds: Int64 = 20_000

    private struct State {
        var client: LedgerClient?
        /// What is being waited for, to be ended by ``close()``.
        var cancel: (@Sendable () -> Void)?
        var asked: Pending<BlocksPage>?
        var isClosed = false
    }

    private let follow: LedgerSettings.Follow
    /// What the leader calls the ledger too, where both have several.
    private let ledger: LedgerName?
    /// This standby's.
    private let catalog: CatalogInForce
    private let logger: Logger
    private let state = Mutex(State())

    init(_ follow: LedgerSettings.Follow, ledger: LedgerName?, catalog: CatalogInForce, logger: Logger) {
        self.follow = follow
        self.ledger = ledger
        self.catalog = catalog
        self.logger = logger
    }

    func open() throws -> BlockRows.LedgerRow {
        // Read at each connection: certificates are renewed while it runs.
        let tls = try follow.tls?.read()
        let (client, info) = try begin { [follow, ledger] in
            var configuration = ClientConfiguration(
                requestTimeoutMilliseconds: LeaderLink.answerTimeoutMilliseconds, retryPolicy: .none, tls: tls,
                ledger: ledger)
            configuration.replyBytesMax = WireLimits.blocksLineBytesMax
            let client = try await LedgerClient.connect(
                to: follow.leader, token: follow.token, configuration: configuration)
            do {
                return (client, try await client.info())
            } catch {
                try? await client.close()
                throw error
            }
        }.wait()
        let isClosed = state.withLock { state in
            state.client = client
            return state.isClosed
        }
        if isClosed { end(client) }
        let currencies = catalog.current.catalog.currencies
        let lacking = info.ledger.currencies.filter { currencies[$0] == nil }
        if !lacking.isEmpty {
            logger.warning(
                "this standby's catalog lacks currencies that its leader's has: give it the same catalog",
                metadata: ["currencies": "\(lacking.map(\.text).joined(separator: " "))"])
        }
        return BlockRows.LedgerRow(bundleID: info.ledger.bundleID, environment: info.ledger.environment)
    }

    func ask(_ query: BlocksQuery) {
        guard let client = state.withLock({ $0.client }) else { preconditionFailure("asked before it was opened") }
        let asked = begin { try await client.blocks(query) }
        state.withLock { $0.asked = asked }
    }

    func answer() throws -> BlocksPage {
        guard let asked = state.withLock({ $0.asked }) else { preconditionFailure("nothing was asked") }
        do {
            return try asked.wait()
        } catch let error as WireError where error.reason == WireReason.chainMismatch.rawValue {
            guard case .integer(let head) = error["head"] else { throw error }
            throw ChainMismatch(head: head)
        }
    }

    func close() {
        let (cancel, client) = state.withLock { state in
            state.isClosed = true
            return (state.cancel, state.client)
        }
        cancel?()
        if let client { end(client) }
    }

    private func end(_ client: LedgerClient) {
        // Closing twice is no error; what else keeps it from closing, nobody can do anything about.
        Task { try? await client.close() }
    }

    private func begin<Value>(_ body: @escaping @Sendable () async throws -> Value) -> Pending<Value> {
        let pending = Pending(body)
        let isClosed = state.withLock { state in
            state.cancel = { pending.cancel() }
            return state.isClosed
        }
        if isClosed { pending.cancel() }
        return pending
    }
}

/// What a task works out, for a thread that waits for it.
private final class Pending<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let done = DispatchSemaphore(value: 0)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ body: @escaping @Sendable () async throws -> Value) {
        let task = Task { [self] in
            let result: Result<Value, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            self.result.withLock { $0 = result }
            done.signal()
        }
        self.task.withLock { $0 = task }
    }

    /// Waits. Called once.
    func wait() throws -> Value {
        done.wait()
        guard let result = result.withLock({ $0 }) else { preconditionFailure("a task has ended without a result") }
        return try result.get()
    }

    func cancel() { task.withLock { $0 }?.cancel() }
}
