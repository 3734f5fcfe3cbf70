import AppStore
import LedgerWire

/// Which token gives which role. Only digests are kept.
struct TokenTable: Sendable {
    private let entries: [(digest: [UInt8], role: Role)]

    init(_ tokens: [ServerConfiguration.Token]) {
        entries = tokens.map { (SHA256.hash(Array($0.token.utf8)), $0.role) }
    }

    /// Whether nobody needs a token.
    var isEmpty: Bool { entries.isEmpty }

    /// The role of a connection that has not authenticated: every role where there are no tokens.
    var roleWithoutToken: Role? { entries.isEmpty ? .admin : nil }

    /// The role that `token` gives. Takes the same time for every token of a length: digests are compared whole, and
    /// all of them, so that time tells nothing of how near a guess was.
    func role(of token: String) -> Role? {
        if entries.isEmpty { return .admin }
        let digest = SHA256.hash(Array(token.utf8))
        var found: Role?
        for entry in entries {
            var difference: UInt8 = 0
            for index in 0..<SHA256.byteCount { difference |= entry.digest[index] ^ digest[index] }
            if difference == 0 { found = entry.role }
        }
        return found
    }
}
