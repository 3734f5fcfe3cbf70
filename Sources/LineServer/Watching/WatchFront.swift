import LedgerWire
import NIOCore
import NIOHTTP1
import NIOPosix

/// A connection of `metrics.listen`: one request, one response, and its end. It is none of the clients' connections and
/// has a place of its own, so it is answered also while these have all places taken. Until it has asked, another may be
/// given that place.
final class WatchFront: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Phase {
        case waiting
        case receiving(HTTPRequestHead)
        /// The response is being made, or written.
        case answering
    }

    private let watch: Watch
    private let limits: ServerLimits
    /// `nil` where clients may ask by any name.
    private let hosts: LocalHosts?
    private let place: WatchPlaces.ID
    private var phase = Phase.waiting

    /// - Parameter place: that it has among those that watch.
    init(_ services: ConnectionServices, hosts: LocalHosts?, place: WatchPlaces.ID) {
        self.place = place
        watch = services.watch
        limits = services.limits
        self.hosts = hosts
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        channel.eventLoop.scheduleTask(in: .milliseconds(limits.watchMilliseconds)) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), phase) {
        case (.head(let head), .waiting): phase = .receiving(head)
        case (.end, .receiving(let head)): answer(head, context)
        case (.head, _), (.body, _), (.end, _): return
        }
    }

    private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        phase = .answering
        watch.noteRequest(of: place)
        let page: WatchPage
        do throws(HTTPRefusal) {
            page = try self.page(head)
        } catch {
            return write(HTTPResponse(error, to: head.method, isKeptAlive: false), context)
        }
        if let content = page.instantContent {
            return write(content.response(to: head.method, isKeptAlive: false), context)
        }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let method = head.method
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) { [watch] in page.content(of: watch) }
            .whenComplete { result in
                let (front, context) = bound.value
                switch result {
                case .success(let content): front.write(content.response(to: method, isKeptAlive: false), context)
                case .failure: context.close(promise: nil)
                }
            }
    }

    private func page(_ head: HTTPRequestHead) throws(HTTPRefusal) -> WatchPage {
        let target = try HTTPTarget(head)
        if let hosts, let authority = target.authority, !hosts.has(authority) { throw .otherHost }
        guard let page = WatchPage.at(target.path, isHealthOnly: false) else { throw .nothingThere }
        try page.check(head.method)
        return page
    }

    private func write(_ response: HTTPResponse, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(response.head)), promise: nil)
        if response.body.readableBytes > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(response.body))), promise: nil)
        }
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { [limits] _ in
            channel.close(mode: .output, promise: nil)
            // What it may still send is dropped: closed with bytes unread, the socket would be reset.
            channel.eventLoop.scheduleTask(in: .milliseconds(limits.lingerMilliseconds)) {
                channel.close(promise: nil)
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(.inputClosed) = event as? ChannelEvent else { return }
        switch phase {
        case .waiting, .receiving: context.close(promise: nil)
        case .answering: return
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .answering = phase { return }
        guard error is HTTPParserError else { return context.close(promise: nil) }
        phase = .answering
        write(HTTPResponse(.malformed, isKeptAlive: false), context)
    }
}
