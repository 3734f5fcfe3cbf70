import Testing

@testable import AppStore

/// What Apple's sandbox signed, with no anchor but Apple's own root.
@Suite(.enabled(if: Vectors.arePresent, "they are not in ../shared/vectors")) struct RealVectorTests {
    let app = App(bundleID: "com.cynet.xingqi", appAppleID: 1_659_344_089, environment: .sandbox)
    var verifier: Verifier { Verifier(app: app) }
    let now: Int64 = 1_800_000_000_000

    @Test func purchaseIsVerified() throws {
        let jws = try Vectors.jws("transaction-purchased")
        let verified = try verifier.verify(transaction: jws, now: now)
        let payload = verified.payload
        #expect(payload.transactionID == "2000000849195831")
        #expect(payload.originalTransactionID == "2000000849195831")
        #expect(payload.productID == "cynet.coci.5usd")
        #expect(payload.purchaseDate == 1_738_826_186_000)
        #expect(payload.signedDate == 1_738_826_340_637)
        #expect(payload.quantity == 1)
        #expect(payload.price == 4_990 && payload.currency == "USD")
        #expect(payload.storefront == "USA" && payload.storefrontID == "143441")
        #expect(payload.inAppOwnershipType == .purchased && payload.transactionReason == .purchase)
        #expect(payload.appAccountToken == nil)
        #expect(payload.revoked == 0)
        #expect(verified.evidence.jws == jws)
        #expect(verified.evidence.header.segment.count == 4_411)
    }

    @Test func refundIsWholeWithoutAPercentage() throws {
        let payload = try verifier.verify(transaction: Vectors.jws("transaction-refunded"), now: now).payload
        #expect(payload.revocationDate == 1_738_826_397_000)
        #expect(payload.revocationReason == .other)
        #expect(payload.revocationPercentage == nil)
        #expect(payload.revoked == 100_000)
    }

    @Test func notificationsCarryTheirTransaction() throws {
        let verifier = verifier
        let refund = try verifier.verify(notification: Vectors.jws("notification-refund"), now: now)
        #expect(refund.payload.notificationType == .refund)
        #expect(refund.payload.notificationUUID == "d562127d-2495-4187-9081-d3a80b50d426")
        #expect(refund.payload.data?.appAppleID == 1_659_344_089)
        let nested = try #require(refund.transaction)
        #expect(nested.evidence.jws == (try Vectors.jws("transaction-refunded")))
        #expect(refund.evidence.jws == (try Vectors.jws("notification-refund")))
        #expect(nested.evidence.header === refund.evidence.header)
        let charge = try verifier.verify(notification: Vectors.jws("notification-one-time-charge"), now: now)
        #expect(charge.payload.notificationType == .oneTimeCharge)
        #expect(charge.transaction?.payload.transactionID == "2000000848445242")
        #expect(verifier.cachedChainCount == 1)
    }

    @Test func testNotificationIsItsOwnAppsOnly() throws {
        let jws = try Vectors.jws("notification-test")
        #expect(
            reason { () throws(VerificationFailure) in try verifier.verify(notification: jws, now: now) } == .wrongApp)
        let own = Verifier(app: App(bundleID: "com.Abilities", appAppleID: 1, environment: .sandbox))
        let verified = try own.verify(notification: jws, now: now)
        #expect(verified.payload.notificationType == .test)
        #expect(verified.transaction == nil)
    }

    @Test func anotherAppOrEnvironmentIsRefused() throws {
        for name in [
            "transaction-purchased", "transaction-refunded", "notification-refund", "notification-one-time-charge",
        ] {
            let jws = try Vectors.jws(name)
            let object: SignedObject = name.hasPrefix("t") ? .transaction(jws) : .notification(jws)
            func reason(_ app: App) throws -> VerificationFailure.Reason? {
                switch Verifier(app: app).verify([object], now: now)[0] {
                case .success: nil
                case .failure(let failure): failure.reason
                }
            }
            #expect(try reason(app) == nil)
            #expect(try reason(App(bundleID: "com.cynet.other", environment: .production)) == .wrongApp)
            #expect(try reason(App(bundleID: app.bundleID, environment: .production)) == .wrongEnvironment)
            let otherNumber = App(bundleID: app.bundleID, appAppleID: 7, environment: .sandbox)
            #expect(try reason(otherNumber) == (name.hasPrefix("t") ? nil : .wrongApp))
        }
    }

    @Test func oneKindIsNeverTakenForTheOther() throws {
        let transaction = try Vectors.jws("transaction-purchased"),
            notification = try Vectors.jws("notification-refund")
        let results = verifier.verify([.transaction(notification), .notification(transaction)], now: now)
        #expect(
            results.map { result in
                guard case .failure(let failure) = result else { return "accepted" }
                return failure.description
            } == [
                "invalid_payload: notificationType must not be there: this is a notification, not a transaction",
                "invalid_payload: transactionId must not be there: this is a transaction, not a notification",
            ])
    }

    @Test func beforeItWasSignedItIsRefused() throws {
        let jws = try Vectors.jws("transaction-purchased")
        let signed: Int64 = 1_738_826_340_637
        #expect(
            reason { () throws(VerificationFailure) in try verifier.verify(transaction: jws, now: signed - 300_000) }
                == nil)
        #expect(
            reason { () throws(VerificationFailure) in try verifier.verify(transaction: jws, now: signed - 300_001) }
                == .invalidPayload)
    }

    /// Every byte of the JWS, each with one bit changed: never accepted, and refused for what can be wrong there. By
    /// one verifier that remembers the header, as a server would.
    @Test(arguments: [
        "transaction-purchased", "transaction-refunded", "notification-refund", "notification-one-time-charge",
    ])
    func aChangedBitIsRefused(_ name: String) throws {
        let jws = try Vectors.jws(name)
        let dots = jws.indices.filter { jws[$0] == UInt8(ascii: ".") }
        let verifier = verifier
        let object: ([UInt8]) -> SignedObject = { name.hasPrefix("t") ? .transaction($0) : .notification($0) }
        guard case .success = verifier.verify([object(jws)], now: now)[0] else {
            Issue.record("the vector itself is refused")
            return
        }
        var positions = Array(stride(from: 0, to: dots[0], by: 37)) + Array(0..<40)
        positions += Array(stride(from: dots[0], to: dots[1], by: jws.count > 6_000 ? 23 : 3))
        positions += Array(dots[1]..<jws.count)
        var changed: [[UInt8]] = []
        for position in positions {
            var copy = jws
            copy[position] ^= 1 << UInt8(position % 7)
            changed.append(copy)
        }
        var reasons: [String: Int] = [:]
        for (position, result) in zip(positions, verifier.verify(changed.map(object), now: now)) {
            guard case .failure(let failure) = result else {
                Issue.record("accepted with a changed byte at \(position)")
                continue
            }
            let legal: Set<VerificationFailure.Reason>
            switch position {
            case ..<dots[0]: legal = [.malformed, .unsupportedAlgorithm, .invalidCertificateChain, .untrustedRoot]
            case dots[0]...dots[1]: legal = [.malformed, .certificateExpired, .invalidSignature]
            default: legal = [.malformed, .invalidSignature]
            }
            #expect(legal.contains(failure.reason), "\(failure) at \(position)")
            #expect(!failure.message.contains("eyJ"))
            reasons[failure.reason.rawValue, default: 0] += 1
        }
        #expect(reasons["invalid_signature", default: 0] > 50 && reasons["malformed", default: 0] > 0)
        #expect(verifier.cachedChainCount == 1)
    }

    @Test func anotherRootIsNotApples() throws {
        let fixture = try Fixture.shared.get()
        let jws = try fixture.chain.jws(payload: fixture.transaction().json())
        let verifier = Verifier(app: fixture.app)
        #expect(
            reason { () throws(VerificationFailure) in try verifier.verify(transaction: jws, now: Fixture.now) }
                == .untrustedRoot)
    }
}
