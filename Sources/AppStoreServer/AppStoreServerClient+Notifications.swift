internal import StrictJSON

/// App Store Server Notifications: what Apple has sent, and whether it arrives.
///
/// All throw ``AppStoreServerError`` and `CancellationError`.
extension AppStoreServerClient {
    /// The notifications that Apple sent or tried to send, page by page ("Get Notification History"). It goes back 180
    /// days, in the sandbox 30.
    /// - Parameters:
    ///   - query: which of them; the same for each page.
    ///   - paginationToken: the ``NotificationPage/paginationToken`` of the page after which to go on; `nil` for the
    ///     beginning.
    public func notificationHistory(
        _ query: NotificationHistoryQuery, after paginationToken: String? = nil
    ) -> Pages<NotificationPage> {
        Pages(after: paginationToken) { token in
            var request = APIRequest(.notificationHistory, body: query.json())
            request.add("paginationToken", token)
            return try await self.send(request, NotificationPage.init)
        }
    }

    /// Has Apple send a `TEST` notification to the address in App Store Connect ("Request a Test Notification"). Each
    /// call that arrives sends one; after ``AppStoreServerError/connectionLost(_:)``,
    /// ``AppStoreServerError/timedOut`` and a refusal of status 500 or above it may have arrived.
    /// - Returns: the token with which to ask what became of it.
    public func requestTestNotification() async throws -> String {
        try await send(APIRequest(.testNotification)) { (reader) throws(JSONError) in
            var token: String?
            try reader.object { (reader, key) throws(JSONError) in
                switch key {
                case "testNotificationToken": token = try reader.string()
                default: try reader.skip()
                }
            }
            guard let token else { throw reader.missing("testNotificationToken") }
            return token
        }
    }

    /// What became of a test notification ("Get Test Notification Status"). For a moment after the request it is
    /// ``APIErrorCode/testNotificationNotFound``.
    public func testNotificationStatus(token: String) async throws -> SentNotification {
        let request = try APIRequest(.testNotificationStatus, id: token, called: "the test notification's token")
        return try await send(request, SentNotification.init)
    }
}
