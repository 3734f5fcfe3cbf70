internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// A simulator in operation: HTTP/1.1 in front of it, and its notifications.
package struct SimulatorServer: Sendable {
    private let simulator: Simulator
    private let host: String
    private let port: Int
    private let connections = ConnectionCount()

    /// - Parameter port: 0 for any that is free.
    /// - Throws: ``SimulatorError`` where the host is not this machine alone: whoever can connect may sell here.
    package init(_ simulator: Simulator, host: String, port: Int) throws(SimulatorError) {
        guard host == "localhost" || host == "::1" || host.hasPrefix("127.") else {
            throw SimulatorError(.invalid, "a simulator listens to this machine alone: 127.0.0.1, [::1] or localhost")
        }
        self.simulator = simulator
        self.host = host
        self.port = port
    }

    /// Serves until its task is cancelled.
    /// - Parameter listening: called with the port, once it listens.
    /// - Throws: ``SimulatorError`` where it cannot listen, or the file fails.
    package func run(listening: @Sendable (_ port: Int) -> Void) async throws {
        let listener = try await bind()
        listening(listener.channel.localAddress?.port ?? port)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await simulator.postNotifications() }
                group.addTask { try await serve(listener) }
                // Whichever ends first ends the other.
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch {
            await simulator.release()
            throw error
        }
        await simulator.release()
    }

    private typealias Connection = NIOAsyncChannel<NIOHTTPServerRequestFull, HTTPServerResponsePart>

    private func bind() async throws -> NIOAsyncChannel<Connection, Never> {
        do {
            return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: Int32(SimulatorLimits.connectionsMax))
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .bind(host: host, port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.configureHTTPServerPipeline()
                        try pipeline.addHandler(IdleStateHandler(allTimeout: .seconds(SimulatorLimits.idleSeconds)))
                        try pipeline.addHandler(IdleConnectionHandler())
                        try pipeline.addHandler(
                            NIOHTTPServerRequestAggregator(maxContentLength: SimulatorLimits.bodyBytesMax))
                        return try Connection(wrappingChannelSynchronously: channel)
                    }
                }
        } catch {
            throw SimulatorError(.unavailable, "cannot listen on \(host):\(port): \(NetworkFault.words(error))")
        }
    }

    private func serve(_ listener: NIOAsyncChannel<Connection, Never>) async throws {
        try await listener.executeThenClose { arriving in
            try await withThrowingDiscardingTaskGroup { group in
                for try await connection in arriving {
                    group.addTask { await serve(connection) }
                }
            }
        }
    }

    /// Answers one request after the other. What fails on a connection ends that alone.
    private func serve(_ connection: Connection) async {
        guard connections.enter() else {
            try? await connection.channel.close()
            return
        }
        defer { connections.leave() }
        try? await connection.executeThenClose { requests, responses in
            for try await part in requests {
                let request = Request(
                    method: part.head.method, target: part.head.uri, headers: part.head.headers,
                    body: part.body.map { Array($0.readableBytesView) } ?? [])
                guard let answer = await simulator.answer(request) else { return }
                try await responses.write(answer, isKeptAlive: part.head.isKeepAlive)
                if !part.head.isKeepAlive { return }
            }
        }
    }
}

extension NIOAsyncChannelOutboundWriter<HTTPServerResponsePart> {
    fileprivate func write(_ answer: Answer, isKeptAlive: Bool) async throws {
        var headers = HTTPHeaders(answer.headers)
        headers.replaceOrAdd(name: "content-length", value: String(answer.body.count))
        if !answer.body.isEmpty, !headers.contains(name: "content-type") {
            headers.add(name: "content-type", value: "application/json")
        }
        if !isKeptAlive { headers.add(name: "connection", value: "close") }
        try await write(.head(HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)))
        if !answer.body.isEmpty { try await write(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))) }
        try await write(.end(nil))
    }
}

/// Closes a connection on which nothing is said.
private final class IdleConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        context.close(promise: nil)
    }
}

/// Connections at a time.
private final class ConnectionCount: Sendable {
    private let count = Mutex(0)

    /// Whether there is room for one more.
    func enter() -> Bool {
        count.withLock { count in
            guard count < SimulatorLimits.connectionsMax else { return false }
            count += 1
            return true
        }
    }

    func leave() { count.withLock { $0 -= 1 } }
}
