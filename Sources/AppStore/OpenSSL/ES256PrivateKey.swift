/// A private key that signs by ES256 (RFC 7518 §3.4): ECDSA on P-256 over SHA-256. App Store Connect gives such keys
/// out, each once, as a file that ends in `.p8`.
package struct ES256PrivateKey: Sendable {
    private let key: Key

    /// - Parameter pem: PKCS #8, not encrypted, as a `.p8` file holds it.
    /// - Throws: ``KeyFault``: in words that stand behind the file's name.
    package init(pem: [UInt8]) throws(KeyFault) {
        let key = try Key.privateKey(file: pem)
        guard key.isOn(.p256) else { throw KeyFault("holds a key of \(key.kind) that is not on P-256") }
        self.key = key
    }

    private init(_ key: Key) { self.key = key }

    /// A new key.
    package static func generate() throws(OpenSSLError) -> ES256PrivateKey {
        ES256PrivateKey(try Key.generate(.p256))
    }

    /// PKCS #8 in PEM, not encrypted: what a `.p8` file holds.
    package func pem() throws(OpenSSLError) -> [UInt8] { try key.pem() }

    /// Whether `signature`, r ‖ s, is one of `message` by this key.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        let claim = SignatureClaim(key: key, digest: SHA256.hash(message), signature: signature)
        return SignatureCheck.verify([claim], doubtfulMax: 1) == [true]
    }

    /// The 64 bytes of a signature as JWS has it: r ‖ s.
    package func sign(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        try key.signES256(digest: SHA256.hash(message))
    }

    /// A signature as a DER SEQUENCE of r and s (RFC 3279 §2.2.3).
    package func signDER(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        ECDSASignature.der(fromRaw: try sign(message))
    }
}
