import AppStore
import Foundation
import LedgerClient
import LedgerWire
import Testing

/// Subscriptions, non-consumables, what families share and Advanced Commerce items, signed and posted.
@Suite struct ProductTypeTests {
    private static let catalog = #"""
        {"currencies": {"gems": {}},
         "products": {
           "com.example.game.gems500": {"gems": 500},
           "com.example.game.monthly": {"type": "auto_renewable", "grants": {"gems": 30}},
           "com.example.game.season": {"type": "non_renewing", "offers": [{"from": 0, "grants": {"gems": 60}}]},
           "com.example.game.vip": {"type": "non_consumable", "grants": {"gems": 9}},
           "com.example.game.house": {"type": "non_consumable", "familyShared": true, "grants": {"gems": 4}},
           "SKU-1": {"gems": 70}}}
        """#

    private let studio: Studio
    private let service: RunningService

    init() throws {
        studio = try Studio()
        try studio.folder.write("catalog.json", Self.catalog)
        service = try RunningService(studio.folder)
    }

    private func sign(
        _ number: Int, _ product: String, _ type: TransactionPayload.ProductType,
        _ change: (inout TransactionPayload) -> Void = { _ in }
    ) throws -> String {
        var payload = TransactionPayload(
            transactionID: String(number), bundleID: "com.example.game", productID: "com.example.game.\(product)",
            purchaseDate: studio.now - 60_000, type: type, signedDate: studio.now - 60_000, environment: .sandbox)
        payload.originalTransactionID = payload.transactionID
        payload.originalPurchaseDate = payload.purchaseDate
        change(&payload)
        return try studio.chain.sign(payload)
    }

    /// What the service answers a credit, without spaces.
    private func credit(_ signed: String, account: String = "ann") throws -> String {
        try Command.run(
            ["call", "--server", service.address, "credit", "account=\(account)", "signedTransaction=\(signed)"]
        ).output.filter { !$0.isWhitespace }
    }

    @Test func eachRenewalGrantsAndANonConsumableGrantsOnceHoweverOftenItIsRestored() throws {
        let first = try sign(1, "monthly", .autoRenewableSubscription)
        let renewal = try sign(2, "monthly", .autoRenewableSubscription) {
            $0.originalTransactionID = "1"
            $0.transactionReason = .renewal
        }
        #expect(try credit(first).contains(#""posted":[{"currency":"gems","amount":30}]"#))
        #expect(try credit(renewal).contains(#""posted":[{"currency":"gems","amount":30}]"#))
        #expect(try credit(first).contains(#""outcome":"already_credited""#))
        // An upgrade takes the last period back: the better subscription is paid in full.
        let upgraded = try sign(2, "monthly", .autoRenewableSubscription) {
            $0.originalTransactionID = "1"
            $0.signedDate += 1_000
            $0.isUpgraded = true
        }
        #expect(try credit(upgraded).contains(#""amount":-30"#))
        #expect(try credit(try sign(3, "season", .nonRenewingSubscription)).contains(#""amount":60"#))

        #expect(try credit(try sign(10, "vip", .nonConsumable)).contains(#""amount":9"#))
        let restored = try sign(11, "vip", .nonConsumable) {
            $0.originalTransactionID = "10"
            $0.purchaseDate += 30_000
        }
        let again = try credit(restored)
        #expect(again.contains(#""outcome":"already_credited","transactionId":"10""#), "\(again)")
        #expect(try credit(restored, account: "bob").contains("account_mismatch"))
        let refunded = try sign(11, "vip", .nonConsumable) {
            $0.originalTransactionID = "10"
            $0.signedDate += 2_000
            $0.revocationDate = $0.signedDate
        }
        #expect(try credit(refunded).contains(#""amount":-9"#))
        try audits()
    }

    @Test func anotherTypeFamiliesAndUnlistedProductsAreRefusedByName() throws {
        let wrong = try credit(try sign(1, "gems500", .nonConsumable))
        #expect(
            wrong.contains(
                #""reason":"wrong_product_type","retryable":true,"product":"com.example.game.gems500","#
                    + #""listed":"consumable","signed":"non_consumable""#), "\(wrong)")
        let family = { (payload: inout TransactionPayload) in payload.inAppOwnershipType = .familyShared }
        #expect(
            try credit(try sign(2, "vip", .nonConsumable, family))
                .contains(#""reason":"family_shared","retryable":false,"product":"com.example.game.vip""#))
        #expect(try credit(try sign(3, "house", .nonConsumable, family)).contains(#""amount":4"#))
        // Nobody shares a consumable. One that is signed so grants no more than what is shared.
        #expect(
            try credit(try sign(5, "gems500", .consumable, family))
                .contains(#""reason":"family_shared","retryable":false,"product":"com.example.game.gems500""#))
        #expect(try credit(try sign(4, "levels", .nonConsumable)).contains(#""reason":"not_consumable""#))
        try audits()
    }

    @Test func anAdvancedCommerceItemGrantsByItsSKU() throws {
        func info(_ items: String) -> (inout TransactionPayload) -> Void {
            { $0.advancedCommerceInfo = Array(#"{"items":[\#(items)],"requestReferenceId":"x"}"#.utf8) }
        }
        let bought = try sign(1, "generic", .consumable, info(#"{"SKU":"SKU-1","price":990,"description":"d"}"#))
        #expect(try credit(bought).contains(#""amount":70"#))
        let taken = try sign(1, "generic", .consumable) {
            info(#"{"SKU":"SKU-1","revocationDate":1800000000000}"#)(&$0)
            $0.signedDate += 1
        }
        #expect(try credit(taken).contains(#""amount":-70"#))
        let unknown = try credit(try sign(2, "generic", .consumable, info(#"{"SKU":"SKU-2"}"#)))
        #expect(unknown.contains(#""reason":"unknown_product","retryable":true,"product":"SKU-2""#), "\(unknown)")
        let odd = try credit(try sign(3, "generic", .consumable, info(#"{"price":1}"#)))
        #expect(odd.contains("invalid_payload"), "\(odd)")
        try audits()
    }

    private func audits() throws {
        #expect(service.stop() == 0)
        let audit = try Command.run(["audit", "--config", studio.folder.path("ledger.json")])
        #expect(audit.status == 0 && audit.output.contains("everything holds"), "\(audit)")
    }
}
