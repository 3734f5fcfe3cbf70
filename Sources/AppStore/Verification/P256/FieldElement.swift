/// An element of the field of P-256, p = 2²⁵⁶ − 2²²⁴ + 2¹⁹² + 2⁹⁶ − 1 (FIPS 186-5, SP 800-186 §3.2.1.3),
/// in Montgomery's form: a number x below p stands for x / 2²⁵⁶. Public data only, so nothing need be done in
/// constant time.
struct FieldElement: Equatable {
    let limbs: Limbs

    static let modulus = Limbs(0xFFFF_FFFF_FFFF_FFFF, 0x0000_0000_FFFF_FFFF, 0, 0xFFFF_FFFF_0000_0001)
    static let zero = FieldElement(montgomery: .zero)
    /// 2²⁵⁶ mod p.
    static let one = FieldElement(
        montgomery: Limbs(1, 0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 0x0000_0000_FFFF_FFFE))
    /// 2⁵¹² mod p as it stands: times this, a number goes into the form.
    private static let square = FieldElement(
        montgomery: Limbs(3, 0xFFFF_FFFB_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFE, 0x0000_0004_FFFF_FFFD))

    @inline(__always) private init(montgomery limbs: Limbs) { self.limbs = limbs }

    /// A number below p.
    init(_ number: Limbs) { self = FieldElement(montgomery: number) * FieldElement.square }

    /// The number that the element stands for, below p.
    var number: Limbs { (self * FieldElement(montgomery: Limbs(1, 0, 0, 0))).limbs }

    @inline(__always) var isZero: Bool { limbs.isZero }

    /// Montgomery's product, reduced limb by limb. As p ≡ −1 modulo 2⁶⁴, the limb that is reduced is itself the
    /// multiple of p that clears it: m·p = m·(2²⁵⁶ − 2²²⁴ + 2¹⁹² + 2⁹⁶) − m.
    @inline(__always) static func * (a: FieldElement, b: FieldElement) -> FieldElement {
        var t0: UInt64 = 0
        var t1: UInt64 = 0
        var t2: UInt64 = 0
        var t3: UInt64 = 0
        var t4: UInt64 = 0
        @inline(__always) func step(_ limb: UInt64) {
            var carry: UInt64 = 0
            t0 = Limbs.multiply(limb, b.limbs.l0, plus: t0, &carry)
            t1 = Limbs.multiply(limb, b.limbs.l1, plus: t1, &carry)
            t2 = Limbs.multiply(limb, b.limbs.l2, plus: t2, &carry)
            t3 = Limbs.multiply(limb, b.limbs.l3, plus: t3, &carry)
            var top: UInt64 = 0
            t4 = Limbs.add(t4, carry, &top)
            let m = t0
            var high: UInt64 = 0
            let low = Limbs.multiply(m, modulus.l3, plus: 0, &high)
            carry = 0
            t0 = Limbs.add(t1, m << 32, &carry)
            t1 = Limbs.add(t2, m >> 32, &carry)
            t2 = Limbs.add(t3, low, &carry)
            t3 = Limbs.add(t4, high, &carry)
            t4 = top &+ carry
        }
        step(a.limbs.l0)
        step(a.limbs.l1)
        step(a.limbs.l2)
        step(a.limbs.l3)
        return FieldElement(montgomery: Limbs(t0, t1, t2, t3).reduced(by: modulus, carry: t4))
    }

    @inline(__always) static func + (a: FieldElement, b: FieldElement) -> FieldElement {
        let (sum, carry) = a.limbs.adding(b.limbs)
        return FieldElement(montgomery: sum.reduced(by: modulus, carry: carry))
    }

    @inline(__always) static func - (a: FieldElement, b: FieldElement) -> FieldElement {
        let (difference, borrow) = a.limbs.subtracting(b.limbs)
        return FieldElement(montgomery: difference.adding(modulus.masked(by: 0 &- borrow)).sum)
    }

    @inline(__always) var squared: FieldElement { self * self }

    private static let inversion = InversionModulus(modulus)

    /// 1/x; 0 for 0.
    var inverse: FieldElement {
        // Of x·2²⁵⁶ it is 1/x / 2²⁵⁶, which goes into the form twice.
        FieldElement(FieldElement(limbs.inverse(modulo: FieldElement.inversion)).limbs)
    }
}
