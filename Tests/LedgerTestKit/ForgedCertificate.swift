/// Elements of DER (X.690), written by hand.
package enum DER {
    package static func element(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
        let content = parts.flatMap { $0 }
        let length: [UInt8] =
            switch content.count {
            case ..<0x80: [UInt8(content.count)]
            case ..<0x100: [0x81, UInt8(content.count)]
            case _: [0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
            }
        return [tag] + length + content
    }

    package static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, parts.flatMap { $0 }) }

    /// Of big-endian bytes; never negative.
    package static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        return element(0x02, (digits.first.map { $0 >= 0x80 } ?? true) ? [0] : [], digits)
    }

    package static func bits(_ bytes: [UInt8]) -> [UInt8] { element(0x03, [0], bytes) }

    package static func object(_ bytes: [UInt8]) -> [UInt8] { element(0x06, bytes) }
}

/// A certificate written by hand: with any name, any key, and any signature.
package struct ForgedCertificate: Sendable {
    /// How it says that it was signed.
    package enum Algorithm: Sendable {
        case ecdsa384
        case ecdsaSHA1
        case rsa384
        case rsaSHA1
        case dsa256

        package var der: [UInt8] {
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
    }

    package enum Role: Sendable {
        case authority
        case intermediate
        case leaf
    }

    package var issuer: String
    package var subject: String
    package var publicKey: [UInt8]
    package var role: Role
    package var isMarked = true
    package var algorithm = Algorithm.ecdsa384
    package var serial: UInt32 = 1
    /// In UTC, as X.509 writes it (RFC 5280 §4.1.2.5.1).
    package var validity = (from: "250101000000Z", last: "270101000000Z")

    package init(_ subject: String, by issuer: String, key: [UInt8], _ role: Role) {
        self.subject = subject
        self.issuer = issuer
        publicKey = key
        self.role = role
    }

    package func der(signature: [UInt8]) -> [UInt8] { DER.sequence(body, algorithm.der, DER.bits(signature)) }

    /// What is signed of it.
    package var body: [UInt8] {
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

    package static func rsaKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let algorithm = DER.sequence(DER.object([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]), [0x05, 0x00])
        return DER.sequence(
            algorithm, DER.bits(DER.sequence(DER.integer(modulus), DER.integer(exponent))))
    }

    /// The slowest that OpenSSL takes: beyond 3,072 bits an exponent may have 64.
    package static let slowRSAKey = rsaKey(modulus: odd(384), exponent: odd(384).map { $0 >> 1 | 1 })

    /// Nearly the largest that OpenSSL takes.
    package static let slowDSAKey = DER.sequence(
        DER.sequence(
            DER.object([0x2A, 0x86, 0x48, 0xCE, 0x38, 0x04, 0x01]),
            DER.sequence(DER.integer(odd(1_246)), DER.integer(odd(32)), DER.integer(odd(1_245)))),
        DER.bits(DER.integer(odd(1_245))))

    /// The point at infinity of P-256 (SEC 1 §2.3.3).
    package static let infinity = DER.sequence(
        DER.sequence(
            DER.object([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]),
            DER.object([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])), DER.bits([0]))

    /// The generator of P-256 (SP 800-186 §3.2.1.3): the key whose secret is 1.
    package static let generator = DER.sequence(
        DER.sequence(
            DER.object([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]),
            DER.object([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])),
        DER.bits([
            0x04, 0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2, 0x77,
            0x03, 0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96, 0x4F, 0xE3, 0x42,
            0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16, 0x2B, 0xCE, 0x33, 0x57, 0x6B,
            0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
        ]))

    /// A signature of ECDSA that no key made.
    package static let noSignature = DER.sequence(DER.integer(odd(31)), DER.integer(odd(31)))

    /// A number of so many bytes, the first and the last bit set.
    package static func odd(_ bytes: Int) -> [UInt8] { [0xC5] + Array(repeating: 0xA7, count: bytes - 1) }
}
