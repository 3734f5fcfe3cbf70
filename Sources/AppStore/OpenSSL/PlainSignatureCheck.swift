internal import COpenSSL

/// OpenSSL's own check of P-256 signatures, `ECDSA_do_verify`, one after the other by one thread: the yardstick of a
/// machine that this package's figures are set against.
///
/// `@unchecked Sendable`: nothing in it is changed after it was made.
package final class PlainSignatureCheck: @unchecked Sendable {
    private let key: OpaquePointer
    private let signatures: [OpaquePointer]
    private let digests: [[UInt8]]

    /// Signatures that take turns, so that the processor does not learn one of them by heart.
    private static let signatureCount = 64

    /// Makes a key of the kind that signs purchases, and signatures by it.
    package init() throws(OpenSSLError) {
        let key = try Key.generate(.p256)
        self.key = try OpenSSLError.check(ledger_ec_key(key.handle), "use ECDSA_do_verify")
        var signatures: [OpaquePointer] = []
        var digests: [[UInt8]] = []
        for number in 0..<PlainSignatureCheck.signatureCount {
            let digest = SHA256.hash(Array("purchase \(number)".utf8))
            let der = ECDSASignature.der(fromRaw: try key.signES256(digest: digest))
            var parsed: OpaquePointer?
            der.withUnsafeBufferPointer { bytes in
                var next = bytes.baseAddress
                parsed = d2i_ECDSA_SIG(nil, &next, bytes.count)
            }
            signatures.append(try OpenSSLError.check(parsed, "read a signature"))
            digests.append(digest)
        }
        self.signatures = signatures
        self.digests = digests
    }

    deinit {
        for signature in signatures { ECDSA_SIG_free(signature) }
        ledger_ec_key_free(key)
    }

    /// Checks so many signatures and gives how many were good: all of them.
    package func run(_ count: Int) -> Int {
        var good = 0
        for number in 0..<count {
            let place = number % signatures.count
            let result = ledger_ecdsa_do_verify(digests[place], Int32(SHA256.byteCount), signatures[place], key)
            if result == 1 { good += 1 }
        }
        return good
    }
}
