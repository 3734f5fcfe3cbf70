package import AppStore
internal import AppStoreServer
internal import StrictJSON

/// What a simulator is told to do, as if a customer or the App Store did it.
package enum SimulatorCommand: Hashable, Sendable {
    /// A customer buys.
    case buy(PurchaseOrder)
    /// The App Store refunds a purchase, wholly or in part.
    case refund(RefundOrder)
    /// The App Store declines a refund that a customer asked for.
    case decline(transactionID: String)
    /// The App Store takes a refund back, after a dispute.
    case reverse(transactionID: String)
    /// Family Sharing of a purchase ends.
    case revoke(transactionID: String)
    /// A subscription renews.
    case renew(transactionID: String)
    /// A customer asks for a refund, and the App Store asks how much was consumed.
    case requestConsumption(transactionID: String, reason: NotificationPayload.ConsumptionRequestReason)

    /// What is bought, and how. What is not said follows from the products for sale.
    package struct PurchaseOrder: Hashable, Sendable {
        package var productID: String
        /// Where it is `nil`, what the product is for sale as; `Consumable` where every product is.
        package var type: TransactionPayload.ProductType?
        /// 1 … 10.
        package var quantity: Int64 = 1
        /// The account that the app names for the purchase: a UUID.
        package var appAccountToken: String?
        /// Whose purchase it is, by any name; where it is `nil`, the account's.
        package var customer: String?
        /// In thousandths of the currency's unit, for one.
        package var price: Int64?
        /// In ISO 4217.
        package var currency: String?
        /// Whether the app has finished it already.
        package var isFinished = false
        /// Whether another member of the family bought it.
        package var isFamilyShared = false

        package init(productID: String) { self.productID = productID }
    }

    /// How much is refunded, and why.
    package struct RefundOrder: Hashable, Sendable {
        package var transactionID: String
        /// In thousandths of a percent of the whole quantity; `nil` for all of it.
        package var percentage: Int64?
        package var reason = TransactionPayload.RevocationReason.other

        package init(transactionID: String) { self.transactionID = transactionID }
    }

    /// The last part of the path to which it is posted.
    package var name: String {
        switch self {
        case .buy: "buy"
        case .refund: "refund"
        case .decline: "decline"
        case .reverse: "reverse"
        case .revoke: "revoke"
        case .renew: "renew"
        case .requestConsumption: "request-consumption"
        }
    }
}

// MARK: On the wire

extension SimulatorCommand {
    /// The body of the request.
    package func json() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .buy(let order):
            writer.member("productId", order.productID)
            writer.member("type", order.type?.rawValue)
            writer.member("quantity", order.quantity)
            writer.member("appAccountToken", order.appAccountToken)
            writer.member("customer", order.customer)
            writer.member("price", order.price)
            writer.member("currency", order.currency)
            writer.member("finished", order.isFinished)
            writer.member("familyShared", order.isFamilyShared)
        case .refund(let order):
            writer.member("transactionId", order.transactionID)
            writer.member("revocationPercentage", order.percentage)
            writer.member("revocationReason", order.reason.rawValue)
        case .decline(let id), .reverse(let id), .revoke(let id), .renew(let id):
            writer.member("transactionId", id)
        case .requestConsumption(let id, let reason):
            writer.member("transactionId", id)
            writer.member("consumptionRequestReason", reason.rawValue)
        }
        writer.endObject()
        return writer.bytes
    }

    /// - Parameter name: of the command; `nil` is returned where there is none of that name.
    init?(_ name: Substring, json: [UInt8]) throws(SimulatorError) {
        do throws(JSONError) {
            switch name {
            case "buy": self = .buy(try JSONBody.read(json, PurchaseOrder.init(from:)))
            case "refund": self = .refund(try JSONBody.read(json, RefundOrder.init(from:)))
            case "decline": self = .decline(transactionID: try JSONBody.read(json, SimulatorCommand.readID))
            case "reverse": self = .reverse(transactionID: try JSONBody.read(json, SimulatorCommand.readID))
            case "revoke": self = .revoke(transactionID: try JSONBody.read(json, SimulatorCommand.readID))
            case "renew": self = .renew(transactionID: try JSONBody.read(json, SimulatorCommand.readID))
            case "request-consumption":
                let (id, reason) = try JSONBody.read(json, SimulatorCommand.readConsumption)
                self = .requestConsumption(transactionID: id, reason: reason)
            default: return nil
            }
        } catch { throw SimulatorError(.invalid, "\(error)") }
    }

    private static func readID(_ reader: inout JSONReader) throws(JSONError) -> String {
        var id: String?
        try reader.object { (reader, key) throws(JSONError) in
            guard key == "transactionId" else { throw reader.failAtNext("is not a member of this command") }
            id = try reader.string()
        }
        guard let id else { throw reader.missing("transactionId") }
        return id
    }

    private static func readConsumption(
        _ reader: inout JSONReader
    ) throws(JSONError) -> (id: String, reason: NotificationPayload.ConsumptionRequestReason) {
        var id: String?
        var reason = NotificationPayload.ConsumptionRequestReason.unintendedPurchase
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "transactionId": id = try reader.string()
            case "consumptionRequestReason":
                reason = .init(rawValue: try reader.string())
                let known = NotificationPayload.ConsumptionRequestReason.known
                guard known.contains(reason) else {
                    throw reader.fail("must be one of \(known.map(\.rawValue).joined(separator: ", "))")
                }
            default: throw reader.failAtNext("is not a member of this command")
            }
        }
        guard let id else { throw reader.missing("transactionId") }
        return (id, reason)
    }
}

extension SimulatorCommand.PurchaseOrder {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var order = Self(productID: "")
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "productId":
                order.productID = try reader.string()
                guard (1...AppStoreLimits.identifierBytesMax).contains(order.productID.utf8.count) else {
                    throw reader.fail("must have 1 … \(AppStoreLimits.identifierBytesMax) bytes")
                }
            case "type":
                let known = TransactionPayload.ProductType.known
                order.type = try reader.optionalString().map { .init(rawValue: $0) }
                if let type = order.type, !known.contains(type) {
                    throw reader.fail("must be one of \(known.map(\.rawValue).joined(separator: ", "))")
                }
            case "quantity":
                order.quantity = try reader.integer()
                guard (1...AppStoreLimits.quantityMax).contains(order.quantity) else {
                    throw reader.fail("must be 1 … \(AppStoreLimits.quantityMax)")
                }
            case "appAccountToken":
                order.appAccountToken = try reader.optionalString()
                if let token = order.appAccountToken, !UUIDText.isOne(token) { throw reader.fail("must be a UUID") }
            case "customer": order.customer = try reader.optionalString()
            case "price":
                order.price = try reader.optionalInteger()
                if let price = order.price, !(0...AppStoreLimits.numberMax).contains(price) {
                    throw reader.fail("must be 0 … \(AppStoreLimits.numberMax)")
                }
            case "currency": order.currency = try reader.optionalString()
            case "finished": order.isFinished = try reader.bool()
            case "familyShared": order.isFamilyShared = try reader.bool()
            default: throw reader.failAtNext("is not a member of this command")
            }
        }
        guard !order.productID.isEmpty else { throw reader.missing("productId") }
        self = order
    }
}

extension SimulatorCommand.RefundOrder {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var order = Self(transactionID: "")
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "transactionId": order.transactionID = try reader.string()
            case "revocationPercentage":
                order.percentage = try reader.optionalInteger()
                if let share = order.percentage, !(1...AppStoreLimits.wholeShare).contains(share) {
                    throw reader.fail("must be 1 … \(AppStoreLimits.wholeShare)")
                }
            case "revocationReason":
                order.reason = .init(rawValue: try reader.integer())
                guard [.other, .appIssue].contains(order.reason) else { throw reader.fail("must be 0 or 1") }
            default: throw reader.failAtNext("is not a member of this command")
            }
        }
        guard !order.transactionID.isEmpty else { throw reader.missing("transactionId") }
        self = order
    }
}

/// UUIDs as texts.
enum UUIDText {
    /// 8, 4, 4, 4 and 12 hexadecimal digits, with `-` between them (RFC 9562 §4).
    static func isOne(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && groups.allSatisfy { $0.utf8.allSatisfy { Character(UnicodeScalar($0)).isHexDigit } }
    }
}
