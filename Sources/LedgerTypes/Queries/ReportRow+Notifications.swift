extension ReportRow {
    /// One notification that was recorded, and what it changed.
    public struct Notification: Hashable, Sendable {
        /// What the ledger made of it.
        public enum Verdict: String, CaseIterable, Sendable {
            /// The purchase in it was credited.
            case credited
            /// The purchase in it was taken back, wholly or in part.
            case reversed
            /// A refund of the purchase in it was itself reversed.
            case reinstated
            /// The purchase in it stood already as it says.
            case unchanged
            /// No account was known yet for the purchase in it.
            case unassigned
            /// It carries no purchase that grants currency: it was recorded, and that is all.
            case recorded
        }

        /// Apple's id of it.
        public var uuid: String
        /// Apple's type, as sent.
        public var type: String
        /// Apple's subtype, as sent.
        public var subtype: String?
        /// When Apple signed it.
        public var signedDate: Timestamp
        /// When the ledger recorded it.
        public var time: Timestamp
        /// The purchase that it carries, where that grants currency.
        public var transaction: TransactionID?
        /// Whose that is; `nil` where no account is known.
        public var account: AccountName?
        /// What the ledger made of it.
        public var verdict: Verdict
        /// The entry that the transaction in it led to; `nil` where it changed nothing.
        public var entry: EntryID?
        /// What that entry changed of what stands of the purchase.
        public var posted: [PostedAmount]

        /// One notification that was recorded.
        public init(
            uuid: String, type: String, subtype: String?, signedDate: Timestamp, time: Timestamp,
            transaction: TransactionID?, account: AccountName?, verdict: Verdict, entry: EntryID?,
            posted: [PostedAmount]
        ) {
            self.uuid = uuid
            self.type = type
            self.subtype = subtype
            self.signedDate = signedDate
            self.time = time
            self.transaction = transaction
            self.account = account
            self.verdict = verdict
            self.entry = entry
            self.posted = posted
        }
    }

    /// Apple's question how much of a purchase was consumed, and what became of it.
    public struct ConsumptionRequest: Hashable, Sendable {
        /// What the player said last of telling Apple.
        public enum Consent: String, CaseIterable, Sendable {
            /// Apple may be told.
            case given
            /// Apple may not be told any more, or never might.
            case withdrawn
            /// Nothing was ever recorded, or the purchase has no account yet.
            case unknown = "none"
        }

        /// What became of it.
        public enum State: String, CaseIterable, Sendable {
            /// Nothing was sent, and Apple takes an answer still.
            case open
            /// Apple took an answer.
            case answered
            /// Apple refused the last answer.
            case refused
            /// Its time was over before Apple had an answer.
            case expired
        }

        /// Apple's id of the notification.
        public var uuid: String
        /// The purchase that it is about.
        public var transaction: TransactionID
        /// What was bought.
        public var product: String
        /// Whose the purchase is; `nil` where no account is known.
        public var account: AccountName?
        /// Why the customer asked for a refund, as Apple says it.
        public var reason: String?
        /// When Apple signed it.
        public var signedDate: Timestamp
        /// When the ledger recorded it.
        public var time: Timestamp
        /// What the player said last of telling Apple.
        public var consent: Consent
        /// What became of it.
        public var state: State
        /// When the end of the last call was recorded; `nil` where none was.
        public var endedAt: Timestamp?
        /// With what Apple refused the last answer.
        public var code: Int64?

        /// Until when Apple takes an answer: 12 hours after it asked.
        public var deadline: Timestamp { signedDate + Limits.consumptionAnswerMilliseconds }

        /// Apple's question how much of a purchase was consumed.
        public init(
            uuid: String, transaction: TransactionID, product: String, account: AccountName?, reason: String?,
            signedDate: Timestamp, time: Timestamp, consent: Consent, state: State, endedAt: Timestamp?, code: Int64?
        ) {
            self.uuid = uuid
            self.transaction = transaction
            self.product = product
            self.account = account
            self.reason = reason
            self.signedDate = signedDate
            self.time = time
            self.consent = consent
            self.state = state
            self.endedAt = endedAt
            self.code = code
        }
    }
}

extension ReportRow.ConsumptionRequest.State {
    /// What became of a request at a time, after the last call that ended by then.
    package init(_ end: AppStoreCallEnd?, deadline: Timestamp, at time: Timestamp) {
        switch end {
        case .accepted: self = .answered
        case .expired: self = .expired
        case .refused: self = .refused
        case nil: self = time < deadline ? .open : .expired
        }
    }
}
