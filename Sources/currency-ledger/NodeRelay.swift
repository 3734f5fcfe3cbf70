import Ledger
import LedgerClient
import LedgerEngine
import LedgerWire
import LineServer
import Logging
import Synchronization

/// Passes on what clients of a node ask to the node that leads, over the line protocol. Each client has a connection of
/// its own there, under its own name, so what it may, its limits and its place in every queue are as if it asked there.
///
/// What has to do with a leader has these names:
///
/// | type | what it is |
/// |---|---|
/// | `LeaderRelay` | what the server needs of this: it passes on what clients ask of a ledger that another node leads |
/// | ``NodeRelay`` | that, over the line protocol: one for each ledger |
/// | `LeaderRelaySession` | what the server needs for one client of one connection |
/// | `NodeRelaySession` | that, over the line protocol: it has the client of the node that leads |
/// | `LeaderConnection` | what a standby's engine copies its leader's blocks from: nothing of it concerns nodes |
/// | ``LeaderLink`` | that, over the line protocol |
final class NodeRelay: LeaderRelay {
    private let node: Node
    private let settings: LedgerSettings.Node
    private let passing: LedgerSettings.Passing
    private let ledger: LedgerName?
    private let logger: Logger
    private let sessions = Mutex<[ObjectIdentifier: NodeRelaySession]>([:])

    /// - Parameter ledger: what all nodes call the ledger, where they have several.
    init(
        _ node: Node, _ settings: LedgerSettings.Node, _ passing: LedgerSettings.Passing, ledger: LedgerName?,
        logger: Logger
    ) {
        self.node = node
        self.settings = settings
        self.passing = passing
        self.ledger = ledger
        self.logger = logger
        node.whenLedAnew { [weak self] in self?.turn(to: $0) }
    }

    var place: LeadPlace { node.place }

    func session(
        for client: String?, outlet: Outlet, deliver: @escaping @Sendable ([Reply]) -> Void
    ) -> any LeaderRelaySession {
        let session = NodeRelaySession(
            outlet: outlet, deliver: deliver, connect: { [self] in try await connect(for: client) },
            reply: { [self] in reply($0, to: $1) },
            leaderless: { [node] in node.leaderless }
        ) { [weak self] session in
            _ = self?.sessions.withLock { $0.removeValue(forKey: ObjectIdentifier(session)) }
        }
        sessions.withLock { $0[ObjectIdentifier(session)] = session }
        return session
    }

    /// Has all that waits for a leader asked of the next one. (`nil`: this node leads.)
    private func turn(to leader: LogLeader?) {
        let address = address(of: leader)
        for session in sessions.withLock({ Array($0.values) }) { session.turn(to: address) }
    }

    /// Where a leader is asked, or this node, which knows when another leads, or leads itself by then.
    private func address(of leader: LogLeader?) -> ServerAddress {
        leader.flatMap { try? ServerAddress($0.address) } ?? settings.address
    }

    private func connect(for client: String?) async throws -> LedgerClient {
        var configuration = ClientConfiguration(ledger: ledger)
        if let files = passing.tls { configuration.renewedTLS = { try files.read() } }
        configuration.client = client
        return try await LedgerClient.connect(
            toAnyOf: [address(of: node.leader), settings.address], token: passing.token, configuration: configuration)
    }

    /// What the client is told.
    private func reply(_ result: Result<[UInt8], any Error>, to request: LedgerRequest) -> Reply {
        switch result {
        // What changes nothing is never in doubt.
        case .failure(let error) where NodeRelay.leavesInDoubt(error) && !request.changes: unreached(error)
        case .success(let json): .outcome(.written(json))
        // The client itself was let in here.
        case .failure(let error as WireError) where error.code == WireReason.unauthenticated.code && !error.isOfClient:
            refused(error)
        case .failure(let error as WireError): .error(error)
        case .failure(let error) where NodeRelay.leavesInDoubt(error): .error(.outcomeUnknown)
        case .failure(let error): unreached(error)
        }
    }

    /// Whether a change of which this is told may have been carried out.
    private static func leavesInDoubt(_ error: any Error) -> Bool {
        switch error {
        case ClientError.timedOut(mayHaveBeenCarriedOut: true), ClientError.connectionLost,
            ClientError.unreadableReply:
            true
        case let error as WireError: error.reason == WireReason.outcomeUnknown.rawValue
        default: false
        }
    }

    private func refused(_ error: WireError) -> Reply {
        let leader = node.leader?.address ?? settings.address.description
        logger.warning(
            """
            what clients ask is not passed on: the node that leads does not let this one ask for them; nodes need the \
            same tokens, and node.token one of the role admin
            """, metadata: ["leader": "\(leader)", "error": "\(error)"])
        return .error(.notLeader(leader))
    }

    private func unreached(_ error: any Error) -> Reply {
        .error(
            WireError(.storageUnavailable, "the node that leads could not be reached (\(error)); send this again"))
    }
}

extension WireError {
    /// Whether it refuses what the client may not, and not the node that asks for it.
    fileprivate var isOfClient: Bool { reason == WireReason.forbidden.rawValue }

    /// What is answered to whoever has asked a lead to be given away that nobody had for as long as it was tried.
    fileprivate static let leaderless = WireError(
        .notLeader, "no node leads at this moment: none can give the lead away")
}

/// What one client asks of the node that leads.
private final class NodeRelaySession: LeaderRelaySession {
    private struct State {
        /// Asks; `nil` where all is answered.
        var work: Task<Void, Never>?
        var client: LedgerClient?
        /// Where it was last told that the leader is.
        var leader: ServerAddress?
        /// For how many milliseconds one is still sought; `nil` for as long as ever.
        var giveUpMilliseconds: Int64?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let outlet: Outlet
    private let deliver: @Sendable ([Reply]) -> Void
    private let connect: @Sendable () async throws -> LedgerClient
    private let reply: @Sendable (Result<[UInt8], any Error>, LedgerRequest) -> Reply
    private let leaderless: @Sendable () -> Int?
    private let closed: @Sendable (NodeRelaySession) -> Void

    init(
        outlet: Outlet, deliver: @escaping @Sendable ([Reply]) -> Void,
        connect: @escaping @Sendable () async throws -> LedgerClient,
        reply: @escaping @Sendable (Result<[UInt8], any Error>, LedgerRequest) -> Reply,
        leaderless: @escaping @Sendable () -> Int?,
        closed: @escaping @Sendable (NodeRelaySession) -> Void
    ) {
        self.leaderless = leaderless
        self.outlet = outlet
        self.deliver = deliver
        self.connect = connect
        self.reply = reply
        self.closed = closed
    }

    func submit(_ requests: [LedgerRequest]) {
        state.withLock { state in
            if state.isClosed { return }
            precondition(state.work == nil, "what was asked before is not answered")
            state.work = Task { await work(requests) }
        }
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.work?.cancel()
            // It closes its connection where nobody has it any more.
            state.client = nil
        }
        closed(self)
    }

    func giveUp(afterMilliseconds milliseconds: Int64) {
        let client = state.withLock { state in
            state.giveUpMilliseconds = milliseconds
            return state.client
        }
        client?.giveUp(afterMilliseconds: milliseconds)
    }

    /// Another leader is asked from now on, also what the former one does not answer.
    func turn(to leader: ServerAddress) {
        let client = state.withLock { state in
            state.leader = leader
            return state.client
        }
        client?.turn(to: leader)
    }

    private func work(_ requests: [LedgerRequest]) async {
        let replies = await ask(requests)
        outlet.execute { [self] in
            let isClosed = state.withLock { state in
                state.work = nil
                return state.isClosed
            }
            if !isClosed { deliver(replies) }
        }
    }

    private func ask(_ requests: [LedgerRequest]) async -> [Reply] {
        let before = leaderless()
        let results: [Result<[UInt8], any Error>]
        do {
            results = try await client().ask(requests)
        } catch {
            results = requests.map { _ in .failure(error) }
        }
        // A lead that nobody has is given away by nobody, however often that is asked.
        let nobodyLed = before != nil && leaderless() == before
        return zip(requests, results).map { request, result in
            if nobodyLed, case .stepDown = request, case .failure = result { return .error(.leaderless) }
            return reply(result, request)
        }
    }

    /// The connection's; it makes a new one by itself where that is lost.
    private func client() async throws -> LedgerClient {
        if let client = state.withLock({ $0.client }) { return client }
        let client = try await connect()
        let (leader, milliseconds) = state.withLock { state in
            if !state.isClosed { state.client = client }
            return (state.leader, state.giveUpMilliseconds)
        }
        if let milliseconds { client.giveUp(afterMilliseconds: milliseconds) }
        // It may have begun to lead while the connection was made.
        if let leader { client.turn(to: leader) }
        return client
    }
}
