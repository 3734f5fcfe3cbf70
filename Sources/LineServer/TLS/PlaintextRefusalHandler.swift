import LedgerWire
import NIOCore

/// Stands between the socket and TLS until the first bytes have come: a peer that does not speak TLS is told so in the
/// plaintext that it speaks, and is closed soon.
final class PlaintextRefusalHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The first byte of every TLS connection: a record of its handshake (RFC 8446 §5.1).
    private static let handshakeRecord: UInt8 = 22

    private let speech: Speech
    private let notices: NoticeLog
    private let lingerMilliseconds: Int64
    private var isRefused = false

    init(_ services: ConnectionServices, _ speech: Speech) {
        self.speech = speech
        notices = services.notices
        lingerMilliseconds = services.limits.lingerMilliseconds
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isRefused { return }
        let bytes = unwrapInboundIn(data)
        guard let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) else { return }
        guard first == PlaintextRefusalHandler.handshakeRecord else { return refuse(context) }
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func refuse(_ context: ChannelHandlerContext) {
        isRefused = true
        notices.note(.plaintextOnTLS, context.channel.peerWords)
        let words = speech.refusal(.parseError("this address speaks TLS, and nothing else"))
        let bytes = context.channel.allocator.buffer(bytes: words)
        // Neither goes by way of TLS, which stands behind this handler.
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.value.writeAndFlush(wrapOutboundOut(bytes)).whenComplete { _ in
            context.value.close(mode: .output, promise: nil)
        }
        context.value.eventLoop.scheduleTask(in: .milliseconds(lingerMilliseconds)) {
            context.value.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if isRefused, case .some(.inputClosed) = event as? ChannelEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
