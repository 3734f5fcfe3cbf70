import LedgerWire
import NIOCore
import NIOHTTP1

/// HTTP/1.1 in front of a connection's handler: the body of a request is a line to that, and its reply the body of the
/// response. What a client sends behind a request waits until that is answered.
///
/// Each request shows by itself who sends it. So a load balancer may send those of many clients on one connection.
final class HTTPFront: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that is not answered.
    private struct Exchange {
        let route: HTTPRoute
        /// Whether the connection goes on behind it.
        let isKeptAlive: Bool
        var bodyBytes = 0
        /// Whether it would be no line: nothing has come but ends of lines.
        var isEmpty = true
    }

    private enum Phase {
        case idle
        /// Its body is still coming.
        case receiving(Exchange)
        /// The ledger has it.
        case answering(Exchange)
        /// Something was refused for which the connection is closed: nothing more is looked at.
        case refused
    }

    /// What stands behind this; set once, before anything comes.
    weak var connection: ConnectionHandler?
    private let limits: ServerLimits
    private let notices: NoticeLog
    private var context: ChannelHandlerContext?
    private var phase = Phase.idle
    /// What came behind the request that is not answered yet.
    private var behind = CircularBuffer<HTTPServerRequestPart>()
    /// Why nothing more is looked at behind that.
    private var refusalBehind: HTTPRefusal?
    private var isInputClosed = false
    private var isReadHeld = false
    /// Whether anything was handed on since the channel last told that a reading was over.
    private var hasHandedOn = false
    /// Replies of the ledger to the request.
    private var reply = ByteBuffer()
    /// Looks after a body that does not end.
    private var timer: Scheduled<Void>?

    init(_ services: ConnectionServices) {
        limits = services.limits
        notices = services.notices
    }

    /// What a connection is told that is not served at all.
    static func bytes(refusing error: WireError) -> [UInt8] {
        let refusal = HTTPRefusal(error.retryable ? .serviceUnavailable : .badRequest, error)
        let body = refusal.body
        let head = """
            HTTP/1.1 \(refusal.status.code) \(refusal.status.reasonPhrase)\r
            content-type: application/json\r
            content-length: \(body.count)\r
            connection: close\r
            \r

            """
        return Array(head.utf8) + body
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.cancel()
        timer = nil
        behind.removeAll()
    }

    // MARK: What comes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        switch phase {
        case .refused: return
        case .idle where behind.isEmpty: received(part, context)
        case .receiving: received(part, context)
        case .idle, .answering: keep(part)
        }
    }

    /// Keeps what came behind a request that is not answered yet.
    private func keep(_ part: HTTPServerRequestPart) {
        if refusalBehind != nil { return }
        if behind.count < limits.partsBehindMax {
            behind.append(part)
        } else {
            refusalBehind = .unavailable(.overloaded)
        }
    }

    private func received(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch (part, phase) {
        case (.head(let head), .idle): begin(head, context)
        case (.body(let bytes), .receiving(var exchange)):
            exchange.bodyBytes += bytes.readableBytes
            if exchange.bodyBytes > exchange.route.bodyBytesMax(limits) {
                return refuse(.tooLong(exchange.route, limits), context)
            }
            let part = bytes.asPartOfLine
            exchange.isEmpty = exchange.isEmpty && part.readableBytesView.allSatisfy { $0 == UInt8(ascii: "\r") }
            phase = .receiving(exchange)
            handOn(part, context)
        case (.end, .receiving(let exchange)):
            timer?.cancel()
            timer = nil
            phase = .answering(exchange)
            handOn(ByteBuffer(string: exchange.isEmpty ? " \n" : "\n"), context)
        case (.body, _), (.end, _), (.head, _): return
        }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard let connection else { return }
        switch HTTPRoute.read(head, limits) {
        case .failure(let refusal): refuse(refusal, context, to: head.method)
        case .success((let route, let credential)):
            if let error = connection.begin(route.form, from: credential) {
                return refuse(error.retryable ? .unavailable(error) : .unauthenticated(error), context)
            }
            // Behind an offer to change the protocol nothing is decoded any more.
            let isKeptAlive = head.version == .http1_1 && head.isKeepAlive && !head.headers.contains(name: "upgrade")
            phase = .receiving(Exchange(route: route, isKeptAlive: isKeptAlive))
            if head.version == .http1_1,
                head.headers[canonicalForm: "expect"].contains(where: { $0.lowercased() == "100-continue" })
            {
                context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
                context.flush()
            }
        }
    }

    private func handOn(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        hasHandedOn = true
        context.fireChannelRead(wrapInboundOut(bytes))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .receiving = phase, timer == nil { awaitEnd(context) }
        guard hasHandedOn else { return }
        hasHandedOn = false
        context.fireChannelReadComplete()
    }

    /// A body that does not end in time is not waited for.
    private func awaitEnd(_ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(limits.requestMilliseconds)) {
            self.timer = nil
            guard let context = self.context, case .receiving = self.phase else { return }
            // It is not the client's fault where there is no memory for more of it.
            if self.connection?.holdsReading == true { return self.awaitEnd(context) }
            self.refuse(.tooSlow, context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent, !behind.isEmpty {
            isInputClosed = true
            return
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // After an error each further reading brings one.
        guard
            error is HTTPParserError || error is ByteToMessageDecoderError
                || error is ByteToMessageDecoderError.PayloadTooLargeError
        else {
            return context.fireErrorCaught(error)
        }
        switch phase {
        case .idle where behind.isEmpty: refuse(.malformed, context)
        case .receiving where behind.isEmpty: refuse(.malformed, context)
        // Its client would take this for the answer to what it sent before.
        case .idle, .receiving, .answering: refusalBehind = refusalBehind ?? .malformed
        case .refused: return
        }
    }

    func read(context: ChannelHandlerContext) {
        guard case .answering = phase, !behind.isEmpty else { return context.read() }
        isReadHeld = true
    }

    // MARK: What goes

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        // Nothing is written to learn when all before it is written.
        if bytes.readableBytes == 0 {
            return context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: promise)
        }
        reply.writeBuffer(&bytes)
        promise?.succeed()
    }

    /// All that was handed on is answered.
    /// - Parameter ends: whether the connection does.
    /// - Returns: whether that was a request.
    func answer(ends: Bool = false) -> Bool {
        guard let context, case .answering(let exchange) = phase else { return false }
        let isKeptAlive = exchange.isKeptAlive && !ends
        phase = .idle
        var body = reply
        reply = ByteBuffer()
        let status: HTTPResponseStatus
        switch exchange.route {
        case .requests: status = body.readableBytes == 0 ? .noContent : .ok
        case .notifications:
            let verdict = NotificationVerdict(body)
            if let notice = verdict.notice { notices.note(notice, context.channel.peerWords, verdict.details) }
            (status, body) = (verdict.status, verdict.body)
        }
        respond(context, status, body, isKeptAlive: isKeptAlive)
        if !isKeptAlive {
            phase = .refused
            connection?.finish()
        } else if !behind.isEmpty || isReadHeld || refusalBehind != nil {
            let front = NIOLoopBound(self, eventLoop: context.eventLoop)
            context.eventLoop.execute { front.value.resume() }
        }
        return true
    }

    /// Looks at what came meanwhile.
    private func resume() {
        guard let context else { return }
        while let part = behind.first {
            if case .answering = phase { break }
            behind.removeFirst()
            received(part, context)
        }
        channelReadComplete(context: context)
        if behind.isEmpty {
            if let refusalBehind {
                switch phase {
                case .idle, .receiving: return refuse(refusalBehind, context)
                case .answering, .refused: break
                }
            }
            if isInputClosed {
                isInputClosed = false
                context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            }
            if isReadHeld {
                isReadHeld = false
                context.read()
            }
        }
    }

    /// The connection ends: what the ledger has is answered.
    /// - Parameter isAnswered: whether it had the request.
    func end(isAnswered: Bool) {
        guard let context else { return }
        switch phase {
        case .idle, .refused: break
        case .answering where isAnswered: _ = answer(ends: true)
        case .receiving, .answering:
            let refusal = HTTPRefusal.unavailable(.shuttingDown)
            respond(context, refusal.status, ByteBuffer(bytes: refusal.body))
        }
        phase = .refused
        reply = ByteBuffer()
        behind.removeAll()
    }

    private func refuse(
        _ refusal: HTTPRefusal, _ context: ChannelHandlerContext, to method: HTTPMethod = .POST
    ) {
        if case .refused = phase { return }
        timer?.cancel()
        timer = nil
        phase = .refused
        behind.removeAll()
        // RFC 9110 §9.3.2.
        let body = method == .HEAD ? ByteBuffer() : ByteBuffer(bytes: refusal.body)
        respond(context, refusal.status, body, refusal.headers)
        connection?.finish()
    }

    private func respond(
        _ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ body: ByteBuffer,
        _ headers: [(String, String)] = [], isKeptAlive: Bool = false
    ) {
        var head = HTTPResponseHead(version: .http1_1, status: status, headers: HTTPHeaders(headers))
        head.headers.add(name: "date", value: HTTPDate.now())
        if status != .noContent {
            head.headers.add(name: "content-length", value: "\(body.readableBytes)")
            if body.readableBytes > 0 { head.headers.add(name: "content-type", value: "application/json") }
        }
        // RFC 9110 §10.2.3, in seconds.
        if status == .serviceUnavailable { head.headers.add(name: "retry-after", value: "1") }
        if !isKeptAlive { head.headers.add(name: "connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if body.readableBytes > 0 { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}

extension HTTPRefusal {
    /// As the line protocol says it.
    fileprivate var body: [UInt8] {
        var writer = ReplyWriter()
        writer.write(.error(error), id: .null)
        return writer.bytes
    }
}

extension ByteBuffer {
    /// The ends of lines that a JSON text may have between its values are no ends of lines here. Within a string they
    /// are none either way: neither character may stand there.
    fileprivate var asPartOfLine: ByteBuffer {
        let (lineFeed, tab) = (UInt8(ascii: "\n"), UInt8(ascii: "\t"))
        guard readableBytesView.contains(lineFeed) else { return self }
        return ByteBuffer(bytes: readableBytesView.map { $0 == lineFeed ? tab : $0 })
    }
}
