/// Why a signed object is not believed, or not wanted here. The message is for people and holds nothing of the JWS
/// itself.
public struct VerificationFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The stable names, in order of precedence: where several apply, the first is given.
    public enum Reason: String, Sendable, CaseIterable {
        /// Not three segments of base64url, too long, or the header is not the JSON object that RFC 7515 asks for.
        case malformed = "malformed"
        /// `alg` is not ES256.
        case unsupportedAlgorithm = "unsupported_algorithm"
        /// The header has no list of as many certificates as Apple sends; or they name a root that is trusted, and it
        /// did not issue them, or they are not what Apple's are.
        case invalidCertificateChain = "invalid_certificate_chain"
        /// The header's certificates name no root that is trusted; nothing else of them was looked at.
        case untrustedRoot = "untrusted_root"
        /// A certificate of the chain was not valid at the payload's `signedDate`.
        case certificateExpired = "certificate_expired"
        /// The leaf's key did not make this signature over these bytes.
        case invalidSignature = "invalid_signature"
        /// Truly signed, but a member is missing or of another type than documented, or it is another kind of object.
        case invalidPayload = "invalid_payload"
        /// Another app's.
        case wrongApp = "wrong_app"
        /// Another environment's.
        case wrongEnvironment = "wrong_environment"

        /// True where the object could not be believed; false where it is Apple's word but not for this ledger.
        public var isVerificationFailure: Bool {
            switch self {
            case .malformed, .unsupportedAlgorithm, .invalidCertificateChain, .untrustedRoot, .certificateExpired,
                .invalidSignature, .invalidPayload:
                true
            case .wrongApp, .wrongEnvironment: false
            }
        }
    }

    /// The stable name.
    public let reason: Reason
    /// What is wrong, in words.
    public let message: String

    init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// The reason and the message.
    public var description: String { "\(reason.rawValue): \(message)" }

    /// The same, said of the transaction that a notification carries.
    var ofNestedTransaction: VerificationFailure {
        VerificationFailure(reason, "the notification's signedTransactionInfo: \(message)")
    }
}
