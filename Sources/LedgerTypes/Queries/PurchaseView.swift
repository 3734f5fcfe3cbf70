/// Which purchase, and which page of its events.
public struct PurchaseQuery: Hashable, Sendable {
    /// The purchase.
    public var transaction: TransactionID
    /// At most this many events, the newest.
    public var limit: Int
    /// Only events before the one of this number.
    public var before: Int64?

    /// Which purchase, and which page of its events.
    public init(
        transaction: TransactionID, limit: Int = Limits.purchasePageDefault, before: Int64? = nil
    ) {
        self.transaction = transaction
        self.limit = limit
        self.before = before
    }
}

/// The answer to `purchase`: everything the ledger knows of one purchase, and a page of its events.
public struct PurchaseView: Hashable, Sendable {
    /// How much of a purchase stands.
    public enum State: String, CaseIterable, Sendable {
        /// All of it.
        case standing
        /// A part of it is revoked.
        case partlyRevoked = "partly_revoked"
        /// None of it.
        case revoked
        /// No account is known yet.
        case unassigned
    }

    /// One lot that the purchase opened.
    public struct Grant: Hashable, Sendable {
        /// The lot; `nil` while the purchase is unassigned.
        public var lot: LotID?
        /// The currency.
        public var currency: CurrencyCode
        /// What the catalog granted for the full quantity.
        public var granted: Int64
        /// What was spent of it.
        public var spent: Int64
        /// What holds have set aside of it.
        public var held: Int64
        /// What is revoked of it.
        public var revoked: Int64
        /// What of the revoked part is still owed.
        public var debt: Int64
        /// What of the revoked part was written off.
        public var writtenOff: Int64
        /// What of it paid debts.
        public var repaid: Int64
        /// What corrections by hand took of it.
        public var adjusted: Int64
        /// What is left to spend.
        public var remaining: Int64

        /// One lot of a purchase.
        public init(
            lot: LotID?, currency: CurrencyCode, granted: Int64, spent: Int64, held: Int64, revoked: Int64,
            debt: Int64, writtenOff: Int64, repaid: Int64, adjusted: Int64 = 0, remaining: Int64
        ) {
            self.lot = lot
            self.currency = currency
            self.granted = granted
            self.spent = spent
            self.held = held
            self.revoked = revoked
            self.debt = debt
            self.writtenOff = writtenOff
            self.repaid = repaid
            self.adjusted = adjusted
            self.remaining = remaining
        }
    }

    /// One thing that the ledger was told of the purchase, or told Apple of it.
    public struct Event: Hashable, Sendable {
        /// What was told.
        public enum Kind: String, CaseIterable, Sendable {
            /// A JWS that said something new.
            case signed
            /// What was stated of a purchase of another store, or of one that was imported: nobody signed it.
            case stated
            /// The account, by a JWS that said nothing else that was new.
            case assigned
            /// Apple asks how much was consumed: the answer is due by `deadline`.
            case consumptionRequest = "consumption_request"
            /// Apple declined a refund.
            case refundDeclined = "refund_declined"
            /// Apple was told how much was consumed.
            case consumptionSent = "consumption_sent"
            /// Apple was told that the purchase is finished.
            case finished
            /// Apple was told whose the purchase is.
            case accountTokenSet = "account_token_set"

            /// Whether it is what Apple was told, by a call that had an end.
            package var isCall: Bool {
                switch self {
                case .consumptionSent, .finished, .accountTokenSet: true
                case .signed, .stated, .assigned, .consumptionRequest, .refundDeclined: false
                }
            }
        }

        /// Counted for each purchase, from 1 and without gaps, in the order in which the ledger recorded them.
        public var number: Int64
        /// What was told.
        public var kind: Kind
        /// When the ledger recorded it.
        public var time: Timestamp
        /// When Apple signed it; `nil` for what nobody signed: a statement, an account's assignment, and what Apple was
        /// told.
        public var signedDate: Timestamp?
        /// The share that a JWS or a statement says is revoked, 0 … 100000.
        public var revoked: Int64?
        /// The entry that it posted; `nil` where it changed nothing.
        public var entry: EntryID?
        /// Why the customer asked for a refund, as Apple says it.
        public var reason: String?
        /// How the call ended by which Apple was told; `nil` for what the ledger was told.
        public var end: AppStoreCallEnd?
        /// The JSON that was sent with it; `nil` where there was none.
        public var body: String?

        /// Until when Apple takes an answer: 12 hours after it asked.
        public var deadline: Timestamp? {
            kind == .consumptionRequest ? signedDate.map { $0 + Limits.consumptionAnswerMilliseconds } : nil
        }

        /// One thing that the ledger was told of a purchase, or told Apple of it.
        public init(
            number: Int64, kind: Kind = .signed, time: Timestamp, signedDate: Timestamp?, revoked: Int64?,
            entry: EntryID?, reason: String? = nil, end: AppStoreCallEnd? = nil, body: String? = nil
        ) {
            self.number = number
            self.kind = kind
            self.time = time
            self.signedDate = signedDate
            self.revoked = revoked
            self.entry = entry
            self.reason = reason
            self.end = end
            self.body = body
        }
    }

    /// The purchase. One of another store has a number of the ledger's own, 2^62 or more.
    public var transaction: TransactionID
    /// Who says that it was bought.
    public var source: PurchaseSource
    /// What another store calls it; `nil` for what the App Store sold.
    public var external: ExternalIdentity?
    /// How much of it stands.
    public var state: State
    /// Whose it is.
    public var account: AccountName?
    /// The product bought.
    public var product: String
    /// How many of it; `nil` where it was imported, which says nothing of that.
    public var quantity: Int64?
    /// When it was bought.
    public var purchaseDate: Timestamp
    /// The price in thousandths of `priceCurrency`, as Apple states it.
    public var price: Int64?
    /// The ISO 4217 code of the price.
    public var priceCurrency: String?
    /// The share that is revoked, 0 … 100000 thousandths of a percent.
    public var revoked: Int64
    /// What it granted, a lot for each currency.
    public var grants: [Grant]
    /// What was spent of it, 0 … 100000 thousandths of a percent; every currency weighs the same.
    public var consumption: Int64
    /// A page of what the ledger was told of it, and told Apple of it, oldest first.
    public var events: [Event]
    /// Pass it as `before` for the page of earlier events; `nil` where there are none.
    public var next: Int64?

    /// Everything the ledger knows of one purchase, and a page of its events.
    public init(
        transaction: TransactionID, source: PurchaseSource = .appStore, external: ExternalIdentity? = nil, state: State,
        account: AccountName?, product: String, quantity: Int64?,
        purchaseDate: Timestamp, price: Int64?, priceCurrency: String?, revoked: Int64, grants: [Grant],
        consumption: Int64, events: [Event], next: Int64?
    ) {
        self.transaction = transaction
        self.source = source
        self.external = external
        self.state = state
        self.account = account
        self.product = product
        self.quantity = quantity
        self.purchaseDate = purchaseDate
        self.price = price
        self.priceCurrency = priceCurrency
        self.revoked = revoked
        self.grants = grants
        self.consumption = consumption
        self.events = events
        self.next = next
    }
}

extension PurchaseView.Event.Kind {
    /// The kind of event that a notification of this type is for the purchase in it; `nil` where its JWS says all.
    package init?(notificationType: String) {
        switch notificationType {
        case "CONSUMPTION_REQUEST": self = .consumptionRequest
        case "REFUND_DECLINED": self = .refundDeclined
        default: return nil
        }
    }
}
