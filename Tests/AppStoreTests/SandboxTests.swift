import Foundation
import Testing

@testable import AppStore

@Suite struct SandboxTests {
    let fixture: Fixture
    init() throws { fixture = try Fixture.shared.get() }

    @Test func whatItSignsIsVerifiedAndRebuilt() throws {
        let payload = fixture.transaction { payload in
            payload.originalTransactionID = "2000000000000001"
            payload.webOrderLineItemID = "1"
            payload.subscriptionGroupIdentifier = "g"
            payload.originalPurchaseDate = 3
            payload.expiresDate = 4
            payload.quantity = 3
            payload.appAccountToken = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
            payload.inAppOwnershipType = .familyShared
            payload.revocationReason = .appIssue
            payload.revocationDate = 5
            payload.revocationPercentage = 33_333
            payload.revocationType = .refundProrated
            payload.isUpgraded = true
            payload.offerType = .code
            payload.offerIdentifier = "o/\"\n"
            payload.offerDiscountType = .oneTime
            payload.offerPeriod = "P1M"
            payload.transactionReason = .renewal
            payload.storefront = "DEU"
            payload.storefrontID = "143443"
            payload.price = 4_990
            payload.currency = "EUR"
            payload.appTransactionID = "70"
            payload.billingPlanType = "MONTHLY"
            payload.commitmentInfo = Array(#"{"billingPeriodNumber":1}"#.utf8)
            payload.advancedCommerceInfo = Array(#"{"items":[]}"#.utf8)
        }
        let jws = try fixture.chain.sign(payload)
        let verified = try fixture.verifier.verify(transaction: Array(jws.utf8), now: Fixture.now)
        #expect(verified.payload == payload)
        #expect(verified.payload.revoked == 33_333)
        #expect(String(decoding: verified.evidence.jws, as: UTF8.self) == jws)
        #expect(verified.evidence.signature.count == 64)
        #expect(verified.evidence.header.digest == SHA256.hash(Array(jws.utf8.prefix { $0 != UInt8(ascii: ".") })))
    }

    /// A renewal follows its transaction, and goes with a notification that is believed.
    @Test func aRenewalIsSignedBesideItsTransaction() throws {
        let transaction = fixture.transaction { payload in
            payload.type = .autoRenewableSubscription
            payload.originalTransactionID = "7"
            payload.originalPurchaseDate = 3
            payload.expiresDate = 4
            payload.price = 990
            payload.currency = "EUR"
        }
        var renewal = RenewalPayload(of: transaction, signedDate: transaction.signedDate)
        renewal.eligibleWinBackOfferIDs = ["a\"b"]
        renewal.isInBillingRetryPeriod = false
        renewal.commitmentInfo = Array(#"{"commitmentRenewalPrice":1}"#.utf8)
        #expect(
            String(decoding: renewal.json(), as: UTF8.self) == """
                {"originalTransactionId":"7","autoRenewProductId":"\(transaction.productID)",\
                "productId":"\(transaction.productID)","autoRenewStatus":1,"isInBillingRetryPeriod":false,\
                "eligibleWinBackOfferIds":["a\\"b"],"signedDate":\(transaction.signedDate),"environment":"Sandbox",\
                "recentSubscriptionStartDate":3,"renewalDate":4,"renewalPrice":990,"currency":"EUR",\
                "commitmentInfo":{"commitmentRenewalPrice":1}}
                """)
        var payload = fixture.notification(.didRenew, signedTransaction: try fixture.chain.sign(transaction))
        payload.data?.signedRenewalInfo = try fixture.chain.sign(renewal)
        let verified = try fixture.verifier.verify(
            notification: Array(try fixture.chain.sign(payload).utf8), now: Fixture.now)
        #expect(verified.payload.data?.signedRenewalInfo == payload.data?.signedRenewalInfo)
    }

    @Test func notificationsOfEveryShapeAreVerified() throws {
        let signed = try fixture.chain.sign(fixture.transaction())
        let bundle = fixture.app.bundleID, number = fixture.app.appAppleID
        var consumption = fixture.notification(.consumptionRequest, signedTransaction: signed)
        consumption.data?.consumptionRequestReason = .legal
        consumption.data?.status = 1
        consumption.data?.signedRenewalInfo = "not verified"
        var summary = fixture.notification(.renewalExtension)
        summary.subtype = .summary
        summary.data = nil
        summary.summary = .init(appAppleID: number, bundleID: bundle, environment: .sandbox)
        summary.summary?.storefrontCountryCodes = ["USA", "DEU"]
        summary.summary?.succeededCount = 5
        summary.summary?.failedCount = 0
        summary.summary?.requestIdentifier = "r"
        summary.summary?.productID = "p"
        var token = fixture.notification(.externalPurchaseToken)
        token.data = nil
        token.externalPurchaseToken = .init(
            externalPurchaseID: "SANDBOX_1", tokenCreationDate: 6, appAppleID: number, bundleID: bundle,
            tokenType: "ACQUISITION")
        var rescind = fixture.notification(.rescindConsent)
        rescind.data = nil
        rescind.appData = .init(
            appAppleID: number, bundleID: bundle, environment: .sandbox, signedAppTransactionInfo: "x")
        let unknown = fixture.notification(.init(rawValue: "SOMETHING_NEW")) {
            $0.subtype = .init(rawValue: "ALSO_NEW")
        }
        for payload in [consumption, summary, token, rescind, unknown, fixture.notification(.test)] {
            let jws = try fixture.chain.sign(payload)
            let verified = try fixture.verifier.verify(notification: Array(jws.utf8), now: Fixture.now)
            #expect(verified.payload == payload)
            #expect((verified.transaction != nil) == (payload.data?.signedTransactionInfo != nil))
            #expect(String(decoding: verified.evidence.jws, as: UTF8.self) == jws)
        }
    }

    @Test func aChainIsTakenUpFromItsParts() throws {
        let again = try SandboxChain(fixture.chain.parts())
        #expect(again.leaf == fixture.chain.leaf && again.root == fixture.chain.root)
        let jws = try again.jws(payload: fixture.transaction().json())
        #expect(throws: Never.self) { try fixture.verifier.verify(transaction: jws, now: Fixture.now) }
        var mixed = try fixture.chain.parts()
        mixed.leafKey = mixed.rootKey
        #expect(throws: OpenSSLError.self) { try SandboxChain(mixed) }
        mixed.leafKey = Array("no key".utf8)
        #expect(throws: OpenSSLError.self) { try SandboxChain(mixed) }
    }

    @Test func certificatesAreReadFromFilesOfBothForms() throws {
        let root = fixture.chain.root
        #expect(try Certificate(file: root.der) == root)
        #expect(try Certificate(file: root.pem()) == root)
        #expect(root.commonName == "Sandbox Root CA")
        #expect(root.validity == Fixture.validity.lowerBound...(Fixture.validity.upperBound + 999))
        #expect(throws: OpenSSLError.self) { try Certificate(file: []) }
        #expect(throws: OpenSSLError.self) { try Certificate(file: Array("-----BEGIN".utf8)) }
        #expect(throws: OpenSSLError.self) { try Certificate(file: root.der + [0]) }
        #expect(throws: OpenSSLError.self) { try Certificate(file: root.der.dropLast()) }
    }

    @Test func theOpenSSLCommandAcceptsTheChain() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let parts = try fixture.chain.parts()
        for (name, bytes) in [
            ("root", parts.rootCertificate), ("intermediate", parts.intermediateCertificate),
            ("leaf", parts.leafCertificate),
        ] {
            try Data(bytes).write(to: folder.appending(path: name))
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.currentDirectoryURL = folder
        process.arguments = [
            "openssl", "verify", "-x509_strict", "-attime", "\(Fixture.now / 1_000)", "-CAfile", "root", "-untrusted",
            "intermediate", "leaf",
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test func signingKeepsUpWithLoadTests() throws {
        let payload = fixture.transaction().json()
        let elapsed = try ContinuousClock().measure {
            for _ in 0..<2_000 { _ = try fixture.chain.jws(payload: payload) }
        }
        print("2,000 signatures in \(elapsed)")
        #expect(elapsed < .seconds(10))
    }
}
