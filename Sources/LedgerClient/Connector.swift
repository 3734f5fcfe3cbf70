import LedgerWire
import NIOCore
import NIOPosix

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Makes connections to one server, or to nodes of one ledger, each authenticated before anything else is sent on it.
struct Connector: Sendable {
    /// At least one.
    let addresses: [ServerAddress]
    let configuration: ClientConfiguration

    /// Whether it goes where a node says that the leader is.
    var followsLeader: Bool { addresses.count > 1 }

    /// - Parameter id: the id of an `authenticate`.
    /// - Throws: ``ClientError/cannotConnect(_:)``; the ``WireError`` of a token that the server does not take.
    func connect(to address: ServerAddress, token: String?, id: () -> Int64) async throws -> ClientConnection {
        let deadline = NIODeadline.now() + .milliseconds(configuration.connectTimeoutMilliseconds)
        let connection: ClientConnection
        do {
            connection = try await open(address)
        } catch {
            throw ClientError.cannotConnect(Connector.words(error))
        }
        if !greets(with: token) { return connection }
        let id = id()
        let line = RequestWriter.line(
            Methods.authenticate,
            Authentication(token: token, isDirect: followsLeader, client: token.flatMap { _ in configuration.client }),
            id: id, ledger: configuration.ledger)
        do throws(ConnectFailure) {
            try await Connector.admit(connection.perform(id: id, line: line, deadline: deadline))
            return connection
        } catch {
            connection.abandon(ClientError.closed)
            throw error.reason
        }
    }

    /// Whether a connection with this token begins with an `authenticate`, which says who asks, which ledger, and that
    /// it goes to the leader by itself.
    func greets(with token: String?) -> Bool { token != nil || configuration.ledger != nil || followsLeader }

    /// What kept NIO from it, for people.
    private static func words(_ error: any Error) -> String {
        switch error {
        case let error as IOError:
            return String(cString: strerror(error.errnoCode))
        case let error as NIOConnectionError:
            // A host may have several addresses, mostly with one reason.
            var reasons: [String] = []
            for failure in error.connectionErrors where !reasons.contains(words(failure.error)) {
                reasons.append(words(failure.error))
            }
            if !reasons.isEmpty { return reasons.joined(separator: "; ") }
            return "the host \(error.host) is not known"
        case ChannelError.connectTimeout(let time):
            return "no answer within \(time.nanoseconds / 1_000_000) ms"
        default:
            return ClientTLS.words(error) ?? "\(error)"
        }
    }

    private struct ConnectFailure: Error {
        var reason: any Error
    }

    /// Nothing but the token was sent: whatever ended it, no request was carried out.
    private static func admit(_ end: AttemptEnd) throws(ConnectFailure) {
        switch end {
        case .answered(.success): return
        // It came to open another ledger just then.
        case .answered(.failure(let error)) where error.isLedgerRequired:
            throw ConnectFailure(reason: ClientError.cannotConnect(error.message))
        case .answered(.failure(let error)): throw ConnectFailure(reason: error)
        case .disconnected(let error as ClientError, _):
            throw ConnectFailure(reason: ClientError.cannotConnect(error.description))
        case .disconnected(let error, _): throw ConnectFailure(reason: error)
        case .timedOut: throw ConnectFailure(reason: ClientError.cannotConnect("the token was not answered in time"))
        case .cancelled: throw ConnectFailure(reason: CancellationError())
        }
    }

    /// A connection of TCP, and the end of its TLS handshake.
    private typealias Opened = (connection: ClientConnection, handshake: EventLoopFuture<Void>?)

    private func open(_ address: ServerAddress) async throws -> ClientConnection {
        let tls = try configuration.renewedTLS?() ?? configuration.tls
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.milliseconds(configuration.connectTimeoutMilliseconds))
        // The handler is given back by the initializer, not looked up later: a server that closes at once has removed
        // it by then.
        let initialize: @Sendable (any Channel) -> EventLoopFuture<Opened> = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let connection = ClientConnection(channel: channel, to: address, configuration: configuration)
                guard case .tcp(let host, _) = address, let tls else {
                    try pipeline.addHandler(connection)
                    return (connection, nil)
                }
                let handshake = channel.eventLoop.makePromise(of: Void.self)
                let timeout = TimeAmount.milliseconds(configuration.connectTimeoutMilliseconds)
                do {
                    try pipeline.addHandlers(
                        tls.makeHandler(host: host), HandshakeHandler(handshake, timeout: timeout), connection)
                } catch {
                    handshake.fail(error)
                    throw error
                }
                return (connection, handshake.futureResult)
            }
        }
        let opened: Opened
        switch address {
        case .tcp(let host, let port):
            opened = try await withTCPOptions(bootstrap)
                .connect(host: host, port: port, channelInitializer: initialize)
        case .unix(let path):
            opened = try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: initialize)
        }
        do {
            try await opened.handshake?.get()
            return opened.connection
        } catch {
            opened.connection.abandon(ClientError.closed)
            throw error
        }
    }

    private func withTCPOptions(_ bootstrap: ClientBootstrap) -> ClientBootstrap {
        // Requests are written whole: waiting for more to fill a segment would only delay them (RFC 896).
        let bootstrap = bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1)
        if !followsLeader { return bootstrap }
        // A machine that is lost says nothing, and another node leads soon: what waits for an answer is asked there.
        let seconds = ClientLimits.keepaliveSeconds
        return bootstrap.channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.keepIdle), value: seconds)
            .channelOption(.tcpOption(.keepInterval), value: seconds)
            .channelOption(.tcpOption(.userTimeout), value: ClientLimits.silentMachineMilliseconds)
    }
}

extension NIOBSDSocket.Option {
    static let keepIdle = NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE)
    static let keepInterval = NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL)
    static let userTimeout = NIOBSDSocket.Option(rawValue: TCP_USER_TIMEOUT)
}

extension RequestWriter {
    /// One request as a line.
    static func line<Params, Result>(
        _ call: TypedMethod<Params, Result>, _ params: Params, id: Int64, ledger: LedgerName? = nil
    ) -> [UInt8] {
        var writer = RequestWriter(capacity: 256)
        writer.write(call, params, id: .integer(id), ledger: ledger)
        return writer.bytes
    }
}
