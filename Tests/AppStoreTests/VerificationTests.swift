import Foundation
import StrictJSON
import Testing

@testable import AppStore

/// Each reason, by what causes it and nothing else.
@Suite struct VerificationTests {
    let fixture: Fixture
    init() throws { fixture = try Fixture.shared.get() }

    private func refusal(_ jws: [UInt8], _ verifier: Verifier? = nil) -> VerificationFailure? {
        do throws(VerificationFailure) {
            _ = try (verifier ?? fixture.verifier).verify(transaction: jws, now: Fixture.now)
            return nil
        } catch {
            return error
        }
    }

    private func reason(_ jws: [UInt8], _ verifier: Verifier? = nil) -> VerificationFailure.Reason? {
        refusal(jws, verifier)?.reason
    }

    private func reason(json: String) throws -> VerificationFailure.Reason? {
        reason(try fixture.chain.jws(payload: Array(json.utf8)))
    }

    private var payload: [UInt8] { fixture.transaction().json() }
    private var header: [UInt8] {
        SandboxChain.header(
            algorithm: "ES256", certificates: [fixture.chain.leaf, fixture.chain.intermediate, fixture.chain.root])
    }

    private func withHeader(_ change: (String) -> String) throws -> VerificationFailure.Reason? {
        let text = change(String(decoding: header, as: UTF8.self))
        return reason(try fixture.chain.jws(payload: payload, header: Array(text.utf8)))
    }

    @Test func textsThatAreNoJWSAreMalformed() throws {
        let jws = String(decoding: try fixture.chain.jws(payload: payload), as: UTF8.self)
        let parts = jws.split(separator: ".").map(String.init)
        let signature = parts[2]
        #expect(reason(Array(jws.utf8)) == nil)
        // The last of 86 characters carries two bits that count and four that must be zero.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let lastCharacter = try #require(signature.last)
        let last = try #require(alphabet.firstIndex(of: lastCharacter))
        let wrong: [String] = [
            "", ".", "..", "...", "x", parts[0], "\(parts[0]).\(parts[1])", "\(jws).", "\(jws).\(signature)",
            ".\(parts[1]).\(signature)",
            "\(parts[0])..\(signature)", "\(parts[0]).\(parts[1]).", "\(jws)=", "\(jws)==",
            "\(parts[0]).\(parts[1])=.\(signature)",
            "\(jws)\n", " \(jws)", "\(parts[0]).\(parts[1]).\(signature.dropFirst(1))+\(signature.prefix(1))",
            "\(parts[0]).\(parts[1]).\(signature.dropFirst())/",
            "\(parts[0]).\(parts[1]).\(signature.dropLast())\(alphabet[last + 1])",
            "\(parts[0]).\(parts[1]).\(signature.dropLast())", "\(parts[0])=.\(parts[1]).\(signature)", "é.é.é",
            "a.a.a",
            "\(parts[0]).\(String(repeating: "A", count: AppStoreLimits.jwsBytesMax)).\(signature)",
            "\(String(repeating: "A", count: AppStoreLimits.headerBytesMax + 4)).AAAA.\(signature)",
        ]
        for text in wrong where text != "\(parts[0]).\(parts[1]).\(signature.dropLast())" {
            #expect(reason(Array(text.utf8)) == .malformed, "\(text.suffix(40))")
        }
    }

    @Test func headersThatAreNotAsTheStandardAsksAreMalformed() throws {
        for header in [
            "", "{", "[]", "\"ES256\"", "null", "{}", "{\"x5c\":[]}", "{\"alg\":1}", "{\"alg\":null}",
            "{\"alg\":\"ES256\"}x",
            "{\"alg\":\"ES256\",\"alg\":\"ES256\"}", "{\"alg\":\"ES256\",\"\\u0061lg\":\"ES256\"}",
            String(repeating: "[", count: 1_000), "{\"alg\":\"ES256\",\"a\":\(String(repeating: "[", count: 1_000))",
            "{\"alg\":\"ES256\",\"crit\":[\"exp\"],\"exp\":1}", "{\"alg\":\"ES256\",\"crit\":null}",
            "\u{feff}{\"alg\":\"ES256\"}",
        ] where !header.isEmpty {
            #expect(
                reason(try fixture.chain.jws(payload: payload, header: Array(header.utf8))) == .malformed, "\(header)")
        }
        #expect(reason(try fixture.chain.jws(payload: payload, header: [0xFF, 0xFE])) == .malformed)
        #expect(try withHeader { $0.replacingOccurrences(of: "\"x5c\"", with: "\"crit\":[],\"x5c\"") } == .malformed)
        #expect(
            try withHeader { $0.replacingOccurrences(of: "\"x5c\"", with: "\"x\":1,\"x\":1,\"x5c\"") } == .malformed)
    }

    @Test func unknownHeaderMembersAndEscapesAreFine() throws {
        #expect(
            try withHeader { $0.replacingOccurrences(of: "\"x5c\"", with: "\"kid\":\"k\",\"typ\":\"JWT\",\"x5c\"") }
                == nil)
        #expect(try withHeader { $0.replacingOccurrences(of: "/", with: "\\/") } == nil)
    }

    @Test(arguments: ["none", "HS256", "ES384", "ES512", "RS256", "PS256", "EdDSA", "es256", "", "ES256 ", "ES256K"])
    func onlyES256IsSupported(_ algorithm: String) throws {
        #expect(
            try withHeader { $0.replacingOccurrences(of: "\"ES256\"", with: "\"\(algorithm)\"") }
                == .unsupportedAlgorithm)
    }

    @Test func chainsOfAnotherShapeAreRefused() throws {
        let chain = fixture.chain
        let (leaf, intermediate, root) = (chain.leaf, chain.intermediate, chain.root)
        let wrong: [[Certificate]] = [
            [], [leaf], [leaf, intermediate], [leaf, intermediate, root, root], [intermediate, leaf, root],
            [leaf, root, intermediate], [root, root, root], [intermediate, intermediate, root],
            Array(repeating: leaf, count: 9),
        ]
        for certificates in wrong {
            #expect(reason(try chain.jws(payload: payload, certificates: certificates)) == .invalidCertificateChain)
        }
        // Of three that name no anchor nothing else is looked at.
        for certificates in [[root, intermediate, leaf], [leaf, leaf, leaf], [leaf, intermediate, leaf]] {
            #expect(reason(try chain.jws(payload: payload, certificates: certificates)) == .untrustedRoot)
        }
        for x5c in ["[\"\",\"\",\"\"]", "[\"AAAA\",\"AAAA\",\"AAAA\"]"] {
            let header = Array("{\"alg\":\"ES256\",\"x5c\":\(x5c)}".utf8)
            #expect(reason(try chain.jws(payload: payload, header: header)) == .untrustedRoot, "\(x5c)")
        }
        for x5c in ["1", "null", "{}", "\"\"", "[1,2,3]", "[\"*\"]", "[[],[],[]]"] {
            let header = Array("{\"alg\":\"ES256\",\"x5c\":\(x5c)}".utf8)
            #expect(reason(try chain.jws(payload: payload, header: header)) == .invalidCertificateChain, "\(x5c)")
        }
        #expect(
            reason(try chain.jws(payload: payload, header: Array("{\"alg\":\"ES256\"}".utf8)))
                == .invalidCertificateChain)
        // base64url where the standard asks for base64, and a length that padding would have to fill up.
        for start in ["\"M-I", "\"AMII", "\"MI I", "\"=MII"] {
            #expect(try withHeader { $0.replacingOccurrences(of: "\"MII", with: start) } == .invalidCertificateChain)
        }
    }

    @Test func marksAndAuthorityAreChecked() throws {
        let changes: [(inout SandboxChain.Options) -> Void] = [
            { $0.leafIsMarked = false }, { $0.intermediateIsMarked = false }, { $0.leafIsAuthority = true },
            { $0.intermediateIsAuthority = false },
        ]
        for change in changes {
            var options = SandboxChain.Options(validity: Fixture.validity)
            change(&options)
            let chain = try SandboxChain(options)
            let verifier = Verifier(app: fixture.app, anchors: [chain.root])
            #expect(reason(try chain.jws(payload: payload), verifier) == .invalidCertificateChain)
        }
        var options = SandboxChain.Options(validity: Fixture.validity)
        options.leafIsOnP384 = true
        let chain = try SandboxChain(options)
        let jws = try fixture.chain.jws(payload: payload, certificates: [chain.leaf, chain.intermediate, chain.root])
        #expect(reason(jws, Verifier(app: fixture.app, anchors: [chain.root])) == .invalidCertificateChain)
    }

    @Test func certificatesOfAnotherChainDoNotFit() throws {
        let other = try SandboxChain(SandboxChain.Options(validity: Fixture.validity))
        let verifier = Verifier(app: fixture.app, anchors: [fixture.chain.root, other.root])
        let mixes = [
            [other.leaf, fixture.chain.intermediate, fixture.chain.root],
            [fixture.chain.leaf, other.intermediate, other.root],
            [fixture.chain.leaf, fixture.chain.intermediate, other.root],
        ]
        for mix in mixes {
            #expect(
                reason(try fixture.chain.jws(payload: payload, certificates: mix), verifier) == .invalidCertificateChain
            )
        }
    }

    @Test func aBrokenCertificateIsRefusedWhereverItIsBroken() throws {
        let chain = fixture.chain
        let originals = [chain.leaf.der, chain.intermediate.der, chain.root.der]
        for (index, der) in originals.enumerated() {
            for position in stride(from: 0, to: der.count, by: 11) {
                var ders = originals
                ders[index][position] ^= 0x04
                var list: [String] = []
                for der in ders {
                    var text: [UInt8] = []
                    der.withUnsafeBufferPointer { Base64.encodeStandard($0, into: &text) }
                    list.append("\"\(String(decoding: text, as: UTF8.self))\"")
                }
                let header = "{\"alg\":\"ES256\",\"x5c\":[\(list.joined(separator: ","))]}"
                let found = reason(try chain.jws(payload: payload, header: Array(header.utf8)))
                if index == 2 {
                    // The anchor itself is the configured one: a copy whose own signature is broken changes nothing,
                    // if its key and name stand.
                    #expect(found == .invalidCertificateChain || found == .untrustedRoot || found == nil, "\(position)")
                } else {
                    #expect(found == .invalidCertificateChain, "\(index) at \(position)")
                }
            }
        }
    }

    @Test func onlyConfiguredRootsAreTrusted() throws {
        let jws = try fixture.chain.jws(payload: payload)
        let other = try SandboxChain(SandboxChain.Options(validity: Fixture.validity))
        #expect(reason(jws, Verifier(app: fixture.app)) == .untrustedRoot)
        // Of the same names, with another key.
        #expect(reason(jws, Verifier(app: fixture.app, anchors: [other.root])) == .untrustedRoot)
        #expect(reason(jws, Verifier(app: fixture.app, anchors: [other.root, fixture.chain.root])) == nil)
    }

    @Test func validityIsJudgedAtSignedDate() throws {
        let day = Fixture.day, now = Fixture.now
        func check(_ change: (inout SandboxChain.Options) -> Void, signed: Int64) throws -> VerificationFailure.Reason?
        {
            var options = SandboxChain.Options(validity: Fixture.validity)
            change(&options)
            let chain = try SandboxChain(options)
            let jws = try chain.jws(payload: fixture.transaction { $0.signedDate = signed }.json())
            return reason(jws, Verifier(app: fixture.app, anchors: [chain.root]))
        }
        let past = (now - 20 * day)...(now - 10 * day)
        for change in [
            { $0.leafValidity = past }, { $0.intermediateValidity = past }, { $0.rootValidity = past },
        ] as [(inout SandboxChain.Options) -> Void] {
            #expect(try check(change, signed: now) == .certificateExpired)
            #expect(try check(change, signed: now - 20 * day - 1) == .certificateExpired)
            #expect(try check(change, signed: now - 20 * day) == nil)
            #expect(try check(change, signed: now - 10 * day + 999) == nil)
            #expect(try check(change, signed: now - 10 * day + 1_000) == .certificateExpired)
        }
        // Never valid together.
        #expect(
            try check({ ($0.leafValidity, $0.rootValidity) = (past, (now - day)...now) }, signed: now)
                == .certificateExpired)
    }

    @Test func earlierReasonsComeFirst() throws {
        // Signed by nobody, and outside the certificates' validity: that is said first, where signedDate can be read.
        var options = SandboxChain.Options(validity: Fixture.validity)
        options.leafValidity = (Fixture.now - 20 * Fixture.day)...(Fixture.now - 10 * Fixture.day)
        let chain = try SandboxChain(options)
        let verifier = Verifier(app: fixture.app, anchors: [chain.root])
        let list = [chain.leaf, chain.intermediate, chain.root]
        let date = "\"signedDate\":\(Fixture.now)"
        func reason(_ json: String) throws -> VerificationFailure.Reason? {
            self.reason(try fixture.chain.jws(payload: Array(json.utf8), certificates: list), verifier)
        }
        #expect(try reason("{\(date)}") == .certificateExpired)
        #expect(try reason("{\(date),\"signedDate\":1}") == .certificateExpired)
        #expect(try reason("{\"signedDate\":\"x\"}") == .invalidSignature)
        #expect(try reason("no json") == .invalidSignature)
        // Truly signed: several things wrong, in the documented order.
        let jws = { (change: (inout TransactionPayload) -> Void) in
            try fixture.chain.jws(payload: fixture.transaction(change).json())
        }
        #expect(
            self.reason(try jws { ($0.quantity, $0.bundleID, $0.environment) = (0, "x", .production) })
                == .invalidPayload)
        #expect(
            self.reason(try jws { ($0.bundleID, $0.environment, $0.type) = ("x", .production, .nonConsumable) })
                == .wrongApp)
        #expect(self.reason(try jws { ($0.environment, $0.type) = (.production, .nonConsumable) }) == .wrongEnvironment)
        #expect(self.reason(try jws { $0.type = .nonConsumable }) == nil)
        #expect(self.reason(try jws { $0.type = .init(rawValue: "New Type") }) == nil)
    }

    @Test func signaturesOfAnotherLengthOrKeyAreInvalid() throws {
        let jws = try fixture.chain.jws(payload: payload)
        let text = String(decoding: jws, as: UTF8.self)
        let lastDot = try #require(text.lastIndex(of: "."))
        let input = text[..<lastDot]
        func signed(_ signature: [UInt8]) -> [UInt8] {
            var encoded: [UInt8] = []
            signature.withUnsafeBufferPointer { Base64.encodeURL($0, into: &encoded) }
            return Array(input.utf8) + [UInt8(ascii: ".")] + encoded
        }
        let good = try fixture.verifier.verify(transaction: jws, now: Fixture.now).evidence.signature
        #expect(reason(signed(good)) == nil)
        for wrong in [
            [0], Array(good.dropLast()), good + [0], [0] + good, ECDSASignature.der(fromRaw: good),
            [UInt8](repeating: 0, count: 64),
            [UInt8](repeating: 0xFF, count: 64), Array(good[32...]) + Array(good[..<32]),
            Array(good[..<32]) + [UInt8](repeating: 0, count: 32),
        ] {
            #expect(reason(signed(wrong)) == .invalidSignature)
        }
        let other = try SandboxChain(SandboxChain.Options(validity: Fixture.validity))
        let forged = try other.jws(
            payload: payload, certificates: [fixture.chain.leaf, fixture.chain.intermediate, fixture.chain.root])
        #expect(reason(forged) == .invalidSignature)
    }

    /// n − s signs what s signs (FIPS 186-5): Apple's signer does not normalise.
    @Test func bothFormsOfASignatureAreLegal() throws {
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA, 0xAD,
            0xA7, 0x17,
            0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]
        let verified = try fixture.verifier.verify(transaction: fixture.chain.jws(payload: payload), now: Fixture.now)
        var other = verified.evidence.signature
        var borrow = 0
        for i in (0..<32).reversed() {
            let difference = Int(order[i]) - Int(other[32 + i]) - borrow
            borrow = difference < 0 ? 1 : 0
            other[32 + i] = UInt8(difference & 0xFF)
        }
        let evidence = Evidence(header: verified.evidence.header, payload: verified.evidence.payload, signature: other)
        #expect(reason(evidence.jws) == nil)
    }

    @Test(
        arguments: [
            ("transactionId", nil), ("transactionId", "1"), ("transactionId", "\"\""), ("transactionId", "\"01\""),
            ("transactionId", "\"-1\""), ("transactionId", "\"1a\""), ("transactionId", "\"9223372036854775808\""),
            ("transactionId", "\"00000000000000000001\""), ("transactionId", "null"), ("bundleId", nil),
            ("bundleId", "1"),
            ("bundleId", "\"\""), ("productId", nil), ("productId", "[]"), ("purchaseDate", nil),
            ("purchaseDate", "\"1\""),
            ("type", nil), ("type", "1"), ("signedDate", nil), ("signedDate", "true"), ("environment", nil),
            ("environment", "{}"),
            ("price", "-1"), ("price", "9007199254740992"), ("purchaseDate", "-1"),
            ("purchaseDate", "9007199254740992"),
            ("quantity", "0"), ("quantity", "11"), ("quantity", "-1"), ("quantity", "1.5"), ("quantity", "\"1\""),
            ("revocationPercentage", "-1"), ("revocationPercentage", "100001"), ("revocationPercentage", "1e3"),
            ("price", "\"1\""), ("appAccountToken", "1"), ("isUpgraded", "1"), ("notificationType", "\"TEST\""),
        ] as [(String, String?)])
    func aMemberThatBreaksTheRulesIsNamed(_ member: String, _ value: String?) throws {
        let failure = try #require(refusal(try fixture.chain.jws(payload: fixture.json(member, value))))
        #expect(failure.reason == .invalidPayload)
        #expect(failure.message.hasPrefix(member), "\(failure.message)")
    }

    @Test func identifiersAreBounded() throws {
        let most = AppStoreLimits.identifierBytesMax
        func reason(_ length: Int) throws -> VerificationFailure.Reason? {
            let product = String(repeating: "p", count: length)
            return self.reason(try fixture.chain.jws(payload: fixture.transaction { $0.productID = product }.json()))
        }
        #expect(try reason(most) == nil)
        #expect(try reason(most + 1) == .invalidPayload)
    }

    @Test func lengthIsBounded() throws {
        // Members that are not known make a JWS longer, up to the limit.
        func reason(_ bytes: Int) throws -> VerificationFailure.Reason? {
            let filled = try fixture.json("other", "\"\(String(repeating: "x", count: bytes))\"")
            return self.reason(try fixture.chain.jws(payload: filled))
        }
        #expect(try reason(AppStoreLimits.jwsBytesMax / 2) == nil)
        #expect(try reason(AppStoreLimits.jwsBytesMax * 3 / 4) == .malformed)
    }

    @Test func payloadsThatAreNoObjectAreInvalid() throws {
        let good = String(decoding: payload, as: UTF8.self)
        for json in [
            "{", "[]", "null", "1", "x", "\(good)x", "\u{feff}\(good)", "{\"transactionId\":\"1\",\(good.dropFirst())",
        ] {
            #expect(try reason(json: json) == .invalidPayload, "\(json.prefix(40))")
        }
        #expect(try reason(json: good) == nil)
    }

    @Test func xcodesWaysAreUnderstood() throws {
        func read(_ member: String, _ value: String?) throws -> TransactionPayload {
            try fixture.verifier.verify(
                transaction: fixture.chain.jws(payload: fixture.json(member, value)), now: Fixture.now
            ).payload
        }
        #expect(try read("transactionId", "\"0\"").transactionID == "0")
        #expect(try read("transactionId", "\"9223372036854775807\"").transactionID == "9223372036854775807")
        #expect(try read("purchaseDate", "1700358336049.7297").purchaseDate == 1_700_358_336_049)
        #expect(try read("quantity", nil).quantity == 1)
        #expect(try read("appAccountToken", "\"\"").appAccountToken == nil)
        #expect(try read("appAccountToken", "null").appAccountToken == nil)
        #expect(
            try read("appAccountToken", "\"7E3FB20B-4CDB-4CC1-8EA3-D1F8B2A0C9E7\"").appAccountToken
                == "7e3fb20b-4cdb-4cc1-8ea3-d1f8b2a0c9e7")
        // Where it is no UUID its letters may tell two apart.
        for text in ["7E3FB20B-4CDB", "Player", "7E3FB20B-4CDB-4CC1-8EA3-D1F8B2A0C9EG", "\u{212A}"] {
            let token = try read("appAccountToken", "\"\(text)\"").appAccountToken
            #expect(token.map { Array($0.utf8) } == Array(text.utf8))
        }
        #expect(try read("deviceVerification", "\"abc\"").storefront == nil)
        #expect(try read("revocationType", "\"NEW\"").revocationType?.rawValue == "NEW")
    }

    @Test func revocationIsAsApplePutsIt() {
        func revoked(date: Int64?, share: Int64?) -> Int64 {
            fixture.transaction { ($0.revocationDate, $0.revocationPercentage) = (date, share) }.revoked
        }
        #expect(revoked(date: nil, share: nil) == 0)
        #expect(revoked(date: nil, share: 5) == 0)
        #expect(revoked(date: 1, share: nil) == 100_000)
        #expect(revoked(date: 1, share: 0) == 0)
        #expect(revoked(date: 1, share: 67_932) == 67_932)
    }

    @Test func aSignedDateInTheFutureIsRefused() throws {
        func reason(_ ahead: Int64) throws -> VerificationFailure.Reason? {
            self.reason(
                try fixture.chain.jws(payload: fixture.transaction { $0.signedDate = Fixture.now + ahead }.json()))
        }
        #expect(try reason(300_000) == nil)
        #expect(try reason(300_001) == .invalidPayload)
    }
}
