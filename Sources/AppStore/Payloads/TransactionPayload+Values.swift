extension TransactionPayload {
    /// The kind of product. Other values are kept as they come.
    public struct ProductType: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Used up, and bought again.
        public static let consumable = ProductType(rawValue: "Consumable")
        /// Bought once.
        public static let nonConsumable = ProductType(rawValue: "Non-Consumable")
        /// Renews until cancelled.
        public static let autoRenewableSubscription = ProductType(rawValue: "Auto-Renewable Subscription")
        /// Good for a limited time.
        public static let nonRenewingSubscription = ProductType(rawValue: "Non-Renewing Subscription")

        /// The values that Apple documents.
        public static let known: [Self] = [
            .consumable, .nonConsumable, .autoRenewableSubscription, .nonRenewingSubscription,
        ]
    }

    /// Whose purchase it is. Other values are kept as they come.
    public struct OwnershipType: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer's own.
        public static let purchased = OwnershipType(rawValue: "PURCHASED")
        /// Shared by a member of the family.
        public static let familyShared = OwnershipType(rawValue: "FAMILY_SHARED")

        /// The values that Apple documents.
        public static let known: [Self] = [
            .purchased, .familyShared,
        ]
    }

    /// What caused the transaction. Other values are kept as they come.
    public struct TransactionReason: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer.
        public static let purchase = TransactionReason(rawValue: "PURCHASE")
        /// The renewal of a subscription.
        public static let renewal = TransactionReason(rawValue: "RENEWAL")
    }

    /// Why the App Store took the purchase back. Other values are kept as they come.
    public struct RevocationReason: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: Int64
        /// Takes any value.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// For other reasons, an accidental purchase for example.
        public static let other = RevocationReason(rawValue: 0)
        /// For an actual or perceived issue within the app.
        public static let appIssue = RevocationReason(rawValue: 1)
    }

    /// How much the App Store took back. Other values are kept as they come.
    public struct RevocationType: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A refund of the whole.
        public static let refundFull = RevocationType(rawValue: "REFUND_FULL")
        /// A refund of the share that `revocationPercentage` gives.
        public static let refundProrated = RevocationType(rawValue: "REFUND_PRORATED")
        /// Family Sharing has ended.
        public static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")

        /// The values that Apple documents.
        public static let known: [Self] = [
            .refundFull, .refundProrated, .familyRevoke,
        ]
    }

    /// The kind of offer that applied. Other values are kept as they come.
    public struct OfferType: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: Int64
        /// Takes any value.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// An introductory offer.
        public static let introductory = OfferType(rawValue: 1)
        /// A promotional offer.
        public static let promotional = OfferType(rawValue: 2)
        /// An offer code.
        public static let code = OfferType(rawValue: 3)
        /// A win-back offer.
        public static let winBack = OfferType(rawValue: 4)
    }

    /// How the offer is paid. Other values are kept as they come.
    public struct OfferDiscountType: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A free trial.
        public static let freeTrial = OfferDiscountType(rawValue: "FREE_TRIAL")
        /// A reduced price each period.
        public static let payAsYouGo = OfferDiscountType(rawValue: "PAY_AS_YOU_GO")
        /// One payment for the offer's duration.
        public static let payUpFront = OfferDiscountType(rawValue: "PAY_UP_FRONT")
        /// A one-time offer.
        public static let oneTime = OfferDiscountType(rawValue: "ONE_TIME")

        /// The values that Apple documents.
        public static let known: [Self] = [
            .freeTrial, .payAsYouGo, .payUpFront, .oneTime,
        ]
    }
}
