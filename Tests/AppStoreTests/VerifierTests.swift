import Foundation
import Testing

@testable import AppStore

@Suite struct VerifierTests {
    let fixture: Fixture
    init() throws { fixture = try Fixture.shared.get() }

    @Test func aBatchIsAnsweredInItsOrder() throws {
        let verifier = Verifier(app: fixture.app, anchors: [fixture.chain.root])
        var batch: [SignedObject] = []
        for i in 0..<50 {
            let transaction = fixture.transaction(id: "\(i)")
            switch i % 5 {
            case 0: batch.append(.transaction(Array("x".utf8)))
            case 1:
                batch.append(
                    .notification(
                        Array(
                            try fixture.chain.sign(
                                fixture.notification(signedTransaction: try fixture.chain.sign(transaction))
                            ).utf8)))
            case 2:
                var jws = Array(try fixture.chain.sign(transaction).utf8)
                let place = jws.count - 40
                jws[place] = jws[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                batch.append(.transaction(jws))
            default: batch.append(.transaction(try fixture.chain.jws(payload: transaction.json())))
            }
        }
        for (i, result) in verifier.verify(batch, now: Fixture.now).enumerated() {
            switch (i % 5, result) {
            case (0, .failure(let failure)): #expect(failure.reason == .malformed)
            case (2, .failure(let failure)): #expect(failure.reason == .invalidSignature)
            case (1, .success(.notification(let notification))):
                #expect(notification.transaction?.payload.transactionID == "\(i)")
            case (3, .success(.transaction(let transaction))), (4, .success(.transaction(let transaction))):
                #expect(transaction.payload.transactionID == "\(i)")
            default: Issue.record("\(i): \(result)")
            }
        }
        #expect(verifier.verify([], now: Fixture.now).isEmpty)
    }

    @Test func oneHeaderObjectServesAllOfOneChain() throws {
        let verifier = Verifier(app: fixture.app, anchors: [fixture.chain.root])
        let jws = try (0..<3).map { try fixture.chain.jws(payload: fixture.transaction(id: "\($0)").json()) }
        let first = try verifier.verify(transaction: jws[0], now: Fixture.now)
        let batch = verifier.verify([.transaction(jws[1]), .transaction(jws[2])], now: Fixture.now)
        for result in batch {
            guard case .success(.transaction(let transaction)) = result else {
                Issue.record("\(result)")
                continue
            }
            #expect(transaction.evidence.header === first.evidence.header)
        }
        #expect(verifier.cachedChainCount == 1)
    }

    @Test func onlyProvenChainsAreRemembered() throws {
        let chain = fixture.chain
        let verifier = Verifier(app: fixture.app, anchors: [chain.root])
        let list = [chain.leaf, chain.intermediate, chain.root]
        // A sound chain in a header that nobody signed: anyone can make as many of these as they like.
        let forger = try SandboxChain(SandboxChain.Options(validity: Fixture.validity))
        _ = verifier.verify(
            [.transaction(try forger.jws(payload: fixture.transaction().json(), certificates: list))], now: Fixture.now)
        #expect(verifier.cachedChainCount == 0)
        let header = String(decoding: SandboxChain.header(algorithm: "ES256", certificates: list), as: UTF8.self)
        for i in 0..<(AppStoreLimits.chainsCachedMax + 10) {
            let varied = Array(header.replacingOccurrences(of: "\"x5c\"", with: "\"kid\":\(i),\"x5c\"").utf8)
            let jws = try chain.jws(payload: fixture.transaction().json(), header: varied)
            #expect(throws: Never.self) { try verifier.verify(transaction: jws, now: Fixture.now) }
            #expect(verifier.cachedChainCount == min(i + 1, AppStoreLimits.chainsCachedMax))
        }
        // Each was used once: none is worth a table.
        #expect(verifier.preparedChainCount == 0)
    }

    @Test func aRememberedChainIsStillJudgedAtSignedDate() throws {
        let verifier = Verifier(app: fixture.app, anchors: [fixture.chain.root])
        let good = try fixture.chain.jws(payload: fixture.transaction().json())
        let old = try fixture.chain.jws(payload: fixture.transaction { $0.signedDate = 0 }.json())
        #expect(
            reason { () throws(VerificationFailure) in try verifier.verify(transaction: good, now: Fixture.now) } == nil
        )
        #expect(
            reason { () throws(VerificationFailure) in try verifier.verify(transaction: old, now: Fixture.now) }
                == .certificateExpired)
    }

    @Test func theDevelopersOwnCertificateServesXcodeOnly() throws {
        let certificate = try SandboxCertificate(
            notBefore: Fixture.validity.lowerBound, notAfter: Fixture.validity.upperBound)
        let other = try SandboxCertificate(
            notBefore: Fixture.validity.lowerBound, notAfter: Fixture.validity.upperBound)
        func reason(
            _ environment: Environment, _ anchors: [Certificate], signedDate: Int64 = Fixture.now
        ) throws -> VerificationFailure.Reason? {
            let app = App(bundleID: fixture.app.bundleID, environment: environment)
            let jws = try certificate.jws(
                payload: fixture.transaction(id: "0") { ($0.environment, $0.signedDate) = (environment, signedDate) }
                    .json())
            return AppStoreTests.reason { () throws(VerificationFailure) in
                try Verifier(app: app, anchors: anchors).verify(transaction: jws, now: Fixture.now)
            }
        }
        #expect(try reason(.xcode, [certificate.certificate]) == nil)
        #expect(try reason(.localTesting, [certificate.certificate]) == nil)
        #expect(try reason(.xcode, [other.certificate]) == .untrustedRoot)
        #expect(try reason(.xcode, []) == .untrustedRoot)
        #expect(try reason(.sandbox, [certificate.certificate]) == .invalidCertificateChain)
        #expect(try reason(.production, [certificate.certificate]) == .invalidCertificateChain)
        #expect(try reason(.xcode, [certificate.certificate], signedDate: 0) == .certificateExpired)
    }

    @Test func anAnchorAboveTheThirdCertificateWillDo() throws {
        // The intermediate itself as the anchor: the path ends there.
        let chain = fixture.chain
        let jws = try chain.jws(payload: fixture.transaction().json())
        let verifier = Verifier(app: fixture.app, anchors: [chain.intermediate])
        #expect(
            reason { () throws(VerificationFailure) in try verifier.verify(transaction: jws, now: Fixture.now) } == nil)
    }

    @Test func manyThreadsMayShareOne() async throws {
        let verifier = Verifier(app: fixture.app, anchors: [fixture.chain.root])
        let jws = try (0..<64).map { try fixture.chain.jws(payload: fixture.transaction(id: "\($0)").json()) }
        let accepted = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    verifier.verify(jws.map { .transaction($0) }, now: Fixture.now)
                        .count { if case .success = $0 { true } else { false } }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(accepted == 8 * 64)
        #expect(verifier.cachedChainCount == 1)
    }
}
