import COpenSSL
import LedgerTestKit
import StrictJSON

@testable import AppStore

extension ForgedCertificate.Algorithm {
    fileprivate var digest: OpaquePointer? {
        switch self {
        case .ecdsa384, .rsa384: EVP_sha384()
        case .ecdsaSHA1, .rsaSHA1: EVP_sha1()
        case .dsa256: EVP_sha256()
        }
    }
}

extension ForgedCertificate {
    /// With a signature by the key.
    func der(signedBy key: Key) throws -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        let body = body
        guard EVP_DigestSignInit(context, nil, algorithm.digest, nil, key.handle) == 1 else {
            throw OpenSSLError("sign a certificate")
        }
        var length = Int(EVP_PKEY_get_size(key.handle))
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context, &signature, &length, body, body.count) == 1 else {
            throw OpenSSLError("sign a certificate")
        }
        return der(signature: Array(signature.prefix(length)))
    }

    /// A key's SubjectPublicKeyInfo.
    static func encoded(_ key: Key) -> [UInt8] {
        var pointer: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key.handle, &pointer)
        defer { CRYPTO_free(pointer, nil, 0) }
        return Array(UnsafeBufferPointer(start: pointer, count: Int(count)))
    }

    static func rsa(bits: Int32, exponent: UInt = 65_537) throws -> Key {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
        defer { EVP_PKEY_CTX_free(context) }
        let number = BN_new()
        defer { BN_free(number) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) == 1,
            BN_set_word(number, exponent) == 1,
            EVP_PKEY_CTX_set1_rsa_keygen_pubexp(context, number) == 1, EVP_PKEY_keygen(context, &key) == 1, let key
        else { throw OpenSSLError("make a key") }
        return Key(owning: key)
    }
}

/// A chain of certificates written by hand, and the keys that they are of.
struct ForgedChain {
    var leaf: ForgedCertificate
    var intermediate: ForgedCertificate
    var root: ForgedCertificate
    let leafKey: Key
    let intermediateKey: Key
    let rootKey: Key

    init(rootKey: Key? = nil, intermediateKey: Key? = nil) throws {
        self.rootKey = try rootKey ?? Key.generate(.p384)
        self.intermediateKey = try intermediateKey ?? Key.generate(.p384)
        leafKey = try Key.generate(.p256)
        leaf = ForgedCertificate("Leaf", by: "Middle", key: ForgedCertificate.encoded(leafKey), .leaf)
        intermediate = ForgedCertificate(
            "Middle", by: "Root", key: ForgedCertificate.encoded(self.intermediateKey), .intermediate)
        root = ForgedCertificate("Root", by: "Root", key: ForgedCertificate.encoded(self.rootKey), .authority)
    }

    var anchor: Certificate { get throws { try Certificate(der: root.der(signedBy: rootKey)) } }

    /// Leaf first, each signed by the next one's key.
    func certificates() throws -> [[UInt8]] {
        [
            try leaf.der(signedBy: intermediateKey), try intermediate.der(signedBy: rootKey),
            try root.der(signedBy: rootKey),
        ]
    }

    func jws(payload: [UInt8]) throws -> [UInt8] {
        try ForgedChain.jws(payload: payload, certificates: certificates(), key: leafKey)
    }

    /// - Parameter other: a member of the header beside the certificates.
    static func jws(payload: [UInt8], certificates: [[UInt8]], other: String = "", key: Key) throws -> [UInt8] {
        try key.jws(headerSegment: headerSegment(certificates, other: other), payload: payload)
    }

    static func headerSegment(_ certificates: [[UInt8]], other: String = "") -> [UInt8] {
        let list = certificates.map { der -> String in
            var text: [UInt8] = []
            der.withUnsafeBufferPointer { Base64.encodeStandard($0, into: &text) }
            return "\"\(String(decoding: text, as: UTF8.self))\""
        }
        let header = "{\"alg\":\"ES256\",\(other)\"x5c\":[\(list.joined(separator: ","))]}"
        return Array(Base64.encodeURL(Array(header.utf8)).utf8)
    }
}
