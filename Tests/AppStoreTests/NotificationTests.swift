import Testing

@testable import AppStore

@Suite struct NotificationTests {
    let fixture: Fixture
    init() throws { fixture = try Fixture.shared.get() }

    private func refusal(
        _ payload: NotificationPayload, _ app: App? = nil, signer: SandboxChain? = nil
    ) throws -> VerificationFailure? {
        try refusal(json: payload.json(), app)
    }

    private func refusal(json: [UInt8], _ app: App? = nil) throws -> VerificationFailure? {
        let verifier = app.map { Verifier(app: $0, anchors: [fixture.chain.root]) } ?? fixture.verifier
        let jws = try fixture.chain.jws(payload: json)
        do throws(VerificationFailure) {
            _ = try verifier.verify(notification: jws, now: Fixture.now)
            return nil
        } catch {
            return error
        }
    }

    @Test func theNestedTransactionIsVerifiedByItself() throws {
        func nested(_ signed: String) throws -> VerificationFailure? {
            try refusal(fixture.notification(signedTransaction: signed))
        }
        let good = try fixture.chain.sign(fixture.transaction())
        #expect(try nested(good) == nil)
        let other = try SandboxChain(SandboxChain.Options(validity: Fixture.validity))
        let cases: [(String, VerificationFailure.Reason)] = [
            ("", .malformed), ("x.y", .malformed), (String(good.dropLast(3)) + "AAA", .invalidSignature),
            (try other.sign(fixture.transaction()), .untrustedRoot),
            (try fixture.chain.sign(fixture.transaction { $0.bundleID = "com.example.other" }), .wrongApp),
            (try fixture.chain.sign(fixture.transaction { $0.environment = .production }), .wrongEnvironment),
            (try fixture.chain.sign(fixture.transaction { $0.quantity = 99 }), .invalidPayload),
            (try fixture.chain.sign(fixture.transaction { $0.signedDate += Fixture.day }), .invalidPayload),
            (try fixture.chain.sign(fixture.notification()), .invalidPayload),
        ]
        for (signed, reason) in cases {
            let failure = try #require(try nested(signed))
            #expect(failure.reason == reason, "\(failure)")
            #expect(failure.message.contains("signedTransactionInfo"))
        }
    }

    @Test(arguments: ["Non-Consumable", "Auto-Renewable Subscription", "Anything"])
    func theNestedTransactionMayBeOfAnyType(_ type: String) throws {
        let payload = fixture.transaction {
            $0.type = .init(rawValue: type)
            $0.quantity = 0
            $0.revocationPercentage = 100_001
        }
        let signed = try fixture.chain.sign(payload)
        #expect(try refusal(fixture.notification(.didRenew, signedTransaction: signed)) == nil)
    }

    @Test func theAppsNumberMustAgreeWhereItIsKnown() throws {
        func reason(_ number: Int64?, _ app: App) throws -> VerificationFailure.Reason? {
            try refusal(
                fixture.notification {
                    $0.data?.appAppleID = number
                    $0.data?.environment = app.environment
                }, app)?.reason
        }
        let sandbox = App(bundleID: fixture.app.bundleID, appAppleID: 5, environment: .sandbox)
        let production = App(bundleID: fixture.app.bundleID, appAppleID: 5, environment: .production)
        let unknown = App(bundleID: fixture.app.bundleID, environment: .production)
        #expect(try reason(5, sandbox) == nil)
        #expect(try reason(nil, sandbox) == nil)
        #expect(try reason(6, sandbox) == .wrongApp)
        #expect(try reason(5, production) == nil)
        #expect(try reason(nil, production) == .wrongApp)
        #expect(try reason(6, production) == .wrongApp)
        #expect(try reason(6, unknown) == nil)
    }

    @Test func theAppIsFoundInWhateverPartThereIs() throws {
        func reason(_ change: (inout NotificationPayload) -> Void) throws -> VerificationFailure.Reason? {
            try refusal(fixture.notification(.test, change))?.reason
        }
        let bundle = fixture.app.bundleID
        #expect(try reason { $0.data?.bundleID = "x" } == .wrongApp)
        #expect(try reason { $0.data?.environment = .production } == .wrongEnvironment)
        #expect(try reason { ($0.data, $0.summary) = (nil, .init(bundleID: "x", environment: .sandbox)) } == .wrongApp)
        #expect(
            try reason { ($0.data, $0.summary) = (nil, .init(bundleID: bundle, environment: .xcode)) }
                == .wrongEnvironment)
        #expect(try reason { ($0.data, $0.appData) = (nil, .init(bundleID: "x", environment: .sandbox)) } == .wrongApp)
        #expect(
            try reason { ($0.data, $0.appData) = (nil, .init(bundleID: bundle, environment: .xcode)) }
                == .wrongEnvironment)
        #expect(
            try reason {
                ($0.data, $0.externalPurchaseToken) = (nil, .init(externalPurchaseID: "SANDBOX1", bundleID: bundle))
            } == nil)
        #expect(
            try reason { ($0.data, $0.externalPurchaseToken) = (nil, .init(externalPurchaseID: "1", bundleID: bundle)) }
                == .wrongEnvironment)
        #expect(
            try reason {
                ($0.data, $0.externalPurchaseToken) = (nil, .init(externalPurchaseID: "SANDBOX1", bundleID: "x"))
            }
                == .wrongApp)
        #expect(try reason { $0.data = nil } == .invalidPayload)
        #expect(try reason { $0.summary = .init(bundleID: bundle, environment: .sandbox) } == .invalidPayload)
    }

    @Test(arguments: [
        (#"{}"#, "notificationType"), (#"{"notificationType":1}"#, "notificationType"),
        (#"{"notificationType":""}"#, "notificationType"),
        (#"{"notificationType":"TEST"}"#, "notificationUUID"),
        (#"{"notificationType":"TEST","notificationUUID":"u"}"#, "signedDate"),
        (#"{"notificationType":"TEST","notificationUUID":"u","signedDate":"1"}"#, "signedDate"),
        (#"{"notificationType":"TEST","notificationUUID":"u","signedDate":1767225599000}"#, "just one of data"),
        (#"{"data":1}"#, "data"), (#"{"data":{}}"#, "data.bundleId"),
        (#"{"data":{"bundleId":"b"}}"#, "data.environment"),
        (#"{"data":{"bundleId":"b","bundleId":"b"}}"#, "data.bundleId"),
        (#"{"data":{"signedTransactionInfo":{}}}"#, "data.signedTransactionInfo"),
        (#"{"summary":{"storefrontCountryCodes":["a",1]}}"#, "summary.storefrontCountryCodes[1]"),
        (#"{"externalPurchaseToken":{"bundleId":"b"}}"#, "externalPurchaseToken.externalPurchaseId"),
    ])
    func aMemberThatBreaksTheRulesIsNamed(_ json: String, _ member: String) throws {
        // Within the certificates' validity, as far as it can be read: the payload is what is wrong.
        let failure = try #require(try refusal(json: Array(json.utf8)))
        #expect(failure.reason == .invalidPayload)
        #expect(failure.message.contains(member), "\(failure.message)")
    }
}
