import AppStore
import Ledger
import LedgerEngine
import NIOConcurrencyHelpers

/// Who has signed in at the console: for each session the digest of its token. They are kept in memory alone, so a
/// restart ends all of them. A session says nothing of what its token may: each request shows the token's digest as a
/// client of the line protocol does, so one that was taken away or changed ends its sessions with the next request.
///
/// A session ends when nothing was asked in it for some time, some hours after it began, and where its token begins one
/// more than it may have: then its oldest goes, and nobody else's.
final class ConsoleSessions: Sendable {
    private struct Session {
        let token: Digest
        /// In nanoseconds of the clock.
        let begun: UInt64
        var lastUsed: UInt64
    }

    /// By the SHA-256 of what the cookie has, so that looking one up tells nothing of it by the time that it takes.
    private let sessions = NIOLockedValueBox<[Digest: Session]>([:])
    private let tokens: TokenTable
    private let limits: ServerLimits
    private let clock: @Sendable () -> UInt64

    /// - Parameter clock: nanoseconds that never go back.
    init(tokens: TokenTable, limits: ServerLimits, clock: @escaping @Sendable () -> UInt64) {
        self.tokens = tokens
        self.limits = limits
        self.clock = clock
    }

    /// Begins a session.
    /// - Parameter token: of a token that is known.
    /// - Returns: what the cookie has: 256 random bits, in hexadecimal digits.
    func begin(_ token: Digest) -> String {
        var random = SystemRandomNumberGenerator()
        let secret = (0..<32).map { _ in
            let byte = UInt8.random(in: .min ... .max, using: &random)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        let now = clock()
        sessions.withLockedValue { sessions in
            sessions = sessions.filter { !isOver($0.value, now) }
            let own = sessions.filter { $0.value.token == token }
            if own.count >= limits.consoleSessionsPerTokenMax,
                let oldest = own.min(by: { $0.value.begun < $1.value.begun })
            {
                sessions[oldest.key] = nil
            }
            sessions[ConsoleSessions.digest(secret)] = Session(token: token, begun: now, lastUsed: now)
        }
        return secret
    }

    /// What its token shows, as that of any client; `nil` where the session is over, or its token is not known any
    /// more.
    func credential(_ secret: String) -> Credential? {
        let (key, now) = (ConsoleSessions.digest(secret), clock())
        let token = sessions.withLockedValue { sessions -> Digest? in
            guard let session = sessions[key] else { return nil }
            guard !isOver(session, now), tokens.holder(.token(session.token)) != nil else {
                sessions[key] = nil
                return nil
            }
            sessions[key]?.lastUsed = max(session.lastUsed, now)
            return session.token
        }
        return token.map { .token($0) }
    }

    func end(_ secret: String) {
        sessions.withLockedValue { $0[ConsoleSessions.digest(secret)] = nil }
    }

    /// - Parameter now: when the request was looked at; another event loop may have used the session since.
    private func isOver(_ session: Session, _ now: UInt64) -> Bool {
        func isPast(_ time: UInt64, _ milliseconds: Int64) -> Bool {
            now > time && now - time > UInt64(milliseconds) * 1_000_000
        }
        return isPast(session.lastUsed, limits.consoleIdleMilliseconds)
            || isPast(session.begun, limits.consoleSessionMilliseconds)
    }

    private static func digest(_ secret: String) -> Digest { Digest(sha256: SHA256.hash(Array(secret.utf8))) }
}
