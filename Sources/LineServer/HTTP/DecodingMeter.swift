import NIOCore

/// Stands before what decodes HTTP, and has the time that this takes counted.
final class DecodingMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ConnectionHandler

    init(_ connection: ConnectionHandler) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let (begin, bytes) = (context.eventLoop.now, unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
        connection.decoded(bytes: bytes, since: begin)
    }
}
