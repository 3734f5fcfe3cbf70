/// What Apple calls the state of delivery (Send Consumption Information V2, `deliveryStatus`).
public enum DeliveryStatus: String, CaseIterable, Sendable {
    /// The player has what was bought.
    case delivered = "DELIVERED"
    /// It does not work.
    case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
    /// Something else was delivered.
    case wrongItem = "UNDELIVERED_WRONG_ITEM"
    /// The game's servers failed.
    case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
    /// It was not delivered for another reason.
    case other = "UNDELIVERED_OTHER"
}

/// What the game would have Apple decide (`refundPreference`).
public enum RefundPreference: String, CaseIterable, Sendable {
    /// No refund.
    case decline = "DECLINE"
    /// A refund of the whole.
    case grantFull = "GRANT_FULL"
    /// A refund of what was not consumed; only where some was and some was not.
    case grantProrated = "GRANT_PRORATED"
}

/// What to put into the body of Send Consumption Information V2, beside what the ledger knows itself. The customer has
/// consented: without that there is no body.
public struct ConsumptionQuery: Hashable, Sendable {
    /// The purchase that Apple asks about.
    public var transaction: TransactionID
    /// Whether a free sample or trial was there before the purchase.
    public var sampleContentProvided: Bool
    /// Delivered, where the purchase was credited, unless said otherwise.
    public var deliveryStatus: DeliveryStatus?
    /// Over the catalog's rule.
    public var refundPreference: RefundPreference?

    /// What to put into the body.
    public init(
        transaction: TransactionID, sampleContentProvided: Bool = false, deliveryStatus: DeliveryStatus? = nil,
        refundPreference: RefundPreference? = nil
    ) {
        self.transaction = transaction
        self.sampleContentProvided = sampleContentProvided
        self.deliveryStatus = deliveryStatus
        self.refundPreference = refundPreference
    }
}

/// The body of Apple's Send Consumption Information V2.
public struct ConsumptionBody: Hashable, Sendable {
    /// Whether a free sample or trial was there before the purchase.
    public var sampleContentProvided: Bool
    /// Whether the player has what was bought.
    public var deliveryStatus: DeliveryStatus
    /// What was spent of what was granted, 0 … 100000 thousandths of a percent; 0 where it was not delivered. `nil`
    /// for subscriptions that renew: Apple takes none of these.
    public var consumptionPercentage: Int64?
    /// What the game prefers; `nil` leaves it to Apple.
    public var refundPreference: RefundPreference?

    /// The body of Apple's Send Consumption Information V2.
    public init(
        sampleContentProvided: Bool, deliveryStatus: DeliveryStatus, consumptionPercentage: Int64?,
        refundPreference: RefundPreference?
    ) {
        self.sampleContentProvided = sampleContentProvided
        self.deliveryStatus = deliveryStatus
        self.consumptionPercentage = consumptionPercentage
        self.refundPreference = refundPreference
    }
}
