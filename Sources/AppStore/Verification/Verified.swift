/// A signed object to verify: the bytes of a JWS in compact form, with what it is claimed to be.
public enum SignedObject: Sendable {
    /// A transaction, from StoreKit 2 or the App Store Server API.
    case transaction([UInt8])
    /// An App Store Server Notification V2's `signedPayload`.
    case notification([UInt8])
}

/// What verification makes of a ``SignedObject``.
public enum Verified: Sendable {
    /// A transaction, of any product type.
    case transaction(VerifiedTransaction)
    /// A notification, of any type.
    case notification(VerifiedNotification)
}

/// A transaction that Apple signed for this app and environment. Only a ``Verifier`` makes one.
public struct VerifiedTransaction: Sendable {
    /// What it says and what proves it, for a reader who needs no copy of the payload.
    package let content: SignedContent<TransactionPayload>

    /// What it says.
    public var payload: TransactionPayload { content.payload }
    /// What proves it.
    public var evidence: Evidence { content.evidence }

    init(_ content: SignedContent<TransactionPayload>) { self.content = content }
}

/// A notification that Apple signed for this app and environment. Only a ``Verifier`` makes one.
public struct VerifiedNotification: Sendable {
    /// What it says and what proves it, for a reader who needs no copy of the payload.
    package let content: SignedContent<NotificationPayload>
    /// The transaction it carries, verified by itself, of any product type; nil where it carries none.
    public let transaction: VerifiedTransaction?

    /// What it says.
    public var payload: NotificationPayload { content.payload }
    /// What proves it.
    public var evidence: Evidence { content.evidence }

    init(_ content: SignedContent<NotificationPayload>, transaction: VerifiedTransaction?) {
        self.content = content
        self.transaction = transaction
    }
}
