import Foundation
import LedgerTestKit
import Testing

@testable import AppStore

extension SignatureCheck {
    static func isGood(_ claim: SignatureClaim) -> Bool { verify([claim], doubtfulMax: .max) == [true] }
}

/// Signatures that are hardly good: how many of them OpenSSL is asked about, and what waits.
@Suite struct DoubtfulSignatureTests {
    let fixture: Fixture
    init() throws { fixture = try Fixture.shared.get() }

    @Test(.enabled(if: SignatureTable.isWorthwhile))
    func onlySoManySignaturesThatATableDoesNotAcceptAreForOpenSSL() throws {
        let key = try Key.generate(.p256)
        let table = try #require(SignatureTable(key))
        // It accepts nothing of this key's: so a good signature, too, is OpenSSL's to judge.
        let stranger = try #require(SignatureTable(try Key.generate(.p256)))
        let digest = [UInt8](repeating: 7, count: 32)
        let signature = try key.signES256(digest: digest)
        let forged = signature.prefix(63) + [signature[63] ^ 1]
        let accepted = SignatureClaim(key: key, table: table, digest: digest, signature: signature)
        let missed = SignatureClaim(key: key, table: stranger, digest: digest, signature: signature)
        let bad = SignatureClaim(key: key, table: table, digest: digest, signature: Array(forged))
        // Without a table OpenSSL's look is the first.
        let plain = SignatureClaim(plain: missed), plainBad = SignatureClaim(plain: bad)
        let claims = [bad, accepted, missed, plain, bad, plainBad, missed, accepted]
        let rest: [Bool?] = [nil, false, nil, true]
        #expect(SignatureCheck.verify(claims, doubtfulMax: 0) == [nil, true, nil, true] + rest)
        #expect(SignatureCheck.verify(claims, doubtfulMax: 1) == [false, true, nil, true] + rest)
        #expect(SignatureCheck.verify(claims, doubtfulMax: 2) == [false, true, true, true] + rest)
        #expect(
            SignatureCheck.verify(claims, doubtfulMax: .max) == [false, true, true, true, false, false, true, true])
    }

    /// Anybody can vary the header above certificates that are trusted.
    @Test func onlySoManySignaturesUnderHeadersThatProvedNothingAreForOpenSSL() throws {
        let chain = fixture.chain
        let verifier = Verifier(app: fixture.app, anchors: [chain.root])
        let payload = fixture.transaction().json()
        func verdicts(_ batch: [[UInt8]], doubtfulMax: Int) -> [Bool?] {
            verifier.verify(
                batch.map { .transaction($0) }, now: Fixture.now, newPathsMax: 1, doubtfulMax: doubtfulMax
            ).map { result in
                guard let result else { return nil }
                if case .success = result { return true }
                return false
            }
        }
        let good = try chain.jws(payload: payload)
        #expect(verdicts([good, good], doubtfulMax: 1) == [true, nil])
        // What proved its header is doubted no more.
        #expect(verdicts([good, good], doubtfulMax: 0) == [true, true])
        let list = [chain.leaf, chain.intermediate, chain.root]
        let header = String(decoding: SandboxChain.header(algorithm: "ES256", certificates: list), as: UTF8.self)
        let forged = try (0..<3).map { number in
            let varied = Array(header.replacingOccurrences(of: "\"x5c\"", with: "\"kid\":\(number),\"x5c\"").utf8)
            var jws = try chain.jws(payload: payload, header: varied)
            jws[jws.count - 2] = jws[jws.count - 2] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            return jws
        }
        #expect(verdicts(forged + [good], doubtfulMax: 0) == [nil, nil, nil, true])
        #expect(verdicts(forged + [good], doubtfulMax: 2) == [false, false, nil, true])
    }

    @Test func othersAreGivenWayWhileManyObjectsAreLookedAt() {
        let verifier = Verifier(app: fixture.app, anchors: [fixture.chain.root])
        var times = 0
        let batch = (0..<64).map { SignedObject.transaction(Array("no JWS \($0)".utf8)) }
        _ = verifier.verify(batch, now: Fixture.now, newPathsMax: 0) { times += 1 }
        #expect(times == 4)
    }

    /// The outer signature is judged first; what nothing is known of is neither accepted nor refused.
    @Test func aNotificationIsJudgedOnceWhatItHangsOnIsKnown() throws {
        let transaction = String(decoding: try fixture.chain.jws(payload: fixture.transaction().json()), as: UTF8.self)
        let notification = try fixture.chain.jws(
            payload: fixture.notification(signedTransaction: transaction).json())
        var run = VerificationRun(
            chains: ChainCache(),
            verifier: ChainVerifier(anchors: [fixture.chain.root], environment: fixture.app.environment),
            paths: PathMemory(), newPathsMax: .max)
        guard case .candidate(let candidate) = run.prepare(.notification(notification)) else {
            Issue.record("it was not prepared")
            return
        }
        #expect(run.claims.count == 2)
        func verdict(_ isGood: [Bool?]) -> String {
            do throws(VerificationFailure) {
                let judge = Judge(app: fixture.app, now: Fixture.now, isGood: isGood)
                return try judge.verdict(candidate) == nil ? "unknown" : "accepted"
            } catch {
                return error.reason.rawValue
            }
        }
        // The nested JWS is the second claim.
        for inner in [true, false, nil] {
            #expect(verdict([false, inner]) == "invalid_signature")
            #expect(verdict([nil, inner]) == "unknown")
        }
        #expect(verdict([true, true]) == "accepted")
        #expect(verdict([true, nil]) == "unknown")
        #expect(verdict([true, false]) == "invalid_signature")
    }
}
