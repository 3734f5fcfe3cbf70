import AppStore
import AppStoreServer
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import StrictJSON

@testable import AppStoreSimulator

/// A service that is told of purchases: a real HTTP server on a loopback port, which keeps what comes and answers as
/// told.
final class Webhook: Sendable {
    private let channel: any Channel
    private let log: NIOLockedValueBox<[String]>

    var address: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/app-store/notifications" }
    /// The notifications that came, in their order, each as its JWS.
    var posts: [String] { log.withLockedValue { $0 } }

    /// - Parameter answer: the status for a post, by its number from 1 on; `nil` closes the connection.
    static func start(
        port: Int = 0, answer: @escaping @Sendable (Int) -> HTTPResponseStatus? = { _ in .ok }
    ) async throws -> Webhook {
        let log = NIOLockedValueBox<[String]>([])
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOHTTPServerRequestAggregator(maxContentLength: .max),
                        WebhookHandler(log: log, answer: answer))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        return Webhook(channel: channel, log: log)
    }

    private init(channel: any Channel, log: NIOLockedValueBox<[String]>) {
        self.channel = channel
        self.log = log
    }

    var port: Int { channel.localAddress?.port ?? 0 }

    /// The notifications, each verified.
    func notifications() throws -> [VerifiedNotification] {
        let verifier = try Store.verifier
        return try posts.map { try verifier.verify(notification: Array($0.utf8), now: SystemTime.now()) }
    }

    func stop() async throws { try await channel.close() }
}

private final class WebhookHandler: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPServerRequestFull
    typealias OutboundOut = HTTPServerResponsePart

    private let log: NIOLockedValueBox<[String]>
    private let answer: @Sendable (Int) -> HTTPResponseStatus?

    init(log: NIOLockedValueBox<[String]>, answer: @escaping @Sendable (Int) -> HTTPResponseStatus?) {
        self.log = log
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let body = unwrapInboundIn(data).body ?? ByteBuffer()
        let members = try? JSONMembers.read(Array(body.readableBytesView))
        let number = log.withLockedValue { log in
            log.append(members?["signedPayload"] ?? "")
            return log.count
        }
        guard let status = answer(number) else { return context.close(promise: nil) }
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: ["content-length": "0"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
