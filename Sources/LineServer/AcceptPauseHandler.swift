import NIOCore

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Accepts so many connections at once, and then others have the event loop. Whoever opens them without end keeps
/// nobody else waiting for long.
///
/// It also stops accepting for a moment where the system has no descriptor or memory for one more connection, which
/// stays in the kernel's queue meanwhile. Without this the event loop would ask again at once, and again, on a whole
/// core: the socket stays readable. (NIO's own `AcceptBackoffHandler` puts off the next request to read, and does not
/// take back the one that failed.)
final class AcceptPauseHandler: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = Never

    private let pause: TimeAmount
    private let acceptsAtOnce: Int
    private let pauseAfterSome: TimeAmount
    private let notices: NoticeLog
    /// How many were accepted since the last pause.
    private var accepted = 0

    init(_ services: ConnectionServices) {
        pause = .milliseconds(services.limits.acceptPauseMilliseconds)
        acceptsAtOnce = services.limits.acceptsAtOnce
        pauseAfterSome = .microseconds(services.limits.acceptPauseMicroseconds)
        notices = services.notices
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        accepted += 1
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        guard accepted >= acceptsAtOnce else { return context.read() }
        accepted = 0
        context.eventLoop.assumeIsolated().scheduleTask(in: pauseAfterSome) { context.read() }
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
