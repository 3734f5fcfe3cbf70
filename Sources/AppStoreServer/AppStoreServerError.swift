/// Why a call has no result. A call whose task is cancelled throws `CancellationError` instead.
///
/// No error has the key, a token or a JWS in it.
public enum AppStoreServerError: Error, Hashable, Sendable {
    /// The App Store answered, and refused or failed.
    case refused(Refusal)
    /// No connection was made, and why. Nothing was sent.
    case cannotConnect(String)
    /// The connection ended before the whole reply was there, and why. Whether the request was carried out is not
    /// known.
    case connectionLost(String)
    /// The reply did not come in time. Whether the request was carried out is not known.
    case timedOut
    /// The reply has more than ``AppStoreServerLimits/replyBytesMax`` bytes.
    case replyTooLong
    /// The reply is not what Apple documents, and how it differs.
    case unreadableReply(String)
    /// What the caller gave cannot be sent, and why. Nothing was sent.
    case invalidArgument(String)
    /// The request could not be signed, and why. Nothing was sent.
    case cannotSign(String)
    /// ``AppStoreServerClient/shutDown()`` was called.
    case shutDown
}

extension AppStoreServerError {
    /// What the App Store answered instead of a result.
    public struct Refusal: Hashable, Sendable {
        /// The HTTP status.
        public var status: Int
        /// Apple's number; `nil` where the reply has none, as with status 401.
        public var code: APIErrorCode?
        /// Apple's sentence, shortened to 512 bytes, with control characters escaped; `nil` where the reply has none.
        public var message: String?
        /// When the App Store is to be asked again, in milliseconds since the UNIX epoch: an hour from now at most.
        /// `nil` where it does not say.
        public var retryAfter: Int64?

        /// Describes a refusal.
        public init(status: Int, code: APIErrorCode? = nil, message: String? = nil, retryAfter: Int64? = nil) {
            self.status = status
            self.code = code
            self.message = message
            self.retryAfter = retryAfter
        }

        /// Whether the same request may be answered otherwise later: Apple says so of the number, or the rate was too
        /// high (429), or a server failed (500 and above).
        public var isRetryable: Bool { code?.isRetryable == true || isOfTheRate || status >= 500 }

        /// Whether there were too many requests of this kind. The request was not carried out.
        package var isOfTheRate: Bool { status == 429 || code == .rateLimitExceeded }
    }

    /// Whether the same call, made again later, may have a result. The client itself has tried as often as its
    /// ``AppStoreServerClient/RetryPolicy`` allows.
    public var isRetryable: Bool {
        switch self {
        case .refused(let refusal): refusal.isRetryable
        case .cannotConnect, .connectionLost, .timedOut: true
        case .replyTooLong, .unreadableReply, .invalidArgument, .cannotSign, .shutDown: false
        }
    }
}

extension AppStoreServerError: CustomStringConvertible {
    /// One sentence for people.
    public var description: String {
        switch self {
        case .refused(let refusal): "the App Store refused: \(refusal)"
        case .cannotConnect(let why): "cannot connect to the App Store: \(why)"
        case .connectionLost(let why): "the connection to the App Store was lost: \(why)"
        case .timedOut: "the App Store did not answer in time"
        case .replyTooLong: "the App Store's reply has more than \(AppStoreServerLimits.replyBytesMax) bytes"
        case .unreadableReply(let why): "the App Store's reply cannot be read: \(why)"
        case .invalidArgument(let why): "nothing was sent: \(why)"
        case .cannotSign(let why): "nothing was sent: \(why)"
        case .shutDown: "the client was shut down"
        }
    }
}

extension AppStoreServerError.Refusal: CustomStringConvertible {
    /// For people: status, Apple's number and sentence.
    public var description: String {
        var text = "HTTP \(status)"
        if status == 401 { text += ", the token is not accepted (check key, key id, issuer id, bundle id and clock)" }
        if let code { text += ", \(code)" }
        if let message { text += ": \(message)" }
        return text
    }
}
