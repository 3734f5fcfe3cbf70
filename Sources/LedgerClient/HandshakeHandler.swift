import NIOCore
import NIOTLS

/// Tells whether TLS stands, or why it does not, within a time.
final class HandshakeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let promise: EventLoopPromise<Void>
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?

    init(_ promise: EventLoopPromise<Void>, timeout: TimeAmount) {
        self.promise = promise
        self.timeout = timeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let (promise, timeout, channel) = (promise, timeout, context.channel)
        timer = context.eventLoop.scheduleTask(in: timeout) {
            promise.fail(ChannelError.connectTimeout(timeout))
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { end { $0.fail(ChannelError.eof) } }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.handshakeCompleted) = event as? TLSUserEvent { end { $0.succeed() } }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end { $0.fail(error) }
        context.fireErrorCaught(error)
    }

    /// The first end counts.
    private func end(_ tell: (EventLoopPromise<Void>) -> Void) {
        guard let timer else { return }
        timer.cancel()
        self.timer = nil
        tell(promise)
    }
}
