import COpenSSL
import Foundation
import LedgerTestKit
import Testing

@testable import AppStore

extension SignatureClaim {
    /// The same claim without its key's table.
    init(plain claim: SignatureClaim) {
        self.init(key: claim.key, digest: claim.digest, signature: claim.signature)
    }
}

/// The table against OpenSSL's own verification: on what is good, on what is nearly good, and at the edges.
@Suite(.enabled(if: SignatureTable.isWorthwhile)) struct SignatureTableTests {
    /// n, the order of P-256's group (FIPS 186-4 §D.1.2.3), big-endian.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6,
        0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    private static func plus(_ number: [UInt8], _ delta: Int) -> [UInt8] {
        var result = number
        var carry = delta
        for index in result.indices.reversed() where carry != 0 {
            let sum = Int(result[index]) + carry
            result[index] = UInt8(truncatingIfNeeded: sum)
            carry = sum >> 8
        }
        return result
    }

    /// n − number.
    private static func negated(_ number: ArraySlice<UInt8>) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: 32)
        var borrow = 0
        for (index, byte) in number.enumerated().reversed() {
            let difference = Int(order[index]) - Int(byte) - borrow
            result[index] = UInt8(truncatingIfNeeded: difference)
            borrow = difference < 0 ? 1 : 0
        }
        return result
    }

    private func digest(_ random: inout SplitMix64) -> [UInt8] {
        (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    /// A million once with `LEDGER_SIGNATURES=1000000`.
    @Test func theTableAgreesWithOpenSSLOnRandomSignatures() throws {
        let count = Int(ProcessInfo.processInfo.environment["LEDGER_SIGNATURES"] ?? "") ?? 4_000
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        var good = 0, left = count
        while left > 0 {
            let key = try Key.generate(.p256)
            let table = try #require(SignatureTable(key))
            let ofThisKey = min(left, 1_000)
            left -= ofThisKey
            var done = 0
            while done < ofThisKey {
                let size = min(Int.random(in: 1...70, using: &random), ofThisKey - done)
                done += size
                let claims = try (0..<size).map { _ -> SignatureClaim in
                    let digest = digest(&random)
                    var signature = try key.signES256(digest: digest)
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0:
                        signature[Int.random(in: 0..<64, using: &random)] ^= 1 << Int.random(in: 0..<8, using: &random)
                    case 1: signature.replaceSubrange(32..., with: Self.negated(signature[32...]))
                    case 2: signature.removeLast(Int.random(in: 0...1, using: &random))
                    default: break
                    }
                    return SignatureClaim(key: key, table: table, digest: digest, signature: signature)
                }
                let plain = claims.map { SignatureCheck.isGood(SignatureClaim(plain: $0)) }
                #expect(table.accepts(claims) == plain)
                #expect(SignatureCheck.verify(claims, doubtfulMax: .max) == plain)
                good += plain.count { $0 }
            }
        }
        #expect(good > count / 2)
    }

    @Test func othersAreGivenWayAgainAndAgain() throws {
        let key = try Key.generate(.p256)
        let digest = [UInt8](repeating: 7, count: 32)
        let plain = SignatureClaim(key: key, digest: digest, signature: try key.signES256(digest: digest))
        var times = 0
        _ = SignatureCheck.verify(Array(repeating: plain, count: 5), doubtfulMax: .max) { times += 1 }
        #expect(times == 5, "behind each that OpenSSL judges")
        let byTable = SignatureClaim(
            key: key, table: try #require(SignatureTable(key)), digest: digest, signature: plain.signature)
        times = 0
        _ = SignatureCheck.verify(Array(repeating: byTable, count: 65), doubtfulMax: .max) { times += 1 }
        #expect(times == 2, "behind each 32 that a table judges")
    }

    @Test func theTableAgreesWithOpenSSLAtTheEdges() throws {
        let key = try Key.generate(.p256)
        let table = try #require(SignatureTable(key))
        let zero = [UInt8](repeating: 0, count: 32)
        let edges = [
            zero, Self.plus(zero, 1), Self.plus(zero, 2), Self.plus(Self.order, -1), Self.order,
            Self.plus(Self.order, 1),
            [UInt8](repeating: 0xFF, count: 32),
        ]
        var claims: [SignatureClaim] = []
        for digest in [zero, Self.order, Self.plus(Self.order, -1), [UInt8](repeating: 0xFF, count: 32)] {
            // A good one among them, for digests that are 0 or n modulo n too (u1 = 0).
            claims.append(
                SignatureClaim(key: key, table: table, digest: digest, signature: try key.signES256(digest: digest)))
            for r in edges {
                for s in edges {
                    claims.append(SignatureClaim(key: key, table: table, digest: digest, signature: r + s))
                }
            }
        }
        let plain = claims.map { SignatureCheck.isGood(SignatureClaim(plain: $0)) }
        #expect(table.accepts(claims) == plain)
        #expect(plain.count { $0 } >= 4)
    }

    /// With Q = G or −G, u1·G and u2·Q can be equal, or each other's opposite.
    @Test(arguments: [1, -1])
    func aKeyThatIsTheGeneratorOrItsOppositeIsNoException(sign: Int) throws {
        let secret = sign == 1 ? Self.plus([UInt8](repeating: 0, count: 32), 1) : Self.plus(Self.order, -1)
        let key = try #require(Self.key(secret: secret))
        let table = try #require(SignatureTable(key))
        var claims: [SignatureClaim] = []
        for last in UInt8(0)..<40 {
            let digest = [UInt8](repeating: 0, count: 31) + [last]
            claims.append(
                SignatureClaim(key: key, table: table, digest: digest, signature: try key.signES256(digest: digest)))
            // e = r makes u1 = u2; e = n − r makes them opposite.
            let r = Array(try key.signES256(digest: digest)[..<32])
            for e in [r, Self.negated(r[...])] {
                claims.append(
                    SignatureClaim(key: key, table: table, digest: e, signature: r + Self.plus(Self.order, -1)))
                claims.append(SignatureClaim(key: key, table: table, digest: e, signature: r + r))
            }
        }
        let plain = claims.map { SignatureCheck.isGood(SignatureClaim(plain: $0)) }
        #expect(table.accepts(claims) == plain)
        #expect(plain.count { $0 } >= 40)
    }

    @Test func anEmptyBatchAndOneOfNothingUsableAreNoProblem() throws {
        let key = try Key.generate(.p256)
        let table = try #require(SignatureTable(key))
        #expect(table.accepts([]) == [])
        #expect(
            table.accepts([SignatureClaim(key: key, digest: [], signature: [UInt8](repeating: 0, count: 64))]) == [
                false
            ])
    }

    @Test func aKeyOnAnotherCurveHasNoTable() throws {
        #expect(SignatureTable(try Key.generate(.p384)) == nil)
    }

    // MARK: For which chains there are tables

    private func chain(_ number: Int, uses: Int) throws -> VerifiedChain {
        let fixture = try Fixture.shared.get()
        let path = try TrustedPath([fixture.chain.leaf, fixture.chain.intermediate, fixture.chain.root])
        let chain = VerifiedChain(header: JWSHeader(segment: Array("header \(number)".utf8)), path: path)
        use(chain, uses)
        return chain
    }

    private func use(_ chain: VerifiedChain, _ count: Int) { chain.signatureCount.add(count, ordering: .relaxed) }

    @Test func aTableIsMadeForAChainThatIsUsedAndStillRemembered() throws {
        let enough = AppStoreLimits.signaturesPerTableMin
        var cache = ChainCache()
        let first = try chain(0, uses: enough - 1)
        cache.insert(first)
        #expect(cache.beginTable() == nil)
        use(first, 1)
        #expect(cache.beginTable() === first)
        // One at a time.
        let second = try chain(1, uses: 10 * enough)
        cache.insert(second)
        #expect(cache.beginTable() == nil)
        // While it was made others pushed the first out.
        for number in 0..<AppStoreLimits.chainsCachedMax - 1 { cache.insert(try chain(10 + number, uses: 0)) }
        let table = SignatureTable(first.path.leafKey)
        cache.endTable(table, for: first)
        #expect(first.table == nil)
        // Counting begins anew with each table.
        #expect(cache.beginTable() == nil)
        use(second, enough)
        #expect(cache.beginTable() === second)
        cache.endTable(table, for: second)
        #expect(second.table === table)
        // What is pushed out gives up its own.
        for number in 0..<AppStoreLimits.chainsCachedMax { cache.insert(try chain(100 + number, uses: 0)) }
        #expect(second.table == nil)
    }

    @Test func tablesAreBoundedAndTheChainUsedLeastGivesUpItsOwn() throws {
        let enough = AppStoreLimits.signaturesPerTableMin
        let most = AppStoreLimits.signatureTablesMax
        var cache = ChainCache()
        let chains = try (0...most).map { try chain($0, uses: 0) }
        for chain in chains { cache.insert(chain) }
        let table = SignatureTable(chains[0].path.leafKey)
        for chain in chains.prefix(most) {
            use(chain, enough)
            #expect(cache.beginTable() === chain)
            cache.endTable(table, for: chain)
        }
        // Where all others are used as much, nobody gives up anything.
        for chain in chains { use(chain, enough) }
        #expect(cache.beginTable() == nil)
        for (number, chain) in chains.enumerated() { use(chain, number == 1 ? 0 : 1) }
        #expect(cache.beginTable() === chains[most])
        cache.endTable(table, for: chains[most])
        #expect(chains.map { $0.table != nil } == (0...most).map { $0 != 1 })
    }

    /// A key with a known secret, as SEC 1 DER: `30 … 02 01 01 04 20 secret a0 0a 06 08 prime256v1 a1 44 03 42 00
    /// point`.
    private static func key(secret: [UInt8]) -> Key? {
        guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        defer { EC_GROUP_free(group) }
        guard let point = EC_POINT_new(group), let number = BN_bin2bn(secret, 32, nil) else { return nil }
        defer {
            EC_POINT_free(point)
            BN_free(number)
        }
        var encoded = [UInt8](repeating: 0, count: 65)
        guard EC_POINT_mul(group, point, number, nil, nil, nil) == 1,
            EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &encoded, 65, nil) == 65
        else { return nil }
        let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        let body = [0x02, 0x01, 0x01, 0x04, 0x20] + secret + curve + [0xA1, 0x44, 0x03, 0x42, 0x00] + encoded
        let der = [0x30, UInt8(body.count)] + body
        return der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return d2i_PrivateKey(EVP_PKEY_EC, nil, &next, bytes.count).map { Key(owning: $0) }
        }
    }
}
