import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// An App Store in the test: a real server on a loopback port, which keeps the requests and answers as told. It speaks
/// HTTP/1.1; over TLS HTTP/2, where its settings offer that.
final class TestStore: Sendable {
    /// A request as it came.
    struct Request: Sendable {
        var method: HTTPMethod
        /// Path and query, as they stood in the request line.
        var target: String
        var headers: HTTPHeaders
        var body: String
        /// Whether it came by HTTP/2.
        var isOfHTTP2 = false

        var path: String { String(target.prefix { $0 != "?" }) }
        var token: String { String((headers.first(name: "Authorization") ?? "").dropFirst("Bearer ".count)) }
    }

    /// What is done with a request.
    enum Answer: Sendable {
        case reply(Int, String, headers: [String: String] = [:])
        /// The connection stays open, and nothing comes.
        case silence
        /// The connection is closed without an answer.
        case close
        /// The head of a reply and the beginning of its body; then the connection is closed.
        case cut(after: String)
        /// The head of a reply, and a byte every ten milliseconds without an end.
        case drip
        /// Bytes that are no HTTP.
        case bytes(String)
        /// Bytes that are no TLS, on a connection that speaks it.
        case bytesBelowTLS(String)
    }

    private let channel: any Channel
    private let log: NIOLockedValueBox<[Request]>
    private let connectionCount: NIOLockedValueBox<Int>

    /// The requests that came, in their order.
    var requests: [Request] { log.withLockedValue { $0 } }
    /// The connections that were made.
    var connections: Int { connectionCount.withLockedValue { $0 } }
    var port: Int { channel.localAddress?.port ?? 0 }

    /// - Parameter answer: what to do with a request, by its number from 1 on.
    static func start(
        host: String = "127.0.0.1", tls: TLSConfiguration? = nil, answer: @escaping @Sendable (Request, Int) -> Answer
    ) async throws -> TestStore {
        let context = try tls.map { try NIOSSLContext(configuration: $0) }
        let log = NIOLockedValueBox<[Request]>([])
        let connections = NIOLockedValueBox(0)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 128)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                connections.withLockedValue { $0 += 1 }
                let serve: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(
                            NIOHTTPServerRequestAggregator(maxContentLength: .max),
                            StoreHandler(log: log, answer: answer))
                    }
                }
                guard let context else {
                    return channel.pipeline.configureHTTPServerPipeline().flatMap { serve(channel) }
                }
                let secured = channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                }
                return secured.flatMap { channel.configureCommonHTTPServerPipeline(serve) }
            }
            .bind(host: host, port: 0).get()
        return TestStore(channel: channel, log: log, connections: connections)
    }

    private init(channel: any Channel, log: NIOLockedValueBox<[Request]>, connections: NIOLockedValueBox<Int>) {
        self.channel = channel
        self.log = log
        connectionCount = connections
    }

    func stop() async throws { try await channel.close() }
}

private final class StoreHandler: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPServerRequestFull
    typealias OutboundOut = HTTPServerResponsePart

    private let log: NIOLockedValueBox<[TestStore.Request]>
    private let answer: @Sendable (TestStore.Request, Int) -> TestStore.Answer

    init(
        log: NIOLockedValueBox<[TestStore.Request]>,
        answer: @escaping @Sendable (TestStore.Request, Int) -> TestStore.Answer
    ) {
        self.log = log
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let came = unwrapInboundIn(data)
        let isOfHTTP2 =
            (try? context.pipeline.syncOperations.handler(type: HTTP2FramePayloadToHTTP1ServerCodec.self)) != nil
        let request = TestStore.Request(
            method: came.head.method, target: came.head.uri, headers: came.head.headers,
            body: came.body.map { String(buffer: $0) } ?? "", isOfHTTP2: isOfHTTP2)
        let number = log.withLockedValue { log in
            log.append(request)
            return log.count
        }
        carryOut(answer(request, number), context)
    }

    private func carryOut(_ answer: TestStore.Answer, _ context: ChannelHandlerContext) {
        switch answer {
        case .reply(let status, let text, let headers):
            var fields = HTTPHeaders(headers.map { ($0.key, $0.value) })
            fields.add(name: "Content-Length", value: String(text.utf8.count))
            writeHead(status, fields, context)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .silence: break
        case .close: context.close(promise: nil)
        case .cut(let part):
            writeHead(200, ["Content-Length": String(part.utf8.count + 100)], context)
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: part))))).whenComplete { _ in
                channel.close(promise: nil)
            }
        case .drip:
            writeHead(200, ["Transfer-Encoding": "chunked"], context)
            drip(context.channel)
        case .bytes(let text):
            guard
                let encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
            else { return context.close(promise: nil) }
            encoder.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
        case .bytesBelowTLS(let text):
            guard let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) else {
                return context.close(promise: nil)
            }
            tls.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
        }
    }

    private func writeHead(_ status: Int, _ headers: HTTPHeaders, _ context: ChannelHandlerContext) {
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func drip(_ channel: any Channel) {
        channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(10)) { task in
            guard channel.isActive else { return task.cancel() }
            channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: " "))), promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
