package import AppStore
internal import AppStoreServer
internal import StrictJSON

/// A product of a `.storekit` file.
package struct StoreKitProduct: Hashable, Sendable {
    /// As made in App Store Connect.
    package var productID: String
    /// What people in the team call it.
    package var referenceName: String
    /// The kind of product.
    package var type: TransactionPayload.ProductType
    /// The price in thousandths of the currency's unit.
    package var price: Int64
    /// Milliseconds of a subscription's period; `nil` of any other product.
    package var periodMilliseconds: Int64?
    /// The subscription's group; `nil` of any other product.
    package var subscriptionGroup: String?
}

/// A configuration of StoreKit Testing, as Xcode keeps it (`.storekit`): JSON with `products`,
/// `nonRenewingSubscriptions` and `subscriptionGroups`. Members that are not needed here are passed over.
package struct StoreKitFile: Hashable, Sendable {
    /// The products, in the file's order: those without a subscription first.
    package private(set) var products: [StoreKitProduct] = []
    /// The storefront that the file is set to, in three letters.
    package private(set) var storefront: String?

    /// - Throws: ``SimulatorError`` that says which value is wrong, to be read behind the file's name.
    package init(_ json: [UInt8]) throws(SimulatorError) {
        do throws(JSONError) {
            self = try JSONBody.read(json, StoreKitFile.init(from:))
        } catch { throw SimulatorError(.invalid, "is no StoreKit configuration: \(error)") }
        var known: Set<String> = []
        for product in products where !known.insert(product.productID).inserted {
            throw SimulatorError(.invalid, "has the product \(product.productID) twice")
        }
    }

    private init(from reader: inout JSONReader) throws(JSONError) {
        var hasProducts = false
        var subscriptions: [StoreKitProduct] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "products", "nonRenewingSubscriptions":
                hasProducts = true
                try reader.array { (reader, _) throws(JSONError) in products.append(try StoreKitProduct(&reader)) }
            case "subscriptionGroups":
                hasProducts = true
                try reader.array { (reader, _) throws(JSONError) in
                    try StoreKitFile.readGroup(&reader, into: &subscriptions)
                }
            case "settings":
                try reader.object { (reader, key) throws(JSONError) in
                    if key == "_storefront" { storefront = try reader.optionalString() } else { try reader.skip() }
                }
            default: try reader.skip()
            }
        }
        guard hasProducts else { throw reader.missing("products") }
        products += subscriptions
    }

    private static func readGroup(
        _ reader: inout JSONReader, into products: inout [StoreKitProduct]
    ) throws(JSONError) {
        try reader.object { (reader, key) throws(JSONError) in
            guard key == "subscriptions" else { return try reader.skip() }
            try reader.array { (reader, _) throws(JSONError) in products.append(try StoreKitProduct(&reader)) }
        }
    }
}

extension StoreKitProduct {
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        var productID: String?, name: String?, type: TransactionPayload.ProductType?, price: Int64?
        var period: Int64?, group: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "productID":
                productID = try reader.string()
                guard (1...AppStoreLimits.identifierBytesMax).contains(productID?.utf8.count ?? 0) else {
                    throw reader.fail("must have 1 … \(AppStoreLimits.identifierBytesMax) bytes")
                }
            case "referenceName": name = try reader.optionalString()
            case "type":
                let text = try reader.string()
                type = StoreKitProduct.types[text]
                if type == nil {
                    throw reader.fail("must be one of \(StoreKitProduct.types.keys.sorted().joined(separator: ", "))")
                }
            case "displayPrice":
                price = Decimals.thousandths(try reader.string())
                if price == nil { throw reader.fail("must be a price as 0.99") }
            case "recurringSubscriptionPeriod":
                guard let text = try reader.optionalString() else { return }
                period = StoreKitProduct.periodMilliseconds(text)
                if period == nil { throw reader.fail("must be a duration of ISO 8601 as P1M") }
            case "subscriptionGroupID": group = try reader.optionalString()
            default: try reader.skip()
            }
        }
        guard let productID else { throw reader.missing("productID") }
        guard let type else { throw reader.missing("type") }
        guard let price else { throw reader.missing("displayPrice") }
        self.init(
            productID: productID, referenceName: name ?? productID, type: type, price: price,
            periodMilliseconds: type == .autoRenewableSubscription ? period ?? StoreKitProduct.month : nil,
            subscriptionGroup: type == .autoRenewableSubscription ? group : nil)
    }

    /// Xcode's names of the kinds, with Apple's.
    private static let types: [String: TransactionPayload.ProductType] = [
        "Consumable": .consumable, "NonConsumable": .nonConsumable, "NonRenewingSubscription": .nonRenewingSubscription,
        "RecurringSubscription": .autoRenewableSubscription,
    ]

    /// Milliseconds of a month of 30 days.
    static let month: Int64 = 30 * 86_400_000

    /// One of the periods that subscriptions have (P1W, P1M, P2M, P3M, P6M, P1Y, …), with months of 30 days and years
    /// of 365.
    private static func periodMilliseconds(_ text: String) -> Int64? {
        let days: [Character: Int64] = ["D": 1, "W": 7, "M": 30, "Y": 365]
        guard text.first == "P", let unit = text.last.flatMap({ days[$0] }),
            let count = Int64(text.dropFirst().dropLast()), (1...1_000).contains(count)
        else { return nil }
        return count * unit * 86_400_000
    }
}
