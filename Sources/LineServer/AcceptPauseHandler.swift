import NIOCore

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Stops accepting for a moment where the system has no descriptor or memory for one more connection, which stays in
/// the kernel's queue meanwhile. Without this the event loop would ask again at once, and again, on a whole core: the
/// socket stays readable. (NIO's own `AcceptBackoffHandler` puts off the next request to read, and does not take back
/// the one that failed.)
final class AcceptPauseHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let pause: TimeAmount
    private let notices: NoticeLog

    init(_ services: ConnectionServices) {
        pause = .milliseconds(services.limits.acceptPauseMilliseconds)
        notices = services.notices
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
            notices.note(.cannotAccept, String(cString: strerror(error.errnoCode)))
            let channel = context.channel
            channel.setOption(.autoRead, value: false).whenComplete { [pause] _ in
                channel.eventLoop.scheduleTask(in: pause) { channel.setOption(.autoRead, value: true) }
            }
        }
        context.fireErrorCaught(error)
    }
}
