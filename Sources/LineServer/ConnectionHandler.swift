import LedgerEngine
import Logging
import NIOCore

/// One connection's I/O: tells its ``ConnectionState`` what came, and does what that says.
///
/// Everything here is touched only on the channel's event loop, which is checked; other threads reach it by
/// `eventLoop.execute`.
final class ConnectionHandler: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: ConnectionServices
    private let eventLoop: any EventLoop
    private var state: ConnectionState
    private var context: ChannelHandlerContext?
    private var session: LedgerSession?
    private var isInTurn = false

    init(_ service: ConnectionServices, eventLoop: any EventLoop) {
        self.service = service
        self.eventLoop = eventLoop
        state = ConnectionState(tokens: service.tokens, info: service.info, limits: service.limits)
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        session = service.ledger.session(outlet: Outlet(eventLoop)) { [weak self] answers in
            self?.turn { $0.answered(answers) }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        // A shutdown may have overtaken the connection while it was being set up.
        turn { _ in }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        state.received(&bytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        turn { _ in }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if state.asksToRead(isWritable: context.channel.isWritable) { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { turn { _ in } }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent { turn { $0.inputClosed() } }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        service.logger.debug("a connection failed", metadata: ["error": "\(error)"])
        context.close(promise: nil)
    }

    // MARK: From other threads, by the event loop

    /// Nothing new is carried out from now on.
    func beginShutdown() {
        session?.endWaits()
        turn { $0.shutDown() }
    }

    /// The shutdown's time is over.
    func closeNow() {
        eventLoop.preconditionInEventLoop()
        context?.close(promise: nil)
    }

    // MARK: The turn

    /// Tells the state what came, and does all that can be done now, with one flush at the end.
    private func turn(_ change: (inout ConnectionState) -> Void) {
        eventLoop.preconditionInEventLoop()
        change(&state)
        guard let context else { return }
        // Writing may change the channel's writability, which calls back; the turn that goes on sees it.
        if isInTurn { return }
        isInTurn = true
        defer { isInTurn = false }
        while let action = state.next(isWritable: context.channel.isWritable) { perform(action, context) }
        if let permission = state.readPermission(isWritable: context.channel.isWritable) {
            session?.allowRead(permission, taken: state.readsAnswered)
        }
    }

    private func perform(_ action: ConnectionState.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .submit(let operations):
            if operations.contains(where: \.isOfStandby) { service.connections.noteStandby(self) }
            session?.submit(operations)
        case .write:
            let bytes = state.takeReplies { context.channel.allocator.buffer(bytes: $0) }
            context.write(wrapOutboundOut(bytes), promise: nil)
        case .flush: context.flush()
        case .read: context.read()
        case .close: whenWritten(context) { context.close(promise: nil) }
        case .linger:
            whenWritten(context) { context.close(mode: .output, promise: nil) }
            eventLoop.scheduleTask(in: .milliseconds(service.limits.lingerMilliseconds)) { self.closeNow() }
        }
    }

    /// An empty write is done when everything before it is.
    private func whenWritten(_ context: ChannelHandlerContext, _ body: @escaping () -> Void) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in body() }
    }

    private func end() {
        eventLoop.preconditionInEventLoop()
        state.closed()
        session?.close()
    }
}

extension Outlet {
    init(_ eventLoop: any EventLoop) {
        self.init(id: ObjectIdentifier(eventLoop)) { eventLoop.execute($0) }
    }
}
