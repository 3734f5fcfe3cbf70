/// What an App Store Server Notification V2 says (Apple's `responseBodyV2DecodedPayload`).
///
/// Dates are integer milliseconds since the UNIX epoch. Types, subtypes and members that Apple adds later are kept or
/// passed over, never an error.
public struct NotificationPayload: Sendable, Equatable {
    /// What happened.
    public var notificationType: NotificationType
    /// What happened, more closely; only some types have it.
    public var subtype: Subtype?
    /// The notification's own name: Apple repeats it when it sends the same notification again.
    public var notificationUUID: String
    /// The version of the notifications, "2.0".
    public var version: String?
    /// When the App Store signed this.
    public var signedDate: Int64
    /// The app and the signed transaction, for what concerns a purchase.
    public var data: AppMetadata?
    /// The app and its signed app transaction, for `RESCIND_CONSENT`.
    public var appData: AppTransactionMetadata?
    /// What became of a request to extend many renewal dates.
    public var summary: Summary?
    /// The token of an external purchase, for `EXTERNAL_PURCHASE_TOKEN`.
    public var externalPurchaseToken: ExternalPurchaseToken?

    /// Makes a payload to be signed by a ``SandboxChain``.
    public init(
        notificationType: NotificationType, subtype: Subtype? = nil, notificationUUID: String, version: String? = "2.0",
        signedDate: Int64, data: AppMetadata? = nil, appData: AppTransactionMetadata? = nil, summary: Summary? = nil,
        externalPurchaseToken: ExternalPurchaseToken? = nil
    ) {
        self.notificationType = notificationType
        self.subtype = subtype
        self.notificationUUID = notificationUUID
        self.version = version
        self.signedDate = signedDate
        self.data = data
        self.appData = appData
        self.summary = summary
        self.externalPurchaseToken = externalPurchaseToken
    }

    /// Apple's `data`: the app, and what was signed about the purchase.
    public struct AppMetadata: Sendable, Equatable {
        /// The app's number in the App Store; sandbox notifications may lack it.
        public var appAppleID: Int64?
        /// The app.
        public var bundleID: String
        /// The app's build.
        public var bundleVersion: String?
        /// The App Store's environment.
        public var environment: Environment
        /// The transaction, a JWS.
        public var signedTransactionInfo: String?
        /// A subscription's renewal, a JWS.
        public var signedRenewalInfo: String?
        /// A subscription's status: 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
        public var status: Int64?
        /// Why the customer asked for a refund, for `CONSUMPTION_REQUEST`.
        public var consumptionRequestReason: ConsumptionRequestReason?

        /// Describes the app; the rest is set afterwards.
        public init(
            appAppleID: Int64? = nil, bundleID: String, bundleVersion: String? = nil, environment: Environment,
            signedTransactionInfo: String? = nil
        ) {
            self.appAppleID = appAppleID
            self.bundleID = bundleID
            self.bundleVersion = bundleVersion
            self.environment = environment
            self.signedTransactionInfo = signedTransactionInfo
        }
    }

    /// Apple's `appData`: the app, and its signed app transaction.
    public struct AppTransactionMetadata: Sendable, Equatable {
        /// The app's number in the App Store.
        public var appAppleID: Int64?
        /// The app.
        public var bundleID: String
        /// The App Store's environment.
        public var environment: Environment
        /// The app transaction, a JWS. It is kept, and not verified by itself.
        public var signedAppTransactionInfo: String?

        /// Describes the app.
        public init(
            appAppleID: Int64? = nil, bundleID: String, environment: Environment,
            signedAppTransactionInfo: String? = nil
        ) {
            self.appAppleID = appAppleID
            self.bundleID = bundleID
            self.environment = environment
            self.signedAppTransactionInfo = signedAppTransactionInfo
        }
    }

    /// Apple's `summary` of an extension of renewal dates.
    public struct Summary: Sendable, Equatable {
        /// The app's number in the App Store.
        public var appAppleID: Int64?
        /// The app.
        public var bundleID: String
        /// The App Store's environment.
        public var environment: Environment
        /// The subscription.
        public var productID: String?
        /// The request's name, as the developer gave it.
        public var requestIdentifier: String?
        /// The storefronts it was limited to.
        public var storefrontCountryCodes: [String]?
        /// Subscriptions that were extended.
        public var succeededCount: Int64?
        /// Subscriptions that were not.
        public var failedCount: Int64?

        /// Describes the app; the rest is set afterwards.
        public init(appAppleID: Int64? = nil, bundleID: String, environment: Environment) {
            self.appAppleID = appAppleID
            self.bundleID = bundleID
            self.environment = environment
        }
    }

    /// Apple's `externalPurchaseToken`.
    public struct ExternalPurchaseToken: Sendable, Equatable {
        /// The token's name; it begins with `SANDBOX` in the sandbox.
        public var externalPurchaseID: String
        /// When the token was made.
        public var tokenCreationDate: Int64?
        /// The app's number in the App Store.
        public var appAppleID: Int64?
        /// The app.
        public var bundleID: String
        /// The kind of a custom link token.
        public var tokenType: String?

        /// Describes a token.
        public init(
            externalPurchaseID: String, tokenCreationDate: Int64? = nil, appAppleID: Int64? = nil, bundleID: String,
            tokenType: String? = nil
        ) {
            self.externalPurchaseID = externalPurchaseID
            self.tokenCreationDate = tokenCreationDate
            self.appAppleID = appAppleID
            self.bundleID = bundleID
            self.tokenType = tokenType
        }

        /// The token says its environment by its name only.
        public var environment: Environment { externalPurchaseID.hasPrefix("SANDBOX") ? .sandbox : .production }
    }
}
