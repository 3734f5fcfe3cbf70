/// The multiples of one point that a product with any scalar is put together from: k·2¹²ⁱ·P for each of the 22 digits
/// i that a scalar has to the base of 2¹², with k = 1 … 2¹¹ (and their opposites). 2.9 MB: larger digits make fewer
/// additions, until the points no longer come from the cache.
///
/// `@unchecked Sendable`: nothing is changed after it was made.
final class PointMultiples: @unchecked Sendable {
    private static let digitBits = 12
    /// Enough for 256 bits and what is carried out of them.
    static let digits = 22
    private static let largestDigit = 1 << (digitBits - 1)
    /// A point fills a line of the cache.
    private static let alignment = 64

    private let points: UnsafeMutablePointer<CurvePoint>

    static let ofGenerator = PointMultiples(.generator)

    /// Takes some ten milliseconds.
    init(_ point: CurvePoint) {
        let (digits, largest) = (PointMultiples.digits, PointMultiples.largestDigit)
        let count = digits * largest
        points = UnsafeMutableRawPointer.allocate(
            byteCount: count * MemoryLayout<CurvePoint>.stride, alignment: PointMultiples.alignment
        ).initializeMemory(as: CurvePoint.self, repeating: .infinity, count: count)
        let points = points
        let adder = PointAdder(pairsMax: digits)
        var power = point
        for digit in 0..<digits {
            points[digit * largest] = power
            guard digit < digits - 1 else { break }
            for _ in 0..<PointMultiples.digitBits {
                adder.add(rows: 1, columns: 1, { _, _ in (power, power) }, { power = $2 })
            }
        }
        for multiple in 1..<largest {
            adder.add(
                rows: digits, columns: 1, { row, _ in (points[row * largest + multiple - 1], points[row * largest]) },
                { row, _, sum in points[row * largest + multiple] = sum })
        }
    }

    deinit { UnsafeMutableRawPointer(points).deallocate() }

    /// Puts the points whose sum is `scalar` times the point to `terms`, one for each digit.
    @inline(__always) func collect(_ scalar: Limbs, into terms: UnsafeMutablePointer<CurvePoint>) {
        let mask = UInt64(1) << UInt64(PointMultiples.digitBits) - 1
        var rest = scalar
        var carry: Int = 0
        for digit in 0..<PointMultiples.digits {
            var value = Int(truncatingIfNeeded: rest.l0 & mask) + carry
            rest = rest.shifted(right: UInt64(PointMultiples.digitBits))
            // Digits are −2047 … 2048.
            carry = value > PointMultiples.largestDigit ? 1 : 0
            value -= carry << PointMultiples.digitBits
            let row = points + digit * PointMultiples.largestDigit
            if value == 0 {
                terms[digit] = .infinity
            } else if value > 0 {
                terms[digit] = row[value - 1]
            } else {
                terms[digit] = row[-value - 1].negated
            }
        }
    }
}
