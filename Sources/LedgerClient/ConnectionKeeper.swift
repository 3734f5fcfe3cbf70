import LedgerWire
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Synchronization

/// Keeps one connection for a client, and makes a new one where it is lost and a call wants one.
///
/// States: *idle* (none, and nobody wants one); *connecting* (one attempt, shared by all calls that wait);
/// *connected*; *ended* (closed by the client, or lost where the policy makes no new one). Attempts that fail, and
/// connections that are lost before they have answered anything, put the next attempt off by ever longer waits,
/// whoever asks for it. Where it has several addresses, of nodes of one ledger, the next attempt is made at the next of
/// them after one that failed, after a connection that was lost, and after one whose node cannot serve now; and where a
/// node names the one that leads, or the client is told of it (``turn(to:)``), there.
final class ConnectionKeeper: Sendable {
    enum Outcome: Sendable {
        case connected(ClientConnection)
        case failed(any Error)
        case timedOut
        case cancelled
    }

    private enum Phase {
        case idle
        case connecting([OneShot<Outcome>])
        case connected(ClientConnection)
        case ended(any Error)
    }

    private struct State {
        var phase = Phase.idle
        var token: String?
        /// Where the next attempt is made.
        var address: ServerAddress
        /// The place of the next address that is tried after this one.
        var next = 1
        /// Attempts that failed and connections that were of no use, since the last that was.
        var failures = 0
        /// No attempt before this time.
        var earliest = NIODeadline.distantPast
        /// Connects; cancelled where the client is closed meanwhile.
        var work: Task<Void, Never>?
    }

    private let connector: Connector
    private let state: NIOLockedValueBox<State>
    private let lastID = Atomic<Int64>(0)

    private var policy: RetryPolicy { connector.configuration.retryPolicy }
    private var pacing: Pacing { connector.configuration.pacing }

    init(connector: Connector, token: String?) {
        self.connector = connector
        state = NIOLockedValueBox(State(token: token, address: connector.addresses[0]))
    }

    /// Whether it goes where a node says that the leader is.
    var followsLeader: Bool { connector.followsLeader }

    /// The id of the next request. Ids are never used again, on whichever connection.
    func nextID() -> Int64 { lastID.add(1, ordering: .relaxed).newValue }

    /// The connection that there is, or else the one that the shared attempt makes.
    func connection(deadline: NIODeadline) async -> Outcome {
        let waiter = OneShot<Outcome>()
        let (there, mustBegin) = state.withLockedValue { state -> (Outcome?, Bool) in
            switch state.phase {
            case .connected(let connection): return (.connected(connection), false)
            case .ended(let error): return (.failed(error), false)
            case .connecting(let waiters):
                state.phase = .connecting(waiters + [waiter])
                return (nil, false)
            case .idle:
                state.phase = .connecting([waiter])
                return (nil, true)
            }
        }
        if let there { return there }
        if mustBegin { begin() }
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(deadline: deadline) {
            _ = waiter.give(.timedOut)
        }
        defer { timer.cancel() }
        return await waiter.value { waiter.give(.cancelled) }
    }

    /// The connection was found ended, or of no use: the next call wants another one.
    func discard(_ connection: ClientConnection) {
        guard policy.reconnects else { return }
        let wasCurrent = state.withLockedValue { state in
            guard case .connected(let current) = state.phase, current === connection else { return false }
            state.phase = .idle
            // The first answer is that of its greeting.
            if connection.answers > (connector.greets(with: state.token) ? 1 : 0) { state.failures = 0 }
            // Where another node is known to lead, that one is asked at once.
            if state.address == connection.address { putOff(&state) }
            moveOn(&state, from: connection.address)
            return true
        }
        if wasCurrent { connection.abandon(ClientError.connectionLost("it was replaced")) }
    }

    /// A node has answered that another leads, and the next call goes there; or it cannot serve now, and the next call
    /// goes to another.
    /// - Parameter leader: where the other node is, where that is known.
    func leave(_ connection: ClientConnection, for leader: ServerAddress?) {
        let wasCurrent = state.withLockedValue { state in
            switch state.phase {
            case .connected(let current) where current === connection:
                state.phase = .idle
                state.failures = 0
                if let leader { state.address = leader } else { moveOn(&state, from: connection.address) }
                return true
            case .idle, .connecting:
                // Another call has left it, and did not know where the leader is.
                if let leader { state.address = leader }
                return false
            case .connected, .ended: return false
            }
        }
        if wasCurrent { connection.abandon(ClientError.connectionLost("another node is asked")) }
    }

    /// Another node leads, as the client's owner knows: the next attempt is made there, and a connection to the former
    /// leader ends once that one is silent.
    func turn(to leader: ServerAddress) {
        guard followsLeader, policy.reconnects else { return }
        let former = state.withLockedValue { state -> ClientConnection? in
            state.address = leader
            guard case .connected(let current) = state.phase, current.address != leader else { return nil }
            return current
        }
        if let former { endOnceSilent(former) }
    }

    /// - Parameter former: a connection to a node that led before.
    private func endOnceSilent(_ former: ClientConnection) {
        former.end(onceSilentFor: .milliseconds(connector.configuration.formerLeaderMilliseconds))
    }

    /// Has the next attempt made at another address than one that was of no use, unless it is to be made at another
    /// already.
    private func moveOn(_ state: inout State, from address: ServerAddress) {
        guard state.address == address else { return }
        let addresses = connector.addresses
        if addresses.count > 1, addresses[state.next % addresses.count] == state.address { state.next += 1 }
        state.address = addresses[state.next % addresses.count]
        state.next += 1
    }

    /// Remembers the token for connections to come. Returns false where the connection on which it was answered is no
    /// longer the current one and the next may have been given another token.
    func adopt(_ token: String, on connection: ClientConnection) -> Bool {
        state.withLockedValue { state in
            switch state.phase {
            case .connected(let current) where current === connection: break
            case .idle, .ended: break
            case .connected, .connecting: return false
            }
            state.token = token
            return true
        }
    }

    /// Ends it, and gives back the connection that there was.
    func close() -> ClientConnection? {
        let (connection, waiters, work) = state.withLockedValue {
            state -> (ClientConnection?, [OneShot<Outcome>], Task<Void, Never>?) in
            defer { state.phase = .ended(ClientError.closed) }
            switch state.phase {
            case .connected(let connection): return (connection, [], nil)
            case .connecting(let waiters): return (nil, waiters, state.work)
            case .idle, .ended: return (nil, [], nil)
            }
        }
        work?.cancel()
        for waiter in waiters { waiter.give(.failed(ClientError.closed)) }
        return connection
    }

    // MARK: Connecting

    private func begin() {
        let work = Task { await attempt() }
        state.withLockedValue { state in
            state.work = work
            if case .ended = state.phase { work.cancel() }
        }
    }

    private func attempt() async {
        let (token, address, earliest) = state.withLockedValue { ($0.token, $0.address, $0.earliest) }
        do {
            // Rounded up: a wait of a part of a millisecond is one.
            let wait = (earliest - .now()).nanoseconds
            if wait > 0 { try await pacing.sleep((wait + 999_999) / 1_000_000) }
            settle(.success(try await connector.connect(to: address, token: token, id: nextID)), at: address)
        } catch {
            settle(.failure(error), at: address)
        }
    }

    private func settle(_ result: Result<ClientConnection, any Error>, at address: ServerAddress) {
        let (waiters, isWanted, isOfFormer) = state.withLockedValue { state -> ([OneShot<Outcome>], Bool, Bool) in
            state.work = nil
            guard case .connecting(let waiters) = state.phase else { return ([], false, false) }
            switch result {
            case .success(let connection): state.phase = .connected(connection)
            case .failure:
                state.phase = .idle
                moveOn(&state, from: address)
                putOff(&state)
            }
            return (waiters, true, state.address != address)
        }
        switch result {
        case .success(let connection):
            if !isWanted { connection.abandon(ClientError.closed) }
            // Another node has begun to lead while it came about.
            if isOfFormer { endOnceSilent(connection) }
            for waiter in waiters { waiter.give(.connected(connection)) }
        case .failure(let error):
            for waiter in waiters { waiter.give(.failed(error)) }
        }
    }

    /// The next attempt waits, and the one after it longer.
    private func putOff(_ state: inout State) {
        state.failures += 1
        let wait = pacing.jitter(policy.waitMaxMilliseconds(repetition: state.failures))
        state.earliest = .now() + .milliseconds(wait)
    }
}
