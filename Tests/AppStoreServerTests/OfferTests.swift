import StrictJSON
import Testing

@testable import AppStore
@testable import AppStoreServer

/// What an app hands to StoreKit, verified with the public key.
@Suite struct OfferTests {
    private static func signer() throws -> OfferSigner {
        OfferSigner(key: try TestKeys.key(), bundleID: "com.example.game") { TestTime.start }
    }

    /// Claims but for the nonce, which is checked by itself.
    private static func claims(_ text: String) throws -> [String: String] {
        let jws = try TestJWS(text)
        #expect(jws.header == ["alg": "ES256", "kid": "2X9R4HXF34", "typ": "JWT"])
        var claims = jws.claims
        let nonce = claims.removeValue(forKey: "nonce") ?? ""
        #expect(isUUID(nonce))
        return claims
    }

    /// RFC 9562 §5.4.
    private static func isUUID(_ text: String) -> Bool {
        text.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil
    }

    @Test func aPromotionalOffer() throws {
        let expected = [
            "iss": TestKeys.issuerID, "iat": "1777248000", "aud": "promotional-offer", "bid": "com.example.game",
            "productId": "vip", "offerIdentifier": "half-price",
        ]
        #expect(try Self.claims(Self.signer().promotionalOffer(productID: "vip", offerID: "half-price")) == expected)
        let ofOne = try Self.signer().promotionalOffer(productID: "vip", offerID: "half-price", transactionID: "1")
        #expect(try Self.claims(ofOne) == expected.merging(["transactionId": "1"]) { $1 })
    }

    @Test(arguments: [true, false]) func anIntroductoryOffer(allowed: Bool) throws {
        let text = try Self.signer().introductoryOffer(productID: "vip", allowed: allowed, transactionID: "1")
        #expect(
            try Self.claims(text) == [
                "iss": TestKeys.issuerID, "iat": "1777248000", "aud": "introductory-offer-eligibility",
                "bid": "com.example.game", "productId": "vip", "allowIntroductoryOffer": allowed ? "true" : "false",
                "transactionId": "1",
            ])
    }

    @Test func anAdvancedCommerceRequestIsSignedAsItIs() throws {
        let request = #"{"operation": "CREATE_ONE_TIME_CHARGE", "item": {"SKU": "gems ü"}}"#
        let text = try Self.signer().advancedCommerce(request: Array(request.utf8))
        var claims = try Self.claims(text)
        let encoded = claims.removeValue(forKey: "request") ?? ""
        let decoded = Array(encoded.utf8).withUnsafeBufferPointer { Base64.decodeStandard($0) }
        #expect(decoded == Array(request.utf8))
        #expect(
            claims == [
                "iss": TestKeys.issuerID, "iat": "1777248000", "aud": "advanced-commerce-api",
                "bid": "com.example.game",
            ])
    }

    @Test(arguments: ["", "[]", "{", #"{"a":1,"a":2}"#, "{} {}"])
    func whatIsNoRequestIsNotSigned(request: String) throws {
        let error = #expect(throws: AppStoreServerError.self) {
            try Self.signer().advancedCommerce(request: Array(request.utf8))
        }
        guard case .invalidArgument = error else { return unexpected(error) }
    }

    /// Apple's recipe: seven parts with U+2063 between them, ECDSA with SHA-256, DER, base 64.
    @Test(arguments: ["", "7389A31A-FB6D-4569-A2A6-DB7D85D84813"])
    func theOlderSignatureIsOfTheSevenParts(account: String) throws {
        let offer = try Self.signer().promotionalOfferSignature(
            productID: "vip", offerID: "half-price", account: account)
        #expect(offer.keyID == TestKeys.keyID && offer.timestamp == TestTime.start)
        #expect(Self.isUUID(offer.nonce))
        let text =
            "com.example.game\u{2063}2X9R4HXF34\u{2063}vip\u{2063}half-price\u{2063}\(account.lowercased())\u{2063}"
            + "\(offer.nonce)\u{2063}1777248000000"
        let der = try #require(Array(offer.signature.utf8).withUnsafeBufferPointer { Base64.decodeStandard($0) })
        let raw = try der.withUnsafeBufferPointer { try ECDSASignature.raw(fromDER: $0) }
        // One form only is DER: what is read and written again is the same.
        #expect(ECDSASignature.der(fromRaw: raw) == der)
        let key = try Key(publicPEM: TestKeys.publicPEM)
        let claim = SignatureClaim(key: key, digest: SHA256.hash(Array(text.utf8)), signature: raw)
        #expect(SignatureCheck.verify([claim], doubtfulMax: 1) == [true])
    }

    @Test func noNonceComesTwice() throws {
        let nonces = try (0..<1_000).map { _ in
            try Self.signer().promotionalOfferSignature(productID: "a", offerID: "b", account: "").nonce
        }
        #expect(Set(nonces).count == 1_000)
    }
}
