/// A point of P-256 (SP 800-186 §3.2.1.3: y² = x³ − 3x + b) by its coordinates.
struct CurvePoint: Equatable {
    var x: FieldElement
    var y: FieldElement

    /// The point at infinity. (0, 0) is not on the curve and stands for it.
    static let infinity = CurvePoint(x: .zero, y: .zero)
    static let generator = CurvePoint(
        x: FieldElement(
            Limbs(0xF4A1_3945_D898_C296, 0x7703_7D81_2DEB_33A0, 0xF8BC_E6E5_63A4_40F2, 0x6B17_D1F2_E12C_4247)),
        y: FieldElement(
            Limbs(0xCBB6_4068_37BF_51F5, 0x2BCE_3357_6B31_5ECE, 0x8EE7_EB4A_7C0F_9E16, 0x4FE3_42E2_FE1A_7F9B)))

    @inline(__always) var isInfinity: Bool { x.isZero && y.isZero }
    @inline(__always) var negated: CurvePoint { CurvePoint(x: x, y: .zero - y) }

    /// What the sum of two points is divided by, and by which rule it is made (SP 800-186 A.1.1).
    @inline(__always) static func sum(_ a: CurvePoint, _ b: CurvePoint) -> (rule: SumRule, denominator: FieldElement) {
        if a.isInfinity { return (.second, .one) }
        if b.isInfinity { return (.first, .one) }
        let difference = b.x - a.x
        if !difference.isZero { return (.chord, difference) }
        // No point of P-256 has y = 0: its order is an odd prime.
        return a.y == b.y ? (.tangent, a.y + a.y) : (.infinity, .one)
    }

    /// The sum, with the inverse of its denominator.
    @inline(__always) static func sum(
        _ a: CurvePoint, _ b: CurvePoint, _ rule: SumRule, inverse: FieldElement
    ) -> CurvePoint {
        let slope: FieldElement
        switch rule {
        case .first: return a
        case .second: return b
        case .infinity: return .infinity
        case .chord: slope = (b.y - a.y) * inverse
        case .tangent:
            // 3x² − 3 = 3(x² − 1)
            let square = a.x.squared - .one
            slope = (square + square + square) * inverse
        }
        let x = slope.squared - a.x - b.x
        return CurvePoint(x: x, y: slope * (a.x - x) - a.y)
    }
}

/// How two points are added.
enum SumRule: UInt8 {
    /// The second is infinity.
    case first
    /// The first is infinity.
    case second
    /// Opposite points.
    case infinity
    /// Different points.
    case chord
    /// The same point twice.
    case tangent
}

/// Adds many pairs of points with one inversion for all of them (Montgomery's trick: three products for each inverse).
/// Six products an addition, where the usual mixed addition takes eleven.
final class PointAdder {
    private let pairsMax: Int
    private let denominators: UnsafeMutablePointer<FieldElement>
    private let products: UnsafeMutablePointer<FieldElement>
    private let rules: UnsafeMutablePointer<SumRule>

    init(pairsMax: Int) {
        self.pairsMax = pairsMax
        denominators = .allocate(capacity: pairsMax)
        products = .allocate(capacity: pairsMax)
        rules = .allocate(capacity: pairsMax)
    }

    deinit {
        denominators.deallocate()
        products.deallocate()
        rules.deallocate()
    }

    /// For each row and column puts the sum of `pair(row, column)` to `put(row, column, …)`. Pairs are asked for
    /// twice.
    @inline(__always) func add(
        rows: Int, columns: Int, _ pair: (Int, Int) -> (CurvePoint, CurvePoint),
        _ put: (Int, Int, CurvePoint) -> Void
    ) {
        precondition(rows * columns <= pairsMax, "more pairs than there is room for")
        var product = FieldElement.one
        var place = 0
        for row in 0..<rows {
            for column in 0..<columns {
                let (a, b) = pair(row, column)
                let (rule, denominator) = CurvePoint.sum(a, b)
                (rules + place).initialize(to: rule)
                (denominators + place).initialize(to: denominator)
                (products + place).initialize(to: product)
                product = product * denominator
                place += 1
            }
        }
        var inverse = product.inverse
        for row in (0..<rows).reversed() {
            for column in (0..<columns).reversed() {
                place -= 1
                let (a, b) = pair(row, column)
                let own = inverse * products[place]
                inverse = inverse * denominators[place]
                put(row, column, CurvePoint.sum(a, b, rules[place], inverse: own))
            }
        }
    }
}
