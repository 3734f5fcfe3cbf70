import AppStore
import AppStoreServer
import AsyncHTTPClient
import NIOCore
import StrictJSON
import Testing

@testable import AppStoreSimulator

/// Every call of the client, asked of a simulator over a socket.
@Suite struct EndpointTests {
    // MARK: One transaction

    @Test func aTransactionIsSignedAnewAsItStands() async throws {
        try await Store.run { store in
            let bought = try await store.buy {
                $0.appAccountToken = Store.account.uppercased()
                $0.quantity = 3
                $0.price = 990
                $0.currency = "EUR"
            }
            let first = try store.read(bought.signedTransaction)
            #expect(first.appAccountToken == Store.account && first.quantity == 3)
            #expect(first.price == 2_970 && first.currency == "EUR" && first.type == .consumable)
            let again = try store.read(try await store.client.transactionInfo(transactionID: bought.transactionID))
            #expect(again.signedDate >= first.signedDate)
            var same = again
            same.signedDate = first.signedDate
            #expect(same == first)
            try await store.commands.perform(.refund(.init(transactionID: bought.transactionID)))
            let refunded = try store.read(try await store.client.transactionInfo(transactionID: bought.transactionID))
            #expect(refunded.signedDate > again.signedDate && refunded.revoked == AppStoreLimits.wholeShare)
        }
    }

    /// The payload's members; nothing else reads the App Store's word on the app itself.
    private static func payload(of jws: String) throws -> [String: String] {
        let parts = jws.split(separator: ".")
        try #require(parts.count == 3)
        return try JSONMembers.read(try #require(Base64.decodeURL(Array(parts[1].utf8)[...])))
    }

    @Test func theAppItselfWasDownloadedOnceByEachCustomer() async throws {
        try await Store.run { store in
            var downloads: [String] = []
            for customer in ["a", "a", "b"] {
                let bought = try await store.buy { $0.customer = customer }
                let jws = try await store.client.appTransactionInfo(transactionID: bought.transactionID)
                let app = try Self.payload(of: jws)
                #expect(app["bundleId"] == Store.bundleID && app["receiptType"] == "Sandbox")
                #expect(try store.read(bought.signedTransaction).appTransactionID == app["appTransactionId"])
                downloads.append(app["appTransactionId"] ?? "")
            }
            #expect(downloads[0] == downloads[1] && downloads[1] != downloads[2])
            // Histories take it in place of a transaction's id; other calls do not.
            let history = store.client.transactionHistory(transactionID: downloads[0])
            for try await page in history { #expect(page.signedTransactions.count == 2) }
            let id = downloads[0]
            let refused = try await refusal { _ = try await store.client.transactionInfo(transactionID: id) }
            #expect(refused.status == 400 && refused.code == .appTransactionIDNotSupported)
        }
    }

    @Test func anOrderHasItsTransaction() async throws {
        try await Store.run { store in
            let bought = try await store.buy()
            let order = try #require(try await store.state(of: bought.transactionID)["orderId"])
            let found = try await store.client.lookUpOrder(orderID: order)
            #expect(found.isValid && found.signedTransactions.count == 1)
            #expect(try store.read(found.signedTransactions[0]).transactionID == bought.transactionID)
            for other in ["MOTHER", order.lowercased(), "M0"] {
                let none = try await store.client.lookUpOrder(orderID: other)
                #expect(!none.isValid && none.signedTransactions.isEmpty)
            }
        }
    }

    @Test func whatIsNotThereIsRefusedByApplesNumbers() async throws {
        try await Store.run { store in
            let client = store.client
            let consumption = ConsumptionInformation(
                deliveryStatus: .delivered, consumptionPercentage: 0, sampleContentProvided: false)
            let calls: [(String) async throws -> Void] = [
                { _ = try await client.transactionInfo(transactionID: $0) },
                { _ = try await client.appTransactionInfo(transactionID: $0) },
                { for try await _ in client.transactionHistory(transactionID: $0) {} },
                { for try await _ in client.refundHistory(transactionID: $0) {} },
                { try await client.finishTransaction(transactionID: $0) },
                { try await client.setAppAccountToken(Store.account, originalTransactionID: $0) },
                { try await client.sendConsumption(consumption, transactionID: $0) },
            ]
            for call in calls {
                let unknown = try await refusal { try await call("2000000000000001") }
                #expect(unknown.status == 404 && unknown.code == .transactionIDNotFound)
                for id in ["abc", "99999999999999999999"] {
                    let invalid = try await refusal { try await call(id) }
                    #expect(invalid.status == 400 && invalid.code == .invalidTransactionID)
                }
            }
        }
    }

    // MARK: What the App Store is told

    @Test func aTransactionIsFinishedOnceAndForAll() async throws {
        try await Store.run { store in
            let bought = try await store.buy()
            #expect(try await store.state(of: bought.transactionID)["finished"] == "false")
            for _ in 1...2 { try await store.client.finishTransaction(transactionID: bought.transactionID) }
            let state = try await store.state(of: bought.transactionID)
            #expect(state["finished"] == "true")
            // Each call is known.
            #expect(state["finishCalls"]?.matches(of: /"replyLost":false/).count == 2, "\(state)")
            let other = try await store.buy { $0.isFinished = true }
            #expect(try await store.state(of: other.transactionID)["finished"] == "true")
        }
    }

    @Test func aTokenIsInEverythingSignedFromThenOn() async throws {
        try await Store.run { store in
            let bought = try await store.buy { $0.type = .autoRenewableSubscription }
            let renewed = try await store.commands.perform(.renew(transactionID: bought.transactionID))
            try await store.client.setAppAccountToken(
                Store.account.uppercased(), originalTransactionID: bought.transactionID)
            for id in [bought.transactionID, renewed.transactionID] {
                let jws = try await store.client.transactionInfo(transactionID: id)
                #expect(try store.read(jws).appAccountToken == Store.account)
            }
            let renewal = try await refusal {
                try await store.client.setAppAccountToken(
                    Store.account, originalTransactionID: renewed.transactionID)
            }
            #expect(renewal.code == .transactionIDIsNotOriginalTransactionID)
            let word = try await refusal {
                try await store.client.setAppAccountToken("player-1", originalTransactionID: bought.transactionID)
            }
            #expect(word.code == .invalidAppAccountTokenUUID)
            let shared = try await store.buy {
                $0.type = .nonConsumable
                $0.isFamilyShared = true
            }
            let family = try await refusal {
                try await store.client.setAppAccountToken(
                    Store.account, originalTransactionID: shared.transactionID)
            }
            #expect(family.code == .familyTransactionNotSupported)
        }
    }

    @Test func consumptionIsKeptWithWhetherItWasAskedFor() async throws {
        try await Store.run { store in
            let bought = try await store.buy()
            let information = ConsumptionInformation(
                deliveryStatus: .delivered, consumptionPercentage: 33_333, refundPreference: .decline,
                sampleContentProvided: false)
            try await store.client.sendConsumption(information, transactionID: bought.transactionID)
            try await store.commands.perform(
                .requestConsumption(transactionID: bought.transactionID, reason: .fulfillmentIssue))
            try await store.client.sendConsumption(information, transactionID: bought.transactionID)
            let state = try await store.state(of: bought.transactionID)
            let answers = try #require(state["consumptionAnswers"])
            #expect(answers.matches(of: /"inTime":(\w+)/).map { String($0.1) } == ["false", "true"])
            #expect(answers.matches(of: /"replyLost":false/).count == 2)
            #expect(answers.contains(#""consumptionPercentage":33333,"deliveryStatus":"DELIVERED""#), "\(answers)")
            #expect(state["consumptionRequests"]?.contains("FULFILLMENT_ISSUE") == true)
        }
    }

    /// Bodies that the client does not send.
    @Test(arguments: [
        (#"{"customerConsented":false,"deliveryStatus":"DELIVERED","sampleContentProvided":false}"#, 4_000_035),
        (#"{"deliveryStatus":"DELIVERED","sampleContentProvided":false}"#, 4_000_035),
        (#"{"customerConsented":true,"deliveryStatus":"LOST","sampleContentProvided":false}"#, 4_000_036),
        (#"{"customerConsented":true,"sampleContentProvided":false}"#, 4_000_036),
        (#"{"customerConsented":true,"deliveryStatus":"DELIVERED"}"#, 4_000_041),
        (
            #"{"customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false,"#
                + #""refundPreference":"MAYBE"}"#, 4_000_044
        ),
        (
            #"{"customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false,"#
                + #""refundPreference":"GRANT_PRORATED","consumptionPercentage":0}"#, 4_000_044
        ),
        (
            #"{"customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false,"#
                + #""consumptionPercentage":100001}"#, 4_000_000
        ),
        (
            #"{"customerConsented":true,"deliveryStatus":"UNDELIVERED_OTHER","sampleContentProvided":false,"#
                + #""consumptionPercentage":1}"#, 4_000_000
        ),
        ("[]", 4_000_000), ("", 4_000_000),
    ])
    func consumptionIsCheckedAsAppleChecksIt(body: String, number: Int) async throws {
        try await Store.run { store in
            let bought = try await store.buy()
            let path = "/inApps/v2/transactions/consumption/\(bought.transactionID)"
            let (status, answer) = try await Raw.send(.PUT, store.address + path, body: body, token: try Raw.token())
            #expect(status == 400 && answer["errorCode"] == String(number))
            #expect(try await store.state(of: bought.transactionID)["consumptionAnswers"] == "[]")
        }
    }

    // MARK: Who may ask

    @Test func aTokenIsCheckedByEachOfItsClaims() async throws {
        let now = SystemTime.now() / 1_000
        let good: [String: Raw.Claim] = [
            "iss": .text(Store.issuerID), "aud": .text("appstoreconnect-v1"), "bid": .text(Store.bundleID),
            "iat": .number(now), "exp": .number(now + 3_600),
        ]
        let wrong: [(String, Raw.Claim?)] = [
            ("iss", .text("57246542-96fe-1a63-e053-0824d011072b")), ("iss", nil), ("aud", .text("appstoreconnect-v2")),
            ("aud", nil), ("bid", .text("com.example.other")), ("bid", nil), ("exp", .number(now + 3_601)),
            ("exp", .number(now - 3_600)), ("exp", nil), ("iat", .number(now + 3_600)), ("iat", nil),
            ("iat", .text("now")),
        ]
        try await Store.run { store in
            let bought = try await store.buy()
            let url = store.address + "/inApps/v1/transactions/\(bought.transactionID)"
            #expect(try await Raw.send(.GET, url, token: try Raw.token(claims: good)).status == 200)
            for (name, claim) in wrong {
                var claims = good
                claims[name] = claim
                #expect(try await Raw.send(.GET, url, token: try Raw.token(claims: claims)).status == 401, "\(name)")
            }
            for (name, value) in [("kid", "2X9R4HXF35"), ("alg", "none"), ("typ", "JWS")] {
                let token = try Raw.token(header: [name: value], claims: good)
                #expect(try await Raw.send(.GET, url, token: token).status == 401, "\(name)")
            }
            let other = try Raw.token(claims: good, key: ES256PrivateKey.generate())
            #expect(try await Raw.send(.GET, url, token: other).status == 401)
            for token in [nil, "", "a.b.c", "a.b"] {
                #expect(try await Raw.send(.GET, url, token: token).status == 401)
            }
        }
    }

    @Test func aPathThatAppleDoesNotHaveIsNotFound() async throws {
        try await Store.run { store in
            for path in ["/inApps/v1/history/1", "/inApps/v2/history/1/2", "/", "/inApps/v1/notifications/test/"] {
                let answered = try await Raw.send(.GET, store.address + path, token: try Raw.token())
                #expect(answered.status == 404, "\(path)")
            }
        }
    }
}
