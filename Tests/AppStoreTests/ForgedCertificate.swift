import COpenSSL
import StrictJSON

@testable import AppStore

/// Elements of DER (X.690), written by hand.
enum DER {
    static func element(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
        let content = parts.flatMap { $0 }
        let length: [UInt8] =
            switch content.count {
            case ..<0x80: [UInt8(content.count)]
            case ..<0x100: [0x81, UInt8(content.count)]
            case _: [0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
            }
        return [tag] + length + content
    }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, parts.flatMap { $0 }) }

    /// Of big-endian bytes; never negative.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        return element(0x02, (digits.first.map { $0 >= 0x80 } ?? true) ? [0] : [], digits)
    }

    static func bits(_ bytes: [UInt8]) -> [UInt8] { element(0x03, [0], bytes) }

    static func object(_ bytes: [UInt8]) -> [UInt8] { element(0x06, bytes) }
}

/// A certificate written by hand: with any name, any key, and any signature.
struct ForgedCertificate {
    /// How it says that it was signed.
    enum Algorithm {
        case ecdsa384
        case ecdsaSHA1
        case rsa384
        case rsaSHA1
        case dsa256

        fileprivate var der: [UInt8] {
            switch self {
            case .ecdsa384: DER.sequence(DER.object([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]))
            case .ecdsaSHA1: DER.sequence(DER.object([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01]))
            case .rsa384:
                DER.sequence(DER.object([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0C]), [0x05, 0x00])
            case .rsaSHA1:
                DER.sequence(DER.object([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x05]), [0x05, 0x00])
            case .dsa256: DER.sequence(DER.object([0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x02]))
            }
        }

        fileprivate var digest: OpaquePointer? {
            switch self {
            case .ecdsa384, .rsa384: EVP_sha384()
            case .ecdsaSHA1, .rsaSHA1: EVP_sha1()
            case .dsa256: EVP_sha256()
            }
        }
    }

    enum Role {
        case authority
        case intermediate
        case leaf
    }

    var issuer: String
    var subject: String
    var publicKey: [UInt8]
    var role: Role
    var isMarked = true
    var algorithm = Algorithm.ecdsa384
    var serial: UInt32 = 1
    /// In UTC, as X.509 writes it (RFC 5280 §4.1.2.5.1).
    var validity = (from: "250101000000Z", last: "270101000000Z")

    init(_ subject: String, by issuer: String, key: [UInt8], _ role: Role) {
        self.subject = subject
        self.issuer = issuer
        publicKey = key
        self.role = role
    }

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

    func der(signature: [UInt8]) -> [UInt8] { DER.sequence(body, algorithm.der, DER.bits(signature)) }

    private var body: [UInt8] {
        DER.sequence(
            DER.element(0xA0, DER.integer([2])), DER.integer(withUnsafeBytes(of: serial.bigEndian) { Array($0) }),
            algorithm.der, name(issuer), validityElement, name(subject), publicKey,
            DER.element(0xA3, DER.sequence(extensions)))
    }

    private func name(_ text: String) -> [UInt8] {
        DER.sequence(
            DER.element(0x31, DER.sequence(DER.object([0x55, 0x04, 0x03]), DER.element(0x0C, Array(text.utf8)))))
    }

    private var validityElement: [UInt8] {
        DER.sequence(DER.element(0x17, Array(validity.from.utf8)), DER.element(0x17, Array(validity.last.utf8)))
    }

    private var extensions: [UInt8] {
        let isAuthority: [UInt8] = role == .leaf ? [] : [0x01, 0x01, 0xFF]
        let constraints = DER.sequence(
            DER.object([0x55, 0x1D, 0x13]), [0x01, 0x01, 0xFF], DER.element(0x04, DER.sequence(isAuthority)))
        if !isMarked || role == .authority { return constraints }
        let mark: [UInt8] = role == .leaf ? [0x0B, 0x01] : [0x02, 0x01]
        return constraints
            + DER.sequence(
                DER.object([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06] + mark), DER.element(0x04, [0x05, 0x00]))
    }

    // MARK: Keys

    /// A key's SubjectPublicKeyInfo.
    static func encoded(_ key: Key) -> [UInt8] {
        var pointer: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key.handle, &pointer)
        defer { CRYPTO_free(pointer, nil, 0) }
        return Array(UnsafeBufferPointer(start: pointer, count: Int(count)))
    }

    static func rsaKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let algorithm = DER.sequence(DER.object([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]), [0x05, 0x00])
        return DER.sequence(
            algorithm, DER.bits(DER.sequence(DER.integer(modulus), DER.integer(exponent))))
    }

    /// The slowest that OpenSSL takes: beyond 3,072 bits an exponent may have 64.
    static let slowRSAKey = rsaKey(modulus: odd(384), exponent: odd(384).map { $0 >> 1 | 1 })

    /// Nearly the largest that OpenSSL takes.
    static let slowDSAKey = DER.sequence(
        DER.sequence(
            DER.object([0x2A, 0x86, 0x48, 0xCE, 0x38, 0x04, 0x01]),
            DER.sequence(DER.integer(odd(1_246)), DER.integer(odd(32)), DER.integer(odd(1_245)))),
        DER.bits(DER.integer(odd(1_245))))

    /// The point at infinity of P-256 (SEC 1 §2.3.3).
    static let infinity = DER.sequence(
        DER.sequence(
            DER.object([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]),
            DER.object([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])), DER.bits([0]))

    /// A signature of ECDSA that no key made.
    static let noSignature = DER.sequence(DER.integer(odd(31)), DER.integer(odd(31)))

    /// A number of so many bytes, the first and the last bit set.
    static func odd(_ bytes: Int) -> [UInt8] { [0xC5] + Array(repeating: 0xA7, count: bytes - 1) }

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
