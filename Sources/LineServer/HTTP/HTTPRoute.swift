import LedgerWire
import NIOHTTP1

/// What the service offers over HTTP, each by POST to a path of its own.
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
    /// kind for which a browser asks leave first, which nobody gives, and must not come from a page.
    static func read(
        _ head: HTTPRequestHead, _ limits: ServerLimits
    ) -> Result<(route: HTTPRoute, credential: Credential?), HTTPRefusal> {
        // RFC 9112 §3.2.
        if head.version == .http1_1, head.headers["host"].count != 1 {
            return .failure(HTTPRefusal(.badRequest, "a request of HTTP/1.1 has one Host"))
        }
        let path = head.uri.prefix { $0 != "?" }
        guard let route = allCases.first(where: { $0.rawValue == path }) else {
            return .failure(HTTPRefusal(.notFound, "there is nothing at this path"))
        }
        guard head.method == .POST else {
            return .failure(HTTPRefusal(.methodNotAllowed, "this path takes POST alone", [("allow", "POST")]))
        }
        if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }),
            length > route.bodyBytesMax(limits)
        {
            return .failure(.tooLong(route, limits))
        }
        switch route {
        case .notifications: return .success((route, .appStore))
        case .requests: break
        }
        guard isJSON(head.headers) else {
            return .failure(HTTPRefusal(.unsupportedMediaType, "the content-type must be application/json"))
        }
        if head.headers.contains(name: "origin") {
            return .failure(HTTPRefusal(.forbidden, "pages of web sites are not answered"))
        }
        let shown = head.headers[canonicalForm: "authorization"]
        if shown.isEmpty { return .success((route, nil)) }
        guard shown.count == 1, let token = bearerToken(shown[0]) else {
            return .failure(.unauthenticated(WireError(.unauthenticated, "authorization must be Bearer and a token")))
        }
        return .success((route, TokenTable.credential(token)))
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

/// Why a request of HTTP is not served, whatever its body has. The connection is closed behind it.
struct HTTPRefusal: Error {
    let status: HTTPResponseStatus
    let error: WireError
    let headers: [(String, String)]

    init(_ status: HTTPResponseStatus, _ error: WireError, _ headers: [(String, String)] = []) {
        self.status = status
        self.error = error
        self.headers = headers
    }

    init(_ status: HTTPResponseStatus, _ message: String, _ headers: [(String, String)] = []) {
        self.init(status, .invalidRequest(message), headers)
    }

    /// RFC 6750 §3.
    static func unauthenticated(_ error: WireError) -> HTTPRefusal {
        HTTPRefusal(.unauthorized, error, [("www-authenticate", "Bearer")])
    }

    static func tooLong(_ route: HTTPRoute, _ limits: ServerLimits) -> HTTPRefusal {
        HTTPRefusal(
            .payloadTooLarge, WireError(.lineTooLong, "the body is longer than \(route.bodyBytesMax(limits)) bytes"))
    }

    static let tooSlow = HTTPRefusal(.requestTimeout, "the body did not come in time")
    static let malformed = HTTPRefusal(.badRequest, "this is no HTTP/1.1")
    /// The connection has no place any more, or the server goes.
    static func unavailable(_ error: WireError) -> HTTPRefusal { HTTPRefusal(.serviceUnavailable, error) }
}
