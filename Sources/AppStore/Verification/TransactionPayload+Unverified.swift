internal import StrictJSON

extension TransactionPayload {
    /// What a JWS claims, read without looking at its signature: to measure that part alone. Only a ``Verifier`` makes
    /// a ``VerifiedTransaction`` of it.
    package init(unverified jws: [UInt8]) throws(VerificationFailure) {
        let payload = try CompactJWS(jws).payload
        let read: Result<TransactionPayload, VerificationFailure> = payload.withUnsafeBufferPointer { bytes in
            do throws(JSONError) {
                return .success(try TransactionPayload(json: bytes))
            } catch {
                return .failure(VerificationFailure(.invalidPayload, error.description))
            }
        }
        self = try read.get()
    }
}
