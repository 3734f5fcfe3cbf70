import AppStore
import Ledger
import NIOConcurrencyHelpers
import Synchronization

/// Which token gives what. Only digests are kept. It can be replaced while connections are open: each asks by
/// ``generation`` whether what it has is still so.
final class TokenTable: Sendable {
    private struct Entry {
        let digest: Digest
        let holder: TokenHolder
    }

    private let entries: NIOLockedValueBox<[Entry]>
    private let replaced = Atomic<Int>(0)
    /// Whom everybody is where there are no tokens.
    private let everyone: TokenHolder?

    init(_ access: ServerConfiguration.Access) {
        switch access {
        case .everyoneOnThisMachine:
            everyone = .anyone
            entries = NIOLockedValueBox([])
        case .tokens(let tokens):
            everyone = nil
            entries = NIOLockedValueBox(TokenTable.entries(tokens, before: []))
        }
    }

    /// What was given before this has changed may be given no more.
    var generation: Int { replaced.load(ordering: .acquiring) }

    /// Who a connection is that has not authenticated; `nil` where it must.
    var holderWithoutToken: TokenHolder? { everyone }

    /// Whom `token` makes a connection, and by which digest.
    func holder(of token: String) -> (holder: TokenHolder, digest: Digest)? {
        let digest = Digest(sha256: SHA256.hash(Array(token.utf8)))
        return holder(of: digest).map { ($0, digest) }
    }

    /// Takes the same time for every digest: they are compared whole, and with all, so that time tells nothing of how
    /// near a guess was.
    func holder(of digest: Digest) -> TokenHolder? {
        if let everyone { return everyone }
        var found: TokenHolder?
        for entry in entries.withLockedValue({ $0 }) where TokenTable.isSame(entry.digest, digest) {
            found = entry.holder
        }
        return found
    }

    /// From now on these tokens hold, and no others. What was granted today under a name counts for who has it now.
    func replace(by tokens: [Token]) {
        if everyone != nil { return }
        entries.withLockedValue { $0 = TokenTable.entries(tokens, before: $0) }
        replaced.add(1, ordering: .acquiringAndReleasing)
    }

    private static func entries(_ tokens: [Token], before: [Entry]) -> [Entry] {
        tokens.flatMap { token in
            let holder = TokenHolder(token, former: before.first { $0.holder.name == token.name }?.holder)
            return token.digests.map { Entry(digest: $0, holder: holder) }
        }
    }

    private static func isSame(_ one: Digest, _ other: Digest) -> Bool {
        one.withUnsafeBytes { one in
            other.withUnsafeBytes { other in
                var difference: UInt8 = 0
                for index in 0..<Digest.byteCount { difference |= one[index] ^ other[index] }
                return difference == 0
            }
        }
    }
}
