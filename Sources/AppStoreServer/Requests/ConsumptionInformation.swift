internal import StrictJSON

/// What Apple is told of a purchase whose refund a customer asks for (Apple's `ConsumptionRequest`, V2).
///
/// Whoever makes one says that the customer has consented: it always has `customerConsented: true`, for Apple refuses
/// anything else.
public struct ConsumptionInformation: Hashable, Sendable {
    /// Whether the customer has what was bought. Other values are kept as they come.
    public struct DeliveryStatus: RawRepresentable, Hashable, Sendable {
        /// As it stands in the body.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// They have it, and it works.
        public static let delivered = DeliveryStatus(rawValue: "DELIVERED")
        /// It does not work.
        public static let qualityIssue = DeliveryStatus(rawValue: "UNDELIVERED_QUALITY_ISSUE")
        /// Something else was delivered.
        public static let wrongItem = DeliveryStatus(rawValue: "UNDELIVERED_WRONG_ITEM")
        /// A server failed.
        public static let serverOutage = DeliveryStatus(rawValue: "UNDELIVERED_SERVER_OUTAGE")
        /// It was not delivered for another reason.
        public static let other = DeliveryStatus(rawValue: "UNDELIVERED_OTHER")
    }

    /// What the seller would have Apple decide. Other values are kept as they come.
    public struct RefundPreference: RawRepresentable, Hashable, Sendable {
        /// As it stands in the body.
        public let rawValue: String
        /// Takes any value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No refund.
        public static let decline = RefundPreference(rawValue: "DECLINE")
        /// A refund of the whole.
        public static let grantFull = RefundPreference(rawValue: "GRANT_FULL")
        /// A refund of what was not consumed; then ``consumptionPercentage`` must be more than 0.
        public static let grantProrated = RefundPreference(rawValue: "GRANT_PRORATED")
    }

    /// Whether the customer has what was bought.
    public var deliveryStatus: DeliveryStatus
    /// What was consumed, 0 … 100,000 thousandths of a percent; 0 where it was not delivered; `nil` for subscriptions
    /// that renew.
    public var consumptionPercentage: Int64?
    /// What the seller prefers; `nil` leaves it to Apple.
    public var refundPreference: RefundPreference?
    /// Whether there was a free sample or trial before the purchase.
    public var sampleContentProvided: Bool

    /// What is told of a customer who has consented.
    public init(
        deliveryStatus: DeliveryStatus, consumptionPercentage: Int64?, refundPreference: RefundPreference? = nil,
        sampleContentProvided: Bool
    ) {
        self.deliveryStatus = deliveryStatus
        self.consumptionPercentage = consumptionPercentage
        self.refundPreference = refundPreference
        self.sampleContentProvided = sampleContentProvided
    }

    /// Reads Apple's body, as the ledger's `consumption` gives it (`requestBody`).
    /// - Throws: ``AppStoreServerError/invalidArgument(_:)`` where it is none, or says that the customer has not
    ///   consented.
    public init(requestBody json: [UInt8]) throws(AppStoreServerError) {
        do {
            self = try JSONBody.read(json, ConsumptionInformation.init)
        } catch { throw .invalidArgument("this is no consumption information: \(error)") }
    }

    private init(from reader: inout JSONReader) throws(JSONError) {
        var hasConsented: Bool?, status: String?, percentage: Int64?, preference: String?, sample: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "customerConsented":
                hasConsented = try reader.bool()
                if hasConsented == false { throw reader.fail("must be true") }
            case "deliveryStatus": status = try reader.string()
            case "consumptionPercentage": percentage = try reader.optionalInteger()
            case "refundPreference": preference = try reader.optionalString()
            case "sampleContentProvided": sample = try reader.bool()
            // What is sent in the customer's name is known in full.
            default: throw reader.failAtNext("is not a member of it")
            }
        }
        guard hasConsented != nil else { throw reader.missing("customerConsented") }
        guard let status else { throw reader.missing("deliveryStatus") }
        guard let sample else { throw reader.missing("sampleContentProvided") }
        self.init(
            deliveryStatus: DeliveryStatus(rawValue: status), consumptionPercentage: percentage,
            refundPreference: preference.map { RefundPreference(rawValue: $0) }, sampleContentProvided: sample)
    }

    /// Apple's body.
    public func json() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("customerConsented", true)
        writer.member("consumptionPercentage", consumptionPercentage)
        writer.member("deliveryStatus", deliveryStatus.rawValue)
        writer.member("refundPreference", refundPreference?.rawValue)
        writer.member("sampleContentProvided", sampleContentProvided)
        writer.endObject()
        return writer.bytes
    }
}
