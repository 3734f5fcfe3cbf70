internal import AppStore
internal import AppleReports

extension Purchase {
    /// As a service's books have it that was told of it; `nil` of what nobody paid for, Family Sharing's.
    var booked: BookedTransaction? {
        guard transaction.inAppOwnershipType != .familyShared, let storefront = transaction.storefront else {
            return nil
        }
        let price = transaction.price.map(Thousandths.init)
        return BookedTransaction(
            id: id, product: transaction.productID, storefront: storefront, currency: transaction.currency ?? "",
            purchasedAt: transaction.purchaseDate, quantity: transaction.quantity, price: price,
            refundedAt: isRefunded ? transaction.revocationDate : nil,
            refundedPrice: isRefunded ? price?.part(transaction.revoked) : nil)
    }

    /// As "Product type identifiers" has it.
    var reportedType: String {
        switch transaction.type {
        case .autoRenewableSubscription: "IAY"
        case .nonRenewingSubscription: "IA9"
        default: "IA1"
        }
    }
}
