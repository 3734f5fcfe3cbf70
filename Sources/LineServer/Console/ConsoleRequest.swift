import LedgerConsole
import LedgerWire
import NIOCore
import NIOHTTP1

/// What a browser asks of the console.
struct ConsoleRequest {
    /// What it asks for.
    enum Wanted {
        case asset(ConsoleAsset)
        /// The form in which a token is shown.
        case form
        /// To begin a session with the token in the body.
        case signIn
        case signOut
        case view(ConsoleCall)
        case mistake(ConsoleMistake)
    }

    let wanted: Wanted
    let method: HTTPMethod
    /// What the cookie of its session has; `nil` where it has none.
    let secret: String?
    /// So much of it as has come.
    var body: [UInt8] = []

    /// - Parameters:
    ///   - hosts: by which names it may be asked; `nil` where these are no matter.
    ///   - cookie: the name of a session's.
    init(_ head: HTTPRequestHead, hosts: LocalHosts?, cookie: String) throws(HTTPRefusal) {
        let target = try HTTPTarget(head)
        if let hosts, let authority = target.authority, !hosts.has(authority) { throw .otherHost }
        method = head.method
        secret = ConsoleRequest.cookie(cookie, head.headers)
        let path = target.path
        if head.method == .POST, path == "/login" || path == "/logout" {
            // A page of another site may have a browser send a form here, with its cookies where it keeps none of the
            // rules for these: it says where the form stands.
            guard ConsoleRequest.isOwn(head, target) else { throw .formOfAnother }
            wanted = path == "/login" ? .signIn : .signOut
            return
        }
        guard head.method == .GET || head.method == .HEAD else {
            throw HTTPRefusal(.methodNotAllowed, "this path takes GET alone", [("allow", "GET, HEAD")])
        }
        if let asset = ConsoleAsset(rawValue: path) {
            wanted = .asset(asset)
        } else if path == "/login" {
            wanted = .form
        } else {
            do throws(ConsoleMistake) {
                wanted = .view(try ConsoleCall(target: target.query.map { "\(path)?\($0)" } ?? path))
            } catch {
                wanted = .mistake(error)
            }
        }
    }

    /// The token that the form has; `nil` where it has none that could be one.
    var token: String? {
        guard let token = form?["token"], token.utf8.count <= WireLimits.tokenBytesMax else { return nil }
        return token
    }

    /// Where it leads who has signed in: a page of the console's, whatever the form says.
    var next: String {
        guard let next = form?["next"], let call = try? ConsoleCall(target: next) else { return "/" }
        return call.address
    }

    private var form: ConsoleForm? { String(validating: body, as: UTF8.self).flatMap { ConsoleForm($0) } }

    /// Whether a form stands on a page of the console's: its origin is whom the request is for (RFC 6454 §7), or the
    /// browser says so itself (W3C Fetch Metadata §2.3).
    private static func isOwn(_ head: HTTPRequestHead, _ target: HTTPTarget) -> Bool {
        let sites = head.headers["sec-fetch-site"]
        if !sites.isEmpty, sites != ["same-origin"] { return false }
        let origins = head.headers["origin"]
        guard let origin = origins.first, let authority = target.authority else { return sites == ["same-origin"] }
        return origins.count == 1
            && ["http://", "https://"].contains { origin.lowercased() == $0 + authority.lowercased() }
    }

    private static func cookie(_ name: String, _ headers: HTTPHeaders) -> String? {
        for part in headers["cookie"].lazy.flatMap({ $0.split(separator: ";") }) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if sides.count == 2, sides[0].filter({ $0 != " " }) == name { return String(sides[1]) }
        }
        return nil
    }
}

extension HTTPRefusal {
    static let formOfAnother = HTTPRefusal(.forbidden, "forms of other sites are not taken")
}
