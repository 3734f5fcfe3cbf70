public import LedgerWire
import NIOConcurrencyHelpers
import NIOCore

/// A client of a currency ledger, for many calls at once on one connection.
///
/// A call throws a ``WireError`` where the ledger or the server refuses it, and a ``ClientError`` where no answer
/// came. A ``WireError`` means that nothing was changed, but for `outcome_unknown`: then the request may have been
/// carried out, and the same request with the same key, sent again, tells. It is thrown as well where the server
/// answered `outcome_unknown` first and then, for example, refused the repetition with `storage_unavailable`.
///
/// **Repetition.** Where the connection breaks, or the server answers that it cannot serve just now (`overloaded`,
/// `shutting_down`, `storage_unavailable`, `outcome_unknown`, `internal_error`), the client sends the same bytes again,
/// on a new connection if need be, as its ``RetryPolicy`` says: reads, signed transactions and notifications, and
/// everything with a key, none of which is ever done twice. A new connection is authenticated before anything else, and
/// all calls share the attempt to make it. `unknown_product` may be sent again too, but is not by the client: it passes
/// when somebody adds the product to the catalog. ``forget(_:)``, and ``call(method:params:)`` of a method that this
/// version does not know, are not sent again once they may have been carried out. Where the token has come to open
/// another ledger, what was sent before throws `ledger_required`, for it may have been meant for the former, or
/// `outcome_unknown`, where it may have been carried out there.
///
/// **Several nodes.** A client that is given the addresses of a ledger's nodes asks whichever it reaches, follows the
/// leader where a node answers `not_leader`, and tries the next address where one cannot be reached. So a leader that
/// is killed, or hands over, passes unnoticed as a restart does, and so does one whose machine is lost: a connection
/// whose other end acknowledges nothing for three seconds is given up. A token is sent to the address that a node
/// names, under the same TLS.
///
/// **Time.** A call ends with ``ClientError/timedOut(mayHaveBeenCarriedOut:)`` after
/// ``ClientConfiguration/requestTimeoutMilliseconds``, everything included. A connection on which nothing at all came
/// for half of that time, and on which a call then timed out, is given up and made anew.
///
/// **Order.** A call that is made after an earlier one's result takes effect after it, also across a new connection.
/// Calls that are made at once are sent without waiting for each other, as many together as possible, and have no
/// order among themselves; beyond ``ClientConfiguration/requestsInFlightMax`` they wait for room.
///
/// **Cancellation.** A call whose task is cancelled ends at once with `CancellationError`. What was sent is not taken
/// back: it may be carried out, its reply is dropped, and the other calls go on.
public final class LedgerClient: Sendable {
    private let keeper: ConnectionKeeper
    private let configuration: ClientConfiguration
    /// Until when what is asked at once is sent again.
    private let repeatsUntil = NIOLockedValueBox(NIODeadline.distantFuture)

    private init(keeper: ConnectionKeeper, configuration: ClientConfiguration) {
        self.keeper = keeper
        self.configuration = configuration
    }

    deinit { keeper.close()?.abandon(ClientError.closed) }

    /// Connects, and authenticates where a token is given. This is attempted once: a wrong address or token shows at
    /// once.
    /// - Throws: ``ClientError/cannotConnect(_:)``; the ``WireError`` of a token that the server does not know;
    ///   `CancellationError`.
    public static func connect(
        to address: ServerAddress, token: String? = nil, configuration: ClientConfiguration = ClientConfiguration()
    ) async throws -> LedgerClient {
        try await connect(Connector(addresses: [address], configuration: configuration), token)
    }

    /// Connects to one of a ledger's nodes, and follows whichever leads; see **Several nodes** above.
    /// - Parameter addresses: at least one; each is attempted once now, until one is reached and has room.
    /// - Throws: as ``connect(to:token:configuration:)``, for the last of them.
    public static func connect(
        toAnyOf addresses: [ServerAddress], token: String? = nil,
        configuration: ClientConfiguration = ClientConfiguration()
    ) async throws -> LedgerClient {
        precondition(!addresses.isEmpty, "a client needs an address")
        var configuration = configuration
        configuration.retryPolicy = configuration.retryPolicy.among(nodes: addresses.count)
        for place in addresses.indices.dropLast() {
            let turned = Array(addresses[place...] + addresses[..<place])
            do {
                return try await connect(Connector(addresses: turned, configuration: configuration), token)
            } catch ClientError.cannotConnect {
                continue
            } catch let error as WireError where error.isOfTheMoment {
                // It has no room for another connection, say: the next one may.
                continue
            }
        }
        let turned = addresses.suffix(1) + addresses.dropLast()
        return try await connect(Connector(addresses: Array(turned), configuration: configuration), token)
    }

    private static func connect(_ connector: Connector, _ token: String?) async throws -> LedgerClient {
        let configuration = connector.configuration
        let client = LedgerClient(
            keeper: ConnectionKeeper(connector: connector, token: token), configuration: configuration)
        let milliseconds = configuration.connectTimeoutMilliseconds
        switch await client.keeper.connection(deadline: .now() + .milliseconds(milliseconds)) {
        case .connected: return client
        case .failed(let error): throw error
        case .timedOut: throw ClientError.cannotConnect("no connection within \(milliseconds) ms")
        case .cancelled: throw CancellationError()
        }
    }

    /// Closes the connection. Calls in flight throw ``ClientError/closed``.
    public func close() async throws { try await keeper.close()?.close(ClientError.closed) }

    /// Calls a method by its name, with parameters that are a JSON object (none where empty), and gives the result as
    /// JSON.
    ///
    /// A role given by `authenticate` in this way lasts for the connection only; ``authenticate(token:)`` gives it to
    /// those that follow as well.
    /// - Throws: ``ClientError/invalidParams(_:)`` where `params` are no JSON text; ``WireError``; ``ClientError``.
    public func call(method: String, params: [UInt8] = []) async throws -> [UInt8] {
        let id = keeper.nextID()
        var writer = RequestWriter(capacity: 128 + method.utf8.count + params.count)
        do {
            try writer.write(method: method, params: params, id: .integer(id))
        } catch {
            throw ClientError.invalidParams(error.description)
        }
        let isRepeatable = Methods.named(method)?.isRepeatable ?? false
        return try await send(writer.bytes, id, isRepeatable: isRepeatable)
    }

    /// - Parameters:
    ///   - ledger: the one that it is for; `nil` for that of the JWS, or the connection's.
    ///   - waitMilliseconds: how long the server may wait by itself, beside the timeout.
    ///   - token: where the method is `authenticate`, to be repeated on every connection to come.
    func call<Params, Result>(
        _ call: TypedMethod<Params, Result>, _ params: Params, ledger: LedgerName? = nil, waitMilliseconds: Int64 = 0,
        token: String? = nil
    ) async throws -> Result {
        let id = keeper.nextID()
        let json = try await send(
            RequestWriter.line(call, params, id: id, ledger: ledger), id, isRepeatable: call.method.isRepeatable,
            waitMilliseconds: waitMilliseconds, token: token)
        do {
            return try Result(json: json)
        } catch {
            throw ClientError.unreadableReply("\(error)")
        }
    }

    private func send(
        _ line: [UInt8], _ id: Int64, isRepeatable: Bool, waitMilliseconds: Int64 = 0, token: String? = nil
    ) async throws -> [UInt8] {
        guard line.count - 1 <= WireLimits.lineBytesMax else { throw ClientError.requestTooLong }
        let deadline = NIODeadline.now() + .milliseconds(configuration.requestTimeoutMilliseconds + waitMilliseconds)
        var retry = Retry(
            policy: configuration.retryPolicy, isRepeatable: isRepeatable, followsLeader: keeper.followsLeader,
            deadline: deadline)
        var last: ClientConnection?
        while true {
            try Task.checkCancellation()
            // It was sent on a connection whose token opens another ledger by now.
            let refusal = last?.refusal.map { AttemptEnd.answered(.failure($0)) }
            let end = if let refusal { refusal } else { await attempt(line, id, deadline, token, &last) }
            switch retry.step(after: end, now: .now(), jitter: configuration.pacing.jitter) {
            case .finish(let result): return try result.get()
            case .again(let wait): if wait > 0 { try await configuration.pacing.sleep(wait) }
            }
        }
    }

    /// - Parameter last: the connection on which it was sent last.
    private func attempt(
        _ line: [UInt8], _ id: Int64, _ deadline: NIODeadline, _ token: String?, _ last: inout ClientConnection?
    ) async -> AttemptEnd {
        switch await keeper.connection(deadline: deadline) {
        case .connected(let connection):
            let end = await connection.perform(id: id, line: line, deadline: deadline)
            if case .disconnected(_, wasSent: false) = end {} else { last = connection }
            look(at: end, of: connection)
            if case .answered(.success) = end, let token, !keeper.adopt(token, on: connection) {
                return .disconnected(ClientError.connectionLost("it was replaced meanwhile"), wasSent: true)
            }
            return end
        case .failed(let error): return .disconnected(error, wasSent: false)
        case .timedOut: return .timedOut(wasSent: false)
        case .cancelled: return .cancelled
        }
    }

    /// Asks several things at once, which are sent in their order and without waiting for each other's answers. Where
    /// some have to be sent again, these are, in their order, and so are the reads behind changes among them; but none
    /// that was refused while the ledger decided a change behind it, for it would take effect after that, and no change
    /// behind one that is given up and was not carried out.
    /// - Returns: what became of each, in their order: its result as JSON, or what ``call(method:params:)`` throws.
    package func ask(_ requests: [LedgerRequest]) async -> [Result<[UInt8], any Error>] {
        let deadline = NIODeadline.now() + .milliseconds(configuration.requestTimeoutMilliseconds)
        var results: [Result<[UInt8], any Error>?] = Array(repeating: nil, count: requests.count)
        var open = requests.enumerated().map { place, request in
            let id = keeper.nextID()
            var writer = RequestWriter(capacity: 256)
            writer.write(request, id: .integer(id))
            let retry = Retry(
                policy: configuration.retryPolicy, isRepeatable: request.isRepeatable,
                followsLeader: keeper.followsLeader, deadline: deadline)
            return Asked(place: place, id: id, line: writer.bytes, changes: request.changes, retry: retry)
        }
        while !open.isEmpty {
            let ends = Task.isCancelled ? open.map { _ in .cancelled } : await attempt(open, deadline)
            var again: [Asked] = []
            var wait: Int64 = 0
            // Drawn once for all: no change is given up for a longer wait than one behind it has.
            var drawn: Int64?
            func jitter(_ most: Int64) -> Int64 {
                let wait = drawn ?? configuration.pacing.jitter(most)
                drawn = wait
                return min(wait, most)
            }
            var (repeatsChange, givesUpChanges) = (false, false)
            let givesUp = hasGivenUp
            let lastChange = ends.indices.last { open[$0].changes && ends[$0].isDecision } ?? 0
            for (index, end) in ends.enumerated() {
                var asked = open[index]
                asked.last = end
                if repeatsChange, !asked.changes, end.isDecision {
                    again.append(asked)
                    continue
                }
                let isLast = givesUp || index < lastChange || asked.changes && givesUpChanges
                switch asked.retry.step(after: end, isLast: isLast, now: .now(), jitter: jitter) {
                case .finish(let result):
                    results[asked.place] = result
                    let isUndone = end.isOfTheMoment && !asked.retry.mayHaveBeenCarriedOut
                    if asked.changes && isUndone { givesUpChanges = true }
                case .again(let milliseconds):
                    again.append(asked)
                    if asked.changes { repeatsChange = true }
                    wait = max(wait, milliseconds)
                }
            }
            open = again
            // Where that is cut short, the next round says so.
            if wait > 0, !open.isEmpty { try? await configuration.pacing.sleep(wait) }
        }
        return results.map { result in
            guard let result else { preconditionFailure("a request without an end") }
            return result
        }
    }

    /// What is asked at once is sent again for so long only; and what waits for a connection then is not sent at all.
    package func giveUp(afterMilliseconds milliseconds: Int64) {
        repeatsUntil.withLockedValue { $0 = min($0, .now() + .milliseconds(milliseconds)) }
    }

    private var hasGivenUp: Bool { repeatsUntil.withLockedValue { $0 } <= .now() }

    /// One of several that are asked at once.
    private struct Asked {
        let place: Int
        let id: Int64
        let line: [UInt8]
        let changes: Bool
        var retry: Retry
        /// How the last attempt ended; `nil` before the first.
        var last: AttemptEnd?
    }

    private func attempt(_ asked: [Asked], _ deadline: NIODeadline) async -> [AttemptEnd] {
        // One that has given up already sends what it is asked then once.
        let mayBegin = hasGivenUp && asked.allSatisfy { $0.last == nil }
        switch await keeper.connection(deadline: deadline) {
        case .connected where hasGivenUp && !mayBegin:
            let unsent = AttemptEnd.disconnected(
                ClientError.cannotConnect("what is asked is given up"), wasSent: false)
            return asked.map { $0.last ?? unsent }
        case .connected(let connection):
            let calls = connection.begin(asked.map { PendingCall(id: $0.id, line: $0.line, deadline: deadline) })
            var ends: [AttemptEnd] = []
            for call in calls { ends.append(await connection.end(of: call)) }
            // Not before: a connection that is left drops the answers that are still to come on it, and one of them may
            // say that something was carried out behind what was refused.
            for end in ends { look(at: end, of: connection) }
            return ends
        case .failed(let error): return asked.map { _ in .disconnected(error, wasSent: false) }
        case .timedOut: return asked.map { _ in .timedOut(wasSent: false) }
        case .cancelled: return asked.map { _ in .cancelled }
        }
    }

    /// Another node leads, as the caller knows: it is asked from now on. What waits for an answer of the former leader
    /// is asked of the new one, in the same order, once the former one has been silent for half a second, as it is
    /// where its process stands still: its machine acknowledges all the same. What must not be sent twice ends with
    /// ``ClientError/connectionLost(_:)`` then. Does nothing where the client does not follow a leader.
    package func turn(to leader: ServerAddress) { keeper.turn(to: leader) }

    /// Leaves a connection that is of no use any more.
    private func look(at end: AttemptEnd, of connection: ClientConnection) {
        switch end {
        case .disconnected: keeper.discard(connection)
        case .answered(.failure(let error)) where keeper.followsLeader && error.isOfItsNode:
            keeper.leave(connection, for: error.leader)
        case .timedOut(wasSent: true) where keeper.followsLeader: keeper.leave(connection, for: nil)
        case .answered, .timedOut, .cancelled: break
        }
    }

    /// Sends `count` requests, at most `inFlight` of them unanswered, and hands over their replies in order; for load
    /// and tests, without a task or a lock for each, on the connection that there is, without timeout or repetition.
    /// `write` writes request `index` under `id`, which is the index; `reply` is given the result as JSON, good during
    /// the call only. Both are called on the connection's event loop and must not block. With several requests a line,
    /// each line is a batch.
    /// - Throws: ``ClientError`` where the connection ends before all are answered.
    package func pipeline(
        count: Int, inFlight: Int, requestsPerLine: Int = 1,
        write: @escaping @Sendable (_ index: Int, _ id: RequestID, _ writer: inout RequestWriter) -> Void,
        reply: @escaping @Sendable (_ index: Int, _ result: Result<UnsafeBufferPointer<UInt8>, WireError>) -> Void
    ) async throws {
        let milliseconds = configuration.requestTimeoutMilliseconds
        let connection: ClientConnection
        switch await keeper.connection(deadline: .now() + .milliseconds(milliseconds)) {
        case .connected(let there): connection = there
        case .failed(let error): throw error
        case .timedOut: throw ClientError.cannotConnect("no connection within \(milliseconds) ms")
        case .cancelled: throw CancellationError()
        }
        do {
            try await withCheckedThrowingContinuation { completion in
                connection.run(
                    Pipeline(
                        count: count, inFlightMax: inFlight, requestsPerLine: requestsPerLine, write: write,
                        read: reply,
                        completion: completion))
            }
        } catch {
            keeper.discard(connection)
            throw error
        }
    }
}
