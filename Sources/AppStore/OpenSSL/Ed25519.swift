internal import COpenSSL

/// A private key that signs by Ed25519 (RFC 8032).
package struct Ed25519PrivateKey: Sendable {
    private let key: Key
    package let publicKey: Ed25519PublicKey

    /// - Parameter pem: PKCS #8, not encrypted, as `openssl genpkey -algorithm ed25519` makes it.
    /// - Throws: ``KeyFault``: in words that stand behind the file's name.
    package init(pem: [UInt8]) throws(KeyFault) {
        let key = try Key.privateKey(file: pem)
        publicKey = try Ed25519PublicKey(key)
        self.key = key
    }

    /// The 64 bytes of a signature.
    package func sign(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        let context = try OpenSSLError.check(EVP_MD_CTX_new(), "sign")
        defer { EVP_MD_CTX_free(context) }
        try OpenSSLError.check(EVP_DigestSignInit(context, nil, nil, nil, key.handle), "sign")
        var signature = [UInt8](repeating: 0, count: Ed25519PublicKey.signatureBytes)
        var length = signature.count
        try OpenSSLError.check(EVP_DigestSign(context, &signature, &length, message, message.count), "sign")
        guard length == signature.count else { throw OpenSSLError("sign", reason: "\(length) bytes of a signature") }
        return signature
    }
}

/// A key that verifies what was signed by Ed25519.
package struct Ed25519PublicKey: Sendable {
    static let signatureBytes = 64
    private static let byteCount = 32

    private let key: Key
    /// The key itself, as RFC 8032 §5.1.5 encodes it.
    package let bytes: [UInt8]

    /// - Parameter pem: SubjectPublicKeyInfo, as `openssl pkey -pubout` writes it.
    /// - Throws: ``KeyFault``: in words that stand behind the file's name.
    package init(pem: [UInt8]) throws(KeyFault) {
        let labels = PEMLabel.all(in: pem)
        guard labels == ["PUBLIC KEY"] else { throw KeyFault(labels: labels, wanted: "one BEGIN PUBLIC KEY") }
        let key: Key
        do throws(OpenSSLError) { key = try Key(publicPEM: pem) } catch { throw KeyFault("\(error)") }
        try self.init(key)
    }

    fileprivate init(_ key: Key) throws(KeyFault) {
        guard EVP_PKEY_get_base_id(key.handle) == EVP_PKEY_ED25519 else {
            throw KeyFault("holds a key of \(key.kind), not of Ed25519")
        }
        var bytes = [UInt8](repeating: 0, count: Ed25519PublicKey.byteCount)
        var length = bytes.count
        guard EVP_PKEY_get_raw_public_key(key.handle, &bytes, &length) == 1, length == bytes.count else {
            throw KeyFault("\(OpenSSLError("read the bytes of a public key"))")
        }
        self.key = key
        self.bytes = bytes
    }

    /// Whether `signature` is one of `message` by this key.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) throws(OpenSSLError) -> Bool {
        guard signature.count == Ed25519PublicKey.signatureBytes else { return false }
        let context = try OpenSSLError.check(EVP_MD_CTX_new(), "verify a signature")
        defer { EVP_MD_CTX_free(context) }
        try OpenSSLError.check(EVP_DigestVerifyInit(context, nil, nil, nil, key.handle), "verify a signature")
        let result = EVP_DigestVerify(context, signature, signature.count, message, message.count)
        ERR_clear_error()
        return result == 1
    }
}

extension Ed25519PublicKey: Hashable {
    package static func == (left: Ed25519PublicKey, right: Ed25519PublicKey) -> Bool { left.bytes == right.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
