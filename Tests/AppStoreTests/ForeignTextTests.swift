import Testing

@testable import AppStore

/// What somebody else wrote, as people are shown it.
@Suite struct ForeignTextTests {
    @Test(arguments: [
        ("", ""), ("com.example.game.gems500", "com.example.game.gems500"), ("Grüße, 日本 👍", "Grüße, 日本 👍"),
        ("a\r\nb\tc", #"a\r\nb\tc"#), ("\u{1B}[2J", #"\u{1b}[2J"#), ("\u{7F}\u{9B}31m", #"\u{7f}\u{9b}31m"#),
        ("\u{202E}\u{2028}\u{2029}\u{FEFF}", #"\u{202e}\u{2028}\u{2029}\u{feff}"#), ("\u{E000}", #"\u{e000}"#),
    ])
    func whatATerminalObeysIsEscaped(text: String, shown: String) {
        #expect(ForeignText.shown(text) == shown)
    }

    @Test func whatIsLongIsCutBetweenCharacters() {
        #expect(ForeignText.shown("éééé", bytesMax: 5) == "éé…")
        #expect(ForeignText.shown("éé", bytesMax: 4) == "éé")
        #expect(ForeignText.shown(String(repeating: "n", count: 10_000)).utf8.count == ForeignText.bytesMax + 3)
    }

    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"b"}"#), ("{\"a\":\"\u{7F}\u{9B}\u{202E}\"}", #"{"a":"\u007f\u009b\u202e"}"#),
        ("[\"\u{E0001}é\"]", #"["\udb40\udc01é"]"#),
    ])
    func inJSONItSaysTheSame(json: String, shown: String) {
        #expect(ForeignText.shown(json: json) == shown)
    }

    // MARK: What a JWS is about

    @Test func aJWSIsNamedByWhatItSays() throws {
        let fixture = try Fixture.shared.get()
        var payload = TransactionPayload(
            transactionID: "7", bundleID: "com.example.game", productID: "gems\u{1B}", purchaseDate: 1, signedDate: 1,
            environment: .sandbox)
        payload.type = .nonConsumable
        payload.originalTransactionID = "6"
        let transaction = try fixture.chain.sign(payload)
        let purchase = try #require(SignedObject.transaction(Array(transaction.utf8)).subject)
        #expect(purchase.purchaseName == #"purchase 6 (gems\u{1b})"# && purchase.notificationName == nil)
        let told = NotificationPayload(
            notificationType: .init(rawValue: "NEW"), subtype: .init(rawValue: "KIND"), notificationUUID: "u",
            signedDate: 1,
            data: .init(bundleID: "com.example.game", environment: .sandbox, signedTransactionInfo: transaction))
        let notification = try #require(
            SignedObject.notification(Array(try fixture.chain.sign(told).utf8)).subject)
        #expect(notification.notificationName == "notification u (NEW KIND)")
        #expect(notification.purchaseID == "6" && notification.productID == "gems\u{1B}")
        #expect(SignedObject.notification(Array(transaction.utf8)).subject == nil)
        #expect(SignedObject.transaction(Array("a.b.c".utf8)).subject == nil)
    }
}
