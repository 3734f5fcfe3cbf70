import LedgerWire
import NIOCore

/// A connection over the limit: it is told `overloaded`, whatever it sends is dropped, and it is closed soon.
final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let lingerMilliseconds: Int64

    init(lingerMilliseconds: Int64) { self.lingerMilliseconds = lingerMilliseconds }

    func channelActive(context: ChannelHandlerContext) {
        var writer = ReplyWriter()
        writer.write(.error(.overloaded), id: .null)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(channel.allocator.buffer(bytes: writer.bytes))).whenComplete { _ in
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
