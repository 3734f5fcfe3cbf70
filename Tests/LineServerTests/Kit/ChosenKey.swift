import Foundation
import LedgerTestKit

@testable import AppStore

/// Numbers modulo n, the order of P-256's group.
enum Modular {
    static let one = Limbs(1, 0, 0, 0)

    static func product(_ a: Limbs, _ b: Limbs) -> Limbs { Scalar(a).times(b) }
    static func quotient(_ a: Limbs, _ b: Limbs) -> Limbs { Scalar(b).inverse.times(a) }

    static func sum(_ a: Limbs, _ b: Limbs) -> Limbs {
        let (sum, carry) = a.adding(b)
        return sum.reduced(by: Scalar.modulus, carry: carry)
    }

    static func negated(_ a: Limbs) -> Limbs { a.isZero ? a : Scalar.modulus.subtracting(a).difference }
    static func difference(_ a: Limbs, _ b: Limbs) -> Limbs { sum(a, negated(b)) }

    /// 2 to the power of less than 256.
    static func power(_ exponent: Int) -> Limbs {
        var limbs = [UInt64](repeating: 0, count: 4)
        limbs[exponent / 64] = 1 << UInt64(exponent % 64)
        return Limbs(limbs[0], limbs[1], limbs[2], limbs[3])
    }

    /// A random number of so many bits, less than 256; never 0.
    static func random(bits: Int, _ random: inout SplitMix64) -> Limbs {
        var limbs = (0..<4).map { place -> UInt64 in
            let own = min(max(bits - 64 * place, 0), 64)
            return own == 0 ? 0 : random.next() >> UInt64(64 - own)
        }
        limbs[0] |= 1
        return Limbs(limbs[0], limbs[1], limbs[2], limbs[3])
    }
}

extension Limbs {
    /// Big-endian.
    var bytes: [UInt8] {
        [l3, l2, l1, l0].flatMap { limb in (0..<8).map { UInt8(truncatingIfNeeded: limb >> (56 - 8 * $0)) } }
    }

    init(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        self = bytes.withUnsafeBytes { Limbs(bigEndian: $0.baseAddress!) }
    }
}

/// A leaf's key whose secret the test has chosen, so that every point of a signature's sum is a multiple of the
/// generator that the test knows; with certificates up to a root of its own.
struct ChosenKey {
    let secret: Limbs
    let key: Key
    let root: Certificate
    let multiples: PointMultiples
    private let headerSegment: [UInt8]

    /// - Parameter secret: d, from 1 to n − 1.
    init(secret: Limbs, validity: ClosedRange<Int64>) throws {
        self.secret = secret
        key = try Key(pem: ChosenKey.pem(secret))
        let (rootKey, intermediateKey) = (try Key.generate(.p384), try Key.generate(.p384))
        root = try CertificateDraft(commonName: "Root", validity: validity, isAuthority: true)
            .issue(to: rootKey, by: nil, signedBy: rootKey)
        var draft = CertificateDraft(commonName: "Intermediate", validity: validity, isAuthority: true)
        draft.marks = [.developerRelations]
        let intermediate = try draft.issue(to: intermediateKey, by: root, signedBy: rootKey)
        draft = CertificateDraft(commonName: "Leaf", validity: validity, isAuthority: false)
        draft.marks = [.receiptSigning]
        let leaf = try draft.issue(to: key, by: intermediate, signedBy: intermediateKey)
        headerSegment = SandboxChain.headerSegment(algorithm: "ES256", certificates: [leaf, intermediate, root])
        multiples = PointMultiples(ChosenKey.point(secret, .ofGenerator))
    }

    /// SEC 1 (RFC 5915): SEQUENCE { 1, the secret, the curve }. OpenSSL computes the point.
    private static func pem(_ secret: Limbs) -> [UInt8] {
        let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        let body: [UInt8] = [0x02, 0x01, 0x01, 0x04, 0x20] + secret.bytes + curve
        let text = Data([0x30, UInt8(body.count)] + body).base64EncodedString(options: .lineLength64Characters)
        return Array("-----BEGIN EC PRIVATE KEY-----\n\(text)\n-----END EC PRIVATE KEY-----\n".utf8)
    }

    static func sum(_ a: CurvePoint, _ b: CurvePoint) -> CurvePoint {
        var result = CurvePoint.infinity
        PointAdder(pairsMax: 1).add(rows: 1, columns: 1, { _, _ in (a, b) }, { result = $2 })
        return result
    }

    /// The terms that a product with a scalar is put together from.
    static func terms(_ scalar: Limbs, _ multiples: PointMultiples) -> [CurvePoint] {
        [CurvePoint](unsafeUninitializedCapacity: PointMultiples.digits) { terms, count in
            terms.initialize(repeating: .infinity)
            if let start = terms.baseAddress { multiples.collect(scalar, into: start) }
            count = PointMultiples.digits
        }
    }

    static func point(_ scalar: Limbs, _ multiples: PointMultiples) -> CurvePoint {
        terms(scalar, multiples).reduce(.infinity, sum)
    }

    // MARK: Signatures

    /// What a JWS of a payload signs, without its signature.
    func signingInput(_ payload: [UInt8]) -> [UInt8] {
        headerSegment + [UInt8(ascii: ".")] + ChosenKey.base64URL(payload)
    }

    static func jws(_ signingInput: [UInt8], _ signature: [UInt8]) -> String {
        String(decoding: signingInput + [UInt8(ascii: ".")] + base64URL(signature), as: UTF8.self)
    }

    private static func base64URL(_ bytes: [UInt8]) -> [UInt8] {
        let text = Data(bytes).base64EncodedString()
        return Array(text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "").utf8)
    }

    /// What a digest counts as.
    static func number(ofDigest digest: [UInt8]) -> Limbs { Limbs(digest).reduced(by: Scalar.modulus, carry: 0) }

    /// r ‖ s over a digest whose sum is u₁G + u₂Q, for any u₁ and u₂ that are not 0. Nobody can choose them
    /// for a digest and have a good signature.
    static func forged(_ digest: [UInt8], _ u1: Limbs, _ u2: Limbs) -> [UInt8] {
        let s = Modular.quotient(number(ofDigest: digest), u1)
        return Modular.product(u2, s).bytes + s.bytes
    }

    /// A digest, and a good signature over it, whose sum is u₁G + u₂Q, for any u₁ and u₂ of which neither
    /// is 0, nor the sum infinity: where the digest is what comes out, there always is one.
    func good(_ u1: Limbs, _ u2: Limbs) -> (digest: [UInt8], signature: [UInt8]) {
        let r = remainder(ofNonce: Modular.sum(u1, Modular.product(u2, secret)))
        let s = Modular.quotient(r, u2)
        return (Modular.product(u1, s).bytes, r.bytes + s.bytes)
    }

    /// r of a signature with this nonce: x(kG) modulo n.
    func remainder(ofNonce nonce: Limbs) -> Limbs {
        ChosenKey.point(nonce, .ofGenerator).x.number.reduced(by: Scalar.modulus, carry: 0)
    }

    /// s of a good signature over a digest, with this nonce: (e + r·d) / k.
    func good(_ digest: [UInt8], nonce: Limbs) -> [UInt8] {
        let r = remainder(ofNonce: nonce)
        let e = ChosenKey.number(ofDigest: digest)
        return r.bytes + Modular.quotient(Modular.sum(e, Modular.product(r, secret)), nonce).bytes
    }

    /// Whether OpenSSL's own verification accepts it.
    func isGood(_ digest: [UInt8], _ signature: [UInt8]) -> Bool {
        let claim = SignatureClaim(key: key, digest: digest, signature: signature)
        return SignatureCheck.verify([claim], doubtfulMax: 0) == [true]
    }

    // MARK: Rules

    /// By which rules the sum of a signature is made, level by level of the tree: as `SignatureBatch` adds its terms
    /// up, by its own terms and rules. Empty for a signature that is left to OpenSSL.
    func rules(_ digest: [UInt8], _ signature: [UInt8]) -> [[SumRule]] {
        let (r, s) = (Limbs(signature[..<32]), Limbs(signature[32...]))
        guard !r.isZero, r < Scalar.modulus, !s.isZero, s < Scalar.modulus else { return [] }
        let w = Scalar(s).inverse
        var row =
            ChosenKey.terms(w.times(ChosenKey.number(ofDigest: digest)), .ofGenerator)
            + ChosenKey.terms(w.times(r), multiples)
        var levels: [[SumRule]] = []
        while row.count > 1 {
            let pairs = stride(from: 0, to: row.count - 1, by: 2).map { (row[$0], row[$0 + 1]) }
            levels.append(pairs.map { CurvePoint.sum($0, $1).rule })
            row = pairs.map { ChosenKey.sum($0, $1) } + (row.count % 2 == 1 ? [row[row.count - 1]] : [])
        }
        return levels
    }
}
