import AppStore
import LedgerWire
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// HTTP/1.1 in front of a connection's handler: the body of a request is a line to that, and its reply the body of the
/// response. What a client sends behind a request waits until that is answered.
///
/// Each request shows by itself who sends it. So a load balancer may send those of many clients on one connection.
///
/// NIO's `HTTPServerPipelineHandler` keeps what comes behind a request too, but as much as there is: a reading of
/// 64 KiB may have ten thousand parts. And it holds the end of what a client sends back behind that, for which a
/// request that waits would never know that nobody waits for it.
final class HTTPFront: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that is not answered.
    struct Exchange {
        let route: HTTPRoute
        /// Whether the connection goes on behind it.
        let isKeptAlive: Bool
        var bodyBytes = 0
        /// Whether it would be no line: nothing has come but ends of lines.
        var isEmpty = true
    }

    /// A request that is refused by its head.
    struct Declined {
        let refusal: HTTPRefusal
        let method: HTTPMethod
        /// Of its body, which is dropped.
        var bodyBytes = 0
    }

    /// A request for a page.
    struct Showing {
        let page: WatchPage
        let method: HTTPMethod
        let isKeptAlive: Bool
        /// Of its body, which is dropped.
        var bodyBytes = 0
    }

    enum Phase {
        case idle
        /// Its body is still coming.
        case receiving(Exchange)
        /// Its body is still coming, and the next request is behind that.
        case dropping(Declined)
        /// The same of one for a page.
        case showing(Showing)
        /// The page is being made.
        case looking(Showing)
        /// A browser asks for a page of the console; the body is still coming.
        case visiting(ConsoleVisit)
        /// The ledger has what that page asks.
        case asking(ConsoleVisit)
        /// That page is being made of the answers.
        case drawing(ConsoleVisit)
        /// The ledger has it.
        case answering(Exchange)
        /// A request was answered. What came behind it is looked at when others have had the event loop.
        case pausing
        /// The connection is closed: nothing more is looked at.
        case closing
    }

    /// What came behind a request that is not answered yet.
    private enum Incoming {
        case part(HTTPServerRequestPart)
        /// Why nothing more is looked at.
        case refusal(HTTPRefusal)
        case inputClosed
    }

    /// What stands behind this; set once, before anything comes.
    weak var connection: ConnectionHandler?
    let limits: ServerLimits
    private let notices: NoticeLog
    private let watch: Watch
    /// `nil` where clients may ask by any name.
    let hosts: LocalHosts?
    /// Where it shows the console, and nothing else; `nil` where it shows none.
    let console: ConsoleDesk?
    var context: ChannelHandlerContext?
    var phase = Phase.idle
    private var behind = CircularBuffer<Incoming>()
    private var isReadHeld = false
    /// Whether anything was handed on or refused since the channel last told that a reading was over.
    var hasNews = false
    /// Replies of the ledger to the request.
    var reply = ByteBuffer()
    /// Looks after a body that does not end.
    private var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - hosts: by which names clients may ask; `nil` where these are no matter.
    ///   - console: what is offered instead of anything else.
    init(_ services: ConnectionServices, hosts: LocalHosts?, console: ConsoleDesk? = nil) {
        limits = services.limits
        notices = services.notices
        watch = services.watch
        self.hosts = hosts
        self.console = console
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        stopTimer()
        behind.removeAll()
    }

    // MARK: What comes

    /// Whether what comes waits.
    private var isHolding: Bool {
        switch phase {
        case .answering, .looking, .asking, .drawing, .pausing: true
        case .idle, .receiving, .dropping, .showing, .visiting, .closing: !behind.isEmpty
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if isHolding { keep(.part(part)) } else { received(part, context) }
    }

    /// Keeps what came behind a request that is not answered yet.
    private func keep(_ incoming: Incoming) {
        if case .refusal? = behind.last { return }
        if case .part = incoming, behind.count >= limits.partsBehindMax {
            behind.append(.refusal(.unavailable(.overloaded)))
        } else {
            behind.append(incoming)
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
            stopTimer()
            phase = .answering(exchange)
            handOn(ByteBuffer(string: exchange.isEmpty ? " \n" : "\n"), context)
        case (.body(let bytes), .dropping(var declined)):
            declined.bodyBytes += bytes.readableBytes
            phase = .dropping(declined)
            if declined.bodyBytes > WireLimits.lineBytesMax { refuse(declined.refusal, context, to: declined.method) }
        case (.end, .dropping(let declined)):
            stopTimer()
            respond(declined.refusal, to: declined.method, isKeptAlive: true, context)
            pause(context)
        case (.body(let bytes), .showing(var showing)):
            showing.bodyBytes += bytes.readableBytes
            phase = .showing(showing)
            if showing.bodyBytes > limits.headBytesMax { refuse(.longForAPage, context, to: showing.method) }
        case (.end, .showing(let showing)):
            stopTimer()
            look(showing, context)
        case (.body(let bytes), .visiting(var visit)):
            visit.body += bytes.readableBytesView
            phase = .visiting(visit)
            if visit.body.count > limits.consoleBodyBytesMax { refuse(.longForAPage, context, to: visit.method) }
        case (.end, .visiting(let visit)):
            stopTimer()
            serve(visit, context)
        case (.body, _), (.end, _), (.head, _): return
        }
    }

    /// Has a page made on a thread that may wait, where it is not told at once.
    private func look(_ showing: Showing, _ context: ChannelHandlerContext) {
        phase = .looking(showing)
        if let content = showing.page.instantContent { return show(content) }
        let front = NIOLoopBound(self, eventLoop: context.eventLoop)
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) { [watch] in showing.page.content(of: watch) }
            .whenSuccess { content in front.value.show(content) }
    }

    private func show(_ content: WatchPage.Content) {
        guard let context, case .looking(let showing) = phase else { return }
        respond(content.response(to: showing.method, isKeptAlive: showing.isKeptAlive), context)
        if showing.isKeptAlive { return pause(context) }
        phase = .closing
        connection?.finish()
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard let connection else { return }
        if let console { return begin(head, console, context) }
        switch HTTPRoute.read(head, limits, for: hosts) {
        case .failure(let refusal): decline(refusal, head, context)
        case .success(.page(let page)):
            // Over a connection that is used for nothing else, too, its client is there.
            hasNews = true
            phase = .showing(Showing(page: page, method: head.method, isKeptAlive: head.isFollowed))
        case .success(.line(let route, let credential)):
            if let error = connection.begin(route.form, from: credential, route.isTraced ? head.headers : nil) {
                var refusal = error.retryable ? HTTPRefusal.unavailable(error) : .unauthenticated(error)
                refusal.isNoted = credential != nil
                return decline(refusal, head, context)
            }
            phase = .receiving(Exchange(route: route, isKeptAlive: head.isFollowed))
            if head.asksLeave {
                context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
                context.flush()
            }
        }
    }

    /// Refuses a request by its head. Where it is known to end, and soon, the connection goes on behind it.
    func decline(_ refusal: HTTPRefusal, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        connection?.noteInVain()
        // RFC 9110 §10.1.1: who asks leave to send a body, and is refused, may send it all the same, or not.
        let isFollowed = head.isFollowed && !head.asksLeave && head.contentLength ?? 0 <= WireLimits.lineBytesMax
        if !isFollowed || refusal.endsConnection || connection?.isGuessing == true {
            refuse(refusal, context, to: head.method)
        } else {
            phase = .dropping(Declined(refusal: refusal, method: head.method))
        }
    }

    func handOn(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        hasNews = true
        context.fireChannelRead(wrapInboundOut(bytes))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        switch phase {
        case .receiving, .dropping, .showing, .visiting: if timer == nil { awaitEnd(context) }
        case .idle, .answering, .looking, .asking, .drawing, .pausing, .closing: break
        }
        guard hasNews else { return }
        hasNews = false
        context.fireChannelReadComplete()
    }

    /// A body that does not end in time is not waited for.
    private func awaitEnd(_ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(limits.requestMilliseconds)) {
            self.timer = nil
            guard let context = self.context else { return }
            switch self.phase {
            case .receiving(let exchange):
                // It is not the client's fault where there is no memory for more of it.
                if self.connection?.holdsReading == true { return self.awaitEnd(context) }
                self.refuse(.tooSlow(exchange.route), context)
            case .dropping(let declined): self.refuse(declined.refusal, context, to: declined.method)
            case .showing(let showing): self.refuse(.longForAPage, context, to: showing.method)
            case .visiting(let visit): self.refuse(.longForAPage, context, to: visit.method)
            case .idle, .answering, .looking, .asking, .drawing, .pausing, .closing: return
            }
        }
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent, isHolding {
            // What is answered now waits for nothing new: its client waits for the last answers alone.
            connection?.endWaits()
            return keep(.inputClosed)
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
        // Behind a request its client would take the refusal for the answer to that.
        if isHolding { keep(.refusal(.malformed)) } else { refuse(.malformed, context) }
    }

    func read(context: ChannelHandlerContext) {
        if behind.isEmpty { context.read() } else { isReadHeld = true }
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
    /// - Parameters:
    ///   - outcome: what became of it.
    ///   - ends: whether the connection does.
    /// - Returns: whether that was a request.
    func answer(_ outcome: ConnectionState.LineOutcome, ends: Bool = false) -> Bool {
        guard let context else { return false }
        if case .asking(let visit) = phase {
            answer(visit, outcome, ends: ends, context)
            return true
        }
        guard case .answering(let exchange) = phase else { return false }
        let isKeptAlive = exchange.isKeptAlive && !ends
        phase = .pausing
        let body = reply
        reply = ByteBuffer()
        switch (outcome, exchange.route) {
        case (.none, _): respond(.unavailable(.shuttingDown), isKeptAlive: isKeptAlive, context)
        case (.unauthenticated, _):
            respond(.unauthenticated(.unauthenticated), isKeptAlive: isKeptAlive, context)
        case (.answered, .requests):
            respond(HTTPResponse(body.readableBytes == 0 ? .noContent : .ok, body, isKeptAlive: isKeptAlive), context)
        case (.answered(let error, let notification), .notifications):
            let verdict = NotificationVerdict(error)
            if let notice = verdict.notice, let error {
                notices.note(notice, context.channel.peerWords, HTTPFront.details(error, notification))
            }
            let said = error == nil ? ByteBuffer() : body
            respond(HTTPResponse(verdict.status, said, isKeptAlive: isKeptAlive), context)
        }
        goOn(isKeptAlive: isKeptAlive, context)
        return true
    }

    /// A request was answered.
    func goOn(isKeptAlive: Bool, _ context: ChannelHandlerContext) {
        if !isKeptAlive {
            phase = .closing
            connection?.finish()
        } else if behind.isEmpty && !isReadHeld {
            phase = .idle
        } else {
            pause(context)
        }
    }

    /// Why a notification is not in the books, and which it is.
    private static func details(_ error: WireError, _ notification: SignedObject?) -> Logger.Metadata {
        var details: Logger.Metadata = ["reason": "\(error.detailedDescription)"]
        let subject = notification?.subject
        if let uuid = subject?.notificationUUID { details["notification"] = "\(uuid)" }
        if let type = subject?.notificationType { details["type"] = "\(type)" }
        if let id = subject?.purchaseID { details["transaction"] = "\(id)" }
        return details
    }

    private func pause(_ context: ChannelHandlerContext) {
        phase = .pausing
        let front = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.execute { front.value.resume() }
    }

    /// Looks at what came meanwhile.
    private func resume() {
        guard let context, case .pausing = phase else { return }
        let begin = context.eventLoop.now
        phase = .idle
        goThroughBehind(context)
        connection?.decoded(bytes: 0, since: begin)
        channelReadComplete(context: context)
        guard isReadHeld, behind.isEmpty else { return }
        isReadHeld = false
        context.read()
    }

    /// Looks at what is kept, up to the end of a request.
    private func goThroughBehind(_ context: ChannelHandlerContext) {
        while let next = behind.first {
            switch phase {
            case .answering, .looking, .asking, .drawing, .pausing, .closing: return
            case .idle, .receiving, .dropping, .showing, .visiting: behind.removeFirst()
            }
            switch next {
            case .part(let part): received(part, context)
            case .refusal(let refusal): refuse(refusal, context)
            case .inputClosed: context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            }
        }
    }

    /// The connection ends: what the ledger has is answered.
    /// - Parameter outcome: what became of the request.
    func end(_ outcome: ConnectionState.LineOutcome) {
        guard let context else { return }
        switch phase {
        case .idle, .pausing, .closing: break
        case .answering, .asking: _ = answer(outcome, ends: true)
        case .visiting(let visit), .drawing(let visit):
            respond(.unavailable(.shuttingDown), to: visit.method, isKeptAlive: false, context)
        case .receiving: respond(.unavailable(.shuttingDown), isKeptAlive: false, context)
        case .showing(let showing), .looking(let showing):
            respond(.unavailable(.shuttingDown), to: showing.method, isKeptAlive: false, context)
        case .dropping(let declined): respond(declined.refusal, to: declined.method, isKeptAlive: false, context)
        }
        stopTimer()
        phase = .closing
        reply = ByteBuffer()
        behind.removeAll()
    }

    /// Refuses what is under way, and closes the connection behind it.
    func cutOff(_ refusal: HTTPRefusal) {
        guard let context else { return }
        switch phase {
        case .receiving, .answering: refuse(refusal, context)
        case .asking(let visit): refuse(refusal, context, to: visit.method)
        case .idle, .dropping, .showing, .looking, .visiting, .drawing, .pausing, .closing: break
        }
    }

    /// Refuses a request, and closes the connection.
    private func refuse(
        _ refusal: HTTPRefusal, _ context: ChannelHandlerContext, to method: HTTPMethod = .POST
    ) {
        if case .closing = phase { return }
        stopTimer()
        phase = .closing
        behind.removeAll()
        reply = ByteBuffer()
        respond(refusal, to: method, isKeptAlive: false, context)
        connection?.finish()
    }

    private func respond(
        _ refusal: HTTPRefusal, to method: HTTPMethod = .POST, isKeptAlive: Bool, _ context: ChannelHandlerContext
    ) {
        hasNews = true
        if !refusal.isNoted {
            notices.note(
                .refusedByHTTP(refusal.status.code), context.channel.peerWords, ["reason": "\(refusal.error)"])
        }
        respond(HTTPResponse(refusal, to: method, isKeptAlive: isKeptAlive), context)
    }

    func respond(_ response: HTTPResponse, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(response.head)), promise: nil)
        if response.body.readableBytes > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(response.body))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}

extension HTTPRequestHead {
    /// Whether another request may come behind this one. Behind an offer to change the protocol nothing is decoded any
    /// more.
    var isFollowed: Bool {
        version == .http1_1 && isKeepAlive && method != .CONNECT && !headers.contains(name: "upgrade")
    }

    /// Whether its client waits for leave to send the body (RFC 9110 §10.1.1).
    var asksLeave: Bool {
        version == .http1_1 && headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
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
