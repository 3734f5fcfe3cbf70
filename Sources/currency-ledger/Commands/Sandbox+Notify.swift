import AppStore
import ArgumentParser
import Foundation
import StrictJSON

extension Sandbox {
    struct Notify: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a signed App Store Server Notification V2 (a JWS).",
            discussion: """
                It carries the transaction of --transaction FILE, signed anew, or the purchase that the options \
                describe, or none (--no-transaction, and TEST). What the type says of the purchase is in the \
                transaction: REFUND and REVOKE revoke it, as the options for that say, REFUND_REVERSED does not. So

                currency-ledger sandbox sign chain --transaction-id 7 > purchase.jws
                currency-ledger sandbox notify chain --notification-type REFUND --transaction purchase.jws

                are a purchase and its refund. With a subscription goes its renewal information. RESCIND_CONSENT, \
                EXTERNAL_PURCHASE_TOKEN and RENEWAL_EXTENSION with the subtype SUMMARY have what Apple sends with them \
                instead. Times are milliseconds since 1970 or ISO 8601.
                """)

        @Argument(help: "The folder of the chain.")
        var folder: String

        @Option(
            help: "Apple's notificationType, as ONE_TIME_CHARGE, REFUND, REFUND_REVERSED, CONSUMPTION_REQUEST, TEST, …")
        var notificationType: String

        @Option(help: "Apple's subtype.")
        var subtype: String?

        @Option(help: "The notificationUUID. Default: a random one")
        var uuid: String?

        @Option(help: "A file with a signed transaction: the same is signed anew and carried.", completion: .file())
        var transaction: String?

        @Flag(help: "Carry the transaction of --transaction as it is, not signed anew.")
        var unchanged = false

        @Flag(help: "Carry no transaction.")
        var noTransaction = false

        @Option(help: "The app's App Store id.")
        var appAppleId: Int64?

        @Option(help: "The app's build.")
        var bundleVersion: String?

        @Option(help: "Apple's consumptionRequestReason, as UNINTENDED_PURCHASE.")
        var consumptionRequestReason: String?

        @OptionGroup(title: "The transaction") var options: TransactionOptions
        @OptionGroup(title: "The renewal of a subscription") var renewal: RenewalOptions
        @OptionGroup(title: "Types without a transaction") var others: OtherPartOptions

        func validate() throws {
            try Rule.oneOf(
                "--notification-type", notificationType, NotificationPayload.NotificationType.known.map(\.rawValue))
            try Rule.oneOf("--subtype", subtype, NotificationPayload.Subtype.known.map(\.rawValue))
            try Rule.oneOf(
                "--consumption-request-reason", consumptionRequestReason,
                NotificationPayload.ConsumptionRequestReason.known.map(\.rawValue))
            try Rule.uuid("--uuid", uuid)
            try Rule.range("--app-apple-id", appAppleId, 1...Int64.max)
            if transaction != nil && noTransaction {
                throw ValidationError("Give --transaction or --no-transaction, not both.")
            }
            if unchanged && transaction == nil { throw ValidationError("--unchanged needs --transaction.") }
        }

        func run() throws {
            let chain = try ChainFolder(folder).read()
            let type = NotificationPayload.NotificationType(rawValue: notificationType)
            var payload = NotificationPayload(
                notificationType: type, subtype: subtype.map { .init(rawValue: $0) },
                notificationUUID: uuid ?? UUID().uuidString.lowercased(),
                signedDate: options.signedDate?.milliseconds ?? Clock.now())
            let carried = try carried(type, chain)
            let bundleID = carried?.payload.bundleID ?? options.bundleId ?? "com.example.game"
            let environment =
                carried?.payload.environment ?? options.environment.map { .init(rawValue: $0) } ?? .sandbox
            switch (type, payload.subtype) {
            case (.rescindConsent, _):
                payload.appData = .init(
                    appAppleID: appAppleId, bundleID: bundleID, environment: environment,
                    signedAppTransactionInfo: try others.appTransaction(
                        chain, bundleID, environment, appAppleId, signedAt: payload.signedDate))
            case (.externalPurchaseToken, _):
                payload.externalPurchaseToken = others.token(
                    bundleID, environment, appAppleId, signedAt: payload.signedDate)
            case (.renewalExtension, NotificationPayload.Subtype.summary?):
                payload.summary = others.summary(bundleID, environment, appAppleId, product: options.product)
            default:
                var data = NotificationPayload.AppMetadata(
                    appAppleID: appAppleId, bundleID: bundleID, bundleVersion: bundleVersion, environment: environment,
                    signedTransactionInfo: carried?.jws)
                if let transaction = carried?.payload, transaction.type == .autoRenewableSubscription {
                    data.status = renewal.status(type, payload.subtype)
                    let renewal = renewal.payload(type, payload.subtype, transaction)
                    data.signedRenewalInfo = try chain.sign(renewal)
                }
                data.consumptionRequestReason = consumptionRequestReason.map { .init(rawValue: $0) }
                payload.data = data
            }
            Console.print(try chain.sign(payload))
        }

        /// The transaction that the notification carries, and its JWS.
        private func carried(
            _ type: NotificationPayload.NotificationType, _ chain: SandboxChain
        ) throws -> (payload: TransactionPayload, jws: String)? {
            if noTransaction || [.test, .rescindConsent, .externalPurchaseToken].contains(type) { return nil }
            let revocations: [NotificationPayload.NotificationType: TransactionPayload.RevocationType] = [
                .refund: .refundFull, .revoke: .familyRevoke,
            ]
            var payload: TransactionPayload
            if let transaction {
                let jws = try File.read(transaction, bytesMax: AppStoreLimits.jwsBytesMax)
                let text = String(decoding: jws, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
                do {
                    payload = try TransactionPayload(unverified: Array(text.utf8))
                } catch {
                    throw FileError(transaction, "is not a signed transaction: \(error.message)")
                }
                if unchanged { return (payload, text) }
                // The newest signature counts, also where the one before it was made in this millisecond.
                payload.signedDate += 1
                if type == .refundReversed { RevocationOptions.reinstate(&payload) }
                try options.apply(to: &payload, revoked: revocations[type])
            } else {
                payload = try options.purchase(
                    of: type.isOfSubscription ? .autoRenewableSubscription : .consumable, revoked: revocations[type])
            }
            return (payload, try chain.sign(payload))
        }
    }
}

extension NotificationPayload.NotificationType {
    /// Whether it is about subscriptions that renew, and about nothing else.
    fileprivate var isOfSubscription: Bool {
        let types: [Self] = [
            .didChangeRenewalPreference, .didChangeRenewalStatus, .didFailToRenew, .didRenew, .expired,
            .gracePeriodExpired, .metadataUpdate, .migration, .offerRedeemed, .priceChange, .priceIncrease,
            .renewalExtended, .renewalExtension, .subscribed,
        ]
        return types.contains(self)
    }
}

/// What Apple says of a subscription's renewal. What is not said follows from the notification's type.
struct RenewalOptions: ParsableArguments {
    @Option(help: "1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.")
    var status: Int64?

    @Option(help: "The product that renews next. Default: the transaction's")
    var autoRenewProduct: String?

    @Flag(inversion: .prefixedNo, help: "Whether it will renew.")
    var autoRenew: Bool?

    @Option(help: "When it renews. Default: when the transaction expires")
    var renewalDate: Moment?

    @Option(help: "What the renewal costs, in thousandths. Default: the transaction's price")
    var renewalPrice: Int64?

    @Option(
        help: "Why it ended: 1 by the customer, 2 billing, 3 a price increase, 4 the product is not for sale, 5 other.")
    var expirationIntent: Int64?

    @Flag(inversion: .prefixedNo, help: "Whether the App Store still tries to renew it.")
    var billingRetry: Bool?

    @Option(help: "When the grace period ends.")
    var gracePeriodExpiresDate: Moment?

    @Option(help: "0 where the customer has not answered to a price increase, 1 where they agreed or need not.")
    var priceIncreaseStatus: Int64?

    @Option(help: "When this run of the subscription began. Default: when the first transaction was bought")
    var recentSubscriptionStartDate: Moment?

    @Option(help: "A win-back offer that the customer may take. May be given several times.")
    var eligibleWinBackOffer: [String] = []

    @Option(help: "Apple's renewalBillingPlanType. Default: the transaction's")
    var renewalBillingPlanType: String?

    @Option(help: "The renewal's commitmentInfo: a JSON object.")
    var renewalCommitmentInfo: String?

    func validate() throws {
        try Rule.range("--status", status, 1...5)
        try Rule.identifier("--auto-renew-product", autoRenewProduct)
        try Rule.range("--renewal-price", renewalPrice, 0...AppStoreLimits.numberMax)
        try Rule.time("--renewal-date", renewalDate)
        try Rule.time("--grace-period-expires-date", gracePeriodExpiresDate)
        try Rule.past("--recent-subscription-start-date", recentSubscriptionStartDate)
        try Rule.range("--expiration-intent", expirationIntent, 1...5)
        try Rule.range("--price-increase-status", priceIncreaseStatus, 0...1)
        try Rule.object("--renewal-commitment-info", renewalCommitmentInfo)
    }

    func status(
        _ type: NotificationPayload.NotificationType, _ subtype: NotificationPayload.Subtype?
    ) -> Int64 {
        if let status { return status }
        switch type {
        case .expired: return 2
        case .didFailToRenew: return subtype == .gracePeriod ? 4 : 3
        case .gracePeriodExpired: return 3
        case .refund, .revoke: return 5
        default: return 1
        }
    }

    func payload(
        _ type: NotificationPayload.NotificationType, _ subtype: NotificationPayload.Subtype?,
        _ transaction: TransactionPayload
    ) -> RenewalPayload {
        var payload = RenewalPayload(of: transaction, signedDate: transaction.signedDate)
        if type == .expired {
            let intents: [NotificationPayload.Subtype: Int64] = [
                .voluntary: 1, .billingRetry: 2, .priceIncrease: 3, .productNotForSale: 4,
            ]
            payload.expirationIntent = subtype.flatMap { intents[$0] } ?? 5
        }
        if type == .didFailToRenew || type == .gracePeriodExpired { payload.isInBillingRetryPeriod = true }
        if type == .expired || type == .revoke || subtype == .autoRenewDisabled { payload.autoRenewStatus = 0 }
        if type == .priceIncrease { payload.priceIncreaseStatus = subtype == .pending ? 0 : 1 }

        if let autoRenewProduct { payload.autoRenewProductID = autoRenewProduct }
        if let autoRenew { payload.autoRenewStatus = autoRenew ? 1 : 0 }
        if let renewalDate { payload.renewalDate = renewalDate.milliseconds }
        if let renewalPrice { payload.renewalPrice = renewalPrice }
        if let expirationIntent { payload.expirationIntent = expirationIntent }
        if let billingRetry { payload.isInBillingRetryPeriod = billingRetry }
        if let gracePeriodExpiresDate { payload.gracePeriodExpiresDate = gracePeriodExpiresDate.milliseconds }
        if let priceIncreaseStatus { payload.priceIncreaseStatus = priceIncreaseStatus }
        if let date = recentSubscriptionStartDate { payload.recentSubscriptionStartDate = date.milliseconds }
        if !eligibleWinBackOffer.isEmpty { payload.eligibleWinBackOfferIDs = eligibleWinBackOffer }
        if let renewalBillingPlanType { payload.renewalBillingPlanType = renewalBillingPlanType }
        if let renewalCommitmentInfo { payload.commitmentInfo = Array(renewalCommitmentInfo.utf8) }
        return payload
    }
}

/// What the notifications have that are about no transaction.
struct OtherPartOptions: ParsableArguments {
    @Option(
        help: "RESCIND_CONSENT: a file with the signed app transaction. Default: one is signed", completion: .file())
    var appTransaction: String?

    @Option(help: "EXTERNAL_PURCHASE_TOKEN: the token's name. Default: a random one")
    var externalPurchaseId: String?

    @Option(help: "EXTERNAL_PURCHASE_TOKEN: the kind of a custom link token.")
    var tokenType: String?

    @Option(help: "EXTERNAL_PURCHASE_TOKEN: when the token was made. Default: when this is signed")
    var tokenCreationDate: Moment?

    @Option(help: "RENEWAL_EXTENSION: the request's name. Default: a random one")
    var requestIdentifier: String?

    @Option(help: "RENEWAL_EXTENSION: a country that it was limited to. May be given several times.")
    var storefrontCountryCode: [String] = []

    @Option(help: "RENEWAL_EXTENSION: subscriptions that were extended.")
    var succeededCount: Int64 = 1

    @Option(help: "RENEWAL_EXTENSION: subscriptions that were not.")
    var failedCount: Int64 = 0

    func validate() throws {
        try Rule.identifier("--external-purchase-id", externalPurchaseId)
        try Rule.past("--token-creation-date", tokenCreationDate)
        for code in storefrontCountryCode { try Rule.letters("--storefront-country-code", code) }
        try Rule.range("--succeeded-count", succeededCount, 0...AppStoreLimits.numberMax)
        try Rule.range("--failed-count", failedCount, 0...AppStoreLimits.numberMax)
    }

    /// The JWS of the app's own transaction (Apple's `JWSAppTransactionDecodedPayload`).
    fileprivate func appTransaction(
        _ chain: SandboxChain, _ bundleID: String, _ environment: AppStore.Environment, _ appAppleID: Int64?,
        signedAt date: Int64
    ) throws -> String {
        if let appTransaction {
            let bytes = try File.read(appTransaction, bytesMax: AppStoreLimits.jwsBytesMax)
            return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("receiptType")
        writer.string(environment.rawValue)
        if let appAppleID {
            writer.key("appAppleId")
            writer.integer(appAppleID)
        }
        writer.key("bundleId")
        writer.string(bundleID)
        writer.key("receiptCreationDate")
        writer.integer(date)
        writer.key("originalPurchaseDate")
        writer.integer(date)
        writer.endObject()
        return try chain.sign(payload: writer.bytes)
    }

    fileprivate func token(
        _ bundleID: String, _ environment: AppStore.Environment, _ appAppleID: Int64?, signedAt date: Int64
    ) -> NotificationPayload.ExternalPurchaseToken {
        // The token's name says the environment.
        let name = externalPurchaseId ?? (environment == .sandbox ? "SANDBOX_" : "") + UUID().uuidString.lowercased()
        return .init(
            externalPurchaseID: name, tokenCreationDate: tokenCreationDate?.milliseconds ?? date,
            appAppleID: appAppleID, bundleID: bundleID, tokenType: tokenType)
    }

    fileprivate func summary(
        _ bundleID: String, _ environment: AppStore.Environment, _ appAppleID: Int64?, product: String?
    ) -> NotificationPayload.Summary {
        var summary = NotificationPayload.Summary(
            appAppleID: appAppleID, bundleID: bundleID, environment: environment)
        summary.requestIdentifier = requestIdentifier ?? UUID().uuidString.lowercased()
        summary.productID = product ?? "com.example.game.gems500"
        summary.storefrontCountryCodes = storefrontCountryCode.isEmpty ? nil : storefrontCountryCode
        summary.succeededCount = succeededCount
        summary.failedCount = failedCount
        return summary
    }
}
