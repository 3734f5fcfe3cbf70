internal import AppStore
internal import AppStoreServer
internal import NIOHTTP1
internal import StrictJSON

/// The endpoints of the App Store Server API.
extension Simulator {
    /// - Throws: ``APIRefusal``, and what the file or the signer throws.
    func answer(_ endpoint: Endpoint, _ subject: String, _ request: Request) throws -> Answer {
        switch endpoint {
        case .transactionInfo:
            let purchase = try purchase(subject)
            let jws = try sign(purchase)
            return .json { $0.member("signedTransactionInfo", jws) }
        case .appTransactionInfo:
            let jws = try appTransaction(of: try customer(subject))
            return .json { $0.member("signedAppTransactionInfo", jws) }
        case .transactionHistory: return try transactionHistory(of: try customer(subject), try query(request))
        case .refundHistory: return try refundHistory(of: try customer(subject), try query(request))
        case .orderLookup: return try order(subject)
        case .finishTransaction: return try finish(try purchase(subject), request)
        case .setAppAccountToken: return try setAppAccountToken(request.body, of: try purchase(subject))
        case .sendConsumption: return try takeConsumption(request, of: try purchase(subject))
        case .notificationHistory: return try notificationHistory(request.body, try query(request))
        case .testNotification: return try requestTestNotification()
        case .testNotificationStatus: return try testNotificationStatus(subject)
        }
    }

    private func query(_ request: Request) throws -> Query {
        guard let query = request.query else { throw APIRefusal(.generalBadRequest, "The query cannot be read.") }
        return query
    }

    // MARK: Whose, and which

    /// A transaction of the path.
    private func purchase(_ id: String) throws -> Purchase {
        if let purchase = state.purchases[id] { return purchase }
        if state.customers[id] != nil {
            throw APIRefusal(
                .appTransactionIDNotSupported, "Invalid request. The endpoint does not take an app transaction id.")
        }
        guard Simulator.isTransactionID(id) else {
            throw APIRefusal(.invalidTransactionID, "Invalid transaction id.")
        }
        throw APIRefusal(.transactionIDNotFound, "Transaction id not found.")
    }

    /// The customer of a transaction, or of a download of the app.
    func customer(_ id: String) throws -> String {
        if let customer = state.customers[id] ?? state.purchases[id]?.customer { return customer }
        guard Simulator.isTransactionID(id) else {
            throw APIRefusal(.invalidTransactionID, "Invalid transaction id.")
        }
        throw APIRefusal(.transactionIDNotFound, "Transaction id not found.")
    }

    private static func isTransactionID(_ id: String) -> Bool {
        id.utf8.count <= AppStoreLimits.transactionIDDigitsMax
            && id.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } && Int64(id) != nil
    }

    /// A customer's download of the app, signed now (Apple's `JWSAppTransactionDecodedPayload`).
    private func appTransaction(of customer: String) throws -> String {
        let first = state.transactionsOfCustomer[customer]?.first.flatMap { state.purchases[$0] }
        let date = first?.transaction.purchaseDate ?? SystemTime.now()
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("receiptType", configuration.environment.rawValue)
        writer.member("appAppleId", configuration.appAppleID)
        writer.member("bundleId", configuration.bundleID)
        writer.member("receiptCreationDate", SystemTime.now())
        writer.member("originalPurchaseDate", date)
        writer.member("appTransactionId", first?.transaction.appTransactionID)
        writer.endObject()
        return try chain.sign(payload: writer.bytes)
    }

    /// "Look Up Order ID": 0 and the transactions, or 1.
    private func order(_ id: String) throws -> Answer {
        guard let purchase = Purchase.transactionID(ofOrder: id).flatMap({ state.purchases[$0] }) else {
            return .json { $0.member("status", 1) }
        }
        let jws = try sign(purchase)
        return .json { writer in
            writer.member("status", 0)
            writer.key("signedTransactions")
            writer.beginArray()
            writer.string(jws)
            writer.endArray()
        }
    }

    // MARK: What the App Store is told

    private func finish(_ purchase: Purchase, _ request: Request) throws -> Answer {
        var finished = purchase
        finished.isFinished = true
        finished.finishCalls.append(
            Purchase.FinishCall(calledAt: SystemTime.now(), isReplyLost: request.isReplyLost))
        try keep([finished])
        return Answer(status: .ok)
    }

    private func setAppAccountToken(_ body: [UInt8], of purchase: Purchase) throws -> Answer {
        let token = try Simulator.read(body) { (reader) throws(JSONError) in
            var token: String?
            try reader.object { (reader, key) throws(JSONError) in
                if key == "appAccountToken" { token = try reader.optionalString() } else { try reader.skip() }
            }
            return token
        }
        guard let token = token?.lowercased(), UUIDText.isOne(token) else {
            throw APIRefusal(
                .invalidAppAccountTokenUUID, "Invalid request. The app account token must be a valid UUID.")
        }
        guard purchase.id == purchase.originalID else {
            throw APIRefusal(
                .transactionIDIsNotOriginalTransactionID,
                "Invalid request. The transaction id is not an original transaction id.")
        }
        guard purchase.transaction.inAppOwnershipType != .familyShared else {
            throw APIRefusal(
                .familyTransactionNotSupported, "Invalid request. Transactions of Family Sharing are not supported.")
        }
        let now = SystemTime.now()
        let changed = (state.transactionsOfOriginal[purchase.id] ?? []).compactMap { id -> Purchase? in
            guard var purchase = state.purchases[id], purchase.transaction.appAccountToken != token else { return nil }
            purchase.change(at: now) { $0.appAccountToken = token }
            return purchase
        }
        if !changed.isEmpty { try keep(changed) }
        return Answer(status: .ok)
    }

    /// "Send Consumption Information". Apple documents no refusal of what comes late or was not asked for: it is taken,
    /// and the state says that it was not in time.
    private func takeConsumption(_ request: Request, of purchase: Purchase) throws -> Answer {
        let information = try Consumption(request.body)
        try information.check(of: purchase.transaction.type)
        let now = SystemTime.now()
        var changed = purchase
        let isInTime = purchase.consumptionRequests.contains {
            now - $0.requestedAt <= SimulatorLimits.consumptionMilliseconds
        }
        changed.consumptionAnswers.append(
            Purchase.ConsumptionAnswer(
                answeredAt: now, isInTime: isInTime, isReplyLost: request.isReplyLost, body: information.json))
        try keep([changed])
        return Answer(status: .accepted)
    }

    // MARK: Test notifications

    private func requestTestNotification() throws -> Answer {
        guard webhook != nil else {
            throw APIRefusal(.serverNotificationURLNotFound, "No App Store Server Notification URL found.")
        }
        let occasion = Occasion(type: .test)
        try keep([], notifying: occasion)
        let date = state.notification(occasion.uuid)?.signedDate ?? SystemTime.now()
        return .json { $0.member("testNotificationToken", "\(occasion.uuid)_\(date)") }
    }

    private func testNotificationStatus(_ token: String) throws -> Answer {
        let parts = token.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, UUIDText.isOne(String(parts[0])), let date = Int64(parts[1]) else {
            throw APIRefusal(4_000_020, "Invalid test notification token.")
        }
        // Nothing is known of it before the first attempt.
        guard let notification = state.notification(String(parts[0])), notification.type == .test,
            notification.signedDate == date, !notification.attempts.isEmpty
        else { throw APIRefusal(.testNotificationNotFound, "Test notification not found.") }
        let jws = try journal.read(notification.signedPayload)
        return .json { writer in notification.writeMembers(&writer, signedPayload: jws) }
    }

    /// Reads a body; what is no such object of JSON is a bad request.
    static func read<Value>(
        _ body: [UInt8], _ read: (inout JSONReader) throws(JSONError) -> Value
    ) throws -> Value {
        do throws(JSONError) {
            return try JSONBody.read(body, read)
        } catch { throw APIRefusal(.generalBadRequest, "Bad request: \(error)") }
    }
}

extension SimulatedNotification {
    /// As a history lists it, within an object.
    func writeMembers(_ writer: inout JSONWriter, signedPayload: [UInt8]) {
        writer.key("signedPayload")
        signedPayload.withUnsafeBufferPointer { writer.string(utf8: $0) }
        writer.key("sendAttempts")
        writer.beginArray()
        for attempt in attempts {
            writer.beginObject()
            writer.member("attemptDate", attempt.attemptDate)
            writer.member("sendAttemptResult", attempt.result.rawValue)
            writer.endObject()
        }
        writer.endArray()
    }
}
