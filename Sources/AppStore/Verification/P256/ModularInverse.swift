/// A modulus below 2²⁵⁶, odd, for ``Limbs/inverse(modulo:)``.
struct InversionModulus {
    fileprivate let digits: Signed62
    /// 1/m modulo 2⁶².
    fileprivate let inverse: UInt64

    init(_ modulus: Limbs) {
        digits = Signed62(modulus)
        // Newton's iteration: each step doubles the bits that are right, from the three of an odd number itself.
        var inverse = modulus.l0
        for _ in 0..<5 { inverse = inverse &* (2 &- modulus.l0 &* inverse) }
        self.inverse = inverse & Signed62.mask
    }
}

extension Limbs {
    /// 1/x modulo m, of a number below m; 0 for 0.
    ///
    /// Bernstein and Yang's division steps (https://gcd.cr.yp.to/safegcd-20190413.pdf) on f and g, which begin as m and
    /// x: 62 steps at a time are taken on the lowest 62 bits alone. They say by which matrix f and g are to be
    /// multiplied, and with them the d and e that keep f = d·x and g = e·x modulo m. In the end g is 0 and f is 1
    /// or −1, so d or −d is 1/x. The steps take the time that their numbers need: everything is public.
    func inverse(modulo modulus: InversionModulus) -> Limbs {
        var f = modulus.digits
        var g = Signed62(self)
        var d = Signed62.zero
        var e = Signed62.one
        // The paper's delta with the other sign.
        var eta: Int64 = -1
        while !g.isZero {
            let steps = DivisionSteps(&eta, f.v0, g.v0)
            steps.apply(to: &d, &e, modulo: modulus)
            steps.apply(to: &f, &g)
        }
        return d.reduced(by: modulus.digits, negated: f.v4 < 0)
    }
}

/// A signed number to the base of 2⁶²: the lower digits are 0 … 2⁶² − 1, the highest has the sign.
private struct Signed62 {
    static let mask = UInt64(1) << 62 - 1
    static let zero = Signed62(0, 0, 0, 0, 0)
    static let one = Signed62(1, 0, 0, 0, 0)

    var v0: Int64
    var v1: Int64
    var v2: Int64
    var v3: Int64
    var v4: Int64

    @inline(__always) init(_ v0: Int64, _ v1: Int64, _ v2: Int64, _ v3: Int64, _ v4: Int64) {
        (self.v0, self.v1, self.v2, self.v3, self.v4) = (v0, v1, v2, v3, v4)
    }

    init(_ number: Limbs) {
        func digit(_ bits: UInt64) -> Int64 { Int64(bits & Signed62.mask) }
        self.init(
            digit(number.l0), digit(number.l0 >> 62 | number.l1 << 2), digit(number.l1 >> 60 | number.l2 << 4),
            digit(number.l2 >> 58 | number.l3 << 6), digit(number.l3 >> 56))
    }

    @inline(__always) var isZero: Bool { v0 | v1 | v2 | v3 | v4 == 0 }

    /// This number, which is within −2m … m, or its opposite, modulo m.
    func reduced(by modulus: Signed62, negated: Bool) -> Limbs {
        var number = self
        number.addIfNegative(modulus)
        if negated { number = Signed62(-number.v0, -number.v1, -number.v2, -number.v3, -number.v4) }
        number.carry()
        number.addIfNegative(modulus)
        number.carry()
        let (v0, v1, v2) = (UInt64(number.v0), UInt64(number.v1), UInt64(number.v2))
        let (v3, v4) = (UInt64(number.v3), UInt64(number.v4))
        return Limbs(v0 | v1 << 62, v1 >> 2 | v2 << 60, v2 >> 4 | v3 << 58, v3 >> 6 | v4 << 56)
    }

    private mutating func addIfNegative(_ modulus: Signed62) {
        if v4 >= 0 { return }
        v0 += modulus.v0
        v1 += modulus.v1
        v2 += modulus.v2
        v3 += modulus.v3
        v4 += modulus.v4
    }

    /// Brings the lower digits within 0 … 2⁶² − 1 again.
    private mutating func carry() {
        let mask = Int64(Signed62.mask)
        v1 += v0 >> 62
        v0 &= mask
        v2 += v1 >> 62
        v1 &= mask
        v3 += v2 >> 62
        v2 &= mask
        v4 += v3 >> 62
        v3 &= mask
    }
}

/// 62 division steps as one matrix: f and g become (u·f + v·g) / 2⁶² and (q·f + r·g) / 2⁶².
private struct DivisionSteps {
    private var u: Int64 = 1
    private var v: Int64 = 0
    private var q: Int64 = 0
    private var r: Int64 = 1

    /// - Parameters:
    ///   - f: its lowest digit, odd.
    ///   - g: its lowest digit.
    @inline(__always) init(_ eta: inout Int64, _ f: Int64, _ g: Int64) {
        var f = UInt64(bitPattern: f)
        var g = UInt64(bitPattern: g)
        var left: Int64 = 62
        while true {
            // Where g is even it is halved, which doubles the upper row.
            let zeros = Int64((g | UInt64.max << UInt64(left)).trailingZeroBitCount)
            g >>= UInt64(zeros)
            u <<= zeros
            v <<= zeros
            eta -= zeros
            left -= zeros
            if left == 0 { return }
            if eta < 0 {
                eta = -eta
                (f, g) = (g, 0 &- f)
                (u, q) = (q, 0 &- u)
                (v, r) = (r, 0 &- v)
            }
            // Steps that exchange nothing add a multiple of f to g that makes g's lowest bits 0: six of them are taken
            // at once. For odd f, f·(f² − 2) is −1/f modulo 64.
            let count = min(min(eta + 1, left), 6)
            let bits = UInt64(1) << UInt64(count) - 1
            let multiple = Int64(bitPattern: f &* g &* (f &* f &- 2) & bits)
            g = g &+ f &* UInt64(bitPattern: multiple)
            q = q &+ u &* multiple
            r = r &+ v &* multiple
        }
    }

    @inline(__always) func apply(to f: inout Signed62, _ g: inout Signed62) {
        var first = sum(u, f.v0, v, g.v0) >> 62
        var second = sum(q, f.v0, r, g.v0) >> 62
        @inline(__always) func step(_ ownF: Int64, _ ownG: Int64, _ newF: inout Int64, _ newG: inout Int64) {
            first = first &+ sum(u, ownF, v, ownG)
            second = second &+ sum(q, ownF, r, ownG)
            newF = digit(&first)
            newG = digit(&second)
        }
        step(f.v1, g.v1, &f.v0, &g.v0)
        step(f.v2, g.v2, &f.v1, &g.v1)
        step(f.v3, g.v3, &f.v2, &g.v2)
        step(f.v4, g.v4, &f.v3, &g.v3)
        f.v4 = Int64(truncatingIfNeeded: first)
        g.v4 = Int64(truncatingIfNeeded: second)
    }

    /// The same of d and e modulo m, which stay within −2m … m: such a multiple of m is added that the lowest
    /// 62 bits are 0 and can be taken away.
    @inline(__always) func apply(to d: inout Signed62, _ e: inout Signed62, modulo modulus: InversionModulus) {
        let m = modulus.digits
        let (signD, signE) = (d.v4 >> 63, e.v4 >> 63)
        var first = sum(u, d.v0, v, e.v0)
        var second = sum(q, d.v0, r, e.v0)
        let multipleD = multiple((u & signD) &+ (v & signE), first, modulus.inverse)
        let multipleE = multiple((q & signD) &+ (r & signE), second, modulus.inverse)
        first = (first &+ product(m.v0, multipleD)) >> 62
        second = (second &+ product(m.v0, multipleE)) >> 62
        @inline(__always) func step(
            _ ownD: Int64, _ ownE: Int64, _ own: Int64, _ newD: inout Int64, _ newE: inout Int64
        ) {
            first = first &+ sum(u, ownD, v, ownE) &+ product(own, multipleD)
            second = second &+ sum(q, ownD, r, ownE) &+ product(own, multipleE)
            newD = digit(&first)
            newE = digit(&second)
        }
        step(d.v1, e.v1, m.v1, &d.v0, &e.v0)
        step(d.v2, e.v2, m.v2, &d.v1, &e.v1)
        step(d.v3, e.v3, m.v3, &d.v2, &e.v2)
        step(d.v4, e.v4, m.v4, &d.v3, &e.v3)
        d.v4 = Int64(truncatingIfNeeded: first)
        e.v4 = Int64(truncatingIfNeeded: second)
    }

    /// By which multiple of m, near `start`, a sum has 62 zeros below.
    @inline(__always) private func multiple(_ start: Int64, _ sum: Int128, _ inverse: UInt64) -> Int64 {
        let low = UInt64(truncatingIfNeeded: sum)
        return start &- Int64(bitPattern: (inverse &* low &+ UInt64(bitPattern: start)) & Signed62.mask)
    }

    @inline(__always) private func product(_ a: Int64, _ b: Int64) -> Int128 { Int128(a) &* Int128(b) }

    @inline(__always) private func sum(_ a: Int64, _ b: Int64, _ c: Int64, _ d: Int64) -> Int128 {
        product(a, b) &+ product(c, d)
    }

    /// Takes the lowest digit off.
    @inline(__always) private func digit(_ sum: inout Int128) -> Int64 {
        let digit = Int64(truncatingIfNeeded: sum) & Int64(Signed62.mask)
        sum >>= 62
        return digit
    }
}
