import AppStore
import Foundation
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// Certificates that anybody may write, by the hundred and over sockets, while honest purchases come.
    @Suite struct Storms {
        /// What is dear about them, or would be.
        private enum Kind: String, CaseIterable {
            /// Whoever signed the intermediate has a key of RSA with a long exponent.
            case longExponents
            /// The same, with one of DSA that is nearly the largest that OpenSSL takes.
            case largeDSA
            /// They lead to a root that nobody trusts.
            case unknownRoots
            /// They name the anchor, and nobody has seen them: each costs the check of a signature.
            case newUnderTheAnchor

            var detail: String {
                self == .newUnderTheAnchor ? "invalid_certificate_chain" : "untrusted_root"
            }

            var account: String { "storm-\(rawValue)" }
        }

        /// How many of each kind.
        private static let count = 512

        private static let chain: Result<SandboxChain, any Error> = Result {
            let day: Int64 = 86_400_000
            return try SandboxChain(notBefore: SandboxApp.date - day, notAfter: SandboxApp.date + day)
        }

        private static func purchase(_ number: Int) -> TransactionPayload {
            TransactionPayload(
                transactionID: "\(number)", bundleID: "com.example.game", productID: "com.example.game.gems500",
                purchaseDate: SandboxApp.date - 1_000, signedDate: SandboxApp.date, environment: .sandbox)
        }

        /// Of each kind as many as are wanted, no two the same.
        private static func certificates(_ kind: Kind, _ number: Int, _ chain: SandboxChain) -> [[UInt8]] {
            var leaf = ForgedCertificate("Leaf", by: "Middle", key: ForgedCertificate.generator, .leaf)
            var middle = ForgedCertificate("Middle", by: "Root", key: ForgedCertificate.generator, .intermediate)
            var root = ForgedCertificate("Root", by: "Root", key: ForgedCertificate.generator, .authority)
            leaf.serial = UInt32(number + 1)
            var signature = ForgedCertificate.noSignature
            switch kind {
            case .newUnderTheAnchor:
                // Never what it was: that is no forgery.
                var der = chain.intermediate.der
                der[der.count - 2] ^= UInt8((number + 1) >> 8)
                der[der.count - 1] ^= UInt8((number + 1) & 0xFF)
                return [chain.leaf.der, der, chain.root.der]
            case .unknownRoots: break
            case .longExponents:
                root.publicKey = ForgedCertificate.slowRSAKey
                middle.algorithm = .rsa384
                signature = ForgedCertificate.odd(384).map { $0 >> 1 }
            case .largeDSA:
                root.publicKey = ForgedCertificate.slowDSAKey
                middle.algorithm = .dsa256
            }
            return [
                leaf.der(signature: ForgedCertificate.noSignature), middle.der(signature: signature),
                root.der(signature: ForgedCertificate.noSignature),
            ]
        }

        private static func forged(_ kind: Kind, _ number: Int, _ chain: SandboxChain) throws -> String {
            let list = certificates(kind, number, chain).map { "\"\(Data($0).base64EncodedString())\"" }
            let header = #"{"alg":"ES256","x5c":[\#(list.joined(separator: ","))]}"#
            let jws = try chain.jws(payload: purchase(1_000_000 + number).json(), header: Array(header.utf8))
            return String(decoding: jws, as: UTF8.self)
        }

        /// In the order in which the ledger posts: what an honest client was credited while a storm was being judged.
        @Test func honestPurchasesAreCreditedWhileAThousandForgedOnesAreStillToBeJudged() async throws {
            let chain = try Self.chain.get()
            let app = App(bundleID: "com.example.game", environment: .sandbox)
            try await TestServer.run(
                verifier: Verifier(app: app, anchors: [chain.root]),
                // However slow the machine is, the storm is judged to its end.
                engineLimits: { $0.waitMillisecondsMax = 3_600_000 }
            ) { server in
                var credited = 0
                let honest = try await server.connect()
                /// One more purchase, and what the storm that costs most has been granted by then.
                func creditOne() async throws -> Int? {
                    credited += 1
                    let replies = try await honest.ask([
                        Requests.credit(try chain.sign(Self.purchase(credited)), account: "honest"),
                        Requests.balance(Kind.newUnderTheAnchor.account),
                    ])
                    #expect(replies[0].result["outcome"].string == "credited", "\(replies[0])")
                    return replies[1].result["balances"]["gems"]["available"].int
                }
                // From here on its certificates are known.
                _ = try await creditOne()

                // Each storm stands between two grants: the second is carried out when all of it is judged.
                var storms: [(kind: Kind, client: RawClient)] = []
                for kind in Kind.allCases {
                    let lines =
                        [Requests.grant("first-\(kind)", kind.account, 1)]
                        + (try (0..<Self.count).map { Requests.credit(try Self.forged(kind, $0, chain), account: "x") })
                        + [Requests.grant("last-\(kind)", kind.account, 1)]
                    let client = try await server.connect()
                    try await client.send(lines.map { $0 + "\n" }.joined())
                    storms.append((kind, client))
                }
                var creditedMeanwhile = 0
                while true {
                    let granted = try await creditOne()
                    if granted == 1 { creditedMeanwhile += 1 }
                    if granted == 2 { break }
                    try #require(credited < 100_000)
                }
                print("\(creditedMeanwhile) purchases were credited while the storm was being judged")
                #expect(creditedMeanwhile >= 16)

                for (kind, client) in storms {
                    let replies = try await client.lines(Self.count + 2).map { try JSON($0) }
                    #expect(replies[0].reason == nil && replies[Self.count + 1].reason == nil)
                    for reply in replies[1...Self.count] {
                        #expect(reply["error"]["data"]["detail"].string == kind.detail, "\(kind): \(reply)")
                    }
                }
                let balances = try await honest.ask([Requests.balance("honest"), Requests.balance("x")])
                #expect(balances[0].result["balances"]["gems"]["available"].int == 500 * credited)
                #expect(balances[1].result["balances"].count == 0, "nothing of a storm was credited")
            }
        }
    }
}
