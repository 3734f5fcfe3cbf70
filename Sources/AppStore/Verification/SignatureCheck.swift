internal import COpenSSL
internal import Synchronization

/// How many signatures were judged, by who judged them.
final class SignatureCounts: Sendable {
    /// Accepted by the table of their key.
    let byTable = Atomic<UInt64>(0)
    /// Judged by OpenSSL: those under keys without a table, and those that the table did not accept.
    let byOpenSSL = Atomic<UInt64>(0)

    func add(byTable: Int, byOpenSSL: Int) {
        if byTable > 0 { self.byTable.wrappingAdd(UInt64(byTable), ordering: .relaxed) }
        if byOpenSSL > 0 { self.byOpenSSL.wrappingAdd(UInt64(byOpenSSL), ordering: .relaxed) }
    }
}

/// One signature to check: r ‖ s over a digest, by a key.
struct SignatureClaim {
    let key: Key
    /// The key's table, where it has been made.
    let table: SignatureTable?
    /// Whether a signature was good under its header before.
    let isHeaderProven: Bool
    let digest: [UInt8]
    let signature: [UInt8]

    init(
        key: Key, table: SignatureTable? = nil, isHeaderProven: Bool = true, digest: [UInt8], signature: [UInt8]
    ) {
        self.key = key
        self.table = table
        self.isHeaderProven = isHeaderProven
        self.digest = digest
        self.signature = signature
    }
}

/// ES256 (RFC 7518 §3.4) by OpenSSL.
enum SignatureCheck {
    static let signatureBytes = 64

    /// For each claim whether its signature is good; `nil` where that is not known yet. High-S signatures are good
    /// (FIPS 186-5 knows no low-S rule).
    ///
    /// Claims whose key has a table are checked with it together. What that does not accept, and what has no table, is
    /// for OpenSSL's own verification, whose word is final. It takes three times as long, and nearly all that a table
    /// does not accept, and most that comes under a header of its own, is forged: of these *doubtful* claims only the
    /// first `doubtfulMax` have it, and the others are not known.
    /// - Parameter givingWay: called between parts of the work.
    static func verify(
        _ claims: [SignatureClaim], doubtfulMax: Int, counts: SignatureCounts? = nil, givingWay: () -> Void = {}
    ) -> [Bool?] {
        var isGood = [Bool?](repeating: nil, count: claims.count)
        // Of a few tables the one is found sooner by comparing than by hashing.
        var byTable: [(table: SignatureTable, places: [Int])] = []
        for (place, claim) in claims.enumerated() {
            guard let table = claim.table else { continue }
            if let known = byTable.firstIndex(where: { $0.table === table }) {
                byTable[known].places.append(place)
            } else {
                byTable.append((table, [place]))
            }
        }
        for (table, places) in byTable {
            let accepted = table.accepts(places.map { claims[$0] }, givingWay: givingWay)
            for (place, accepted) in zip(places, accepted) where accepted { isGood[place] = true }
        }
        let accepted = isGood.count { $0 == true }
        var judged = 0
        var doubtfulLeft = doubtfulMax
        for (place, claim) in claims.enumerated() where isGood[place] == nil {
            if claim.table != nil || !claim.isHeaderProven {
                if doubtfulLeft == 0 { continue }
                doubtfulLeft -= 1
            }
            isGood[place] = verify(claim)
            judged += 1
            givingWay()
        }
        counts?.add(byTable: accepted, byOpenSSL: judged)
        return isGood
    }

    private static func verify(_ claim: SignatureClaim) -> Bool {
        guard claim.signature.count == signatureBytes, let context = EVP_PKEY_CTX_new(claim.key.handle, nil) else {
            return false
        }
        // A refusal leaves its reason in the thread's error queue.
        defer {
            EVP_PKEY_CTX_free(context)
            ERR_clear_error()
        }
        guard EVP_PKEY_verify_init(context) == 1 else { return false }
        let der = ECDSASignature.der(fromRaw: claim.signature)
        return EVP_PKEY_verify(context, der, der.count, claim.digest, claim.digest.count) == 1
    }
}

/// The two forms of an ECDSA signature on P-256: r ‖ s as in JWS, and the DER SEQUENCE that OpenSSL takes and gives.
enum ECDSASignature {
    static func der(fromRaw raw: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 72) { out, count in
            count = 2
            for half in [0, 32] {
                var first = half
                while first < half + 31, raw[first] == 0 { first += 1 }
                // An INTEGER whose first bit is set would be negative.
                let pad = raw[first] >= 0x80 ? 1 : 0
                let length = half + 32 - first + pad
                out[count] = 0x02
                out[count + 1] = UInt8(length)
                out[count + 2] = 0
                count += 2 + pad
                for i in first..<half + 32 {
                    out[count] = raw[i]
                    count += 1
                }
            }
            out[0] = 0x30
            out[1] = UInt8(count - 2)
        }
    }

    static func raw(fromDER der: UnsafeBufferPointer<UInt8>) throws(OpenSSLError) -> [UInt8] {
        var next = der.baseAddress
        let parsed = try OpenSSLError.check(d2i_ECDSA_SIG(nil, &next, der.count), "read a signature")
        defer { ECDSA_SIG_free(parsed) }
        let raw = [UInt8](unsafeUninitializedCapacity: SignatureCheck.signatureBytes) { out, count in
            guard let start = out.baseAddress, BN_bn2binpad(ECDSA_SIG_get0_r(parsed), start, 32) == 32,
                BN_bn2binpad(ECDSA_SIG_get0_s(parsed), start + 32, 32) == 32
            else { return }
            count = SignatureCheck.signatureBytes
        }
        guard raw.count == SignatureCheck.signatureBytes else { throw OpenSSLError("read a signature") }
        return raw
    }
}
