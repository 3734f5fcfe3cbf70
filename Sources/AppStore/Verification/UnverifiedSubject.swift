/// What a JWS says that it is about, read without looking at its signature: to name it to people, and to look it up by.
/// It is good for nothing else, for whoever made the JWS up may have written anything.
package struct UnverifiedSubject: Hashable, Sendable {
    /// Of a notification: its `notificationUUID`.
    package var notificationUUID: String?
    /// Of a notification: its type, with the subtype behind it where it has one.
    package var notificationType: String?
    /// The transaction under which the purchase is one (``TransactionPayload/purchaseID``); `nil` where there is none.
    package var purchaseID: String?
    /// What was bought.
    package var productID: String?
    /// Of a transaction: the share of it that is revoked, 0 … 100000 (``TransactionPayload/revoked``).
    package var revoked: Int64?
}

/// For people.
extension UnverifiedSubject {
    /// `notification 1d7c… (REFUND)`.
    package var notificationName: String? {
        guard let notificationUUID, let notificationType else { return nil }
        return "notification \(ForeignText.shown(notificationUUID)) (\(ForeignText.shown(notificationType)))"
    }

    /// `purchase 2000000123456789 (com.example.game.gems500)`.
    package var purchaseName: String? {
        guard let purchaseID, let productID else { return nil }
        return "purchase \(ForeignText.shown(purchaseID)) (\(ForeignText.shown(productID)))"
    }
}

extension SignedObject {
    /// What it says that it is about; `nil` where it cannot be read.
    package var subject: UnverifiedSubject? {
        switch self {
        case .transaction(let jws):
            guard let payload = try? TransactionPayload(unverified: jws) else { return nil }
            return UnverifiedSubject(
                purchaseID: payload.purchaseID, productID: payload.productID, revoked: payload.revoked)
        case .notification(let jws):
            guard let payload = try? NotificationPayload(unverified: jws) else { return nil }
            let carried = payload.data?.signedTransactionInfo
                .flatMap { SignedObject.transaction(Array($0.utf8)).subject }
            let type = [payload.notificationType.rawValue, payload.subtype?.rawValue].compactMap { $0 }
            return UnverifiedSubject(
                notificationUUID: payload.notificationUUID, notificationType: type.joined(separator: " "),
                purchaseID: carried?.purchaseID, productID: carried?.productID)
        }
    }
}
