import LedgerClient
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// The other end of a real socket: answers the lines of each connection as a test says.
final class Peer: Sendable {
    enum Step: Sendable {
        case send([UInt8])
        /// The same bytes, each in a write of its own.
        case trickle([UInt8])
        case close
    }

    /// What to do on the `index`th line of a connection, or, with no line, when it opens.
    typealias Script = @Sendable (_ index: Int, _ line: [UInt8]?) -> [Step]

    /// What one peer has seen on all of its connections.
    struct Seen: Sendable {
        var lines: [[UInt8]] = []
        var reads = 0
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

    var observed: Seen { seen.value.withLock { $0 } }

    func stop() async throws { try await channel.close() }

    /// Runs `body` against a peer of its own.
    static func with<Result>(
        _ script: @escaping Script, _ body: (Peer, LedgerClient) async throws -> Result
    ) async throws -> Result {
        let peer = try await start(script)
        let client = try await LedgerClient.connect(to: peer.address)
        let result = try await body(peer, client)
        try await client.close()
        try await peer.stop()
        return result
    }
}

final class Observations: Sendable {
    let value = Mutex(Peer.Seen())
}

/// Touched on its event loop only.
private final class PeerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let script: Peer.Script
    private let seen: Observations
    private var partial: [UInt8] = []
    private var index = 0

    init(_ script: @escaping Peer.Script, _ seen: Observations) { (self.script, self.seen) = (script, seen) }

    func channelActive(context: ChannelHandlerContext) { perform(script(-1, nil), context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        partial += unwrapInboundIn(data).readableBytesView
        var lines = partial.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
        partial = lines.removeLast()
        seen.value.withLock { seen in
            seen.reads += 1
            seen.lines += lines
            seen.linesAtOnceMax = max(seen.linesAtOnceMax, lines.count)
        }
        for line in lines {
            perform(script(index, line), context)
            index += 1
        }
    }

    private func perform(_ steps: [Peer.Step], _ context: ChannelHandlerContext) {
        for step in steps {
            switch step {
            case .send(let bytes): context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .trickle(let bytes):
                for byte in bytes { context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: [byte])), promise: nil) }
            case .close: context.close(promise: nil)
            }
        }
    }
}
