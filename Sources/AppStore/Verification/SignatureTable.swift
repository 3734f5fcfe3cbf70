internal import COpenSSL

/// Precomputed multiples of one P-256 key, with which a batch of its signatures is checked in a fraction of the time of single checks.
///
/// ECDSA (FIPS 186-5 §6.4.2) accepts where the x coordinate of u₁G + u₂Q is r modulo n, with u₁ = e/s and u₂ = r/s. OpenSSL has a table
/// for G; here it makes one for Q too, by a group whose generator is Q. The inverses of a batch are taken together
/// (Montgomery's trick: one inversion and three products each), and so are the points made affine. Everything is public, so nothing
/// need be done in constant time.
///
/// A table may only *accept*: what it does not accept, OpenSSL's own verification decides (``SignatureCheck``).
///
/// `@unchecked Sendable`: nothing is changed after it was made; each batch has its own context and numbers.
final class SignatureTable: @unchecked Sendable {
    /// P-256 with its own generator G.
    private let base: OpaquePointer
    /// P-256 with the key Q as its generator.
    private let keyed: OpaquePointer
    private let order: OpaquePointer

    /// Takes some milliseconds. `nil` where the key is not on P-256, or OpenSSL lacks the calls.
    init?(_ key: Key) {
        defer { ERR_clear_error() }
        guard let base = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        guard let keyed = EC_GROUP_dup(base), let order = BN_dup(EC_GROUP_get0_order(base)) else {
            EC_GROUP_free(base)
            return nil
        }
        self.base = base
        self.keyed = keyed
        self.order = order
        guard let context = BN_CTX_new() else { return nil }
        defer { BN_CTX_free(context) }
        guard let point = SignatureTable.point(of: key, base, context) else { return nil }
        defer { EC_POINT_free(point) }
        guard EC_GROUP_set_generator(keyed, point, order, BN_value_one()) == 1,
            ledger_ec_precompute(keyed, context) == 1
        else { return nil }
    }

    deinit {
        EC_GROUP_free(base)
        EC_GROUP_free(keyed)
        BN_free(order)
    }

    private static func point(of key: Key, _ group: OpaquePointer, _ context: OpaquePointer) -> OpaquePointer? {
        var encoded = [UInt8](repeating: 0, count: 133)
        var count = 0
        guard EVP_PKEY_get_octet_string_param(key.handle, "encoded-pub-key", &encoded, encoded.count, &count) == 1,
            let point = EC_POINT_new(group)
        else { return nil }
        // Checks that it is on the curve (SEC 1 §2.3.4).
        if EC_POINT_oct2point(group, point, encoded, count, context) == 1 { return point }
        EC_POINT_free(point)
        return nil
    }

    /// For each claim whether it was found good; `false` says nothing. All claims are by this table's key.
    func accepts(_ claims: [SignatureClaim]) -> [Bool] {
        defer { ERR_clear_error() }
        guard let batch = Batch(claims, order) else { return claims.map { _ in false } }
        return batch.accepted(base: base, keyed: keyed)
    }
}

/// The numbers of one batch, freed with it.
private final class Batch {
    private let context: OpaquePointer
    private let order: OpaquePointer
    private let count: Int
    /// The places of the claims whose r and s are in range: the others are not looked at.
    private var places: [Int] = []
    private var r: [OpaquePointer] = []
    private var s: [OpaquePointer] = []
    private var e: [OpaquePointer] = []
    private var points: [OpaquePointer?] = []
    private var owned: [OpaquePointer] = []

    init?(_ claims: [SignatureClaim], _ order: OpaquePointer) {
        guard let context = BN_CTX_new() else { return nil }
        self.context = context
        self.order = order
        count = claims.count
        for (place, claim) in claims.enumerated() where claim.signature.count == SignatureCheck.signatureBytes {
            let numbers = claim.signature.withUnsafeBufferPointer { raw -> (OpaquePointer, OpaquePointer)? in
                guard let r = number(raw.baseAddress, 32), let s = number(raw.baseAddress.map { $0 + 32 }, 32) else {
                    return nil
                }
                return (r, s)
            }
            guard let (r, s) = numbers, isScalar(r), isScalar(s),
                let e = claim.digest.withUnsafeBufferPointer({ number($0.baseAddress, $0.count) })
            else { continue }
            places.append(place)
            self.r.append(r)
            self.s.append(s)
            self.e.append(e)
        }
    }

    deinit {
        for number in owned { BN_free(number) }
        for point in points { EC_POINT_free(point) }
        BN_CTX_free(context)
    }

    func accepted(base: OpaquePointer, keyed: OpaquePointer) -> [Bool] {
        var accepted = [Bool](repeating: false, count: count)
        guard !places.isEmpty, let inverses = inverses(), let u1 = new(), let u2 = new(), let x = new(),
            let other = EC_POINT_new(base)
        else { return accepted }
        defer { EC_POINT_free(other) }
        for index in places.indices {
            guard let point = EC_POINT_new(base) else { return accepted }
            points.append(point)
            guard BN_mod_mul(u1, e[index], inverses[index], order, context) == 1,
                BN_mod_mul(u2, r[index], inverses[index], order, context) == 1,
                EC_POINT_mul(base, point, u1, nil, nil, context) == 1,
                EC_POINT_mul(keyed, other, u2, nil, nil, context) == 1,
                EC_POINT_add(base, point, point, other, context) == 1
            else { return accepted }
        }
        guard ledger_ec_make_affine(base, points.count, &points, context) == 1 else { return accepted }
        for (index, place) in places.enumerated() {
            // The point at infinity has no coordinates: not accepted.
            guard EC_POINT_get_affine_coordinates(base, points[index], x, nil, context) == 1,
                BN_nnmod(x, x, order, context) == 1
            else { continue }
            accepted[place] = BN_cmp(x, r[index]) == 0
        }
        return accepted
    }

    /// 1/s of each claim, by one inversion of their product.
    private func inverses() -> [OpaquePointer]? {
        var products: [OpaquePointer] = []
        for number in s {
            guard let product = new() else { return nil }
            if let last = products.last {
                guard BN_mod_mul(product, last, number, order, context) == 1 else { return nil }
            } else {
                guard BN_copy(product, number) != nil else { return nil }
            }
            products.append(product)
        }
        guard let last = products.last, let rest = new(), BN_mod_inverse(rest, last, order, context) != nil else {
            return nil
        }
        for index in s.indices.reversed() {
            let inverse = products[index]
            if index == 0 {
                guard BN_copy(inverse, rest) != nil else { return nil }
            } else {
                guard BN_mod_mul(inverse, rest, products[index - 1], order, context) == 1,
                    BN_mod_mul(rest, rest, s[index], order, context) == 1
                else { return nil }
            }
        }
        return products
    }

    private func new() -> OpaquePointer? {
        guard let number = BN_new() else { return nil }
        owned.append(number)
        return number
    }

    private func number(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> OpaquePointer? {
        guard let number = BN_bin2bn(bytes, Int32(count), nil) else { return nil }
        owned.append(number)
        return number
    }

    /// Whether a number is in 1 … n − 1.
    private func isScalar(_ number: OpaquePointer) -> Bool {
        BN_is_zero(number) == 0 && BN_cmp(number, order) < 0
    }
}
