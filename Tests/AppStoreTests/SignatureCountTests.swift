import LedgerTestKit
import Testing

@testable import AppStore

/// How many signatures were judged, and by whom.
@Suite struct SignatureCountTests {
    let fixture: Fixture
    init() throws { fixture = try Fixture.shared.get() }

    @Test func eachSignatureIsCountedOnceByWhoJudgedIt() async throws {
        let verifier = Verifier(app: fixture.app, anchors: [fixture.chain.root])
        let good = try fixture.chain.sign(fixture.transaction())
        var forged = Array(good.utf8)
        // Within the signature, whose last character has bits that are not used.
        let place = forged.count - 10
        forged[place] = forged[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        func verify(_ jws: [UInt8], _ count: Int) -> Int {
            verifier.verify(Array(repeating: .transaction(jws), count: count), now: Fixture.now)
                .count { if case .success = $0 { true } else { false } }
        }
        #expect(verify(Array(good.utf8), 3) == 3 && verify(forged, 2) == 0)
        #expect(verifier.signatureCounts == (0, 5))
        // What is refused by its form alone has no signature that anybody looks at.
        #expect(verify(Array("not.a.jws".utf8), 4) == 0)
        #expect(verifier.signatureCounts == (0, 5))
        guard Verifier.preparesTables else { return }
        _ = verify(Array(good.utf8), AppStoreLimits.signaturesPerTableMin)
        for _ in 0..<2_000 where verifier.preparedChainCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
        try #require(verifier.preparedChainCount == 1)
        let before = verifier.signatureCounts
        #expect(verify(Array(good.utf8), 7) == 7 && verify(forged, 2) == 0)
        let after = verifier.signatureCounts
        #expect(after.byTable == before.byTable + 7 && after.byOpenSSL == before.byOpenSSL + 2)
    }
}
