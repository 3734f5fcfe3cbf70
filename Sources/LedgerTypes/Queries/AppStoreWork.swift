/// What there may be to tell Apple, in the order in which the ledger recorded it: a page of it, after a number, and of
/// what was recorded from a time on.
package enum AppStoreWorkQuery: Hashable, Sendable {
    /// CONSUMPTION_REQUESTs of purchases, by the number of the notification.
    case consumptionRequests(after: Int64, since: Timestamp = 0, limit: Int = Limits.appStoreWorkMax)
    /// Purchases of the App Store, by the number of their first evidence.
    case purchases(after: Int64, since: Timestamp = 0, limit: Int = Limits.appStoreWorkMax)
    /// Accounts that purchases of the App Store found after they were recorded, by the number of the assignment.
    case assignments(after: Int64, since: Timestamp = 0, limit: Int = Limits.appStoreWorkMax)
}

/// A page of what there may be to tell Apple. One with fewer rows than were asked for is the last for now: ask again
/// after its last row's number.
package enum AppStoreWork: Hashable, Sendable {
    case consumptionRequests([ConsumptionRequest])
    case purchases([Purchase])
    case assignments([Assignment])

    /// Apple asks how much of a purchase was consumed.
    package struct ConsumptionRequest: Hashable, Sendable {
        /// Of the notification.
        package var number: Int64
        package var notificationUUID: String
        package var transaction: TransactionID
        /// When Apple asked. It takes an answer for 12 hours (``Limits/consumptionAnswerMilliseconds``).
        package var signedDate: Timestamp
        /// When the ledger recorded it.
        package var time: Timestamp
        /// What the player said last of telling Apple, up to the end of those 12 hours; `nil` where nothing was
        /// recorded, or no account is known.
        package var consent: Bool?
        /// Whether an answer was accepted, or its time was recorded to be over.
        package var isEnded: Bool
        /// With what code Apple refused the answer that was sent last, where it did.
        package var refusalCode: Int64?

        package init(
            number: Int64, notificationUUID: String, transaction: TransactionID, signedDate: Timestamp,
            time: Timestamp, consent: Bool?, isEnded: Bool, refusalCode: Int64?
        ) {
            self.number = number
            self.notificationUUID = notificationUUID
            self.transaction = transaction
            self.signedDate = signedDate
            self.time = time
            self.consent = consent
            self.isEnded = isEnded
            self.refusalCode = refusalCode
        }
    }

    /// A purchase that may be finished.
    package struct Purchase: Hashable, Sendable {
        /// Of its first evidence.
        package var number: Int64
        package var transaction: TransactionID
        /// When the ledger recorded it.
        package var time: Timestamp
        /// Whether it was credited with its first JWS. One that found its account later is among the assignments.
        package var isCredited: Bool
        /// Whether Apple took it that the purchase is finished, or its time was recorded to be over.
        package var isFinished: Bool
        /// With what code Apple refused that last, where it did.
        package var refusalCode: Int64?

        package init(
            number: Int64, transaction: TransactionID, time: Timestamp, isCredited: Bool, isFinished: Bool,
            refusalCode: Int64?
        ) {
            self.number = number
            self.transaction = transaction
            self.time = time
            self.isCredited = isCredited
            self.isFinished = isFinished
            self.refusalCode = refusalCode
        }
    }

    /// An account that a purchase found after it was recorded.
    package struct Assignment: Hashable, Sendable {
        /// Of the assignment.
        package var number: Int64
        package var transaction: TransactionID
        /// As Apple says it; `nil` where it did not say.
        package var originalTransaction: TransactionID?
        /// When the ledger recorded it.
        package var time: Timestamp
        /// What Apple can be told of whose it is: the name of the account to which it was credited, where that is a
        /// token, or else the last token that is the account's; `nil` where it has none.
        package var token: AppAccountToken?
        /// Whether Apple was told that the purchase is finished, and how that ended is no longer in question.
        package var isFinishTold: Bool
        /// Whether Apple took the token, or its time was recorded to be over.
        package var isTold: Bool
        /// With what code Apple refused the token last, where it did.
        package var refusalCode: Int64?

        package init(
            number: Int64, transaction: TransactionID, originalTransaction: TransactionID?, time: Timestamp,
            token: AppAccountToken?, isFinishTold: Bool, isTold: Bool, refusalCode: Int64?
        ) {
            self.number = number
            self.transaction = transaction
            self.originalTransaction = originalTransaction
            self.time = time
            self.token = token
            self.isFinishTold = isFinishTold
            self.isTold = isTold
            self.refusalCode = refusalCode
        }
    }
}
