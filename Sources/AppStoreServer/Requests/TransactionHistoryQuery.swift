public import AppStore

/// Which purchases of a customer to list. Whatever is left out does not limit them.
public struct TransactionHistoryQuery: Hashable, Sendable {
    /// A kind of product, as Apple names it in a query.
    public enum ProductType: String, CaseIterable, Sendable {
        /// Used up, and bought again.
        case consumable = "CONSUMABLE"
        /// Bought once.
        case nonConsumable = "NON_CONSUMABLE"
        /// Renews until cancelled.
        case autoRenewable = "AUTO_RENEWABLE"
        /// Good for a limited time.
        case nonRenewable = "NON_RENEWABLE"
    }

    /// By when Apple last changed what it knows of a purchase.
    public enum Order: String, CaseIterable, Sendable {
        /// The oldest first. A purchase that is changed meanwhile comes again.
        case ascending = "ASCENDING"
        /// The newest first.
        case descending = "DESCENDING"
    }

    /// Bought at or after this time, in milliseconds since the UNIX epoch.
    public var startDate: Int64?
    /// Bought before this time, in milliseconds since the UNIX epoch.
    public var endDate: Int64?
    /// Of one of these products; at most ``AppStoreServerLimits/filterValuesMax``.
    public var productIDs: [String] = []
    /// Of one of these kinds.
    public var productTypes: [ProductType] = []
    /// Of one of these subscription groups; at most ``AppStoreServerLimits/filterValuesMax``.
    public var subscriptionGroupIdentifiers: [String] = []
    /// The customer's own, or shared by their family.
    public var ownership: TransactionPayload.OwnershipType?
    /// Only those that were taken back, or only those that were not.
    public var revoked: Bool?
    /// Apple's default is ``Order/ascending``.
    public var order: Order?

    /// All of them; what is wanted is set afterwards.
    public init() {}

    func add(to request: inout APIRequest) throws(AppStoreServerError) {
        for values in [productIDs, subscriptionGroupIdentifiers]
        where values.count > AppStoreServerLimits.filterValuesMax {
            throw .invalidArgument("a filter has at most \(AppStoreServerLimits.filterValuesMax) values")
        }
        request.add("startDate", startDate.map { String($0) })
        request.add("endDate", endDate.map { String($0) })
        for id in productIDs { request.add("productId", id) }
        for type in productTypes { request.add("productType", type.rawValue) }
        request.add("inAppOwnershipType", ownership?.rawValue)
        request.add("sort", order?.rawValue)
        request.add("revoked", revoked.map { $0 ? "true" : "false" })
        for id in subscriptionGroupIdentifiers { request.add("subscriptionGroupIdentifier", id) }
    }
}
