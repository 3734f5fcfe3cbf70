import AppStore
import Foundation

/// A payload whose signature is good is refused, or all that the books depend on is within its limits and is what
/// Foundation reads; written and signed again, it is the same.
enum PayloadProperty {
    /// An input begins with what it is; behind it stands JSON.
    private enum Form: UInt8 {
        case transaction = 0x54  // T
        case notification = 0x4E  // N
        /// A notification and, behind a zero byte, a transaction, which is signed and put in where ``place`` stands.
        case both = 0x42  // B
    }

    private static let place = "{{transaction}}"
    private static let date = SignedSamples.date
    private static let app = App(bundleID: "com.example.game", appAppleID: 7, environment: .sandbox)
    private static let chain = certain("making a chain") {
        try SandboxChain(notBefore: SignedSamples.validity.lowerBound, notAfter: SignedSamples.validity.upperBound)
    }
    private static let verifier = Verifier(app: app, anchors: [chain.root])

    private static func signed(_ payload: [UInt8]) -> [UInt8] {
        certain("signing") { try chain.jws(payload: payload) }
    }

    static func check(_ bytes: [UInt8]) -> Bool {
        guard let form = bytes.first.flatMap({ Form(rawValue: $0) }), bytes.count < 30_000, bytes.count > 1 else {
            return false
        }
        var payload = Array(bytes.dropFirst())
        switch form {
        case .transaction: return checkTransaction(payload)
        case .notification: break
        case .both:
            let parts = payload.split(separator: 0, maxSplits: 1)
            guard parts.count == 2 else { return false }
            let transaction = String(decoding: signed(Array(parts[1])), as: UTF8.self)
            let outer = String(decoding: parts[0], as: UTF8.self)
            payload = Array(outer.replacing(place, with: transaction, maxReplacements: 2).utf8)
        }
        return checkNotification(payload)
    }

    private static func checkTransaction(_ json: [UInt8]) -> Bool {
        let jws = signed(json)
        do throws(VerificationFailure) {
            let verified = try verifier.verify(transaction: jws, now: date)
            require(verified.evidence.payload == json, "the evidence is what was signed")
            check(verified.payload, json)
            let again = try verifier.verify(transaction: signed(verified.payload.json()), now: date)
            require(again.payload == verified.payload, "a payload that is written and read again is the same")
            return true
        } catch {
            require(error.reason != .invalidSignature && error.reason != .untrustedRoot, "the signature is good")
            return false
        }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        "0123456789abcdefABCDEF".utf8.contains(byte)
    }

    private static func check(_ payload: TransactionPayload, _ json: [UInt8]) {
        let id = payload.transactionID
        require(Int64(id).map { $0 >= 0 && String($0) == id } ?? false, "a transaction id is a number of 64 bits")
        require(payload.bundleID == app.bundleID && payload.environment == .sandbox, "it is this app's")
        require((1...255).contains(payload.productID.utf8.count), "a product has a name")
        require(payload.signedDate <= date + 300_000, "it was not signed in the future")
        require(SignedSamples.validity.contains(payload.signedDate), "its certificates were valid")
        if let token = payload.appAccountToken {
            let parts = token.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count)
            let isUUID = parts == [8, 4, 4, 4, 12] && token.utf8.allSatisfy { $0 == 0x2D || isHexadecimal($0) }
            require(!token.isEmpty && (!isUUID || token == token.lowercased()), "a UUID has one form")
        }
        // Of what is no consumable, whoever credits it looks at the rules.
        guard payload.brokenRule == nil else {
            return require(payload.type != .consumable, "a consumable that breaks a rule is refused")
        }
        let largest: Int64 = 1 << 53 - 1
        require((1...10).contains(payload.quantity), "a quantity is 1 to 10")
        require((0...100_000).contains(payload.revoked), "what is revoked is a share of the whole")
        require((0...largest).contains(payload.purchaseDate), "a date is one that every reader holds")
        require((0...largest).contains(payload.chargeDate), "and so is that of the charge")
        require(!payload.soldIDs.isEmpty, "something was sold")
        let price = payload.price ?? 0
        require((0...largest).contains(price), "a price is one that every reader holds")
        compare(payload, json)
    }

    /// What Foundation reads of the members that the books depend on. It drops byte order marks from texts.
    private static func compare(_ payload: TransactionPayload, _ json: [UInt8]) {
        require(JSONComparison.check(json) == nil, "what a payload is read of is JSON")
        guard let object = try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any] else { return }
        func isSame(_ name: String, _ value: Int64?) -> Bool {
            switch object[name] {
            case let number as NSNumber where String(cString: number.objCType) == "q": number.int64Value == value
            case is NSNull, nil: value == nil
            default: true
            }
        }
        func isSame(_ name: String, _ value: String) -> Bool {
            (object[name] as? String)?.unicodeScalars.filter { $0 != "\u{FEFF}" }
                .elementsEqual(value.unicodeScalars.filter { $0 != "\u{FEFF}" }) ?? false
        }
        require(isSame("transactionId", payload.transactionID), "Foundation reads the same transaction id")
        require(isSame("productId", payload.productID), "Foundation reads the same product")
        require(isSame("purchaseDate", payload.purchaseDate), "Foundation reads the same date")
        require(isSame("signedDate", payload.signedDate), "Foundation reads the same date of signing")
        // One, where none is said.
        let isOne = payload.quantity == 1 && isSame("quantity", nil)
        require(isOne || isSame("quantity", payload.quantity), "Foundation reads the same quantity")
        require(isSame("price", payload.price), "Foundation reads the same price")
        require(isSame("revocationDate", payload.revocationDate), "Foundation reads the same revocation")
        require(isSame("revocationPercentage", payload.revocationPercentage), "Foundation reads the same share")
    }

    private static func checkNotification(_ json: [UInt8]) -> Bool {
        do throws(VerificationFailure) {
            let verified = try verifier.verify(notification: signed(json), now: date)
            let payload = verified.payload
            require(verified.evidence.payload == json, "the evidence is what was signed")
            require((1...255).contains(payload.notificationUUID.utf8.count), "a notification has a name")
            require((1...255).contains(payload.notificationType.rawValue.utf8.count), "a notification has a type")
            require(payload.signedDate <= date + 300_000, "it was not signed in the future")
            if let nested = verified.transaction {
                require(payload.data?.signedTransactionInfo != nil, "its transaction is in it")
                check(nested.payload, nested.evidence.payload)
            }
            let again = try verifier.verify(notification: signed(payload.json()), now: date)
            require(again.payload == payload, "a notification that is written and read again is the same")
            return true
        } catch {
            require(!error.message.isEmpty, "a refusal says why")
            return false
        }
    }

    // MARK: Seeds

    private static func transaction(_ change: (inout TransactionPayload) -> Void = { _ in }) -> [UInt8] {
        var payload = TransactionPayload.sample(
            transactionID: "2000000849195831", bundleID: app.bundleID, productID: "com.example.game.gems500", now: date)
        payload.appAccountToken = "7e3fb204-14e0-4d0b-9d0e-c6e3e2a1b0af"
        payload.revocationDate = date
        payload.revocationPercentage = 33_333
        payload.revocationReason = .init(rawValue: 1)
        payload.revocationType = .init(rawValue: "REFUND_PRORATED")
        payload.offerType = .init(rawValue: 3)
        payload.offerIdentifier = "SPRING"
        payload.offerDiscountType = .init(rawValue: "FREE_TRIAL")
        payload.commitmentInfo = Array(#"{"a":[1,null]}"#.utf8)
        change(&payload)
        return payload.json()
    }

    private static let transactions: [[UInt8]] = [
        transaction(),
        transaction {
            $0.type = .nonConsumable
            $0.originalTransactionID = "1000000849195831"
            $0.inAppOwnershipType = .familyShared
        },
        transaction {
            $0.type = .autoRenewableSubscription
            $0.revocationDate = nil
            $0.isUpgraded = true
        },
        transaction {
            $0.type = .nonRenewingSubscription
            $0.quantity = 11
        },
        transaction {
            $0.advancedCommerceInfo = Array(
                #"{"items":[{"SKU":"gems","revocationDate":\#(date)},{"SKU":"coins","price":990}]}"#.utf8)
        },
    ]

    private static func notification(_ rest: String) -> [UInt8] {
        let uuid = "002e14d5-51f5-4503-b5a8-c3a1af68eb20"
        let text = #"{"notificationType":"REFUND","subtype":"UPGRADE","notificationUUID":"\#(uuid)","version":"2.0","#
        return Array((text + #""signedDate":\#(date),\#(rest)}"#).utf8)
    }

    private static let members = #""appAppleId":7,"bundleId":"com.example.game","environment":"Sandbox""#

    static let seeds: [[UInt8]] =
        transactions.map { [Form.transaction.rawValue] + $0 }
        + [
            #""data":{\#(members),"bundleVersion":"1","status":1,"consumptionRequestReason":"OTHER"}"#,
            #""appData":{\#(members),"signedAppTransactionInfo":"a.b.c"}"#,
            #""summary":{\#(members),"productId":"p","requestIdentifier":"r","storefrontCountryCodes":["USA"],"#
                + #""succeededCount":5,"failedCount":2}"#,
            #""externalPurchaseToken":{"externalPurchaseId":"SANDBOX_x","tokenCreationDate":1,"appAppleId":7,"#
                + #""bundleId":"com.example.game","tokenType":"SERVICES"}"#,
        ].map { [Form.notification.rawValue] + notification($0) }
        + transactions.map {
            [Form.both.rawValue] + notification(#""data":{\#(members),"signedTransactionInfo":"\#(place)"}"#) + [0] + $0
        }

    /// With the last date that is not in the future, and the first that is; and those at which the certificates are
    /// valid, and are not any more.
    static let edges =
        JSONParts.edges
        + [
            date + 300_000, date + 300_001, SignedSamples.validity.lowerBound, SignedSamples.validity.lowerBound - 1,
        ].map { "\($0)" }

    static let words = [
        "transactionId", "originalTransactionId", "purchaseDate", "quantity", "revocationDate", "revocationPercentage",
        "price", "appAccountToken", "Consumable", "Non-Consumable", "Auto-Renewable Subscription", "FAMILY_SHARED",
        "originalPurchaseDate", "isUpgraded", "SKU", "items", "signedDate", "1795377600000", "100000", "null",
        "9007199254740991", "9007199254740992", "9223372036854775807", "9223372036854775808", "1e3", ".5", place,
    ]
}
