/// A point by Jacobian coordinates: x = X/Z², y = Y/Z³. Points are added to it without an inversion.
struct ProjectivePoint {
    private(set) var x: FieldElement
    private(set) var y: FieldElement
    private(set) var z: FieldElement

    init(_ point: CurvePoint) {
        x = point.x
        y = point.y
        z = .one
    }

    /// Adds a point that is not infinity (eleven products). False, and nothing is added, where it is this point or its
    /// opposite: then the rule does not hold.
    mutating func add(_ point: CurvePoint) -> Bool {
        let zz = z.squared
        let h = point.x * zz - x
        if h.isZero { return false }
        let r = point.y * (zz * z) - y
        let hh = h.squared
        let hhh = h * hh
        let v = x * hh
        let sumX = r.squared - hhh - v - v
        y = r * (v - sumX) - y * hhh
        x = sumX
        z = z * h
        return true
    }

    /// Whether x, as a number, is `r` modulo n: without an inversion, for r and, where it is below p, r + n.
    func hasX(_ r: Limbs) -> Bool {
        let zz = z.squared
        if FieldElement(r) * zz == x { return true }
        let (second, carry) = r.adding(Scalar.modulus)
        return carry == 0 && second < FieldElement.modulus && FieldElement(second) * zz == x
    }
}
