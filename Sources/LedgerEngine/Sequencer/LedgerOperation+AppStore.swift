import AppStore
import Ledger

extension LedgerOperation {
    /// What is to be decided of a JWS once it was verified.
    init(_ verified: Result<Verified, VerificationFailure>, account: AccountName?, by actor: String?) {
        switch verified {
        case .success(.transaction(let transaction)):
            guard let purchase = SignedPurchase(transaction) else {
                let rule = transaction.payload.brokenRule
                self = .refused(rule.map { Fault.unfit($0) } ?? LedgerOperation.unfitNumbers)
                return
            }
            self = .command(.credit(purchase, account: account), by: actor)
        case .success(.notification(let notification)):
            guard let signed = SignedNotification(notification) else {
                self = .refused(LedgerOperation.unfitNumbers)
                return
            }
            self = .command(.notify(signed, account: account), by: actor)
        case .failure(let failure):
            self = .refused(.verification(failure))
        }
    }

    private static let unfitNumbers = Fault.unfit(
        "transactionId is not a decimal number of 64 bits, or appAccountToken is no account's name")
}

extension SignedPurchase {
    /// `nil` where the ledger's values cannot hold the payload's.
    init?(_ transaction: VerifiedTransaction) { self.init(transaction.content.payload, transaction.evidence) }

    private init?(_ payload: TransactionPayload, _ evidence: Evidence) {
        guard payload.brokenRule == nil, let id = TransactionID(payload.purchaseID) else { return nil }
        var token: AccountName?
        if let text = payload.appAccountToken {
            guard let name = AccountName(text) else { return nil }
            token = name
        }
        let offer = payload.offerType.map {
            PurchaseFacts.Offer(
                type: $0.rawValue, identifier: payload.offerIdentifier,
                discountType: payload.offerDiscountType?.rawValue)
        }
        self.init(
            facts: PurchaseFacts(
                transaction: id, product: payload.soldID, quantity: payload.quantity,
                purchaseDate: payload.chargeDate, price: payload.price, priceCurrency: payload.currency,
                token: token, storefront: payload.storefront, offer: offer,
                original: payload.originalTransactionID.flatMap { TransactionID($0) },
                ownership: payload.inAppOwnershipType?.rawValue),
            kind: Kind(payload.type), soldIDs: payload.soldIDs,
            isFamilyShared: payload.inAppOwnershipType == .familyShared,
            signedDate: payload.signedDate, revoked: payload.revoked, evidence: JWSParts(evidence))
    }
}

extension SignedNotification {
    /// `nil` where the ledger's values cannot hold the payload's. What carries no consumable, and nothing that can be
    /// credited, is recorded without a purchase.
    init?(_ notification: VerifiedNotification) {
        let payload = notification.payload
        var purchase: SignedPurchase?
        if let transaction = notification.transaction {
            purchase = SignedPurchase(transaction)
            if purchase == nil && transaction.payload.type == .consumable { return nil }
        }
        self.init(
            uuid: payload.notificationUUID, type: payload.notificationType.rawValue,
            subtype: payload.subtype?.rawValue, signedDate: payload.signedDate,
            reason: payload.data?.consumptionRequestReason?.rawValue,
            evidence: JWSParts(notification.evidence), purchase: purchase,
            subject: notification.transaction.flatMap { TransactionID($0.payload.transactionID) })
    }
}

extension SignedPurchase.Kind {
    init(_ type: TransactionPayload.ProductType) {
        switch type {
        case .consumable: self = .known(.consumable)
        case .nonConsumable: self = .known(.nonConsumable)
        case .autoRenewableSubscription: self = .known(.autoRenewable)
        case .nonRenewingSubscription: self = .known(.nonRenewing)
        default: self = .other(String(type.rawValue.prefix(100)))
        }
    }
}

extension JWSParts {
    convenience init(_ evidence: Evidence) {
        self.init(
            headerDigest: Digest(sha256: evidence.header.digest), header: evidence.header.segment,
            payload: evidence.payload, signature: evidence.signature)
    }
}
