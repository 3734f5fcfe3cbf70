import AppStoreServer
import Testing

/// Apple's numbers, and what errors say.
@Suite struct ErrorTests {
    @Test func everyNumberIsOfItsStatus() {
        #expect(APIErrorCode.known.count == 63)
        for (code, name) in APIErrorCode.known {
            #expect([400, 403, 404, 429, 500].contains(code.rawValue / 10_000), "\(code)")
            #expect(name.hasSuffix("Error"))
            #expect(code.description == "\(name) (\(code.rawValue))")
        }
        #expect(Set(APIErrorCode.known.values).count == APIErrorCode.known.count)
        #expect(APIErrorCode(rawValue: 4_999_999).description == "4999999")
    }

    /// The page "Error codes" lists four errors to retry; of 429 and 500 the endpoints say to come again later.
    @Test func whatAppleSaysToTryAgainIsTriedAgain() {
        let retryable = APIErrorCode.known.keys.filter(\.isRetryable).map(\.rawValue).sorted()
        #expect(retryable == [4_040_002, 4_040_004, 4_040_006, 4_290_000, 5_000_000, 5_000_001])
    }

    @Test func whatIsNamedInTheProgramHasApplesName() {
        #expect(APIErrorCode.known[.transactionIDNotFound] == "TransactionIdNotFoundError")
        #expect(APIErrorCode.known[.paginationTokenExpired] == "PaginationTokenExpiredError")
        #expect(APIErrorCode.known[.serverNotificationURLNotFound] == "ServerNotificationURLNotFoundError")
        let named: [APIErrorCode] = [
            .generalBadRequest, .invalidRequestRevision, .invalidTransactionID, .startDateTooFarInPast,
            .invalidPaginationToken, .paginationTokenExpired, .invalidCustomerConsented,
            .appTransactionIDNotSupported, .invalidAppAccountTokenUUID, .familyTransactionNotSupported,
            .transactionIDIsNotOriginalTransactionID, .accountNotFound, .accountNotFoundRetryable, .appNotFound,
            .appNotFoundRetryable, .originalTransactionIDNotFound, .originalTransactionIDNotFoundRetryable,
            .serverNotificationURLNotFound, .testNotificationNotFound, .transactionIDNotFound,
            .appTransactionDoesNotExist, .rateLimitExceeded, .generalInternal, .generalInternalRetryable,
        ]
        for code in named { #expect(APIErrorCode.known[code] != nil, "\(code)") }
    }

    @Test func anErrorIsASentence() {
        let refusal = AppStoreServerError.Refusal(status: 401)
        #expect(AppStoreServerError.refused(refusal).description.contains("check key, key id, issuer id"))
        #expect(AppStoreServerError.timedOut.description == "the App Store did not answer in time")
        #expect(AppStoreServerError.cannotConnect("refused").isRetryable)
        for error in [
            AppStoreServerError.replyTooLong, .unreadableReply("a"), .invalidArgument("a"), .cannotSign("a"), .shutDown,
        ] { #expect(!error.isRetryable && !error.description.isEmpty) }
    }
}
