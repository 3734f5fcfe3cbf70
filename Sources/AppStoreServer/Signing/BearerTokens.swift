internal import AppStore
internal import StrictJSON
internal import Synchronization

/// The tokens with which requests are authorised ("Generating JSON Web Tokens for API requests").
///
/// A token is used until shortly before its end: Apple says to "generate a new token for each new API request, or
/// reuse tokens until they expire".
final class BearerTokens: Sendable {
    private struct Token {
        var text: String
        /// In seconds since the UNIX epoch.
        var issuedAt: Int64
    }

    private static let audience = "appstoreconnect-v1"
    private let key: InAppPurchaseKey
    private let bundleID: String
    private let current = Mutex<Token?>(nil)

    init(key: InAppPurchaseKey, bundleID: String) {
        self.key = key
        self.bundleID = bundleID
    }

    /// A token that is good for the next minutes.
    /// - Parameter now: milliseconds since the UNIX epoch.
    func token(now: Int64) throws(AppStoreServerError) -> String {
        let seconds = now / 1_000
        let age = AppStoreServerLimits.tokenSeconds - AppStoreServerLimits.tokenRenewalSeconds
        return try current.withLock { (current) throws(AppStoreServerError) in
            // A token of the future was made before the clock was set back.
            if let token = current, (token.issuedAt..<token.issuedAt + age).contains(seconds) { return token.text }
            let text = try key.token { claims in
                claims.member("iat", seconds)
                claims.member("exp", seconds + AppStoreServerLimits.tokenSeconds)
                claims.member("aud", BearerTokens.audience)
                claims.member("bid", bundleID)
            }
            current = Token(text: text, issuedAt: seconds)
            return text
        }
    }

    /// Has the next request make a token of its own: this one was not accepted.
    func drop(_ text: String) {
        current.withLock { if $0?.text == text { $0 = nil } }
    }
}
