import AppStore
import LedgerWire
import Logging
import NIOCore
import NIOHTTP1

/// A request whose body is a line to the connection's handler, and the ledger's reply the body of the response.
final class LineExchange: HTTPExchange {
    let method = HTTPMethod.POST
    let isKeptAlive: Bool
    private let route: HTTPRoute
    private let limits: ServerLimits
    private var bodyBytes = 0
    /// Whether it would be no line: nothing has come but ends of lines.
    private var isEmpty = true

    init(_ route: HTTPRoute, isKeptAlive: Bool, _ limits: ServerLimits) {
        self.route = route
        self.isKeptAlive = isKeptAlive
        self.limits = limits
    }

    var tooSlow: HTTPRefusal { .tooSlow(route) }

    func receive(_ bytes: ByteBuffer, _ server: HTTPServerHandler) throws(HTTPRefusal) {
        bodyBytes += bytes.readableBytes
        if bodyBytes > route.bodyBytesMax(limits) { throw .tooLong(route, limits) }
        let part = bytes.asPartOfLine
        isEmpty = isEmpty && part.readableBytesView.allSatisfy { $0 == UInt8(ascii: "\r") }
        server.handOn(part)
    }

    func serve(_ server: HTTPServerHandler) {
        server.ask(ByteBuffer(string: isEmpty ? " \n" : "\n"), for: self)
    }

    func answered(
        _ reply: ByteBuffer, _ outcome: HTTPBody.Outcome, ends: Bool, _ server: HTTPServerHandler
    ) {
        let isKeptAlive = isKeptAlive && !ends
        switch (outcome, route) {
        case (.none, _): server.finish(HTTPRefusal(of: server.ending), to: method, isKeptAlive: isKeptAlive)
        case (.unauthenticated, _):
            server.finish(.unauthenticated(.unauthenticated), to: method, isKeptAlive: isKeptAlive)
        case (.answered, .requests):
            let status: HTTPResponseStatus = reply.readableBytes == 0 ? .noContent : .ok
            server.finish(HTTPResponse(status, reply, isKeptAlive: isKeptAlive), isKeptAlive: isKeptAlive)
        case (.answered(let error, let notification), .notifications):
            let verdict = NotificationVerdict(error)
            if let notice = verdict.notice, let error {
                server.note(notice, LineExchange.details(error, notification))
            }
            let said = error == nil ? ByteBuffer() : reply
            server.finish(HTTPResponse(verdict.status, said, isKeptAlive: isKeptAlive), isKeptAlive: isKeptAlive)
        }
    }

    /// Why a notification is not in the books, and which it is.
    private static func details(_ error: WireError, _ notification: SignedObject?) -> Logger.Metadata {
        var details: Logger.Metadata = ["reason": "\(error.detailedDescription)"]
        let subject = notification?.subject
        if let uuid = subject?.notificationUUID { details["notification"] = "\(uuid)" }
        if let type = subject?.notificationType { details["type"] = "\(type)" }
        if let id = subject?.purchaseID { details["transaction"] = "\(id)" }
        return details
    }
}

extension ByteBuffer {
    /// The ends of lines that a JSON text may have between its values are no ends of lines here. Within a string they
    /// are none either way: neither character may stand there.
    fileprivate var asPartOfLine: ByteBuffer {
        let (lineFeed, tab) = (UInt8(ascii: "\n"), UInt8(ascii: "\t"))
        guard readableBytesView.contains(lineFeed) else { return self }
        return ByteBuffer(bytes: readableBytesView.map { $0 == lineFeed ? tab : $0 })
    }
}
