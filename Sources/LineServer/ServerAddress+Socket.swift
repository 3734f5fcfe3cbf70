import LedgerWire
import NIOCore

extension ServerAddress {
    /// A bound address; `nil` for one that is of neither kind.
    init?(_ address: SocketAddress?) {
        switch address {
        case .v4, .v6:
            guard let host = address?.ipAddress, let port = address?.port else { return nil }
            self = .tcp(host: host, port: port)
        case .unixDomainSocket:
            guard let path = address?.pathname else { return nil }
            self = .unix(path: path)
        case nil:
            return nil
        }
    }
}

extension ServerAddress {
    /// Whether only this machine can reach it, by what it says: of names `localhost` alone, for none is looked up.
    package var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let host, _): host == "localhost" || (try? SocketAddress(ipAddress: host, port: 0))?.isLocal ?? false
        }
    }
}

extension SocketAddress {
    /// Whether only this machine can reach it: RFC 1122 §3.2.1.3 for 127.0.0.0/8, RFC 4291 §2.5.3 for ::1.
    var isLocal: Bool {
        switch self {
        case .unixDomainSocket: true
        case .v4: ipAddress?.hasPrefix("127.") ?? false
        case .v6: ipAddress == "::1"
        }
    }
}
