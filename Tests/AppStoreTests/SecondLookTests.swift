import LedgerTestKit
import Testing

@testable import AppStore

extension SignatureCheck {
    static func isGood(_ claim: SignatureClaim) -> Bool { verify([claim], secondLooksMax: .max) == [true] }
}

/// Signatures that the table of their key does not accept: how many of them OpenSSL is asked about, and what waits.
@Suite struct SecondLookTests {
    let fixture: Fixture
    init() throws { fixture = try Fixture.shared.get() }

    @Test(.enabled(if: SignatureTable.isWorthwhile))
    func onlySoManySignaturesThatATableDoesNotAcceptHaveASecondLook() throws {
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
        #expect(SignatureCheck.verify(claims, secondLooksMax: 0) == [nil, true, nil, true] + rest)
        #expect(SignatureCheck.verify(claims, secondLooksMax: 1) == [false, true, nil, true] + rest)
        #expect(SignatureCheck.verify(claims, secondLooksMax: 2) == [false, true, true, true] + rest)
        #expect(
            SignatureCheck.verify(claims, secondLooksMax: .max) == [false, true, true, true, false, false, true, true])
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
