import LedgerWire
import NIOHTTP1

/// Why a request of HTTP is not served, whatever its body has.
struct HTTPRefusal: Error {
    let status: HTTPResponseStatus
    let error: WireError
    let headers: [(String, String)]
    /// Whether the log has it already, from where it was found.
    var isNoted = false

    init(_ status: HTTPResponseStatus, _ error: WireError, _ headers: [(String, String)] = []) {
        self.status = status
        self.error = error
        self.headers = headers
    }

    init(_ status: HTTPResponseStatus, _ message: String, _ headers: [(String, String)] = []) {
        self.init(status, .invalidRequest(message), headers)
    }

    /// Whether the connection is closed behind it: nobody knows where the next request begins, or it would take too
    /// long to come there.
    var endsConnection: Bool {
        switch status {
        case .unauthorized, .forbidden, .notFound, .methodNotAllowed, .unsupportedMediaType: false
        default: true
        }
    }

    /// Why a request has no answer of a ledger, whatever it asks.
    init(of error: WireError) {
        if error.retryable {
            self = .unavailable(error)
        } else if error.reason == WireReason.ledgerRequired.rawValue {
            self.init(.conflict, error)
        } else {
            self = .unauthenticated(error)
        }
    }

    /// RFC 6750 §3.
    static func unauthenticated(_ error: WireError) -> HTTPRefusal {
        HTTPRefusal(.unauthorized, error, [("www-authenticate", "Bearer")])
    }

    static func tooLong(_ route: HTTPRoute, _ limits: ServerLimits) -> HTTPRefusal {
        HTTPRefusal(
            .payloadTooLarge,
            WireError(
                .lineTooLong, "the body for \(route.rawValue) is longer than \(route.bodyBytesMax(limits)) bytes"))
    }

    static func tooSlow(_ route: HTTPRoute) -> HTTPRefusal {
        HTTPRefusal(.requestTimeout, "the body for \(route.rawValue) did not come in time")
    }

    static let longForAPage = HTTPRefusal(.payloadTooLarge, "a request for a page has no body, or a short one")
    static let slowForAPage = HTTPRefusal(.requestTimeout, "the body of a request for a page did not come in time")
    static let nothingThere = HTTPRefusal(.notFound, "there is nothing at this path")
    static let otherHost = HTTPRefusal(
        .forbidden, "host is no name of this machine (localhost, 127.0.0.1, [::1] or where it listens)")
    static let malformed = HTTPRefusal(.badRequest, "this is no HTTP/1.1, or its head is longer than is read")
    /// For the moment: the connection has no place any more, the server goes, or the token has just been replaced.
    static func unavailable(_ error: WireError) -> HTTPRefusal { HTTPRefusal(.serviceUnavailable, error) }
    /// What stood behind a read of the request's batch is not carried out.
    static let lessAllowed = unavailable(.lessAllowed)
    /// Nor is it here. Sent again, what was carried out would be so once more, in the other ledger.
    static let otherLedger = HTTPRefusal(
        of: WireError(
            .ledgerRequired,
            "the token opens another ledger since this was sent, and the rest of it was not carried out"))
}
