/// What Apple was told.
extension Books {
    /// A notification that was recorded.
    package struct RecordedNotification: Hashable, Sendable {
        package var number: Int64
        package var type: String
        /// The purchase that it carries, where that grants currency.
        package var transaction: TransactionID?

        package init(number: Int64, type: String, transaction: TransactionID?) {
            self.number = number
            self.type = type
            self.transaction = transaction
        }

        fileprivate func asks(about transaction: TransactionID) -> Bool {
            self.transaction == transaction
                && PurchaseView.Event.Kind(notificationType: type) == .consumptionRequest
        }
    }

    /// What Apple is told once: of a purchase, or in answer to one question about it.
    package struct CallKey: Hashable, Sendable {
        package var transaction: TransactionID
        package var kind: AppStoreCall.Kind
        package var notificationUUID: String?

        package init(_ call: AppStoreCall) {
            transaction = call.transaction
            kind = call.kind
            notificationUUID = call.notificationUUID
        }
    }

    /// Records how a call to the App Store Server API ended. Once it was accepted, or its time was over, nothing is
    /// recorded any more, and neither is the same refusal again.
    mutating func record(_ call: AppStoreCall, at now: Timestamp) -> Outcome {
        precondition(
            (call.notificationUUID != nil) == (call.kind == .consumption), "a call answers what it cannot answer")
        precondition(
            call.body.count <= Limits.appStoreCallBytesMax && String(validating: call.body, as: UTF8.self) != nil,
            "a call's body is too large, or no text")
        guard let purchase = purchases[call.transaction], purchase.facts.source != .external else {
            return .refused(Refusal(.unknownPurchase))
        }
        let request = call.notificationUUID.flatMap { notifications[$0] }
        if call.notificationUUID != nil && request?.asks(about: call.transaction) != true {
            return .refused(Refusal(.unknownConsumptionRequest))
        }
        let key = CallKey(call)
        let end = call.end.bounded
        if let former = calls[key], former.isFinal || former == end { return .recorded(duplicate: true) }

        // Nothing below can fail.
        rows.calls.append(
            BlockRows.CallRow(
                transaction: call.transaction, kind: call.kind, notification: request?.number, end: end,
                body: call.body[...], time: entryTime(now)))
        calls[key] = end
        return .recorded(duplicate: false)
    }
}

extension AppStoreCall.End {
    /// With a code that every JSON client holds, whatever Apple answered.
    fileprivate var bounded: AppStoreCall.End {
        code.map { .refused(code: min(max($0, -Limits.amountMax), Limits.amountMax)) } ?? self
    }
}
