import LedgerWire
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// HTTP/1.1 in front of a connection's handler, whatever its address offers: one request at a time. What a client sends
/// behind a request waits until that is answered: as bytes, before they are decoded (``HTTPInputGate``), but for the
/// rest of the piece in which the request ended.
///
/// NIO's `HTTPServerPipelineHandler` keeps what comes behind a request too, but decoded, as much as there is: a reading
/// of 64 KiB may have ten thousand parts. And it holds the end of what a client sends back behind that, for which a
/// request that waits would never know that nobody waits for it.
final class HTTPServerHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that is refused by its head.
    private struct Declined {
        let refusal: HTTPRefusal
        let method: HTTPMethod
        /// Of its body, which is dropped.
        var bodyBytes = 0
    }

    private enum Phase {
        case idle
        /// Its body is still coming.
        case receiving(any HTTPExchange)
        /// Its body is still coming, and the next request is behind that.
        case dropping(Declined)
        /// The ledger has it.
        case asking(any HTTPExchange)
        /// Its response is being prepared.
        case preparing(any HTTPExchange)
        /// A request was answered. What came behind it is looked at when its sender's turn comes.
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
    /// What stands before it, and holds back what is not decoded yet; set once, before anything comes.
    weak var gate: HTTPInputGate?
    private let application: any HTTPApplication
    /// Those that every response has at its address.
    private let headers: [(String, String)]
    private let limits: ServerLimits
    private let notices: NoticeLog
    private var context: ChannelHandlerContext?
    private var phase = Phase.idle
    /// The rest of a piece that the gate has handed on, and the end of input.
    private var behind = CircularBuffer<Incoming>()
    /// Whether anything was handed on or refused since the channel last told that a reading was over.
    private var hasNews = false
    /// Replies of the ledger to the request.
    private var reply = ByteBuffer()
    /// Looks after a body that does not end.
    private var timer: Scheduled<Void>?
    /// How often the body that is waited for got its time again.
    private var extensions = 0
    /// Why the connection ends before what was sent is looked at.
    var ending = WireError.shuttingDown

    init(_ application: any HTTPApplication, _ services: ConnectionServices, headers: [(String, String)]) {
        self.application = application
        self.headers = headers
        limits = services.limits
        notices = services.notices
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        stopTimer()
        behind.removeAll()
    }

    // MARK: What comes

    /// Whether nothing of a request has come that is not answered.
    var isIdle: Bool {
        guard case .idle = phase else { return false }
        return behind.isEmpty && gate?.isEmpty != false
    }

    /// Whether what comes waits.
    var isHolding: Bool {
        switch phase {
        case .asking, .preparing, .pausing: true
        case .idle, .receiving, .dropping: !behind.isEmpty
        case .closing: false
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if isHolding { keep(.part(part)) } else { received(part, context) }
    }

    /// Keeps what came behind a request that is not answered yet.
    private func keep(_ incoming: Incoming) {
        if case .refusal? = behind.last { return }
        behind.append(incoming)
    }

    private func received(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch (part, phase) {
        case (.head(let head), .idle): begin(head, context)
        case (.body(let bytes), .receiving(let exchange)):
            do throws(HTTPRefusal) {
                try exchange.receive(bytes, self)
            } catch {
                refuse(error, context, to: exchange.method)
            }
        case (.end, .receiving(let exchange)):
            stopTimer()
            exchange.serve(self)
        case (.body(let bytes), .dropping(var declined)):
            declined.bodyBytes += bytes.readableBytes
            phase = .dropping(declined)
            if declined.bodyBytes > WireLimits.lineBytesMax { refuse(declined.refusal, context, to: declined.method) }
        case (.end, .dropping(let declined)):
            stopTimer()
            respond(declined.refusal, to: declined.method, isKeptAlive: true, context)
            pause(context)
        case (.body, _), (.end, _), (.head, _): return
        }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard let connection else { return }
        extensions = 0
        var head = head
        head.headers.trimEnds()
        do throws(HTTPRefusal) {
            phase = .receiving(try application.begin(head, on: connection))
        } catch {
            return decline(error, head, context)
        }
        // Over a connection that is used for pages alone, too, its client is there.
        hasNews = true
        if head.asksLeave {
            context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
            context.flush()
        }
    }

    /// Refuses a request by its head. Where it is known to end, and soon, the connection goes on behind it.
    private func decline(_ refusal: HTTPRefusal, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        connection?.noteInVain()
        // RFC 9110 §10.1.1: who asks leave to send a body, and is refused, may send it all the same, or not.
        let isFollowed = head.isFollowed && !head.asksLeave && head.contentLength ?? 0 <= WireLimits.lineBytesMax
        if !isFollowed || refusal.endsConnection || connection?.isSilenced == true {
            refuse(refusal, context, to: head.method)
        } else {
            phase = .dropping(Declined(refusal: refusal, method: head.method))
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        switch phase {
        case .receiving, .dropping: if timer == nil { awaitEnd(context) }
        case .idle, .asking, .preparing, .pausing, .closing: break
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
            // It is not the client's fault where there is no memory for more of it, or what has come waits for a turn;
            // but what waits may also be sent without end.
            if self.connection?.holdsReading == true { return self.awaitEnd(context) }
            let waits = self.gate?.isEmpty == false || self.connection?.awaitsTurn == true
            if waits, self.extensions < self.limits.requestExtensionsMax {
                self.extensions += 1
                return self.awaitEnd(context)
            }
            switch self.phase {
            case .receiving(let exchange): self.refuse(exchange.tooSlow, context, to: exchange.method)
            case .dropping(let declined): self.refuse(declined.refusal, context, to: declined.method)
            case .idle, .asking, .preparing, .pausing, .closing: return
            }
        }
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent, isHolding { return keep(.inputClosed) }
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

    // MARK: What a request needs

    /// Hands a part of a line on.
    func handOn(_ bytes: ByteBuffer) {
        hasNews = true
        context?.fireChannelRead(wrapInboundOut(bytes))
    }

    /// Hands the end of a line on: the ledger has it from here on, and the exchange is told what it answers.
    func ask(_ bytes: ByteBuffer, for exchange: any HTTPExchange) {
        phase = .asking(exchange)
        handOn(bytes)
    }

    /// The same outside of a reading.
    func askNow(_ bytes: ByteBuffer, for exchange: any HTTPExchange) {
        ask(bytes, for: exchange)
        if let context { channelReadComplete(context: context) }
    }

    /// Has something made on threads that may take their time.
    /// - Parameter then: what follows from it, unless the connection has ended meanwhile.
    func prepare<Made: Sendable>(
        _ exchange: any HTTPExchange, on threads: NIOThreadPool, _ make: @escaping @Sendable () -> Made,
        then: @escaping (Made) -> Void
    ) {
        guard let context else { return }
        phase = .preparing(exchange)
        let bound = NIOLoopBound((self, then), eventLoop: context.eventLoop)
        threads.runIfActive(eventLoop: context.eventLoop, make).whenSuccess { made in
            let (server, then) = bound.value
            guard server.context != nil, case .preparing = server.phase else { return }
            then(made)
        }
    }

    /// Answers the request.
    func finish(_ response: HTTPResponse, isKeptAlive: Bool) {
        guard let context else { return }
        let isReply = if case .asking = phase { true } else { false }
        // What this leads to must find the request answered.
        phase = .pausing
        hasNews = hasNews || !isReply
        respond(response, context)
        goOn(isKeptAlive: isKeptAlive, pauses: !isReply, context)
    }

    /// Refuses the request, all of which was taken.
    func finish(_ refusal: HTTPRefusal, to method: HTTPMethod, isKeptAlive: Bool) {
        guard let context else { return }
        phase = .pausing
        respond(refusal, to: method, isKeptAlive: isKeptAlive, context)
        goOn(isKeptAlive: isKeptAlive, pauses: false, context)
    }

    /// Tells the operator something of the request.
    func note(_ kind: NoticeKind, _ details: Logger.Metadata) {
        guard let context else { return }
        notices.note(kind, context.channel.peerWords, details)
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
    func answer(_ outcome: HTTPBody.Outcome, ends: Bool = false) -> Bool {
        guard context != nil, case .asking(let exchange) = phase else { return false }
        let answers = reply
        reply = ByteBuffer()
        exchange.answered(answers, outcome, ends: ends, self)
        return true
    }

    /// A request was answered.
    /// - Parameter pauses: whether what comes behind it waits for a turn in any case.
    private func goOn(isKeptAlive: Bool, pauses: Bool, _ context: ChannelHandlerContext) {
        if !isKeptAlive {
            close(context)
            connection?.finish()
        } else if behind.isEmpty && gate?.isEmpty != false && !pauses {
            phase = .idle
        } else {
            pause(context)
        }
    }

    private func pause(_ context: ChannelHandlerContext) {
        phase = .pausing
        resumeSoon(context)
    }

    /// What comes from now on is dropped.
    private func close(_ context: ChannelHandlerContext) {
        stopTimer()
        phase = .closing
        reply = ByteBuffer()
        behind.removeAll()
        // It is read on: closed with bytes unread, the socket would be reset.
        resumeSoon(context)
    }

    private func resumeSoon(_ context: ChannelHandlerContext) {
        let server = NIOLoopBound(self, eventLoop: context.eventLoop)
        let resume: LoopWork.Work = { server.value.resume() }
        if let connection { connection.execute(resume) } else { context.eventLoop.execute(resume) }
    }

    /// Looks at what came meanwhile, in a turn of whose request was the last.
    private func resume() {
        guard context != nil else { return }
        guard case .pausing = phase, let connection else {
            gate?.goOn()
            return
        }
        connection.decode(bytes: 0, waits: true, then: { [weak self] in self?.resumed() }) { [weak self] in
            // It may have ended while it waited.
            guard let self, let context = self.context, case .pausing = self.phase else { return }
            self.phase = .idle
            self.goThroughBehind(context)
        }
    }

    private func resumed() {
        guard let context else { return }
        channelReadComplete(context: context)
        gate?.goOn()
    }

    /// Looks at what is kept, up to the end of a request.
    private func goThroughBehind(_ context: ChannelHandlerContext) {
        while let next = behind.first {
            switch phase {
            case .asking, .preparing, .pausing, .closing: return
            case .idle, .receiving, .dropping: behind.removeFirst()
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
    func end(_ outcome: HTTPBody.Outcome) {
        guard let context else { return }
        switch phase {
        case .idle, .pausing, .closing: break
        case .asking: _ = answer(outcome, ends: true)
        case .receiving(let exchange), .preparing(let exchange):
            respond(HTTPRefusal(of: ending), to: exchange.method, isKeptAlive: false, context)
        case .dropping(let declined): respond(declined.refusal, to: declined.method, isKeptAlive: false, context)
        }
        close(context)
    }

    /// Refuses what the ledger has, or would have, and closes the connection behind it.
    func cutOff(_ refusal: HTTPRefusal) {
        guard let context else { return }
        switch phase {
        case .receiving(let exchange), .asking(let exchange): refuse(refusal, context, to: exchange.method)
        case .idle, .dropping, .preparing, .pausing, .closing: break
        }
    }

    /// Refuses a request, and closes the connection.
    private func refuse(
        _ refusal: HTTPRefusal, _ context: ChannelHandlerContext, to method: HTTPMethod = .POST
    ) {
        if case .closing = phase { return }
        close(context)
        respond(refusal, to: method, isKeptAlive: false, context)
        connection?.finish()
    }

    private func respond(
        _ refusal: HTTPRefusal, to method: HTTPMethod, isKeptAlive: Bool, _ context: ChannelHandlerContext
    ) {
        hasNews = true
        if !refusal.isNoted { note(.refusedByHTTP(refusal.status.code), ["reason": "\(refusal.error)"]) }
        respond(HTTPResponse(refusal, to: method, isKeptAlive: isKeptAlive), context)
    }

    private func respond(_ response: HTTPResponse, _ context: ChannelHandlerContext) {
        let response = response.with(headers)
        context.write(wrapOutboundOut(.head(response.head)), promise: nil)
        if response.body.readableBytes > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(response.body))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
