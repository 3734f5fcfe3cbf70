/// An unsigned number of 256 bits in four limbs, the least first.
struct Limbs: Equatable {
    var l0: UInt64
    var l1: UInt64
    var l2: UInt64
    var l3: UInt64

    @inline(__always) init(_ l0: UInt64, _ l1: UInt64, _ l2: UInt64, _ l3: UInt64) {
        self.l0 = l0
        self.l1 = l1
        self.l2 = l2
        self.l3 = l3
    }

    /// 32 bytes, big-endian, at any address.
    @inline(__always) init(bigEndian bytes: UnsafeRawPointer) {
        func limb(_ offset: Int) -> UInt64 {
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        self.init(limb(24), limb(16), limb(8), limb(0))
    }

    static let zero = Limbs(0, 0, 0, 0)

    @inline(__always) var isZero: Bool { l0 | l1 | l2 | l3 == 0 }

    @inline(__always) static func < (a: Limbs, b: Limbs) -> Bool { a.subtracting(b).borrow == 1 }

    /// The difference modulo 2²⁵⁶, and 1 where it is negative.
    @inline(__always) func subtracting(_ b: Limbs) -> (difference: Limbs, borrow: UInt64) {
        var borrow: UInt64 = 0
        let d0 = Limbs.subtract(l0, b.l0, &borrow)
        let d1 = Limbs.subtract(l1, b.l1, &borrow)
        let d2 = Limbs.subtract(l2, b.l2, &borrow)
        let d3 = Limbs.subtract(l3, b.l3, &borrow)
        return (Limbs(d0, d1, d2, d3), borrow)
    }

    /// The sum modulo 2²⁵⁶, and 1 where it is larger.
    @inline(__always) func adding(_ b: Limbs) -> (sum: Limbs, carry: UInt64) {
        var carry: UInt64 = 0
        let s0 = Limbs.add(l0, b.l0, &carry)
        let s1 = Limbs.add(l1, b.l1, &carry)
        let s2 = Limbs.add(l2, b.l2, &carry)
        let s3 = Limbs.add(l3, b.l3, &carry)
        return (Limbs(s0, s1, s2, s3), carry)
    }

    /// This number less `modulus` where, with `carry` as its 257th bit, it is not below it. Without a branch, which
    /// would be taken at random.
    @inline(__always) func reduced(by modulus: Limbs, carry: UInt64) -> Limbs {
        let (difference, borrow) = subtracting(modulus)
        // Kept where the subtraction borrowed and there was no 257th bit to borrow from.
        let keep = 0 &- (borrow & ~carry)
        return Limbs(
            l0 & keep | difference.l0 & ~keep, l1 & keep | difference.l1 & ~keep,
            l2 & keep | difference.l2 & ~keep, l3 & keep | difference.l3 & ~keep)
    }

    /// 0 < `count` < 64.
    @inline(__always) func shifted(right count: UInt64) -> Limbs {
        Limbs(
            l0 >> count | l1 << (64 - count), l1 >> count | l2 << (64 - count), l2 >> count | l3 << (64 - count),
            l3 >> count)
    }

    @inline(__always) func masked(by mask: UInt64) -> Limbs { Limbs(l0 & mask, l1 & mask, l2 & mask, l3 & mask) }

    @inline(__always) static func add(_ a: UInt64, _ b: UInt64, _ carry: inout UInt64) -> UInt64 {
        let sum = UInt128(a) &+ UInt128(b) &+ UInt128(carry)
        carry = UInt64(truncatingIfNeeded: sum >> 64)
        return UInt64(truncatingIfNeeded: sum)
    }

    @inline(__always) static func subtract(_ a: UInt64, _ b: UInt64, _ borrow: inout UInt64) -> UInt64 {
        let difference = UInt128(a) &- UInt128(b) &- UInt128(borrow)
        borrow = UInt64(truncatingIfNeeded: difference >> 64) & 1
        return UInt64(truncatingIfNeeded: difference)
    }

    /// The low limb of a·b + c + carry, which always fits two; the high one is the next carry.
    @inline(__always) static func multiply(
        _ a: UInt64, _ b: UInt64, plus c: UInt64, _ carry: inout UInt64
    ) -> UInt64 {
        let sum = UInt128(a) &* UInt128(b) &+ UInt128(c) &+ UInt128(carry)
        carry = UInt64(truncatingIfNeeded: sum >> 64)
        return UInt64(truncatingIfNeeded: sum)
    }
}
