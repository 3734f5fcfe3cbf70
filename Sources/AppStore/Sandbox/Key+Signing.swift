internal import COpenSSL
internal import StrictJSON

extension Key {
    /// A JWS in compact form under a header that is encoded already.
    func jws(headerSegment: [UInt8], payload: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(headerSegment.count + payload.count * 4 / 3 + 96)
        text.append(contentsOf: headerSegment)
        text.append(UInt8(ascii: "."))
        payload.withUnsafeBufferPointer { Base64.encodeURL($0, into: &text) }
        let signature = try signES256(digest: SHA256.hash(text))
        text.append(UInt8(ascii: "."))
        signature.withUnsafeBufferPointer { Base64.encodeURL($0, into: &text) }
        return text
    }

    /// r ‖ s over a digest. A key on a larger curve gives numbers that do not fit and throws.
    func signES256(digest: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        let context = try OpenSSLError.check(EVP_PKEY_CTX_new(handle, nil), "sign")
        defer { EVP_PKEY_CTX_free(context) }
        try OpenSSLError.check(EVP_PKEY_sign_init(context), "sign")
        var length = Int(EVP_PKEY_get_size(handle))
        var der = [UInt8](repeating: 0, count: length)
        try OpenSSLError.check(EVP_PKEY_sign(context, &der, &length, digest, digest.count), "sign")
        let result: Result<[UInt8], OpenSSLError> = der.withUnsafeBufferPointer { bytes in
            do throws(OpenSSLError) {
                return .success(try ECDSASignature.raw(fromDER: UnsafeBufferPointer(rebasing: bytes[..<length])))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    func checkBelongs(to certificate: Certificate) throws(OpenSSLError) {
        try OpenSSLError.check(
            X509_check_private_key(certificate.x509.pointer, handle), "use a key that is not its certificate's")
    }
}
