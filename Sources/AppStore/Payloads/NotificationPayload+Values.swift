extension NotificationPayload {
    /// What happened. Other values are kept as they come.
    public struct NotificationType: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Apple asks how much of a purchase was consumed.
        public static let consumptionRequest = NotificationType(rawValue: "CONSUMPTION_REQUEST")
        /// Another plan from the next renewal on.
        public static let didChangeRenewalPreference = NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF")
        /// Renewal was turned on or off.
        public static let didChangeRenewalStatus = NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS")
        /// A billing problem.
        public static let didFailToRenew = NotificationType(rawValue: "DID_FAIL_TO_RENEW")
        /// A subscription was renewed.
        public static let didRenew = NotificationType(rawValue: "DID_RENEW")
        /// A subscription has ended.
        public static let expired = NotificationType(rawValue: "EXPIRED")
        /// A token for an external purchase was made and not reported.
        public static let externalPurchaseToken = NotificationType(rawValue: "EXTERNAL_PURCHASE_TOKEN")
        /// A billing grace period has ended.
        public static let gracePeriodExpired = NotificationType(rawValue: "GRACE_PERIOD_EXPIRED")
        /// A subscription's metadata was changed by the Advanced Commerce API.
        public static let metadataUpdate = NotificationType(rawValue: "METADATA_UPDATE")
        /// A subscription was migrated to the Advanced Commerce API.
        public static let migration = NotificationType(rawValue: "MIGRATION")
        /// An offer was redeemed.
        public static let offerRedeemed = NotificationType(rawValue: "OFFER_REDEEMED")
        /// A consumable, a non-consumable or a non-renewing subscription was bought.
        public static let oneTimeCharge = NotificationType(rawValue: "ONE_TIME_CHARGE")
        /// A subscription's price was changed by the Advanced Commerce API.
        public static let priceChange = NotificationType(rawValue: "PRICE_CHANGE")
        /// The customer was told of a higher price.
        public static let priceIncrease = NotificationType(rawValue: "PRICE_INCREASE")
        /// A purchase was refunded.
        public static let refund = NotificationType(rawValue: "REFUND")
        /// A refund was declined.
        public static let refundDeclined = NotificationType(rawValue: "REFUND_DECLINED")
        /// A refund was taken back.
        public static let refundReversed = NotificationType(rawValue: "REFUND_REVERSED")
        /// One renewal date was extended.
        public static let renewalExtended = NotificationType(rawValue: "RENEWAL_EXTENDED")
        /// Renewal dates are being extended for many.
        public static let renewalExtension = NotificationType(rawValue: "RENEWAL_EXTENSION")
        /// A parent has withdrawn consent for the app.
        public static let rescindConsent = NotificationType(rawValue: "RESCIND_CONSENT")
        /// Family Sharing of a purchase has ended.
        public static let revoke = NotificationType(rawValue: "REVOKE")
        /// A subscription began.
        public static let subscribed = NotificationType(rawValue: "SUBSCRIBED")
        /// Asked for by the developer.
        public static let test = NotificationType(rawValue: "TEST")

        /// The values that Apple documents.
        public static let known: [Self] = [
            .consumptionRequest, .didChangeRenewalPreference, .didChangeRenewalStatus, .didFailToRenew, .didRenew,
            .expired, .externalPurchaseToken, .gracePeriodExpired, .metadataUpdate, .migration, .offerRedeemed,
            .oneTimeCharge, .priceChange, .priceIncrease, .refund, .refundDeclined, .refundReversed,
            .renewalExtended, .renewalExtension, .rescindConsent, .revoke, .subscribed, .test,
        ]
    }

    /// What happened, more closely. Other values are kept as they come.
    public struct Subtype: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Apple's `INITIAL_BUY`.
        public static let initialBuy = Subtype(rawValue: "INITIAL_BUY")
        /// Apple's `RESUBSCRIBE`.
        public static let resubscribe = Subtype(rawValue: "RESUBSCRIBE")
        /// Apple's `DOWNGRADE`.
        public static let downgrade = Subtype(rawValue: "DOWNGRADE")
        /// Apple's `UPGRADE`.
        public static let upgrade = Subtype(rawValue: "UPGRADE")
        /// Apple's `AUTO_RENEW_ENABLED`.
        public static let autoRenewEnabled = Subtype(rawValue: "AUTO_RENEW_ENABLED")
        /// Apple's `AUTO_RENEW_DISABLED`.
        public static let autoRenewDisabled = Subtype(rawValue: "AUTO_RENEW_DISABLED")
        /// Apple's `VOLUNTARY`.
        public static let voluntary = Subtype(rawValue: "VOLUNTARY")
        /// Apple's `BILLING_RETRY`.
        public static let billingRetry = Subtype(rawValue: "BILLING_RETRY")
        /// Apple's `PRICE_INCREASE`.
        public static let priceIncrease = Subtype(rawValue: "PRICE_INCREASE")
        /// Apple's `GRACE_PERIOD`.
        public static let gracePeriod = Subtype(rawValue: "GRACE_PERIOD")
        /// Apple's `BILLING_RECOVERY`.
        public static let billingRecovery = Subtype(rawValue: "BILLING_RECOVERY")
        /// Apple's `PENDING`.
        public static let pending = Subtype(rawValue: "PENDING")
        /// Apple's `ACCEPTED`.
        public static let accepted = Subtype(rawValue: "ACCEPTED")
        /// Apple's `PRODUCT_NOT_FOR_SALE`.
        public static let productNotForSale = Subtype(rawValue: "PRODUCT_NOT_FOR_SALE")
        /// Apple's `SUMMARY`.
        public static let summary = Subtype(rawValue: "SUMMARY")
        /// Apple's `FAILURE`.
        public static let failure = Subtype(rawValue: "FAILURE")
        /// Apple's `UNREPORTED`.
        public static let unreported = Subtype(rawValue: "UNREPORTED")

        /// The values that Apple documents.
        public static let known: [Self] = [
            .initialBuy, .resubscribe, .downgrade, .upgrade, .autoRenewEnabled, .autoRenewDisabled, .voluntary,
            .billingRetry, .priceIncrease, .gracePeriod, .billingRecovery, .pending, .accepted, .productNotForSale,
            .summary, .failure, .unreported,
        ]
    }

    /// Why the customer asked for a refund. Other values are kept as they come.
    public struct ConsumptionRequestReason: RawRepresentable, Hashable, Sendable {
        /// As it stands in the payload.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Not meant.
        public static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
        /// Not received, or it does not work.
        public static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
        /// Not what was expected.
        public static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
        /// A legal reason.
        public static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
        /// Another reason.
        public static let other = ConsumptionRequestReason(rawValue: "OTHER")

        /// The values that Apple documents.
        public static let known: [Self] = [
            .unintendedPurchase, .fulfillmentIssue, .unsatisfiedWithPurchase, .legal, .other,
        ]
    }
}
