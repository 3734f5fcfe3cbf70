internal import StrictJSON

extension TransactionPayload {
    /// The payload as JSON, in Apple's order of members; what is nil is left out.
    public func json() -> [UInt8] {
        var writer = JSONWriter(capacity: 768)
        writer.beginObject()
        writer.member("transactionId", transactionID)
        writer.member("originalTransactionId", originalTransactionID)
        writer.member("webOrderLineItemId", webOrderLineItemID)
        writer.member("bundleId", bundleID)
        writer.member("productId", productID)
        writer.member("subscriptionGroupIdentifier", subscriptionGroupIdentifier)
        writer.member("purchaseDate", purchaseDate)
        writer.member("originalPurchaseDate", originalPurchaseDate)
        writer.member("expiresDate", expiresDate)
        writer.member("quantity", quantity)
        writer.member("type", type.rawValue)
        writer.member("appAccountToken", appAccountToken)
        writer.member("inAppOwnershipType", inAppOwnershipType?.rawValue)
        writer.member("signedDate", signedDate)
        writer.member("revocationReason", revocationReason?.rawValue)
        writer.member("revocationDate", revocationDate)
        writer.member("revocationPercentage", revocationPercentage)
        writer.member("revocationType", revocationType?.rawValue)
        writer.member("isUpgraded", isUpgraded)
        writer.member("offerType", offerType?.rawValue)
        writer.member("offerIdentifier", offerIdentifier)
        writer.member("offerDiscountType", offerDiscountType?.rawValue)
        writer.member("offerPeriod", offerPeriod)
        writer.member("environment", environment.rawValue)
        writer.member("transactionReason", transactionReason?.rawValue)
        writer.member("storefront", storefront)
        writer.member("storefrontId", storefrontID)
        writer.member("price", price)
        writer.member("currency", currency)
        writer.member("appTransactionId", appTransactionID)
        writer.member("billingPlanType", billingPlanType)
        writer.member("commitmentInfo", raw: commitmentInfo)
        writer.member("advancedCommerceInfo", raw: advancedCommerceInfo)
        writer.endObject()
        return writer.bytes
    }
}
