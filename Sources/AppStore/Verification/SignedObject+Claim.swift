extension SignedObject {
    /// The app and the environment that it says it is for, read without looking at its signature: enough to know which
    /// ledger's ``Verifier`` is to judge it, and good for nothing else. `nil` where it says neither.
    package var claim: (bundleID: String, environment: Environment)? {
        switch self {
        case .transaction(let jws):
            guard let payload = try? TransactionPayload(unverified: jws) else { return nil }
            return (payload.bundleID, payload.environment)
        case .notification(let jws):
            guard let payload = try? NotificationPayload(unverified: jws) else { return nil }
            return payload.apps.first.map { ($0.bundleID, $0.environment) }
        }
    }
}
