/// A number modulo n, the order of P-256's group (SP 800-186 §3.2.1.3), in Montgomery's form.
struct Scalar {
    let limbs: Limbs

    static let modulus = Limbs(
        0xF3B9_CAC2_FC63_2551, 0xBCE6_FAAD_A717_9E84, 0xFFFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_0000_0000)
    /// −1/n modulo 2⁶⁴.
    private static let factor: UInt64 = 0xCCD1_C8AA_EE00_BC4F
    /// 2⁵¹² mod n as it stands: times this, a number goes into the form.
    private static let square = Scalar(
        montgomery: Limbs(0x8324_4C95_BE79_EEA2, 0x4699_799C_49BD_6FA6, 0x2845_B239_2B6B_EC59, 0x66E1_2D94_F3D9_5620))

    private init(montgomery limbs: Limbs) { self.limbs = limbs }

    /// A number below n.
    init(_ number: Limbs) { self = Scalar(montgomery: number) * Scalar.square }

    /// The product with a number below n, as a number below n: leaving the form costs nothing.
    func times(_ number: Limbs) -> Limbs { (self * Scalar(montgomery: number)).limbs }

    static func * (a: Scalar, b: Scalar) -> Scalar {
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
            let m = t0 &* factor
            carry = 0
            _ = Limbs.multiply(m, modulus.l0, plus: t0, &carry)
            t0 = Limbs.multiply(m, modulus.l1, plus: t1, &carry)
            t1 = Limbs.multiply(m, modulus.l2, plus: t2, &carry)
            t2 = Limbs.multiply(m, modulus.l3, plus: t3, &carry)
            var more: UInt64 = 0
            t3 = Limbs.add(t4, carry, &more)
            t4 = top &+ more
        }
        step(a.limbs.l0)
        step(a.limbs.l1)
        step(a.limbs.l2)
        step(a.limbs.l3)
        return Scalar(montgomery: Limbs(t0, t1, t2, t3).reduced(by: modulus, carry: t4))
    }

    private static let inversion = InversionModulus(modulus)

    /// 1/x; 0 for 0.
    var inverse: Scalar {
        // Of x·2²⁵⁶ it is 1/x / 2²⁵⁶, which goes into the form twice.
        Scalar(Scalar(limbs.inverse(modulo: Scalar.inversion)).limbs)
    }
}
