import COpenSSL
import LedgerTestKit
import Testing

@testable import AppStore

/// The curve's arithmetic against OpenSSL's numbers and points.
@Suite(.enabled(if: SignatureTable.isWorthwhile)) struct P256Tests {
    private static func bytes(_ limbs: Limbs) -> [UInt8] {
        [limbs.l3, limbs.l2, limbs.l1, limbs.l0].flatMap { limb in (0..<8).map { UInt8(limb >> (56 - 8 * $0) & 0xFF) } }
    }

    private static func limbs(_ bytes: [UInt8]) -> Limbs { bytes.withUnsafeBytes { Limbs(bigEndian: $0.baseAddress!) } }

    private static func number(_ limbs: Limbs) -> OpaquePointer { BN_bin2bn(bytes(limbs), 32, nil) }

    private static func limbs(_ number: OpaquePointer) -> Limbs {
        var bytes = [UInt8](repeating: 0, count: 32)
        #expect(BN_bn2binpad(number, &bytes, 32) == 32)
        return limbs(bytes)
    }

    /// Where carries and borrows begin and end.
    private static func edges(below modulus: Limbs) -> [Limbs] {
        let words: [UInt64] = [0, 1, 1 << 32, UInt64.max >> 32, UInt64.max - 1, UInt64.max]
        var edges: [Limbs] = []
        for a in words {
            for b in words { edges += [Limbs(a, b, a, b), Limbs(a, a, b, b), Limbs(a, b, b, 0), Limbs(0, 0, a, b)] }
        }
        for distance in UInt64(1)...3 { edges.append(modulus.subtracting(Limbs(distance, 0, 0, 0)).difference) }
        return edges.filter { $0 < modulus }
    }

    private static func numbers(_ modulus: Limbs, _ random: inout SplitMix64) -> [Limbs] {
        edges(below: modulus)
            + (0..<60).map { _ in Limbs(random.next(), random.next(), random.next(), random.next()) }
            .filter { $0 < modulus }
    }

    @Test func theFieldIsOpenSSLsNumbersModuloP() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let numbers = Self.numbers(FieldElement.modulus, &random)
        let context = try #require(BN_CTX_new())
        let p = Self.number(FieldElement.modulus)
        let result = try #require(BN_new())
        defer {
            BN_free(p)
            BN_free(result)
            BN_CTX_free(context)
        }
        for a in numbers {
            let left = Self.number(a)
            defer { BN_free(left) }
            #expect(FieldElement(a).number == a)
            if !a.isZero {
                #expect(BN_mod_inverse(result, left, p, context) != nil)
                #expect(FieldElement(a).inverse.number == Self.limbs(result))
            }
            for b in numbers {
                let right = Self.number(b)
                defer { BN_free(right) }
                #expect(BN_mod_mul(result, left, right, p, context) == 1)
                #expect((FieldElement(a) * FieldElement(b)).number == Self.limbs(result))
                #expect(BN_mod_add(result, left, right, p, context) == 1)
                #expect((FieldElement(a) + FieldElement(b)).number == Self.limbs(result))
                #expect(BN_mod_sub(result, left, right, p, context) == 1)
                #expect((FieldElement(a) - FieldElement(b)).number == Self.limbs(result))
            }
        }
    }

    @Test func theScalarsAreOpenSSLsNumbersModuloN() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let numbers = Self.numbers(Scalar.modulus, &random)
        let context = try #require(BN_CTX_new())
        let n = Self.number(Scalar.modulus)
        let result = try #require(BN_new())
        defer {
            BN_free(n)
            BN_free(result)
            BN_CTX_free(context)
        }
        let one = Limbs(1, 0, 0, 0)
        for a in numbers {
            let left = Self.number(a)
            defer { BN_free(left) }
            #expect(Scalar(a).times(one) == a)
            if !a.isZero {
                #expect(BN_mod_inverse(result, left, n, context) != nil)
                #expect(Scalar(a).inverse.times(one) == Self.limbs(result))
            }
            for b in numbers {
                let right = Self.number(b)
                defer { BN_free(right) }
                #expect(BN_mod_mul(result, left, right, n, context) == 1)
                #expect(Scalar(a).times(b) == Self.limbs(result))
                #expect((Scalar(a) * Scalar(b)).times(one) == Self.limbs(result))
            }
        }
    }

    private static func sum(_ a: CurvePoint, _ b: CurvePoint) -> CurvePoint {
        var result = CurvePoint.infinity
        PointAdder(pairsMax: 1).add(rows: 1, columns: 1, { _, _ in (a, b) }, { result = $2 })
        return result
    }

    /// By the table's own terms.
    private static func product(_ scalar: Limbs, _ multiples: PointMultiples) -> CurvePoint {
        var terms = [CurvePoint](repeating: .infinity, count: PointMultiples.digits)
        terms.withUnsafeMutableBufferPointer { multiples.collect(scalar, into: $0.baseAddress!) }
        return terms.reduce(.infinity, sum)
    }

    @Test func multiplesOfTheGeneratorAreOpenSSLs() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let group = try #require(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1))
        let point = try #require(EC_POINT_new(group))
        defer {
            EC_POINT_free(point)
            EC_GROUP_free(group)
        }
        for scalar in Self.numbers(Scalar.modulus, &random) {
            let number = Self.number(scalar)
            defer { BN_free(number) }
            #expect(EC_POINT_mul(group, point, number, nil, nil, nil) == 1)
            let own = Self.product(scalar, .ofGenerator)
            guard EC_POINT_is_at_infinity(group, point) == 0 else {
                #expect(own.isInfinity)
                continue
            }
            var encoded = [UInt8](repeating: 0, count: 65)
            #expect(EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &encoded, 65, nil) == 65)
            #expect(encoded == [4] + Self.bytes(own.x.number) + Self.bytes(own.y.number))
        }
    }

    @Test func everyPairOfPointsHasASum() {
        let g = CurvePoint.generator
        let two = Self.sum(g, g)
        #expect(Self.sum(.infinity, .infinity) == .infinity)
        #expect(Self.sum(g, .infinity) == g && Self.sum(.infinity, g) == g)
        #expect(Self.sum(g, g.negated) == .infinity)
        #expect(Self.sum(two, g.negated) == g)
        #expect(Self.sum(Self.sum(two, g), g) == Self.sum(two, two))
        // Sums of different kinds in one batch share an inversion.
        let pairs = [(g, g), (g, .infinity), (two, g), (g, g.negated), (.infinity, two), (two, two)]
        var sums = [CurvePoint](repeating: .infinity, count: 6)
        PointAdder(pairsMax: 6).add(
            rows: 3, columns: 2, { pairs[$0 * 2 + $1] }, { row, column, sum in sums[row * 2 + column] = sum })
        #expect(sums == pairs.map { Self.sum($0.0, $0.1) })
    }

    @Test func aNumberTimesItsInverseIsOne() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let one = Limbs(1, 0, 0, 0)
        #expect(FieldElement.zero.inverse == .zero && Scalar(.zero).inverse.times(one).isZero)
        for round in 0..<20_000 {
            var number = Limbs(random.next(), random.next(), random.next(), random.next())
            // Few bits, few limbs, and near the modulus or a power of two: where the steps take other ways.
            switch round % 5 {
            case 0: number = Limbs(number.l0 >> (number.l1 & 63), 0, 0, 0)
            case 1: number = Limbs(0, 0, number.l2, number.l3)
            case 2: number = FieldElement.modulus.subtracting(Limbs(number.l0 & 0xFFFF, 0, 0, 0)).difference
            case 3: number = Limbs(0, 0, 0, 1 << (number.l3 & 63)).subtracting(Limbs(number.l0 & 3, 0, 0, 0)).difference
            default: break
            }
            if number.isZero { continue }
            let element = FieldElement(number.reduced(by: FieldElement.modulus, carry: 0))
            #expect(element.isZero || element * element.inverse == .one, "\(number)")
            let scalar = Scalar(number.reduced(by: Scalar.modulus, carry: 0))
            #expect(scalar.limbs.isZero || (scalar * scalar.inverse).times(one) == one, "\(number)")
        }
    }
}
