internal import COpenSSL

/// Precomputed multiples of one P-256 key, with which a batch of its signatures is checked in a fraction of the time
/// of single checks.
///
/// ECDSA (FIPS 186-5 §6.4.2) accepts where the x coordinate of u₁G + u₂Q is r modulo n, with u₁ = e/s and u₂ = r/s.
/// With tables for G and for Q that is a sum of 44 points. The sums of a whole batch are made side by side, as trees,
/// so that each of the six levels costs one inversion for all of them, and the inverses 1/s of a batch are taken
/// together as well. Everything is public, so nothing need be done in constant time.
///
/// A table may only *accept*: what it does not accept, OpenSSL's own verification decides (``SignatureCheck``).
final class SignatureTable: Sendable {
    /// Whether tables serve in this build. Without optimisation their arithmetic takes a thousand times as long as
    /// OpenSSL's check.
    static var isWorthwhile: Bool {
        #if DEBUG
        false
        #else
        true
        #endif
    }

    /// Signatures whose sums are made together: their points stay in the cache of one core.
    private static let togetherMax = 32

    private let key: PointMultiples

    /// Takes some ten milliseconds. `nil` where the key is not on P-256.
    init?(_ key: Key) {
        guard let point = SignatureTable.point(of: key) else { return nil }
        self.key = PointMultiples(point)
    }

    private static func point(of key: Key) -> CurvePoint? {
        defer { ERR_clear_error() }
        var encoded = [UInt8](repeating: 0, count: 133)
        var count = 0
        // SEC 1 §2.3.3: 04, x, y. OpenSSL has checked that it is on the curve when it read the key.
        guard key.isOn(.p256),
            EVP_PKEY_get_octet_string_param(key.handle, "encoded-pub-key", &encoded, encoded.count, &count) == 1,
            count == 65, encoded[0] == 4
        else { return nil }
        return encoded.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return nil }
            let (x, y) = (Limbs(bigEndian: start + 1), Limbs(bigEndian: start + 33))
            guard x < FieldElement.modulus, y < FieldElement.modulus else { return nil }
            return CurvePoint(x: FieldElement(x), y: FieldElement(y))
        }
    }

    /// For each claim whether it was found good; `false` says nothing. All claims are by this table's key.
    /// - Parameter givingWay: called between parts of the work.
    func accepts(_ claims: [SignatureClaim], givingWay: () -> Void = {}) -> [Bool] {
        var accepted = [Bool](repeating: false, count: claims.count)
        let batch = SignatureBatch(capacity: min(claims.count, SignatureTable.togetherMax))
        for (place, claim) in claims.enumerated() {
            batch.add(claim, place: place)
            if !batch.isFull { continue }
            batch.check(key: key, into: &accepted)
            givingWay()
        }
        batch.check(key: key, into: &accepted)
        return accepted
    }
}

/// Signatures of one key that are checked together.
private final class SignatureBatch {
    private struct Item {
        /// Where its result goes.
        var place: Int
        var r: Limbs
        var s: Scalar
        var e: Limbs
    }

    /// What is added up for one signature.
    private static let termsEach = 2 * PointMultiples.digits

    private let capacity: Int
    private var items: [Item] = []
    private let adder: PointAdder
    private let terms: UnsafeMutablePointer<CurvePoint>
    private let sums: UnsafeMutablePointer<CurvePoint>

    init(capacity: Int) {
        self.capacity = capacity
        items.reserveCapacity(capacity)
        adder = PointAdder(pairsMax: capacity * SignatureBatch.termsEach / 2)
        terms = .allocate(capacity: capacity * SignatureBatch.termsEach)
        terms.initialize(repeating: .infinity, count: capacity * SignatureBatch.termsEach)
        sums = .allocate(capacity: capacity * SignatureBatch.termsEach / 2)
        sums.initialize(repeating: .infinity, count: capacity * SignatureBatch.termsEach / 2)
    }

    deinit {
        terms.deallocate()
        sums.deallocate()
    }

    var isFull: Bool { items.count == capacity }

    /// A signature whose r or s is not in 1 … n − 1 is left to OpenSSL.
    func add(_ claim: SignatureClaim, place: Int) {
        guard claim.signature.count == SignatureCheck.signatureBytes, claim.digest.count == SHA256.byteCount else {
            return
        }
        let (r, s) = claim.signature.withUnsafeBytes { bytes -> (Limbs, Limbs) in
            guard let start = bytes.baseAddress else { return (.zero, .zero) }
            return (Limbs(bigEndian: start), Limbs(bigEndian: start + 32))
        }
        let e = claim.digest.withUnsafeBytes { $0.baseAddress.map { Limbs(bigEndian: $0) } ?? .zero }
        guard !r.isZero, r < Scalar.modulus, !s.isZero, s < Scalar.modulus else { return }
        items.append(Item(place: place, r: r, s: Scalar(s), e: e.reduced(by: Scalar.modulus, carry: 0)))
    }

    /// Checks what was added, and forgets it.
    func check(key: PointMultiples, into accepted: inout [Bool]) {
        if items.isEmpty { return }
        collect(key)
        for (index, sum) in sumOfEach().enumerated() where !sum.isInfinity {
            let item = items[index]
            // x < p < 2n: modulo n it is itself or n less.
            accepted[item.place] = sum.x.number.reduced(by: Scalar.modulus, carry: 0) == item.r
        }
        items.removeAll(keepingCapacity: true)
    }

    /// The points to be added up: u₁ times the generator and u₂ times the key.
    private func collect(_ key: PointMultiples) {
        var products: [Scalar] = []
        products.reserveCapacity(items.count)
        var product = items[0].s
        for index in items.indices {
            if index > 0 { product = product * items[index].s }
            products.append(product)
        }
        var inverse = product.inverse
        for index in items.indices.reversed() {
            let item = items[index]
            let w = index == 0 ? inverse : inverse * products[index - 1]
            inverse = inverse * item.s
            let own = terms + index * SignatureBatch.termsEach
            PointMultiples.ofGenerator.collect(w.times(item.e), into: own)
            key.collect(w.times(item.r), into: own + PointMultiples.digits)
        }
    }

    /// Adds each signature's terms up, level by level, from one buffer into the other and back.
    private func sumOfEach() -> UnsafeBufferPointer<CurvePoint> {
        var width = SignatureBatch.termsEach
        let count = items.count
        var (from, to) = (terms, sums)
        while width > 1 {
            let pairs = width / 2
            let rest = width % 2
            let next = pairs + rest
            let (source, target, sourceWidth) = (from, to, width)
            adder.add(
                rows: count, columns: pairs,
                { row, column in
                    let first = row * sourceWidth + column * 2
                    return (source[first], source[first + 1])
                },
                { row, column, sum in target[row * next + column] = sum })
            if rest == 1 {
                for row in 0..<count { target[row * next + pairs] = source[row * sourceWidth + sourceWidth - 1] }
            }
            swap(&from, &to)
            width = next
        }
        return UnsafeBufferPointer(start: from, count: count)
    }
}
