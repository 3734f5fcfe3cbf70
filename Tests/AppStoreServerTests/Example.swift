import AppStore
import AppStoreServer

/// - Parameters:
///   - p8: the key's file from App Store Connect.
///   - since: milliseconds since the UNIX epoch, as is `now`.
func missedNotifications(
    from address: AppStoreAddress, p8: [UInt8], verifier: Verifier, since: Int64, now: Int64
) async throws -> [VerifiedNotification] {
    let key = try InAppPurchaseKey(
        p8: p8, keyID: "2X9R4HXF34", issuerID: "57246542-96fe-1a63-e053-0824d011072a")
    let configuration = AppStoreServerClient.Configuration(bundleID: "com.example.game", address: address)
    return try await AppStoreServerClient.with(key: key, configuration: configuration) { client in
        var missed: [VerifiedNotification] = []
        let query = NotificationHistoryQuery(startDate: since, endDate: now, onlyFailures: true)
        for try await page in client.notificationHistory(query) {
            for notification in page.notifications {
                missed.append(try verifier.verify(notification: Array(notification.signedPayload.utf8), now: now))
            }
        }
        return missed
    }
}
