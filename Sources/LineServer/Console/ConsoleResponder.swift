import LedgerConsole
import NIOCore
import NIOHTTP1

/// Responses of the console, and the cookie of a session.
struct ConsoleResponder {
    /// Whether TLS stands between the browser and this address.
    let isTLS: Bool

    /// With TLS its name has the browser keep it to this host and to TLS (RFC 6265bis §4.1.3.2).
    var cookieName: String { isTLS ? "__Host-ledger-console" : "ledger-console" }

    /// Those of every response at the console's addresses. Nothing is loaded but the console's own style and icon,
    /// nothing is run, and no other site shows its pages. Of their addresses, which name players, other sites are told
    /// nothing. The console itself is: otherwise a browser would not say where a form stands.
    static let headers = [
        ("cache-control", "no-store"),
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
                + "frame-ancestors 'none'"
        ),
        ("cross-origin-opener-policy", "same-origin"), ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "same-origin"), ("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"),
    ]

    func response(_ document: ConsoleDocument, to method: HTTPMethod, isKeptAlive: Bool) -> HTTPResponse {
        // RFC 9110 §15.5.2: whoever is no browser is told what would be shown elsewhere.
        let more = document.status == 401 ? [("www-authenticate", "Bearer")] : []
        return response(
            HTTPResponseStatus(statusCode: Int(document.status)), document.bytes, "text/html; charset=utf-8", more,
            to: method, isKeptAlive: isKeptAlive)
    }

    func response(_ asset: ConsoleAsset, to method: HTTPMethod, isKeptAlive: Bool) -> HTTPResponse {
        response(.ok, asset.bytes, asset.type, to: method, isKeptAlive: isKeptAlive)
    }

    /// Leads the browser to another page, by GET (RFC 9110 §15.4.4).
    /// - Parameter secret: of the session from now on; `nil` leaves it as it is, and an empty one ends it.
    func redirect(to address: String, secret: String? = nil, isKeptAlive: Bool) -> HTTPResponse {
        var headers = [("location", address)]
        if let secret {
            let end = secret.isEmpty ? "; Max-Age=0" : ""
            let kept = isTLS ? "; Secure" : ""
            headers.append(
                ("set-cookie", "\(cookieName)=\(secret); Path=/; HttpOnly; SameSite=Strict\(kept)\(end)"))
        }
        return HTTPResponse(.seeOther, ByteBuffer(), headers, isKeptAlive: isKeptAlive)
    }

    private func response(
        _ status: HTTPResponseStatus, _ bytes: [UInt8], _ type: String, _ more: [(String, String)] = [],
        to method: HTTPMethod, isKeptAlive: Bool
    ) -> HTTPResponse {
        var response = HTTPResponse(
            status, ByteBuffer(bytes: bytes), more, type: type, isKeptAlive: isKeptAlive)
        if method == .HEAD { response.leaveOutBody() }
        return response
    }
}
