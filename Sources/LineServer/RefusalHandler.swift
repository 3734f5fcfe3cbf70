import LedgerWire
import NIOCore

/// A connection over the limit: it is told `overloaded`, whatever it sends is dropped, and it is closed soon.
final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let speech: Speech
    private let lingerMilliseconds: Int64

    init(_ speech: Speech, lingerMilliseconds: Int64) {
        self.speech = speech
        self.lingerMilliseconds = lingerMilliseconds
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        let bytes = channel.allocator.buffer(bytes: speech.refusal(.overloaded))
        context.writeAndFlush(wrapOutboundOut(bytes)).whenComplete { _ in
            channel.close(mode: .output, promise: nil)
        }
        channel.eventLoop.scheduleTask(in: .milliseconds(lingerMilliseconds)) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
