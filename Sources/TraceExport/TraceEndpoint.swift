/// Where spans are sent: the URL of an OTLP receiver for traces, with its path.
package struct TraceEndpoint: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether spans go to another machine without TLS.
    package let isExposed: Bool

    /// What one is, for who has written none.
    package static let rule = """
        http or https, a host, perhaps a port, and the path of an OTLP receiver, as http://127.0.0.1:4318/v1/traces
        """

    /// - Parameter text: nothing is passed over: a user, a query or a fragment makes it none.
    package init?(_ text: String) {
        let form =
            /(?i)(https?):\/\/(\[[0-9a-f:.]{2,45}\]|[a-z0-9][a-z0-9.-]{0,252})(?::([0-9]{1,5}))?\/[a-z0-9._~\/-]+/
        guard let match = text.wholeMatch(of: form) else { return nil }
        if let port = match.3, !(1...65_535).contains(Int(port) ?? 0) { return nil }
        description = text
        isExposed = match.1.lowercased() == "http" && !TraceEndpoint.isLoopback(match.2.lowercased())
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts[0] == 127 && !parts.contains(nil)
    }
}
