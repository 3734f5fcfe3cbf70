import NIOCore
import NIOHTTP1

/// Stands before what decodes HTTP, and holds back what comes behind a request until that is answered. What is handed
/// on goes in small pieces, so no more is decoded ahead than the parts of one piece.
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
        held.append(unwrapInboundIn(data))
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
        while isAsked && !isEmpty && !server.isHolding {
            isAsked = false
            handOn(context)
            // So does the channel behind each of its readings.
            context.pipeline.syncOperations.read()
        }
        if isEndHeld && isEmpty {
            isEndHeld = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        if isAsked && held.count < limits.heldInputBytesMax { context.read() }
    }

    /// Hands pieces on, up to one that has the end of a request.
    private func handOn(_ context: ChannelHandlerContext) {
        var bytes = 0
        while bytes < HTTPInputGate.readingBytes, !server.isHolding,
            let piece = held.removeFirst(limits.pieceBytesMax)
        {
            bytes += piece.readableBytes
            context.fireChannelRead(wrapInboundOut(piece))
        }
        context.fireChannelReadComplete()
    }
}
