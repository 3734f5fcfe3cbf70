import NIOCore
import NIOHTTP1

/// Stands before what decodes HTTP, and holds back what comes behind a request until that is answered. What is handed
/// on goes in small pieces, so no more is decoded ahead than the parts of one piece.
///
/// To decode takes time: a body in chunks of one byte a hundred times as long as one in a piece. So it waits for turns
/// (``LoopShares``) of whose request was the last, but for a connection's first piece, which says who that is.
///
/// What stands behind it asks to read, as of a socket, and is given what is held before more is read. While a request
/// is not answered some more is read ahead: over TLS only who reads learns that a client closes its side.
///
/// When a client closes its side NIO reads all that has come, whoever has asked for it. So what is held is at most
/// ``ServerLimits/heldInputBytesMax``, one reading, and what the kernel's receive buffer had then.
final class HTTPInputGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = HTTPServerResponsePart

    /// What is handed on at once, as much as NIO reads at once: then it is asked whether there is room for more.
    private static let readingBytes = 64 << 10

    private let server: HTTPServerHandler
    private let limits: ServerLimits
    private var context: ChannelHandlerContext?
    private var held = HeldInput()
    /// Whether more was asked for, and nothing was handed on since.
    private var isAsked = false
    /// Whether the connection's first piece was handed on.
    private var hasBegun = false
    /// Whether a turn is to come in which more is handed on.
    private var isTurnAwaited = false
    /// What was read since a turn was last asked for.
    private var readBytes = 0
    /// Whether the client sends nothing more, and that is not handed on yet: it stands behind what is held.
    private var isEndHeld = false
    private var isGoingOn = false

    init(_ server: HTTPServerHandler, _ limits: ServerLimits) {
        self.server = server
        self.limits = limits
        server.gate = self
    }

    /// Whether nothing is held.
    var isEmpty: Bool { held.isEmpty }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        held.removeAll()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        readBytes += bytes.readableBytes
        held.append(bytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) { goOn() }

    func read(context: ChannelHandlerContext) {
        isAsked = true
        goOn()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(.inputClosed) = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        // What is answered from now on waits for nothing new: its client waits for the last answers alone.
        server.connection?.endWaits()
        isEndHeld = true
        goOn()
    }

    /// Hands on what may be, and reads on where that is wanted. Called when any of this may have changed.
    func goOn() {
        guard let context, !isGoingOn else { return }
        isGoingOn = true
        defer { isGoingOn = false }
        while isAsked && !isEmpty && !server.isHolding && !isTurnAwaited { askForTurn() }
        if isEndHeld && isEmpty {
            isEndHeld = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        if isAsked && !isTurnAwaited && held.count < limits.heldInputBytesMax { context.read() }
    }

    private func askForTurn() {
        guard let connection = server.connection else { preconditionFailure("nothing stands behind it") }
        let (isFirst, bytes) = (!hasBegun, readBytes)
        (hasBegun, isTurnAwaited, readBytes) = (true, true, 0)
        connection.decode(bytes: bytes, waits: !isFirst, then: { [weak self] in self?.handedOn() }) { [weak self] in
            self?.handOn(isFirst: isFirst)
        }
    }

    /// Hands pieces on, up to one that has the end of a request, and for no longer than a turn. Who is not known has
    /// one: all of these have their turns as one.
    private func handOn(isFirst: Bool) {
        guard let context else { return }
        (isAsked, isTurnAwaited) = (false, false)
        let end = context.eventLoop.now + .nanoseconds(limits.loopTurnNanoseconds)
        var bytes = 0
        repeat {
            let bytesMax = isFirst ? limits.firstPieceBytesMax : limits.pieceBytesMax
            guard let piece = held.removeFirst(bytesMax) else { return }
            bytes += piece.readableBytes
            context.fireChannelRead(wrapInboundOut(piece))
        } while server.connection?.holder != nil && !isFirst && bytes < HTTPInputGate.readingBytes && !server.isHolding
            && context.eventLoop.now < end
    }

    private func handedOn() {
        guard let context else { return }
        context.fireChannelReadComplete()
        // So does the channel behind each of its readings.
        context.pipeline.syncOperations.read()
        goOn()
    }
}
