import NIOCore
import NIOHTTP1
import NIOPosix

/// A request for a page of health. It is made on a thread that may wait, where it is not told at once.
final class PageExchange: HTTPExchange {
    let method: HTTPMethod
    let isKeptAlive: Bool
    let tooSlow = HTTPRefusal.slowForAPage
    private let page: WatchPage
    private let watch: Watch
    /// Of its body, which is dropped.
    private var bodyBytes = 0
    private let bodyBytesMax: Int

    init(_ page: WatchPage, of watch: Watch, method: HTTPMethod, isKeptAlive: Bool, bodyBytesMax: Int) {
        self.page = page
        self.watch = watch
        self.method = method
        self.isKeptAlive = isKeptAlive
        self.bodyBytesMax = bodyBytesMax
    }

    func receive(_ bytes: ByteBuffer, _ server: HTTPServerHandler) throws(HTTPRefusal) {
        bodyBytes += bytes.readableBytes
        if bodyBytes > bodyBytesMax { throw .longForAPage }
    }

    func serve(_ server: HTTPServerHandler) {
        if let content = page.instantContent { return show(content, server) }
        server.prepare(self, on: NIOThreadPool.singleton) { [page, watch] in
            page.content(of: watch)
        } then: { content in
            self.show(content, server)
        }
    }

    private func show(_ content: WatchPage.Content, _ server: HTTPServerHandler) {
        server.finish(content.response(to: method, isKeptAlive: isKeptAlive), isKeptAlive: isKeptAlive)
    }

    func answered(
        _ reply: ByteBuffer, _ outcome: HTTPBody.Outcome, ends: Bool, _ server: HTTPServerHandler
    ) {
        preconditionFailure("a page asks no ledger")
    }
}
