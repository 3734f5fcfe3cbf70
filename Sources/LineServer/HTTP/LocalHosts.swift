import LedgerWire
import NIOCore

/// By which names a client may ask this machine where nobody needs a token: its own, and those where it listens.
///
/// A page may have its own name lead here once a browser has loaded it (DNS rebinding). Its requests are then of the
/// same origin to the browser, and only the name tells them from others.
struct LocalHosts: Sendable {
    private let listening: Set<String>

    init(_ addresses: [ServerAddress]) {
        let hosts = addresses.compactMap { address -> String? in
            if case .tcp(let host, _) = address { host.lowercased() } else { nil }
        }
        listening = Set(hosts)
    }

    /// - Parameter authority: a host, and perhaps a port (RFC 9110 §7.2).
    func has(_ authority: some StringProtocol) -> Bool {
        guard let host = LocalHosts.host(of: authority.lowercased()) else { return false }
        if host == "localhost" || listening.contains(host) { return true }
        return (try? SocketAddress(ipAddress: host, port: 0))?.isLocal ?? false
    }

    /// Without the brackets of an IPv6 address (RFC 3986 §3.2.2).
    private static func host(of authority: String) -> String? {
        var host = authority.prefix { $0 != ":" }
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[...end]
        }
        let port = authority[host.endIndex...]
        guard port.isEmpty || port.first == ":" && port.dropFirst().allSatisfy(\.isWholeNumber) else { return nil }
        return String(authority.hasPrefix("[") ? host.dropFirst().dropLast() : host)
    }
}
