import LedgerTestKit
import LedgerWire
import Testing

@testable import AppStore
@testable import LineServer

/// Signatures whose sums meet what the usual formula of an addition cannot do: a point twice, two opposite ones, the
/// point at infinity. Each has a denominator of 0 there, and a batch has one inversion for all of its denominators.
extension ServerTests {
    @Suite(.enabled(if: SignatureTable.isWorthwhile)) struct ExceptionalSums {
        /// Where an addition in the tree meets an exception: at which level, by which rule.
        private struct Exception: Hashable {
            let level: Int
            let rule: SumRule
        }

        /// A sum u₁G + u₂Q, and the exception that it was made for.
        private struct Sum {
            let name: String
            let u1: Limbs
            let u2: Limbs
            let exception: Exception

            init(_ name: String, _ u1: Limbs, _ u2: Limbs, level: Int, _ rule: SumRule) {
                (self.name, self.u1, self.u2) = (name, u1, u2)
                exception = Exception(level: level, rule: rule)
            }
        }

        /// Keys by which terms of Q are terms of G, or the opposite ones, so that sums of both can be made to meet in
        /// any addition of the tree that has some of each.
        enum Secret: String, CaseIterable {
            case one
            case minusOne
            /// Q's two lowest digits are G's two highest ones: the second level's addition in the middle.
            case power240
            /// The third level's.
            case power192
            /// The fourth level's.
            case power168

            var number: Limbs {
                switch self {
                case .one: Modular.one
                case .minusOne: Modular.negated(Modular.one)
                case .power240: Modular.power(240)
                case .power192: Modular.power(192)
                case .power168: Modular.power(168)
                }
            }
        }

        private static func sums(_ secret: Secret, _ random: inout SplitMix64) -> [Sum] {
            func number(_ bits: Int) -> Limbs { Modular.random(bits: bits, &random) }
            func shifted(_ number: Limbs, _ bits: Int) -> Limbs { Modular.product(number, Modular.power(bits)) }
            let d = secret.number
            var sums: [Sum] = []
            // What holds for every key: the last addition is that of u₁G and Q's ten lowest digits to all others.
            let (high, low) = (number(110), number(118))
            let u2 = Modular.sum(shifted(high, 120), low)
            sums.append(
                Sum(
                    "the last addition doubles", Modular.product(d, Modular.difference(shifted(high, 120), low)), u2,
                    level: 6, .tangent))
            sums.append(
                Sum("u₁G = −u₂Q", Modular.negated(Modular.product(d, u2)), u2, level: 6, .infinity))
            sums.append(Sum("digits that are 0", Modular.one, Modular.power(12), level: 1, .first))
            sums.append(Sum("digits that are 0, from below", Modular.power(132), Modular.power(12), level: 1, .second))
            switch secret {
            case .one:
                let same = number(118)
                sums.append(Sum("u₁G = u₂Q", same, same, level: 5, .tangent))
            case .minusOne:
                let same = number(118)
                sums.append(Sum("u₁G = −u₂Q in the fifth level", same, same, level: 5, .infinity))
            case .power240:
                let top = number(15)
                let (u1, rest) = (Modular.sum(shifted(top, 240), number(238)), shifted(number(220), 24))
                sums.append(Sum("doubling", u1, Modular.sum(rest, top), level: 2, .tangent))
                sums.append(Sum("opposite points", u1, Modular.difference(rest, top), level: 2, .infinity))
            case .power192:
                let middle = number(22)
                let (u1, rest) = (Modular.sum(shifted(middle, 192), number(190)), shifted(number(220), 24))
                sums.append(Sum("doubling", u1, Modular.sum(rest, middle), level: 3, .tangent))
                sums.append(Sum("opposite points", u1, Modular.difference(rest, middle), level: 3, .infinity))
            case .power168:
                let middle = number(58)
                let (u1, rest) = (Modular.sum(shifted(middle, 192), number(190)), shifted(number(120), 120))
                let own = shifted(middle, 24)
                sums.append(Sum("doubling", u1, Modular.sum(rest, own), level: 4, .tangent))
                sums.append(Sum("opposite points", u1, Modular.difference(rest, own), level: 4, .infinity))
            }
            return sums
        }

        private static func exceptions(_ rules: [[SumRule]]) -> [Exception: Int] {
            var counts: [Exception: Int] = [:]
            for (index, level) in rules.enumerated() {
                for rule in level where rule != .chord {
                    counts[Exception(level: index + 1, rule: rule), default: 0] += 1
                }
            }
            return counts
        }

        private static func key(_ secret: Secret) throws -> ChosenKey {
            let day: Int64 = 86_400_000
            return try ChosenKey(secret: secret.number, validity: SandboxApp.date - day...SandboxApp.date + day)
        }

        /// The table itself, whose refusals OpenSSL would correct unnoticed: it accepts every good signature whose sum
        /// meets an exception, no other, and all honest ones beside them.
        @Test(arguments: Secret.allCases)
        func theTableAcceptsWhatOpenSSLAcceptsThroughEveryException(secret: Secret) throws {
            let seed = Seed.drawn()
            var random = SplitMix64(seed: seed)
            let chosen = try Self.key(secret)
            let table = try #require(SignatureTable(chosen.key))
            var claims: [SignatureClaim] = []
            var seen: [Exception: Int] = [:]
            func add(_ digest: [UInt8], _ signature: [UInt8]) {
                claims.append(SignatureClaim(key: chosen.key, table: table, digest: digest, signature: signature))
                seen.merge(Self.exceptions(chosen.rules(digest, signature))) { $0 + $1 }
            }
            func honest(_ count: Int) throws {
                for _ in 0..<count {
                    let digest = Modular.random(bits: 255, &random).bytes
                    add(digest, try chosen.key.signES256(digest: digest))
                }
            }
            for _ in 0..<8 {
                for sum in Self.sums(secret, &random) {
                    try honest(Int.random(in: 0...7, using: &random))
                    let digest = Modular.random(bits: 255, &random).bytes
                    let forged = ChosenKey.forged(digest, sum.u1, sum.u2)
                    #expect(
                        Self.exceptions(chosen.rules(digest, forged))[sum.exception] != nil, "\(sum.name) is one")
                    add(digest, forged)
                    if sum.exception == Exception(level: 6, rule: .infinity) { continue }
                    if secret == .minusOne, sum.exception == Exception(level: 5, rule: .infinity) { continue }
                    let (made, signature) = chosen.good(sum.u1, sum.u2)
                    #expect(chosen.isGood(made, signature), "\(sum.name)")
                    add(made, signature)
                }
            }
            let plain = claims.map { chosen.isGood($0.digest, $0.signature) }
            #expect(table.accepts(claims) == plain)
            print("\(secret): \(claims.count) signatures, \(plain.count { $0 }) good; \(Self.words(seen))")
        }

        private static func words(_ seen: [Exception: Int]) -> String {
            seen.sorted { ($0.key.level, $0.key.rule.rawValue) < ($1.key.level, $1.key.rule.rawValue) }
                .map { "level \($0.key.level) \($0.key.rule): \($0.value)" }.joined(separator: ", ")
        }

        // MARK: Through the service

        /// One purchase as it is sent.
        private struct Credit {
            let jws: String
            let digest: [UInt8]
            let signature: [UInt8]
            let isGood: Bool
        }

        /// Purchases in the order of their numbers, each signed as the test wants it.
        private struct Maker {
            let chosen: ChosenKey
            let app: App
            var number: Int64 = 0

            mutating func input() -> [UInt8] {
                number += 1
                return input(number)
            }

            func input(_ number: Int64) -> [UInt8] {
                let payload = TransactionPayload(
                    transactionID: String(number), bundleID: app.bundleID, productID: "com.example.game.gems500",
                    purchaseDate: SandboxApp.date - 1_000, signedDate: SandboxApp.date, environment: .sandbox)
                return chosen.signingInput(payload.json())
            }

            mutating func credit(_ sign: ([UInt8]) throws -> [UInt8]) rethrows -> Credit {
                let input = self.input()
                let digest = SHA256.hash(input)
                let signature = try sign(digest)
                return credit(input, digest, signature)
            }

            func credit(_ input: [UInt8], _ digest: [UInt8], _ signature: [UInt8]) -> Credit {
                Credit(
                    jws: ChosenKey.jws(input, signature), digest: digest, signature: signature,
                    isGood: chosen.isGood(digest, signature))
            }

            mutating func honest() throws -> Credit {
                let key = chosen.key
                return try credit { try key.signES256(digest: $0) }
            }
        }

        /// r and s where arithmetic modulo n begins and ends, so that the inverse that a batch shares would be that of
        /// 0.
        private static let edges: [[UInt8]] = {
            let n = Scalar.modulus
            return [
                Limbs.zero, Modular.one, n.subtracting(Modular.one).difference, n, n.adding(Modular.one).sum,
                Limbs(.max, .max, .max, .max),
            ].map(\.bytes)
        }()

        /// A batch is verified together, and shares its inversions.
        private static let batch = 64

        @Test(arguments: Secret.allCases)
        func whoseSumsMeetExceptionsIsJudgedAsOpenSSLJudgesAndOnlyTheHonestAreCredited(secret: Secret) async throws {
            let seed = Seed.drawn()
            var random = SplitMix64(seed: seed)
            let chosen = try Self.key(secret)
            let app = App(bundleID: "com.example.game", environment: .sandbox)
            let verifier = Verifier(app: app, anchors: [chosen.root])
            try await TestServer.run(verifier: verifier) { server in
                var maker = Maker(chosen: chosen, app: app)
                var counts: [Exception: Int] = [:]
                var (sent, good) = (0, 0)
                let client = try await server.connect()
                /// Sends them as one batch, and compares what is answered with what OpenSSL says.
                func send(_ credits: [Credit]) async throws {
                    let members = credits.enumerated().map { index, credit in
                        Requests.credit(credit.jws, account: "a", id: "\(index)")
                    }
                    let replies = try #require(
                        try await client.ask("[\(members.joined(separator: ","))]").array)
                    #expect(replies.count == credits.count)
                    for (credit, reply) in zip(credits, replies) {
                        let detail = reply["error"]["data"]["detail"].string
                        #expect((reply.result["outcome"].string == "credited") == credit.isGood, "\(reply)")
                        #expect((detail == "invalid_signature") == !credit.isGood, "\(reply)")
                        sent += 1
                        if credit.isGood { good += 1 }
                    }
                }
                /// Puts some among as many honest ones as a batch has room for.
                func sendAmongHonestOnes(_ special: [Credit]) async throws {
                    var credits = try (special.count..<Self.batch).map { _ in try maker.honest() }
                    for credit in special {
                        credits.insert(credit, at: Int.random(in: 0...credits.count, using: &random))
                        counts.merge(Self.exceptions(chosen.rules(credit.digest, credit.signature))) { $0 + $1 }
                    }
                    try await send(credits)
                }

                // From here on the key has its table.
                for _ in 0...AppStoreLimits.signaturesPerTableMin / Self.batch { try await sendAmongHonestOnes([]) }
                #expect(try await eventually { verifier.preparedChainCount == 1 })

                // One that was forged among 63 honest ones, then all kinds of them at once.
                var all: [Credit] = []
                for sum in Self.sums(secret, &random) {
                    let one = maker.credit { ChosenKey.forged($0, sum.u1, sum.u2) }
                    let met = Self.exceptions(chosen.rules(one.digest, one.signature))
                    #expect(!one.isGood && met[sum.exception] != nil, "\(sum.name)")
                    try await sendAmongHonestOnes([one])
                    all.append(maker.credit { ChosenKey.forged($0, sum.u1, sum.u2) })
                }
                try await sendAmongHonestOnes(all)
                for r in Self.edges {
                    let credits = Self.edges.map { s in maker.credit { _ in r + s } }
                    #expect(credits.allSatisfy { !$0.isGood })
                    try await sendAmongHonestOnes(credits)
                }
                if secret == .power240 {
                    let found = Self.goodOnesThatMeet(&maker, &random)
                    for (credit, rule) in found {
                        #expect(credit.isGood)
                        #expect(
                            Self.exceptions(chosen.rules(credit.digest, credit.signature))[
                                Exception(level: 2, rule: rule)] != nil)
                        try await sendAmongHonestOnes([credit])
                    }
                }
                // Nothing else was credited, and of the honest nobody was left out.
                let balance = try await client.ask(Requests.balance("a"))
                #expect(balance.result["balances"]["gems"]["available"].int == 500 * good)
                let reader = try await server.connect()
                let trial = try await reader.ask(Requests.report("trial"))
                let purchased = trial.result["rows"].array?.first {
                    $0["account"].string == "purchased" && $0["currency"].string == "gems"
                }
                #expect(purchased?["debits"].int == 500 * good)
                print("\(secret): \(sent) sent, \(good) good; \(Self.words(counts))")
            }
        }

        /// Good signatures over purchases as they are, by whose digests nobody chooses u₁ and u₂: one that doubles
        /// in the second level, and one that has opposite points there. One signature in 2^24 does each, so they are
        /// looked for among purchases, nonces, and both signs of s.
        private static func goodOnesThatMeet(
            _ maker: inout Maker, _ random: inout SplitMix64
        ) -> [(Credit, SumRule)] {
            let chosen = maker.chosen
            let nonces = (0..<1_024).map { _ in Modular.random(bits: 255, &random) }
            let remainders = nonces.map { chosen.remainder(ofNonce: $0) }
            let known = zip(remainders, nonces).map { r, nonce in
                (r: r, rd: Modular.product(r, chosen.secret), k: Scalar(nonce))
            }
            var found: [SumRule: Credit] = [:]
            var products = [Scalar](repeating: Scalar(Modular.one), count: known.count)
            var sums = products
            while found.count < 2 {
                let input = maker.input()
                let digest = SHA256.hash(input)
                let e = ChosenKey.number(ofDigest: digest)
                // 1/s = k / (e + r·d), for all nonces with one inversion.
                var product = Scalar(Modular.one)
                for index in known.indices {
                    sums[index] = Scalar(Modular.sum(e, known[index].rd))
                    products[index] = product
                    product = product * sums[index]
                }
                var inverse = product.inverse
                for index in known.indices.reversed() {
                    let w = inverse * products[index] * known[index].k
                    inverse = inverse * sums[index]
                    let (u1, u2) = (w.times(e), w.times(known[index].r))
                    for isNegated in [false, true] {
                        let (a, b) = isNegated ? (Modular.negated(u1), Modular.negated(u2)) : (u1, u2)
                        guard let rule = meeting(a, b), found[rule] == nil else { continue }
                        var signature = chosen.good(digest, nonce: nonces[index])
                        if isNegated { signature[32...] = Modular.negated(Limbs(signature[32...])).bytes[...] }
                        let met = exceptions(chosen.rules(digest, signature))
                        if met[Exception(level: 2, rule: rule)] == nil { continue }
                        found[rule] = maker.credit(input, digest, signature)
                    }
                    // A purchase is sent once.
                    if found.values.contains(where: { $0.digest == digest }) { break }
                }
            }
            return found.map { ($0.value, $0.key) }
        }

        /// How G's two highest digits and Q's two lowest ones meet, where they are of the same points: equal, or
        /// opposite. (Nearly always: a digit that is exactly in the middle is carried otherwise.)
        @inline(__always) private static func meeting(_ u1: Limbs, _ u2: Limbs) -> SumRule? {
            let (top, low) = (u1.l3 >> 48 + u1.l3 >> 47 & 1, u2.l0 & 0xFF_FFFF)
            if top == 0 { return nil }
            if low == top { return .tangent }
            return low + top == 0x100_0000 ? .infinity : nil
        }
    }
}
