import AppStoreServer

extension AppStoreServerError.Refusal {
    /// Whether Apple refuses one purchase, and may take others: by a number of its own (a proxy's refusal has none),
    /// and not because of the app, the key or the rate.
    var isOfOnePurchase: Bool {
        let ofAll: [APIErrorCode] = [.invalidAppIdentifier, .appNotFound, .appNotFoundRetryable, .rateLimitExceeded]
        guard let code, !ofAll.contains(code) else { return false }
        return status != 401 && status != 429 && status < 500
    }
}
