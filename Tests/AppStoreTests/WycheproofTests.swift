import COpenSSL
import Foundation
import StrictJSON
import Testing

@testable import AppStore

/// Project Wycheproof's cases for ECDSA on P-256 with SHA-256, each with the verdict that its file gives.
@Suite(.enabled(if: Vectors.arePresent)) struct WycheproofTests {
    private struct Signatures: Decodable {
        struct Group: Decodable {
            var publicKeyDer: String
            var tests: [Test]
        }
        struct Test: Decodable {
            var tcId: Int
            var msg: String
            var sig: String
            var result: String
        }
        var numberOfTests: Int
        var testGroups: [Group]
    }

    private struct JWS: Decodable {
        struct Group: Decodable {
            struct Key: Decodable {
                var alg: String?
                var x: String?
                var y: String?
            }
            struct Test: Decodable {
                var tcId: Int
                var jws: String
                var result: String
            }
            var `public`: Key?
            var tests: [Test]
        }
        var testGroups: [Group]
    }

    @Test func everySignatureGetsItsVerdict() throws {
        let file = try Vectors.json("ecdsa_secp256r1_sha256_p1363_test", as: Signatures.self)
        var count = 0, valid = 0
        for group in file.testGroups {
            let key = try key(spki: bytes(hex: group.publicKeyDer))
            let table = SignatureTable.isWorthwhile ? SignatureTable(key) : nil
            let claims = try group.tests.map {
                SignatureClaim(
                    key: key, table: table, digest: SHA256.hash(try bytes(hex: $0.msg)),
                    signature: try bytes(hex: $0.sig))
            }
            let plain = claims.map { SignatureCheck.isGood(SignatureClaim(plain: $0)) }
            #expect((table != nil) == SignatureTable.isWorthwhile)
            // The table misses nothing, or it would be no use.
            if let table { #expect(table.accepts(claims) == plain) }
            let verdicts = SignatureCheck.verify(claims, doubtfulMax: .max)
            for (index, (test, accepted)) in zip(group.tests, verdicts).enumerated() {
                #expect(accepted == (test.result == "valid"), "tcId \(test.tcId)")
                #expect(plain[index] == accepted, "tcId \(test.tcId)")
                count += 1
                valid += accepted == true ? 1 : 0
            }
        }
        #expect(count == 262 && count == file.numberOfTests && valid > 100)
    }

    /// The groups whose key is for ES256; a JWS is good here if it is well formed, says ES256 and its signature is.
    @Test func everyES256JWSGetsItsVerdict() throws {
        let file = try Vectors.json("json_web_signature_test", as: JWS.self)
        var count = 0, valid = 0
        for group in file.testGroups {
            guard let known = group.public, known.alg == "ES256", let x = known.x, let y = known.y else { continue }
            let prefix = try bytes(hex: "3059301306072a8648ce3d020106082a8648ce3d03010703420004")
            let point = [x, y].compactMap { text in Array(text.utf8).withUnsafeBufferPointer { Base64.decodeURL($0) } }
            let key = try key(spki: prefix + point.flatMap { $0 })
            for test in group.tests {
                let accepted = isGood(test.jws, key)
                #expect(accepted == (test.result == "valid"), "tcId \(test.tcId)")
                count += 1
                valid += accepted ? 1 : 0
            }
        }
        print("\(count) JWS cases, \(valid) of them valid")
        #expect(count >= 39 && valid >= 2)
    }

    private func isGood(_ text: String, _ key: Key) -> Bool {
        do throws(VerificationFailure) {
            let jws = try CompactJWS(Array(text.utf8))
            guard try JOSEHeader(try jws.decodedHeader()).algorithm == "ES256" else { return false }
            let header = JWSHeader(segment: Array(jws.text[..<jws.headerEnd]))
            let digest = jws.withRestOfSigningInput { header.signingInputDigest($0) }
            return SignatureCheck.isGood(SignatureClaim(key: key, digest: digest, signature: jws.signature))
        } catch {
            return false
        }
    }

    private func key(spki: [UInt8]) throws -> Key {
        try spki.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return Key(owning: try #require(d2i_PUBKEY(nil, &next, bytes.count)))
        }
    }

    private func bytes(hex: String) throws -> [UInt8] {
        let digits = Array(hex.utf8)
        return try stride(from: 0, to: digits.count, by: 2).map {
            try #require(UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16))
        }
    }
}
