import AppStore
import Ledger
import LedgerEngine
import LedgerWire
import NIOConcurrencyHelpers
import Synchronization

/// By what a client has shown who it is.
enum Credential: Equatable, Sendable {
    /// The SHA-256 of a token.
    case token(Digest)
    /// The names in its certificate.
    case certificate([String])
    /// It posts what the App Store does, which is to be verified: whoever it is.
    case appStore
    /// A node's token, by which it asks in the name of a client of its own.
    case node(Digest, client: String)
}

/// Which token, or which certificate, gives what. Only digests of tokens are kept. It can be replaced while connections
/// are open: each asks by ``generation`` whether what it has is still so.
final class TokenTable: Sendable {
    private struct Entries {
        var byDigest: [(digest: Digest, holder: TokenHolder)] = []
        /// By the bytes of a name in it: by Unicode's canonical equivalence the Kelvin sign would be K.
        var byCertificate: [[UInt8]: TokenHolder] = [:]
        /// How many names there are.
        var names = 0
        /// Under each name that there is, or was since the start.
        var byName: [String: TokenHolder] = [:]
        /// The same for each digest, and for each name in a certificate: who comes back may open another ledger then.
        var lastByDigest: [Digest: TokenHolder] = [:]
        var lastByCertificate: [[UInt8]: TokenHolder] = [:]

        /// Takes the same time for every digest: they are compared whole, and with all, so that time tells nothing of
        /// how near a guess was.
        func holder(_ digest: Digest) -> TokenHolder? {
            var found: TokenHolder?
            for entry in byDigest where TokenTable.isSame(entry.digest, digest) { found = entry.holder }
            return found
        }

        /// The one that has the name now.
        func holder(named name: String) -> TokenHolder? {
            guard let holder = byName[name] else { return nil }
            let isThere = byDigest.contains { $0.holder === holder } || byCertificate.values.contains { $0 === holder }
            return isThere ? holder : nil
        }
    }

    private let entries: NIOLockedValueBox<Entries>
    private let replaced = Atomic<Int>(0)
    /// Whom everybody is where there are no tokens.
    private let everyone: TokenHolder?
    /// Whom those are that post what the App Store does.
    private let appStore: TokenHolder
    private let ledgers: Int

    /// - Parameter ledgers: how many ledgers the service has.
    init(_ access: ServerConfiguration.Access, ledgers: Int = 1) {
        self.ledgers = ledgers
        appStore = .appStore(ledgers: ledgers)
        switch access {
        case .everyoneOnThisMachine:
            everyone = .anyone(ledgers: ledgers)
            entries = NIOLockedValueBox(Entries())
        case .tokens(let tokens):
            everyone = nil
            entries = NIOLockedValueBox(TokenTable.entries(tokens, before: Entries(), ledgers: ledgers))
        }
    }

    /// Whether it matters which ledger a token opens.
    var separatesLedgers: Bool { ledgers > 1 }

    /// What was given before this has changed may be given no more.
    var generation: Int { replaced.load(ordering: .acquiring) }

    /// How many names clients may have; 0 where there are no tokens.
    var nameCount: Int { entries.withLockedValue { $0.names } }

    /// Who a connection is that has not authenticated; `nil` where it must.
    var holderWithoutToken: TokenHolder? { everyone }

    /// What a client shows that sends `token`.
    static func credential(_ token: String) -> Credential {
        .token(Digest(sha256: SHA256.hash(Array(token.utf8))))
    }

    /// What a client shows that authenticates so; `nil` where that is nothing.
    static func credential(_ authentication: Authentication) -> Credential? {
        guard let token = authentication.token else { return nil }
        guard let client = authentication.client else { return credential(token) }
        return .node(Digest(sha256: SHA256.hash(Array(token.utf8))), client: client)
    }

    /// Whom it makes a connection; `nil` where it is not known.
    func holder(_ credential: Credential) -> TokenHolder? {
        if case .appStore = credential { return appStore }
        if let everyone { return everyone }
        let entries = entries.withLockedValue { $0 }
        switch credential {
        case .token(let digest): return entries.holder(digest)
        case .certificate(let names):
            return names.lazy.compactMap { entries.byCertificate[Array($0.utf8)] }.first
        case .appStore: return appStore
        case .node(let digest, let client):
            guard let node = entries.holder(digest), node.speaksForOthers else { return nil }
            if client == Authentication.appStore { return appStore }
            return entries.holder(named: client)
        }
    }

    /// From now on these tokens hold, and no others. What was granted today under a name counts for who has it now.
    /// Called by one thread at a time (``LineService/reload(_:)``); event loops wait for none of what it takes.
    func replace(by tokens: [Token]) {
        if everyone != nil { return }
        let before = entries.withLockedValue { $0 }
        var next = TokenTable.entries(tokens, before: before, ledgers: ledgers, generation: generation + 1)
        entries.withLockedValue { swap(&$0, &next) }
        // Behind that: a connection that is made between the two is made again for nothing, at worst.
        replaced.add(1, ordering: .acquiringAndReleasing)
    }

    private static func entries(_ tokens: [Token], before: Entries, ledgers: Int, generation: Int = 0) -> Entries {
        var entries = Entries()
        entries.names = tokens.count
        entries.byName = before.byName
        entries.lastByDigest = before.lastByDigest
        entries.lastByCertificate = before.lastByCertificate
        for token in tokens {
            let certificates = token.certificates.map { Array($0.utf8) }
            // Whoever had this name, one of these tokens or one of these certificates last.
            let former =
                [before.byName[token.name]] + token.digests.map { before.lastByDigest[$0] }
                + certificates.map { before.lastByCertificate[$0] }
            let moves = former.contains { $0 != nil && token.ledger != nil && $0?.ledger != token.ledger }
            let movedAt = moves ? generation : former.compactMap { $0?.movedAt }.max() ?? 0
            let holder = TokenHolder(
                token, after: before.byName[token.name], ledgers: ledgers, movedAt: ledgers > 1 ? movedAt : 0)
            entries.byName[token.name] = holder
            entries.byDigest += token.digests.map { ($0, holder) }
            for digest in token.digests { entries.lastByDigest[digest] = holder }
            for name in certificates {
                entries.byCertificate[name] = holder
                entries.lastByCertificate[name] = holder
            }
        }
        return entries
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
