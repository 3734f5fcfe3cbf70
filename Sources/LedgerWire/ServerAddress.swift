/// Where a service listens: `host:port`, `[IPv6 address]:port` or `unix:/path`.
public enum ServerAddress: Hashable, Sendable {
    /// TCP. A server takes port 0 for a free one.
    case tcp(host: String, port: Int)
    /// A Unix-domain socket.
    case unix(path: String)

    /// A text that is no address, and why.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong, with the text.
        public let description: String
    }

    /// Bytes of a Unix socket's path: `sun_path` of Linux holds 108 with the NUL (unix(7)), of macOS 104.
    public static let unixPathBytesMax = 103

    /// Reads `host:port`, `[IPv6 address]:port` or `unix:/path`.
    public init(_ text: String) throws(Malformed) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty, path.utf8.count <= ServerAddress.unixPathBytesMax, !path.utf8.contains(0) else {
                throw Malformed(
                    description: "'\(text)' is not unix: and a path of 1 to \(ServerAddress.unixPathBytesMax) bytes")
            }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = ServerAddress.port(text[text.index(after: colon)...])
        else { throw Malformed(description: "'\(text)' is not host:port or unix:/path") }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw Malformed(description: "'\(text)' needs brackets around its IPv6 address, as [::1]:7117")
        }
        guard !host.isEmpty, !host.contains(where: { $0 == "[" || $0 == "]" || $0.isWhitespace }) else {
            throw Malformed(description: "'\(text)' has no host before its port")
        }
        self = .tcp(host: String(host), port: port)
    }

    private static func port(_ digits: Substring) -> Int? {
        guard digits.utf8.count <= 5, !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            let port = Int(digits), port <= Int(UInt16.max)
        else { return nil }
        return port
    }
}

extension ServerAddress: CustomStringConvertible {
    /// The text that `init` reads.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
