import LedgerClient
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

/// The other end of a real socket: answers the lines of each connection as a test says.
final class Peer: Sendable {
    enum Step: Sendable {
        case send([UInt8])
        /// The same, after a moment in which the other end does what it does about that which was sent before.
        case sendLater([UInt8])
        /// The same bytes, each in a write of its own.
        case trickle([UInt8])
        case close
    }

    /// What to do on the `index`th line of a connection, or, with no line, when it opens.
    typealias Script = @Sendable (_ index: Int, _ line: [UInt8]?) -> [Step]

    /// The same for the `connection`th connection, from 0.
    typealias ConnectionScript = @Sendable (_ connection: Int, _ index: Int, _ line: [UInt8]?) -> [Step]

    /// What one peer has seen on all of its connections.
    struct Seen: Sendable {
        var lines: [[UInt8]] = []
        /// The lines of each connection.
        var connections: [[[UInt8]]] = []
        var reads = 0
        var open = 0
        /// The most lines that came without an answer in between.
        var linesAtOnceMax = 0
    }

    let address: ServerAddress
    private let channel: any Channel
    private let seen: Observations

    private init(address: ServerAddress, channel: any Channel, seen: Observations) {
        (self.address, self.channel, self.seen) = (address, channel, seen)
    }

    static func start(unixPath: String? = nil, _ script: @escaping Script) async throws -> Peer {
        try await start(unixPath: unixPath, eachConnection: { _, index, line in script(index, line) })
    }

    static func start(
        unixPath: String? = nil, eachConnection script: @escaping ConnectionScript
    ) async throws -> Peer {
        let seen = Observations()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(PeerHandler(script, seen))
                }
            }
        if let unixPath {
            let channel = try await bootstrap.bind(unixDomainSocketPath: unixPath).get()
            return Peer(address: .unix(path: unixPath), channel: channel, seen: seen)
        }
        let channel = try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(channel.localAddress?.port)
        return Peer(address: .tcp(host: "127.0.0.1", port: port), channel: channel, seen: seen)
    }

    var observed: Seen { seen.value.withLockedValue { $0 } }

    /// Connections that the other end has not closed.
    var openConnections: Int { seen.value.withLockedValue { $0.open } }

    func stop() async throws { try await channel.close() }

    /// Runs `body` against a peer of its own, with a client that repeats nothing.
    static func with<Result>(
        _ script: @escaping Script, _ body: (Peer, LedgerClient) async throws -> Result
    ) async throws -> Result {
        try await with(configuration: .raw, { _, index, line in script(index, line) }, body)
    }

    /// Runs `body` against a peer of its own.
    static func with<Result>(
        configuration: ClientConfiguration, token: String? = nil, _ script: @escaping ConnectionScript,
        _ body: (Peer, LedgerClient) async throws -> Result
    ) async throws -> Result {
        let peer = try await start(eachConnection: script)
        let client = try await LedgerClient.connect(to: peer.address, token: token, configuration: configuration)
        let result = try await body(peer, client)
        try await client.close()
        try await peer.stop()
        return result
    }
}

final class Observations: Sendable {
    let value = NIOLockedValueBox(Peer.Seen())
}

/// Touched on its event loop only.
private final class PeerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let script: Peer.ConnectionScript
    private let seen: Observations
    private var partial: [UInt8] = []
    private var index = 0
    private var connection = 0

    init(_ script: @escaping Peer.ConnectionScript, _ seen: Observations) { (self.script, self.seen) = (script, seen) }

    func channelActive(context: ChannelHandlerContext) {
        connection = seen.value.withLockedValue { seen in
            seen.connections.append([])
            seen.open += 1
            return seen.connections.count - 1
        }
        perform(script(connection, -1, nil), context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        seen.value.withLockedValue { $0.open -= 1 }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        partial += unwrapInboundIn(data).readableBytesView
        var lines = partial.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
        partial = lines.removeLast()
        seen.value.withLockedValue { seen in
            seen.reads += 1
            seen.lines += lines
            seen.connections[connection] += lines
            seen.linesAtOnceMax = max(seen.linesAtOnceMax, lines.count)
        }
        for line in lines {
            perform(script(connection, index, line), context)
            index += 1
        }
    }

    private func perform(_ steps: [Peer.Step], _ context: ChannelHandlerContext) {
        for step in steps {
            switch step {
            case .send(let bytes): context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .sendLater(let bytes):
                context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(100)) {
                    context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
                }
            case .trickle(let bytes):
                for byte in bytes { context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: [byte])), promise: nil) }
            case .close: context.close(promise: nil)
            }
        }
    }
}
