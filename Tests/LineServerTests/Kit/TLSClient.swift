import LedgerWire
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL

/// A client that speaks TLS and nothing else, for what no well-behaved client sends or leaves undone.
final class TLSClient: Sendable {
    private struct Received {
        var bytes: [UInt8] = []
        var isEnded = false
    }

    private let channel: any Channel
    private let received = NIOLockedValueBox(Received())

    /// - Parameter beforeHandshake: what is done while it is connected, and has sent nothing yet.
    init(
        _ address: ServerAddress, authority: [UInt8], certificate: [UInt8]? = nil, key: [UInt8]? = nil,
        beforeHandshake: () async throws -> Void = {}
    ) async throws {
        guard case .tcp(let host, let port) = address else { preconditionFailure("TLS is spoken over TCP") }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(authority))
        if let certificate, let key {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(certificate).map { .certificate($0) }
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: key, format: .pem))
        }
        let context = try NIOSSLContext(configuration: configuration)
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: host, port: port).get()
        try await beforeHandshake()
        try await channel.eventLoop.submit { [channel, received] in
            try channel.pipeline.syncOperations.addHandlers(
                NIOSSLClientHandler(context: context, serverHostname: nil), Collector(received))
        }.get()
    }

    /// Touched on its event loop only.
    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let received: NIOLockedValueBox<Received>

        init(_ received: NIOLockedValueBox<Received>) { self.received = received }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            received.withLockedValue { $0.bytes += bytes.readableBytesView }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .some(.inputClosed) = event as? ChannelEvent { received.withLockedValue { $0.isEnded = true } }
            context.fireUserInboundEventTriggered(event)
        }

        func channelInactive(context: ChannelHandlerContext) {
            received.withLockedValue { $0.isEnded = true }
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }

    var isWritable: Bool { channel.isWritable }
    /// Whether the server has closed its side.
    var isEnded: Bool { received.withLockedValue { $0.isEnded } }

    func setReading(_ reads: Bool) async throws { try await channel.setOption(.autoRead, value: reads).get() }

    func send(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }

    /// With TLS's own word for it.
    func closeOutput() async throws { try await channel.close(mode: .output) }

    /// So many lines, within ten seconds.
    func lines(_ count: Int) async throws -> [String] {
        var lines: [String] = []
        _ = try await eventually {
            // What came before the end is there when the end is.
            let isEnded = isEnded
            lines += received.withLockedValue { received in
                var parts = received.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                received.bytes = Array(parts.removeLast())
                return parts.map { String(decoding: $0, as: UTF8.self) }
            }
            return lines.count >= count || isEnded
        }
        return lines
    }

    /// All that has come, once that is enough, or within ten seconds.
    func text(until isEnough: (String) -> Bool) async throws -> String {
        var (text, count) = ("", 0)
        _ = try await eventually {
            // What came before the end is there when the end is.
            let isEnded = isEnded
            (text, count) = received.withLockedValue { (String(decoding: $0.bytes, as: UTF8.self), $0.bytes.count) }
            return isEnough(text) || isEnded
        }
        received.withLockedValue { $0.bytes.removeFirst(count) }
        return text
    }

    func ask(_ requests: [String]) async throws -> [JSON] {
        send(requests.joined(separator: "\n") + "\n")
        return try await lines(requests.count).map { try JSON($0) }
    }

    func close() async throws { try? await channel.close() }
}

/// Takes connections and says nothing.
struct SilentServer {
    let address: ServerAddress
    private let channel: any Channel

    init() async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        guard let bound = channel.localAddress?.port else { preconditionFailure("a bound socket has a port") }
        address = .tcp(host: "127.0.0.1", port: bound)
    }

    func stop() async throws { try await channel.close() }
}
