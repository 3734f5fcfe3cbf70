import LedgerWire
import NIOCore
import NIOHTTP1

/// A response as each of this service's is: the one place where heads are made.
struct HTTPResponse {
    private(set) var head: HTTPResponseHead
    /// What is written behind the head.
    private(set) var body: ByteBuffer

    static let json = "application/json"

    init(
        _ status: HTTPResponseStatus, _ body: ByteBuffer = ByteBuffer(), _ headers: [(String, String)] = [],
        type: String = json, isKeptAlive: Bool
    ) {
        self.body = body
        head = HTTPResponseHead(version: .http1_1, status: status, headers: HTTPHeaders(headers))
        head.headers.add(name: "date", value: HTTPDate.now())
        if status != .noContent {
            head.headers.add(name: "content-length", value: "\(body.readableBytes)")
            if body.readableBytes > 0 { head.headers.add(name: "content-type", value: type) }
        }
        // RFC 9110 §10.2.3, in seconds.
        if status == .serviceUnavailable { head.headers.add(name: "retry-after", value: "1") }
        if !isKeptAlive { head.headers.add(name: "connection", value: "close") }
    }

    /// The body is an error as the line protocol says it.
    init(_ refusal: HTTPRefusal, to method: HTTPMethod = .POST, isKeptAlive: Bool) {
        var writer = ReplyWriter()
        writer.write(.error(refusal.error), id: .null)
        self.init(refusal.status, ByteBuffer(bytes: writer.bytes), refusal.headers, isKeptAlive: isKeptAlive)
        if method == .HEAD { leaveOutBody() }
    }

    /// RFC 9110 §9.3.2: the head of a response to HEAD is that of the response to any other method.
    mutating func leaveOutBody() { body = ByteBuffer() }

    /// With further headers.
    func with(_ headers: [(String, String)]) -> HTTPResponse {
        var response = self
        response.head.headers.add(contentsOf: headers)
        return response
    }

    /// As it goes over the wire where nothing encodes it.
    var bytes: [UInt8] {
        var text = "HTTP/1.1 \(head.status.code) \(head.status.reasonPhrase)\r\n"
        for (name, value) in head.headers { text += "\(name): \(value)\r\n" }
        return Array((text + "\r\n").utf8) + body.readableBytesView
    }
}
