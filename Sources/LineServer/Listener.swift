import LedgerWire
import NIOCore
import NIOHTTP1
import NIOPosix

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A socket that listens, and its file where it has one.
struct ListeningSocket {
    let channel: any Channel
    let file: UnixSocket.File?

    /// Nobody can connect any more. A Unix-domain socket's file, which would outlive it, is removed first: while the
    /// socket is open it can be told from another's.
    func close() async throws {
        file?.remove()
        try await channel.close().get()
    }
}

/// Binds addresses and sets up the pipeline of every connection: the one place for what stands between the socket and
/// the connection's handler.
struct Listener {
    let group: MultiThreadedEventLoopGroup
    let services: ConnectionServices
    /// What clients speak there.
    let speech: Speech

    /// - Parameter lacks: what is missing for other machines to be let in.
    /// - Throws: ``ServerError``
    func bind(_ address: ServerAddress, lacks: [String]) async throws -> ListeningSocket {
        let socket = try await resolve(address)
        guard lacks.isEmpty || socket.isLocal else {
            throw ServerError(.unprotected, address, lacks: lacks)
        }
        do {
            switch address {
            case .tcp:
                return ListeningSocket(channel: try await bindTCP(socket), file: nil)
            case .unix(let path):
                try refuseIfServed(path)
                return try await bindUnix(path)
            }
        } catch let error as ServerError {
            throw error
        } catch {
            throw ServerError(.unavailable, "cannot listen on \(address): \(Listener.words(error, address))")
        }
    }

    /// What keeps the operating system or NIO from it, for people.
    private static func words(_ error: any Error, _ address: ServerAddress) -> String {
        switch error {
        case let error as IOError:
            let reason = String(cString: strerror(error.errnoCode))
            if error.errnoCode == EACCES, case .tcp(_, let port) = address, port < 1_024 {
                return "\(reason): ports below 1024 need a privilege of their own"
            }
            return reason
        case let error as SocketAddressError.UnknownHost:
            return "the host \(error.host) is not known: \(error.errorDescription)"
        case is UnixSocket.WrongKindOfFile:
            return "what is at this path is no socket; it is left as it is"
        case SocketAddressError.unsupported:
            return "the host has no address of IPv4 or IPv6"
        default:
            return "\(error)"
        }
    }

    /// Names are looked up with a system call that blocks.
    private func resolve(_ address: ServerAddress) async throws -> SocketAddress {
        do {
            switch address {
            case .unix(let path):
                return try SocketAddress(unixDomainSocketPath: path)
            case .tcp(let host, let port):
                return try await NIOThreadPool.singleton.runIfActive {
                    try SocketAddress.makeAddressResolvingHost(host, port: port)
                }
            }
        } catch {
            throw ServerError(.unavailable, "cannot listen on \(address): \(Listener.words(error, address))")
        }
    }

    /// A file that a killed server left behind is taken over; one at which somebody listens, or may, is not.
    private func refuseIfServed(_ path: String) throws {
        guard try UnixSocket.isServed(path) else { return }
        throw ServerError(.alreadyServed, "cannot listen on unix:\(path): another server does")
    }

    private func bindTCP(_ socket: SocketAddress) async throws -> any Channel {
        let limits = services.limits
        return try await bootstrap(certificates: services.certificates, hosts: speech.hosts(services))
            // Connections have it from the socket that listens (tcp(7)).
            .serverChannelOption(.socketOption(.so_rcvbuf), value: limits.receiveBufferBytes)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // A peer that vanished without a word keeps no place (tcp(7)).
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.tcpOption(.keepIdle), value: limits.keepaliveSeconds)
            .childChannelOption(.tcpOption(.keepInterval), value: limits.keepaliveIntervalSeconds)
            .childChannelOption(.tcpOption(.keepCount), value: limits.keepaliveProbes)
            // The kernel would take megabytes for a client that reads nothing.
            .childChannelOption(.tcpOption(.unsentLow), value: limits.unsentReplyBytesMax)
            .bind(to: socket).get()
    }

    private func bindUnix(_ path: String) async throws -> ListeningSocket {
        let descriptor = try UnixSocket.bind(path, mode: services.socketMode)
        let file = UnixSocket.File(path)
        // No page reaches it, whatever it calls the host.
        let channel = try await bootstrap(certificates: nil, hosts: nil).withBoundSocket(descriptor).get()
        // NIO listens to a bound socket with a queue of its own length.
        listen(descriptor, services.limits.listenBacklog)
        return ListeningSocket(channel: channel, file: file)
    }

    /// Sets up a connection that watches.
    private func watch(
        _ channel: any Channel, _ certificates: ServerCertificates?, _ hosts: LocalHosts?
    ) -> EventLoopFuture<Void> {
        // The authorities may have been replaced since it listens.
        guard services.mayWatch(from: channel.remoteAddress), let place = services.watch.admit(channel) else {
            return channel.close()
        }
        return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let certificates {
                try pipeline.addHandlers(
                    PlaintextRefusalHandler(services, speech), certificates.makeHandler(asksClients: true))
            }
            try pipeline.addHandlers(
                HTTPResponseEncoder(), services.limits.makeHTTPDecoder(),
                WatchFront(services, hosts: hosts, place: place))
        }
    }

    /// - Parameter hosts: by which names clients may ask over HTTP; `nil` where these are no matter.
    private func bootstrap(certificates: ServerCertificates?, hosts: LocalHosts?) -> ServerBootstrap {
        let (services, speech) = (services, speech)
        let limits = services.limits
        return ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: limits.listenBacklog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPauseHandler(services))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // Each reading (of 64 KiB at most) is looked at before the next: no more comes than may be kept.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .writeBufferWaterMark,
                value: .init(low: limits.unreadReplyBytesLow, high: limits.unreadReplyBytesMax)
            )
            .childChannelInitializer { channel in
                if speech == .watching { return watch(channel, certificates, hosts) }
                let front = speech.front(services, hosts, isTLS: certificates != nil)
                let handler = ConnectionHandler(
                    services, eventLoop: channel.eventLoop, isTLS: certificates != nil, front: front)
                let admission = services.connections.admit(handler, channel)
                if admission == .dropped { return channel.close() }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let certificates {
                        try pipeline.addHandlers(
                            PlaintextRefusalHandler(services, speech),
                            certificates.makeHandler(
                                asksClients: speech != .http || services.needsCertificatesOverHTTP))
                    }
                    guard admission == .served else {
                        let refusal = RefusalHandler(speech, lingerMilliseconds: limits.lingerMilliseconds)
                        return try pipeline.addHandler(refusal)
                    }
                    if let front {
                        try pipeline.addHandlers(
                            HTTPResponseEncoder(), HTTPInputGate(front, limits), limits.makeHTTPDecoder(), front)
                    }
                    try pipeline.addHandler(handler)
                }
            }
    }
}

extension Speech {
    /// By which names clients may ask; `nil` where these are no matter.
    fileprivate func hosts(_ services: ConnectionServices) -> LocalHosts? {
        switch self {
        case .lines, .http: services.hosts
        case .console: services.consoleHosts
        case .watching: services.watchHosts
        }
    }

    /// What stands before a connection's handler; `nil` where clients speak no HTTP to that.
    fileprivate func front(_ services: ConnectionServices, _ hosts: LocalHosts?, isTLS: Bool) -> HTTPServerHandler? {
        let application: any HTTPApplication
        switch self {
        case .lines, .watching: return nil
        case .http: application = HTTPFront(services, hosts: hosts)
        case .console: application = ConsoleFront(services, hosts: hosts, isTLS: isTLS)
        }
        return HTTPServerHandler(application, services, headers: headers)
    }
}

extension NIOBSDSocket.Option {
    fileprivate static let keepIdle = NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE)
    fileprivate static let keepInterval = NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL)
    fileprivate static let keepCount = NIOBSDSocket.Option(rawValue: TCP_KEEPCNT)
    fileprivate static let unsentLow = NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT)
}
