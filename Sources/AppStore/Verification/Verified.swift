/// A signed object to verify: the bytes of a JWS in compact form, with what it is claimed to be.
public enum SignedObject: Sendable {
    /// A transaction, from StoreKit 2 or the App Store Server API.
    case transaction([UInt8])
    /// An App Store Server Notification V2's `signedPayload`.
    case notification([UInt8])
}

/// What verification makes of a ``SignedObject``.
public enum Verified: Sendable {
    /// A consumable's transaction.
    case transaction(VerifiedTransaction)
    /// A notification, of any type.
    case notification(VerifiedNotification)
}

/// A transaction that Apple signed for this app and environment. Only a ``Verifier`` makes one. (One object, as it
/// passes through several hands and has many members.)
public final class VerifiedTransaction: Sendable {
    /// What it says.
    public let payload: TransactionPayload
    /// What proves it.
    public let evidence: Evidence

    init(payload: TransactionPayload, evidence: Evidence) {
        self.payload = payload
        self.evidence = evidence
    }
}

/// A notification that Apple signed for this app and environment. Only a ``Verifier`` makes one.
public final class VerifiedNotification: Sendable {
    /// What it says.
    public let payload: NotificationPayload
    /// What proves it.
    public let evidence: Evidence
    /// The transaction it carries, verified by itself, of any product type; nil where it carries none.
    public let transaction: VerifiedTransaction?

    init(payload: NotificationPayload, evidence: Evidence, transaction: VerifiedTransaction?) {
        self.payload = payload
        self.evidence = evidence
        self.transaction = transaction
    }
}
