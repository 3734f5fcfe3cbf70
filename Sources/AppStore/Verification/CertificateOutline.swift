/// Where the parts of a certificate stand (RFC 5280 §4.1), found by their lengths alone.
///
/// It serves to refuse, before OpenSSL reads anything, what cannot be believed in any case: anybody may write a
/// certificate, and to read and to use some kinds of keys takes long. Nothing is believed for what stands in an
/// outline.
struct CertificateOutline {
    /// A kind of key that may verify something.
    enum KeyKind {
        case p256
        case p384
        case rsa
    }

    /// The issuer's name, as it is encoded.
    let issuer: ArraySlice<UInt8>
    /// The subject's name, as it is encoded.
    let subject: ArraySlice<UInt8>
    /// The subject's key with its algorithm, as it is encoded.
    let publicKey: ArraySlice<UInt8>
    private let signatureAlgorithm: ArraySlice<UInt8>

    /// `nil` where the bytes are not shaped as a certificate in DER.
    init?(_ der: [UInt8]) {
        var outer = DERReader(der[...])
        guard var certificate = outer.contents(of: .sequence), outer.isAtEnd,
            var body = certificate.contents(of: .sequence), let algorithm = certificate.next(.sequence),
            certificate.next(.bitString) != nil, certificate.isAtEnd
        else { return nil }
        _ = body.next(.version)
        guard body.next(.integer) != nil, body.next(.sequence) != nil, let issuer = body.next(.sequence),
            body.next(.sequence) != nil, let subject = body.next(.sequence), let publicKey = body.next(.sequence)
        else { return nil }
        self.issuer = issuer
        self.subject = subject
        self.publicKey = publicKey
        signatureAlgorithm = algorithm
    }

    /// `nil` for every other kind, and for a curve that is not named but described.
    var keyKind: KeyKind? {
        var outer = DERReader(publicKey)
        guard var info = outer.contents(of: .sequence), let algorithm = info.next(.sequence) else { return nil }
        if algorithm.elementsEqual(CertificateOutline.p256) { return .p256 }
        if algorithm.elementsEqual(CertificateOutline.p384) { return .p384 }
        return algorithm.elementsEqual(CertificateOutline.rsa) ? .rsa : nil
    }

    /// Whether the signature is one of ECDSA or RSA (PKCS #1 v1.5) over SHA-256, SHA-384 or SHA-512.
    var isSignedOverSHA2: Bool {
        var outer = DERReader(signatureAlgorithm)
        guard var algorithm = outer.contents(of: .sequence), let name = algorithm.next(.objectIdentifier),
            let last = name.last
        else { return false }
        let family = name.dropLast()
        if family.elementsEqual(CertificateOutline.ecdsaOverSHA2) { return (2...4).contains(last) }
        return family.elementsEqual(CertificateOutline.pkcs1) && (11...13).contains(last)
    }

    // MARK: Encoded

    /// id-ecPublicKey on prime256v1 (RFC 5480 §2.1.1).
    private static let p256: [UInt8] = [
        0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D,
        0x03, 0x01, 0x07,
    ]
    /// id-ecPublicKey on secp384r1.
    private static let p384: [UInt8] = [
        0x30, 0x10, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22,
    ]
    /// rsaEncryption (RFC 3279 §2.3.1).
    private static let rsa: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]
    /// ecdsa-with-SHA2 (RFC 5758 §3.2), but for its last arc.
    private static let ecdsaOverSHA2: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03]
    /// pkcs-1 (RFC 8017 §A.2.4), but for its last arc.
    private static let pkcs1: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
}

/// Elements of DER (X.690 §8.1, §10.1), one after the other.
private struct DERReader {
    enum Tag: UInt8 {
        case integer = 0x02
        case bitString = 0x03
        case objectIdentifier = 0x06
        case sequence = 0x30
        /// Of a certificate: [0], in which another element stands.
        case version = 0xA0
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next element, whole; `nil`, and nothing is read, where it has another tag or goes beyond the end.
    mutating func next(_ tag: Tag) -> ArraySlice<UInt8>? {
        guard let header = header(tag) else { return nil }
        let element = rest.prefix(header.bytes + header.length)
        rest = rest.dropFirst(element.count)
        return element
    }

    /// What stands in the next element.
    mutating func contents(of tag: Tag) -> DERReader? {
        guard let header = header(tag), let element = next(tag) else { return nil }
        return DERReader(element.dropFirst(header.bytes))
    }

    /// Lengths are definite and in the one shortest form.
    private func header(_ tag: Tag) -> (bytes: Int, length: Int)? {
        guard rest.count >= 2, rest[rest.startIndex] == tag.rawValue else { return nil }
        let first = rest[rest.startIndex + 1]
        var (bytes, length) = (2, Int(first))
        if first >= 0x80 {
            bytes += Int(first & 0x7F)
            // Two bytes hold the length of everything that a header can.
            guard (3...4).contains(bytes), rest.count >= bytes else { return nil }
            length = rest.dropFirst(2).prefix(bytes - 2).reduce(0) { $0 << 8 | Int($1) }
            guard length >= (bytes == 3 ? 0x80 : 0x100) else { return nil }
        }
        return length <= rest.count - bytes ? (bytes, length) : nil
    }
}
