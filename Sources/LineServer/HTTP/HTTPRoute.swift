import LedgerWire
import NIOHTTP1

/// What a request of HTTP asks for.
enum HTTPAsked {
    /// Its body is a line, from whoever it shows to send it.
    case line(HTTPRoute, Credential?)
    case page(WatchPage)
}

/// What the service offers over HTTP to clients, each by POST to a path of its own.
enum HTTPRoute: String, CaseIterable {
    /// Requests of the line protocol: one, or a batch.
    case requests = "/v1/rpc"
    /// Notifications of the App Store.
    case notifications = "/app-store/notifications"

    /// How the body is read.
    var form: LineForm {
        switch self {
        case .requests: .requests
        case .notifications: .notification
        }
    }

    /// Whether its senders, who have shown who they are, say of which trace a request is. Anybody may post a
    /// notification, and would have every one of them traced.
    var isTraced: Bool {
        switch self {
        case .requests: true
        case .notifications: false
        }
    }

    /// Bytes of a body.
    func bodyBytesMax(_ limits: ServerLimits) -> Int {
        switch self {
        case .requests: WireLimits.lineBytesMax
        case .notifications: limits.notificationBytesMax
        }
    }

    /// What a request asks for, and who sends it by what it shows; or why it is not looked at any further.
    ///
    /// A page in somebody's browser may send requests to this machine. So requests of the line protocol must be of a
    /// kind for which a browser asks leave first, which nobody gives, and must not come from a page. Where nobody needs
    /// a token, they must be for this machine by its name too.
    /// - Parameter hosts: by which names it may be asked; `nil` where these are no matter.
    static func read(
        _ head: HTTPRequestHead, _ limits: ServerLimits, for hosts: LocalHosts? = nil
    ) -> Result<HTTPAsked, HTTPRefusal> {
        do throws(HTTPRefusal) {
            try checkFraming(head)
            let target = try HTTPTarget(head)
            if let page = WatchPage.at(target.path, isHealthOnly: true) {
                try page.check(head.method)
                return .success(.page(page))
            }
            guard let route = allCases.first(where: { $0.rawValue == target.path }) else {
                throw HTTPRefusal.nothingThere
            }
            guard head.method == .POST else {
                throw HTTPRefusal(.methodNotAllowed, "this path takes POST alone", [("allow", "POST")])
            }
            if let length = head.contentLength, length > route.bodyBytesMax(limits) {
                throw HTTPRefusal.tooLong(route, limits)
            }
            // RFC 9110 §8.4.
            guard head.headers[canonicalForm: "content-encoding"].allSatisfy({ $0.lowercased() == "identity" }) else {
                throw HTTPRefusal(
                    .unsupportedMediaType, "the body must have no content-encoding", [("accept-encoding", "identity")])
            }
            switch route {
            case .notifications: return .success(.line(route, .appStore))
            case .requests: return .success(.line(route, try credential(head, target, hosts)))
            }
        } catch {
            return .failure(error)
        }
    }

    /// Refuses a body of which nobody knows where it ends, or what it would be (RFC 9112 §6.1).
    static func checkFraming(_ head: HTTPRequestHead) throws(HTTPRefusal) {
        guard head.headers.contains(name: "transfer-encoding") else { return }
        let codings = head.headers[canonicalForm: "transfer-encoding"].filter { !$0.isEmpty }
        if head.version == .http1_0 { throw HTTPRefusal(.badRequest, "HTTP/1.0 has no transfer-encoding") }
        if codings.isEmpty { throw HTTPRefusal(.badRequest, "the transfer-encoding is empty") }
        if codings.map({ $0.lowercased() }) != ["chunked"] {
            throw HTTPRefusal(.notImplemented, "the only transfer-encoding that is known is chunked")
        }
    }

    /// What the sender of requests of the line protocol shows; `nil` where they show nothing.
    private static func credential(
        _ head: HTTPRequestHead, _ target: HTTPTarget, _ hosts: LocalHosts?
    ) throws(HTTPRefusal) -> Credential? {
        guard isJSON(head.headers) else {
            throw HTTPRefusal(.unsupportedMediaType, "the content-type must be application/json")
        }
        if head.headers.contains(name: "origin") {
            throw HTTPRefusal(.forbidden, "pages of web sites are not answered")
        }
        if let hosts, let authority = target.authority, !hosts.has(authority) { throw HTTPRefusal.otherHost }
        let shown = head.headers[canonicalForm: "authorization"]
        if shown.isEmpty { return nil }
        guard shown.count == 1, let token = bearerToken(shown[0]) else {
            throw HTTPRefusal.unauthenticated(WireError(.unauthenticated, "authorization must be Bearer and a token"))
        }
        return TokenTable.credential(token)
    }

    private static func isJSON(_ headers: HTTPHeaders) -> Bool {
        let kinds = headers[canonicalForm: "content-type"]
        guard kinds.count == 1, let kind = kinds[0].split(separator: ";").first else { return false }
        return kind.lowercased().filter { $0 != " " } == "application/json"
    }

    /// RFC 6750 §2.1; the scheme's name is the same in capitals (RFC 9110 §11.1).
    private static func bearerToken(_ credentials: Substring) -> String? {
        let parts = credentials.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        let token = parts[1].drop { $0 == " " }
        return token.isEmpty || token.utf8.count > WireLimits.tokenBytesMax ? nil : String(token)
    }
}

/// Whom and what a request asks for (RFC 9112 §3.2).
struct HTTPTarget {
    let path: String
    /// The host, and perhaps its port; `nil` in HTTP/1.0, where a request may name none.
    let authority: String?
    /// What stands behind the path's question mark; `nil` where there is none.
    let query: String?

    init(_ head: HTTPRequestHead) throws(HTTPRefusal) {
        let hosts = head.headers["host"]
        if head.version == .http1_1, hosts.count != 1 {
            throw HTTPRefusal(.badRequest, "a request of HTTP/1.1 has one Host")
        }
        let schemes = ["http://", "https://"]
        guard let scheme = schemes.first(where: { head.uri.prefix($0.count).lowercased() == $0 }) else {
            authority = hosts.first
            (path, query) = HTTPTarget.parts(head.uri[...])
            return
        }
        // In absolute form it names its host itself, and that counts (§3.2.2).
        let rest = head.uri.dropFirst(scheme.count)
        let named = rest.prefix { $0 != "/" && $0 != "?" }
        // RFC 9110 §4.2.4: what stands before an @ deceives about the host.
        guard !named.isEmpty, !named.contains("@") else {
            throw HTTPRefusal(.badRequest, "the request's target names no host")
        }
        authority = String(named)
        (path, query) = HTTPTarget.parts(rest.dropFirst(named.count))
    }

    /// An empty path is the root (RFC 9110 §4.2.3).
    private static func parts(_ text: Substring) -> (path: String, query: String?) {
        let path = text.prefix { $0 != "?" }
        let query = text[path.endIndex...].dropFirst()
        return (path.isEmpty ? "/" : String(path), path.endIndex == text.endIndex ? nil : String(query))
    }
}

extension HTTPRequestHead {
    /// Whether another request may come behind this one. Behind an offer to change the protocol nothing is decoded any
    /// more.
    var isFollowed: Bool {
        version == .http1_1 && isKeepAlive && method != .CONNECT && !headers.contains(name: "upgrade")
    }

    /// Whether its client waits for leave to send the body (RFC 9110 §10.1.1).
    var asksLeave: Bool {
        version == .http1_1 && headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }

    /// Bytes of the body, where the head says it.
    /// `Int.max` where it is larger than that.
    var contentLength: Int? { headers.first(name: "content-length").flatMap { UInt64($0) }.map { Int(clamping: $0) } }
}

extension HTTPHeaders {
    /// Takes away the space behind values, which is no part of them (RFC 9110 §5.5). That before them is not decoded.
    mutating func trimEnds() {
        func isSpace(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard contains(where: { isSpace($0.value.utf8.last) }) else { return }
        self = HTTPHeaders(
            map { header in
                var value = header.value[...]
                while isSpace(value.utf8.last) { value.removeLast() }
                return (header.name, String(value))
            })
    }
}
