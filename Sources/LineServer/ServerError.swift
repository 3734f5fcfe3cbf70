import LedgerWire

/// Why the server does not start, or goes on with what it had: a kind, by which callers decide, then words.
package struct ServerError: Error, CustomStringConvertible, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Other machines could connect, and nobody would need a token, or what is sent could be read on its way.
        case unprotected
        /// The certificates or keys for TLS cannot be used.
        case unusableCertificates
        /// Another server listens there.
        case alreadyServed
        /// What was read again differs in what cannot change while the server runs.
        case unchangeable
        /// The address cannot be listened on.
        case unavailable
    }

    package let kind: Kind
    package let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

extension ServerError {
    /// An address is not listened to.
    /// - Parameter lacks: what is missing for other machines to be let in.
    init(_ kind: Kind, _ address: ServerAddress, lacks: [String]) {
        self.init(
            kind,
            """
            \(address) can be reached from other machines, and \(lacks.joined(separator: ", and ")), \
            or listen on 127.0.0.1, [::1] or a Unix-domain socket
            """)
    }
}
