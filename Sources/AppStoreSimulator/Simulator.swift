package import AppStore
internal import AppStoreServer
internal import AsyncHTTPClient
internal import StrictJSON

/// An App Store in a box: it keeps purchases and notifications, signs them with a sandbox chain, answers what the App
/// Store Server API offers, and posts notifications to a webhook.
///
/// All that it knows stands in a file first (``Journal``), so that it goes on after a restart.
package actor Simulator {
    nonisolated let configuration: SimulatorConfiguration
    nonisolated let chain: SandboxChain
    nonisolated let tokens: TokenCheck
    /// Where notifications are posted; `nil` where none are made.
    private(set) var webhook: String?
    let journal: Journal
    var state: SimulatorState
    /// The chance of notifications.
    private var random: SeededGenerator
    var rates = RequestRates()
    var faults: FaultInjection
    /// What is to be posted, and when.
    var queue = PostQueue()
    /// Posts under way.
    var postCount = 0
    /// Tells whoever posts that the queue has changed.
    nonisolated let queueChanges: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)

    /// Takes up what the file has.
    /// - Parameters:
    ///   - key: what callers of the API sign their tokens with.
    ///   - path: the file; made where there is none.
    /// - Throws: ``SimulatorError`` where the file cannot be used, or is of another app.
    package init(
        _ configuration: SimulatorConfiguration, chain: SandboxChain, key: CallerKey, path: String
    ) throws(SimulatorError) {
        try Simulator.check(webhook: configuration.webhook)
        self.configuration = configuration
        webhook = configuration.webhook
        self.chain = chain
        tokens = TokenCheck(key: key, bundleID: configuration.bundleID)
        random = SeededGenerator(seed: configuration.seed)
        faults = FaultInjection(configuration.failing, seed: configuration.seed)
        queueChanges = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        var state = SimulatorState()
        journal = try Journal(path: path) { (line, start) throws(SimulatorError) in
            do throws(JSONError) {
                try state.read(line, at: start)
            } catch { throw SimulatorError(.unavailable, "\(path): the line at byte \(start): \(error)") }
        }
        self.state = state
        if let app = state.app {
            guard app == configuration.bundleID else {
                throw SimulatorError(.invalid, "\(path) holds purchases of \(app), not of \(configuration.bundleID)")
            }
        } else {
            let head = SimulatorState.head(configuration.bundleID)
            try journal.append(head)
        }
        for notification in state.notifications {
            if let due = notification.nextPost(configuration) { queue.add(notification.uuid, at: due) }
        }
        queueChanges.continuation.yield()
    }

    /// Has notifications posted to another address from now on, those that did not arrive yet too: as a studio changes
    /// it in App Store Connect.
    /// - Throws: ``SimulatorError`` where it is none of HTTP.
    package func setWebhook(_ address: String?) throws(SimulatorError) {
        try Simulator.check(webhook: address)
        webhook = address
    }

    private static func check(webhook: String?) throws(SimulatorError) {
        guard let webhook, (try? HTTPClient.Request(url: webhook)) == nil else { return }
        throw SimulatorError(.invalid, "the webhook must be http://HOST:PORT/PATH or https://…, not \(webhook)")
    }

    /// Gives the file up. Nothing can be kept any more.
    func release() { journal.release() }

    // MARK: Keeping

    /// Writes down what has changed, and then has it so.
    /// - Parameter occasion: the notification that it causes; `nil` where it causes none.
    /// - Returns: the notification's UUID; `nil` where there is none.
    @discardableResult
    func keep(_ changed: [Purchase], notifying occasion: Occasion? = nil) throws -> String? {
        guard state.purchases.count + changed.count <= SimulatorLimits.purchasesMax,
            state.notifications.count < SimulatorLimits.notificationsMax
        else { throw SimulatorError(.unavailable, "the simulator is full: begin in an empty folder") }
        let lines = changed.flatMap(SimulatorState.line)
        var made: (notification: SimulatedNotification, line: [UInt8])?
        // Without an address the App Store sends nothing, and there is no history of it.
        if let occasion, webhook != nil { made = try make(occasion) }
        let start = try journal.append(lines + (made?.line ?? []))
        for purchase in changed { state.place(purchase) }
        guard var notification = made?.notification else { return nil }
        notification.shift(by: start + lines.count)
        state.add(notification)
        for (copy, post) in notification.firstPosts.enumerated() {
            queue.add(notification.uuid, at: notification.signedDate + post, isCopy: copy > 0)
        }
        queueChanges.continuation.yield()
        return notification.uuid
    }

    // MARK: Signing

    /// A transaction as it stands, signed now.
    func sign(_ purchase: Purchase) throws -> String {
        var transaction = purchase.transaction
        transaction.signedDate = max(SystemTime.now(), transaction.signedDate)
        state.noteSigning(of: purchase.id, at: transaction.signedDate)
        return try chain.sign(transaction)
    }

    /// What causes a notification.
    struct Occasion {
        let type: NotificationPayload.NotificationType
        var subtype: NotificationPayload.Subtype?
        /// As it stands after what happened; `nil` for a test.
        var purchase: Purchase?
        var consumptionRequestReason: NotificationPayload.ConsumptionRequestReason?
        /// A subscription's status: 1 active, 5 revoked.
        var status: Int64 = 1
        /// The notification's name.
        var uuid = RandomUUID.text()
    }

    /// A notification as if its line began the file, and that line.
    private func make(_ occasion: Occasion) throws -> (notification: SimulatedNotification, line: [UInt8]) {
        // Never before the one before it: pages of the history are in this order.
        let now = max(SystemTime.now(), state.notifications.last?.signedDate ?? 0)
        var data = NotificationPayload.AppMetadata(
            appAppleID: configuration.appAppleID, bundleID: configuration.bundleID,
            environment: configuration.environment)
        if let transaction = occasion.purchase?.transaction {
            data.signedTransactionInfo = try chain.sign(transaction)
            if transaction.type == .autoRenewableSubscription {
                data.status = occasion.status
                data.signedRenewalInfo = try chain.sign(
                    RenewalPayload(of: transaction, signedDate: transaction.signedDate))
            }
        }
        data.consumptionRequestReason = occasion.consumptionRequestReason
        let payload = NotificationPayload(
            notificationType: occasion.type, subtype: occasion.subtype, notificationUUID: occasion.uuid,
            signedDate: now, data: data)
        let isLost = configuration.lost.draw(&random)
        let firstPosts = firstPosts()
        let jws = try chain.sign(payload)
        let line = SimulatedNotification.line(
            payload, transactionID: occasion.purchase?.id, isLost: isLost, firstPosts: firstPosts, signedPayload: jws)
        // The JWS is the line's last value: a quote, two braces and the line's end follow.
        let end = line.count - 4
        let notification = SimulatedNotification(
            uuid: occasion.uuid, type: occasion.type, subtype: occasion.subtype,
            transactionID: occasion.purchase?.id, signedDate: now, isLost: isLost, firstPosts: firstPosts,
            signedPayload: end - jws.utf8.count..<end)
        return (notification, line)
    }

    /// Milliseconds until a notification is posted first; twice, where it is doubled, the second time at any time.
    private func firstPosts() -> [Int64] {
        let copies = configuration.doubled.draw(&random) ? 2 : 1
        return (0..<copies).map { copy in
            guard configuration.isShuffled || copy > 0 else { return 0 }
            return configuration.real(Int64.random(in: 0...SimulatorLimits.shuffleMilliseconds, using: &random))
        }
    }
}
