public import AppStore

/// Where the App Store Server API is asked: a scheme, a host and perhaps a port.
///
/// Requests carry a token that lets whoever has it read and change purchases, so it goes over TLS only. Plain HTTP is
/// taken to the loopback interface alone, for tests and simulators.
public struct AppStoreAddress: Hashable, Sendable, CustomStringConvertible {
    /// Without a slash at its end.
    public let description: String

    /// Customers' purchases.
    public static let production = AppStoreAddress(known: "https://api.storekit.apple.com")
    /// Purchases of TestFlight, App Review and sandbox accounts.
    public static let sandbox = AppStoreAddress(known: "https://api.storekit-sandbox.apple.com")

    private init(known text: String) { description = text }

    /// Apple's own for an environment; `nil` for one that Apple has no servers for (Xcode, LocalTesting).
    public init?(_ environment: Environment) {
        switch environment {
        case .production: self = .production
        case .sandbox: self = .sandbox
        default: return nil
        }
    }

    /// Another one, `https://host:port` or, on this machine, `http://127.0.0.1:port`.
    /// - Throws: ``AppStoreServerError/invalidArgument(_:)`` where it is anything else.
    public init(_ text: String) throws(AppStoreServerError) {
        let trimmed = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard let (scheme, host) = AppStoreAddress.parts(trimmed) else {
            throw .invalidArgument("an address must be https://HOST or https://HOST:PORT, without a path")
        }
        guard scheme == "https" || AppStoreAddress.isLoopback(host) else {
            throw .invalidArgument("only an address of this machine (127.0.0.1, [::1], localhost) may be http")
        }
        description = trimmed
    }

    /// Scheme and host of `scheme://host[:port]`; the host may be an IPv6 address in brackets (RFC 3986 §3.2.2).
    private static func parts(_ text: String) -> (scheme: String, host: String)? {
        for scheme in ["https", "http"] {
            let start = scheme + "://"
            guard text.lowercased().hasPrefix(start) else { continue }
            let authority = text.dropFirst(start.count)
            let isBracketed = authority.first == "["
            let host: Substring
            if isBracketed {
                guard let end = authority.firstIndex(of: "]") else { return nil }
                host = authority[...end]
            } else {
                host = authority.prefix { $0 != ":" }
            }
            let port = authority[host.endIndex...]
            guard isHost(host, isBracketed: isBracketed), port.isEmpty || isPort(port) else { return nil }
            return (scheme, host.lowercased())
        }
        return nil
    }

    private static func isHost(_ host: Substring, isBracketed: Bool) -> Bool {
        let bytes = isBracketed ? host.utf8.dropFirst().dropLast() : host.utf8[...]
        guard !bytes.isEmpty, bytes.count <= 253 else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."): true
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): true
            case UInt8(ascii: ":"): isBracketed
            case UInt8(ascii: "g")...UInt8(ascii: "z"), UInt8(ascii: "G")...UInt8(ascii: "Z"), UInt8(ascii: "-"):
                !isBracketed
            default: false
            }
        }
    }

    /// `:` and a number of 1 … 65535.
    private static func isPort(_ text: Substring) -> Bool {
        guard text.first == ":" else { return false }
        let digits = text.dropFirst()
        guard digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), let number = UInt16(digits) else {
            return false
        }
        return number > 0
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        // RFC 1122 §3.2.1.3: all of 127.0.0.0/8.
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
