internal import COpenSSL

/// The one owner of an `EVP_PKEY`, public or private.
///
/// `@unchecked Sendable`: it is never changed after it was made, OpenSSL counts references atomically and locks what
/// it derives from a key, and each operation has its own context.
final class Key: @unchecked Sendable {
    let handle: OpaquePointer

    /// Takes over one reference.
    init(owning handle: OpaquePointer) { self.handle = handle }

    deinit { EVP_PKEY_free(handle) }

    enum Curve: String {
        case p256 = "prime256v1"
        case p384 = "secp384r1"
    }

    static func generate(_ curve: Curve) throws(OpenSSLError) -> Key {
        Key(owning: try OpenSSLError.check(ledger_ec_keygen(curve.rawValue), "make a key on \(curve.rawValue)"))
    }

    /// A private key in PEM (PKCS #8 or SEC 1), without a passphrase.
    init(pem: [UInt8]) throws(OpenSSLError) {
        let bio = try MemoryBIO(pem)
        // A callback that gives nothing: OpenSSL's default would ask at the terminal.
        handle = try OpenSSLError.check(
            PEM_read_bio_PrivateKey(bio.handle, nil, { _, _, _, _ in 0 }, nil), "read a private key")
    }

    /// A public key in PEM (SubjectPublicKeyInfo).
    init(publicPEM pem: [UInt8]) throws(OpenSSLError) {
        let bio = try MemoryBIO(pem)
        handle = try OpenSSLError.check(PEM_read_bio_PUBKEY(bio.handle, nil, nil, nil), "read a public key")
    }

    /// PKCS #8 in PEM, not encrypted.
    func pem() throws(OpenSSLError) -> [UInt8] {
        let bio = try MemoryBIO()
        try OpenSSLError.check(
            PEM_write_bio_PKCS8PrivateKey(bio.handle, handle, nil, nil, 0, nil, nil), "write a private key")
        return bio.bytes
    }

    /// Whether certificates may be believed for a signature by it: on P-256 or P-384, or of RSA where a check takes
    /// neither long nor is worth little.
    var mayIssue: Bool {
        if isOn(.p256) || isOn(.p384) { return true }
        guard EVP_PKEY_get_base_id(handle) == EVP_PKEY_RSA,
            AppStoreLimits.rsaModulusBits.contains(Int(EVP_PKEY_get_bits(handle)))
        else { return false }
        var exponent: OpaquePointer?
        guard EVP_PKEY_get_bn_param(handle, "e", &exponent) == 1, let exponent else {
            ERR_clear_error()
            return false
        }
        defer { BN_free(exponent) }
        return BN_is_odd(exponent) == 1 && AppStoreLimits.rsaExponentBits.contains(Int(BN_num_bits(exponent)))
    }

    /// Whether it is a key of its curve at all (SP 800-56A §5.6.2.3.3): a point on it, and not the one at infinity,
    /// for which anybody can sign. Of a curve only; keys of RSA have ``mayIssue``.
    var isValid: Bool {
        guard EVP_PKEY_get_base_id(handle) == EVP_PKEY_EC else { return true }
        defer { ERR_clear_error() }
        guard let context = EVP_PKEY_CTX_new(handle, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return EVP_PKEY_public_check(context) == 1
    }

    func isOn(_ curve: Curve) -> Bool {
        guard EVP_PKEY_get_base_id(handle) == EVP_PKEY_EC else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(handle, &name, name.count, &length) == 1 else {
            ERR_clear_error()
            return false
        }
        return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) == curve.rawValue
    }
}
