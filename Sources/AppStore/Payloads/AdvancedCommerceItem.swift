internal import StrictJSON

/// An item that a developer sells in a purchase of the Advanced Commerce API (Apple's
/// `AdvancedCommerceTransactionItem`), as far as what it grants depends on it.
public struct AdvancedCommerceItem: Sendable, Equatable {
    /// The developer's own name of the product.
    public var sku: String
    /// When the customer lost the item; nil where it was not taken back.
    public var revocationDate: Int64?
}

extension AdvancedCommerceItem {
    /// The items of an `advancedCommerceInfo`.
    static func items(json: [UInt8]) throws(JSONError) -> [AdvancedCommerceItem] {
        var items: [AdvancedCommerceItem] = []
        var failure: JSONError?
        json.withUnsafeBufferPointer { bytes in
            do throws(JSONError) { items = try read(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        return items
    }

    private static func read(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> [AdvancedCommerceItem] {
        var items: [AdvancedCommerceItem] = []
        var reader = JSONReader(bytes)
        try reader.object { reader, key throws(JSONError) in
            guard key == "items", try reader.peek() == .array else { return try reader.skip() }
            try reader.array { reader, _ throws(JSONError) in items.append(try item(&reader)) }
        }
        guard items.count <= AppStoreLimits.itemsMax else {
            throw reader.fail("has more than \(AppStoreLimits.itemsMax) items")
        }
        return items
    }

    private static func item(_ reader: inout JSONReader) throws(JSONError) -> AdvancedCommerceItem {
        var sku: String?
        var revocationDate: Int64?
        try reader.object { reader, key throws(JSONError) in
            switch key {
            case "SKU": sku = try reader.identifier()
            case "revocationDate": revocationDate = try reader.optionalMilliseconds()
            default: try reader.skip()
            }
        }
        guard let sku else { throw reader.missing("SKU") }
        return AdvancedCommerceItem(sku: sku, revocationDate: revocationDate)
    }
}
