package import StrictJSON

extension TransactionPayload {
    /// Reads a payload's JSON and checks it against what is documented.
    package init(json: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var reader = JSONReader(json)
        var payload = TransactionPayload(
            transactionID: "", bundleID: "", productID: "", purchaseDate: 0, type: ProductType(rawValue: ""),
            signedDate: 0,
            environment: Environment(rawValue: ""))
        var required = Required()
        try reader.object { reader, key throws(JSONError) in
            if try !payload.readPurchase(key, &reader, &required), try !payload.readRevocation(key, &reader),
                try !payload.readDetails(key, &reader)
            {
                try reader.skip()
            }
        }
        try reader.end()
        try required.check(reader)
        self = payload
    }

    /// The members that every transaction has.
    private struct Required {
        var transactionID = false, bundleID = false, productID = false, purchaseDate = false, type = false
        var signedDate = false, environment = false

        func check(_ reader: JSONReader) throws(JSONError) {
            if !transactionID { throw reader.missing("transactionId") }
            if !bundleID { throw reader.missing("bundleId") }
            if !productID { throw reader.missing("productId") }
            if !purchaseDate { throw reader.missing("purchaseDate") }
            if !type { throw reader.missing("type") }
            if !signedDate { throw reader.missing("signedDate") }
            if !environment { throw reader.missing("environment") }
        }
    }

    /// What was bought, when and by whom. False if the member is none of these, and then nothing was read.
    private mutating func readPurchase(
        _ key: JSONText, _ reader: inout JSONReader, _ required: inout Required
    ) throws(JSONError) -> Bool {
        switch key {
        case "transactionId":
            transactionID = try reader.transactionID()
            required.transactionID = true
        case "bundleId":
            bundleID = try reader.identifier()
            required.bundleID = true
        case "productId":
            productID = try reader.identifier()
            required.productID = true
        case "purchaseDate":
            purchaseDate = try reader.milliseconds()
            required.purchaseDate = true
        case "type":
            type = ProductType(rawValue: try reader.string())
            required.type = true
        case "signedDate":
            signedDate = try reader.milliseconds()
            required.signedDate = true
        case "environment":
            environment = Environment(rawValue: try reader.string())
            required.environment = true
        case "quantity": quantity = try reader.optionalInteger() ?? 1
        case "appAccountToken": appAccountToken = try reader.optionalAccountToken()
        case "price": price = try reader.optionalMilliseconds()
        case "currency": currency = try reader.optionalString()
        case "originalTransactionId": originalTransactionID = try reader.optionalString()
        case "originalPurchaseDate": originalPurchaseDate = try reader.optionalMilliseconds()
        case "notificationType": throw reader.failAtNext("must not be there: this is a notification, not a transaction")
        default: return false
        }
        return true
    }

    private mutating func readRevocation(_ key: JSONText, _ reader: inout JSONReader) throws(JSONError) -> Bool {
        switch key {
        case "revocationDate": revocationDate = try reader.optionalMilliseconds()
        case "revocationReason":
            revocationReason = try reader.optionalInteger().map { RevocationReason(rawValue: $0) }
        case "revocationPercentage": revocationPercentage = try reader.optionalInteger()
        case "revocationType": revocationType = try reader.optionalString().map { RevocationType(rawValue: $0) }
        default: return false
        }
        return true
    }

    /// What the books depend on least.
    private mutating func readDetails(_ key: JSONText, _ reader: inout JSONReader) throws(JSONError) -> Bool {
        switch key {
        case "inAppOwnershipType":
            inAppOwnershipType = try reader.optionalString().map { OwnershipType(rawValue: $0) }
        case "transactionReason":
            transactionReason = try reader.optionalString().map { TransactionReason(rawValue: $0) }
        case "storefront": storefront = try reader.optionalString()
        case "storefrontId": storefrontID = try reader.optionalString()
        case "appTransactionId": appTransactionID = try reader.optionalString()
        case "webOrderLineItemId": webOrderLineItemID = try reader.optionalString()
        case "subscriptionGroupIdentifier": subscriptionGroupIdentifier = try reader.optionalString()
        case "expiresDate": expiresDate = try reader.optionalMilliseconds()
        case "isUpgraded": isUpgraded = try reader.optionalBool()
        case "offerType": offerType = try reader.optionalInteger().map { OfferType(rawValue: $0) }
        case "offerIdentifier": offerIdentifier = try reader.optionalString()
        case "offerDiscountType":
            offerDiscountType = try reader.optionalString().map { OfferDiscountType(rawValue: $0) }
        case "offerPeriod": offerPeriod = try reader.optionalString()
        case "billingPlanType": billingPlanType = try reader.optionalString()
        case "commitmentInfo": commitmentInfo = try reader.optionalRaw()
        case "advancedCommerceInfo":
            advancedCommerceInfo = try reader.optionalRaw()
            advancedCommerceItems = try advancedCommerceInfo.map(AdvancedCommerceItem.items) ?? []
        default: return false
        }
        return true
    }

    /// The rules for what is credited: nil if it keeps them, otherwise what it breaks.
    package var brokenRule: String? {
        guard (1...AppStoreLimits.quantityMax).contains(quantity) else {
            return "quantity must be 1 … \(AppStoreLimits.quantityMax)"
        }
        guard (0...AppStoreLimits.numberMax).contains(purchaseDate) else {
            return "purchaseDate must be 0 … \(AppStoreLimits.numberMax)"
        }
        if let originalPurchaseDate, !(0...AppStoreLimits.numberMax).contains(originalPurchaseDate) {
            return "originalPurchaseDate must be 0 … \(AppStoreLimits.numberMax)"
        }
        if let price, !(0...AppStoreLimits.numberMax).contains(price) {
            return "price must be 0 … \(AppStoreLimits.numberMax)"
        }
        if let share = revocationPercentage, !(0...AppStoreLimits.wholeShare).contains(share) {
            return "revocationPercentage must be 0 … \(AppStoreLimits.wholeShare)"
        }
        return nil
    }
}
