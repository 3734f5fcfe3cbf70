internal import AppStore
internal import AppStoreServer
internal import StrictJSON

/// A body of "Send Consumption Information" (Apple's `ConsumptionRequest`), checked as the App Store checks it: each
/// fault has a number of its own.
struct Consumption {
    private var hasConsented: Bool?
    private var deliveryStatus: String?
    private var percentage: Int64?
    private var refundPreference: String?
    private var isSampleProvided: Bool?

    private static let deliveryStatuses = [
        "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
        "UNDELIVERED_OTHER",
    ]
    private static let refundPreferences = ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"]

    /// - Throws: ``APIRefusal``
    init(_ body: [UInt8]) throws {
        self = try Simulator.read(body) { (reader) throws(JSONError) in
            var read = Consumption()
            try reader.object { (reader, key) throws(JSONError) in
                switch key {
                case "customerConsented": read.hasConsented = try reader.optionalBool()
                case "deliveryStatus": read.deliveryStatus = try reader.optionalString()
                case "consumptionPercentage": read.percentage = try reader.optionalInteger()
                case "refundPreference": read.refundPreference = try reader.optionalString()
                case "sampleContentProvided": read.isSampleProvided = try reader.optionalBool()
                default: try reader.skip()
                }
            }
            return read
        }
    }

    private init() {}

    /// On one line.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("customerConsented", hasConsented)
        writer.member("consumptionPercentage", percentage)
        writer.member("deliveryStatus", deliveryStatus)
        writer.member("refundPreference", refundPreference)
        writer.member("sampleContentProvided", isSampleProvided)
        writer.endObject()
        return writer.bytes
    }

    /// - Throws: ``APIRefusal``
    func check(of type: TransactionPayload.ProductType) throws {
        guard hasConsented == true else {
            throw APIRefusal(.invalidCustomerConsented, "Invalid request. The customer has not consented.")
        }
        guard let deliveryStatus, Consumption.deliveryStatuses.contains(deliveryStatus) else {
            throw APIRefusal(4_000_036, "Invalid request. The delivery status is invalid.")
        }
        guard isSampleProvided != nil else {
            throw APIRefusal(4_000_041, "Invalid request. The sample content provided field is invalid.")
        }
        if let refundPreference, !Consumption.refundPreferences.contains(refundPreference) {
            throw APIRefusal(4_000_044, "Invalid request. The refund preference is invalid.")
        }
        if let percentage { try check(percentage, of: type) }
        if refundPreference == "GRANT_PRORATED", percentage ?? 0 == 0, type != .autoRenewableSubscription {
            throw APIRefusal(4_000_044, "Invalid request. A prorated refund needs a consumption above 0.")
        }
    }

    private func check(_ percentage: Int64, of type: TransactionPayload.ProductType) throws {
        guard type != .autoRenewableSubscription else {
            throw APIRefusal(4_000_209, "Invalid request. A subscription that renews has no consumption percentage.")
        }
        // No public source has the numbers of the two errors that Apple names here.
        guard (0...AppStoreLimits.wholeShare).contains(percentage) else {
            throw APIRefusal(.generalBadRequest, "ConsumptionPercentageOutOfRangeError")
        }
        guard deliveryStatus == "DELIVERED" || percentage == 0 else {
            throw APIRefusal(.generalBadRequest, "UndeliveredConsumptionPercentageNonZeroError")
        }
    }
}
