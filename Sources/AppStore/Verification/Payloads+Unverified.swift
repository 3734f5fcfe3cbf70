internal import StrictJSON

extension TransactionPayload {
    /// What a JWS claims, read without looking at its signature: to measure that part alone, and to name what it is
    /// about. Only a ``Verifier`` makes a ``VerifiedTransaction`` of it.
    package init(unverified jws: [UInt8]) throws(VerificationFailure) {
        self = try CompactJWS.claims(of: jws, TransactionPayload.init(json:))
    }
}

extension NotificationPayload {
    /// What a JWS claims, read without looking at its signature, to name what it is about. Only a ``Verifier`` makes a
    /// ``VerifiedNotification`` of it.
    package init(unverified jws: [UInt8]) throws(VerificationFailure) {
        self = try CompactJWS.claims(of: jws, NotificationPayload.init(json:))
    }
}

extension CompactJWS {
    fileprivate static func claims<Payload>(
        of jws: [UInt8], _ read: (UnsafeBufferPointer<UInt8>) throws(JSONError) -> Payload
    ) throws(VerificationFailure) -> Payload {
        let payload = try CompactJWS(jws).payload
        let result: Result<Payload, VerificationFailure> = payload.withUnsafeBufferPointer { bytes in
            do throws(JSONError) {
                return .success(try read(bytes))
            } catch {
                return .failure(VerificationFailure(.invalidPayload, error.description))
            }
        }
        return try result.get()
    }
}
