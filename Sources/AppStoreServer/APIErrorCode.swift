/// The number that Apple gives a refusal (`errorCode`). Numbers that Apple adds later are kept as they come.
public struct APIErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// As it stands in the reply. The first three digits are the HTTP status.
    public let rawValue: Int64

    /// Takes any value; ``known`` lists those that Apple documents.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Apple's name for it and the number, `TransactionIdNotFoundError (4040010)`; the number alone where this version
    /// does not know it.
    public var description: String {
        APIErrorCode.known[self].map { "\($0) (\(rawValue))" } ?? "\(rawValue)"
    }

    /// Whether Apple lists it among the "errors to retry", or says of it to come again later (429, 500).
    public var isRetryable: Bool {
        switch self {
        case .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIDNotFoundRetryable,
            .generalInternal, .generalInternalRetryable, .rateLimitExceeded:
            true
        default: false
        }
    }

    /// Those that Apple documents for this API (version 1.21, "Error codes"), with Apple's names. Three have no number
    /// that a public source confirms, and are known by number only when they come:
    /// `ConsumptionPercentageOutOfRangeError`, `UndeliveredConsumptionPercentageNonZeroError` and
    /// `AdvancedCommerceTransactionNotSupportedError`.
    public static let known: [APIErrorCode: String] = Dictionary(
        uniqueKeysWithValues: APIErrorCode.names.map { (APIErrorCode(rawValue: $0.0), $0.1) })
}

/// Those that programs ask for. All others are in ``APIErrorCode/known``.
extension APIErrorCode {
    /// The request is malformed.
    public static let generalBadRequest = APIErrorCode(rawValue: 4_000_000)
    /// The bundle id is none.
    public static let invalidAppIdentifier = APIErrorCode(rawValue: 4_000_002)
    /// A page's `revision` is none.
    public static let invalidRequestRevision = APIErrorCode(rawValue: 4_000_005)
    /// It is no transaction id.
    public static let invalidTransactionID = APIErrorCode(rawValue: 4_000_006)
    /// The notification history does not go back so far: 180 days, in the sandbox 30.
    public static let startDateTooFarInPast = APIErrorCode(rawValue: 4_000_012)
    /// A page's `paginationToken` is none.
    public static let invalidPaginationToken = APIErrorCode(rawValue: 4_000_014)
    /// A page's `paginationToken` is too old: the history is to be read from its start again.
    public static let paginationTokenExpired = APIErrorCode(rawValue: 4_000_017)
    /// The customer has not consented.
    public static let invalidCustomerConsented = APIErrorCode(rawValue: 4_000_035)
    /// The endpoint takes the id of a transaction, not of an app transaction.
    public static let appTransactionIDNotSupported = APIErrorCode(rawValue: 4_000_048)
    /// The token for an account is no UUID.
    public static let invalidAppAccountTokenUUID = APIErrorCode(rawValue: 4_000_183)
    /// The purchase is another member's of the family.
    public static let familyTransactionNotSupported = APIErrorCode(rawValue: 4_000_185)
    /// The endpoint takes the id of an original transaction.
    public static let transactionIDIsNotOriginalTransactionID = APIErrorCode(rawValue: 4_000_187)
    /// There is no such App Store account.
    public static let accountNotFound = APIErrorCode(rawValue: 4_040_001)
    /// The App Store account was not found this time.
    public static let accountNotFoundRetryable = APIErrorCode(rawValue: 4_040_002)
    /// There is no such app.
    public static let appNotFound = APIErrorCode(rawValue: 4_040_003)
    /// The app was not found this time.
    public static let appNotFoundRetryable = APIErrorCode(rawValue: 4_040_004)
    /// There is no such original transaction.
    public static let originalTransactionIDNotFound = APIErrorCode(rawValue: 4_040_005)
    /// The original transaction was not found this time.
    public static let originalTransactionIDNotFoundRetryable = APIErrorCode(rawValue: 4_040_006)
    /// App Store Connect has no address for notifications of this environment.
    public static let serverNotificationURLNotFound = APIErrorCode(rawValue: 4_040_007)
    /// What became of the test notification is not known yet, or no longer.
    public static let testNotificationNotFound = APIErrorCode(rawValue: 4_040_008)
    /// There is no such transaction in this environment.
    public static let transactionIDNotFound = APIErrorCode(rawValue: 4_040_010)
    /// The customer has no app transaction.
    public static let appTransactionDoesNotExist = APIErrorCode(rawValue: 4_040_019)
    /// Too many requests of this kind within the hour.
    public static let rateLimitExceeded = APIErrorCode(rawValue: 4_290_000)
    /// Apple failed.
    public static let generalInternal = APIErrorCode(rawValue: 5_000_000)
    /// Apple failed, and says to try again.
    public static let generalInternalRetryable = APIErrorCode(rawValue: 5_000_001)
}
