extension TransactionPayload {
    /// A consumable's purchase with all the members that Apple sends of one, bought a minute and signed half a minute
    /// before `now` (in milliseconds since the UNIX epoch): for load and benchmarks, where its length matters.
    package static func sample(
        transactionID: String, bundleID: String, productID: String, now: Int64
    ) -> TransactionPayload {
        var payload = TransactionPayload(
            transactionID: transactionID, bundleID: bundleID, productID: productID, purchaseDate: now - 60_000,
            signedDate: now - 30_000, environment: .sandbox)
        payload.originalTransactionID = transactionID
        payload.originalPurchaseDate = payload.purchaseDate
        payload.inAppOwnershipType = .purchased
        payload.transactionReason = .purchase
        payload.storefront = "USA"
        payload.storefrontID = "143441"
        payload.price = 4_990
        payload.currency = "USD"
        payload.appTransactionID = "704000000000000001"
        return payload
    }
}
