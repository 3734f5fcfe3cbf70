import AppStore
import NIOHTTP1
import Testing

@testable import AppStoreSimulator

/// What a simulator is told to do, and what Apple could never do.
@Suite struct CommandTests {
    private static func refusal(_ body: () async throws -> Void) async -> SimulatorError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? SimulatorError
        }
    }

    @Test func whatDoesNotFitAPurchasesStateIsRefused() async throws {
        try await Store.run { store in
            let gems = try await store.buy().transactionID
            let sword = try await store.buy("sword") { $0.type = .nonConsumable }.transactionID
            try await store.commands.perform(.refund(.init(transactionID: gems)))
            let cases: [(SimulatorCommand, String)] = [
                (.refund(.init(transactionID: gems)), "was taken back already"),
                (.decline(transactionID: gems), "was refunded"),
                (.requestConsumption(transactionID: gems, reason: .other), "was refunded already"),
                (.requestConsumption(transactionID: sword, reason: .other), "does not ask about it"),
                (.reverse(transactionID: sword), "was not refunded"), (.renew(transactionID: sword), "does not renew"),
                (.revoke(transactionID: sword), "is not shared by a family"),
            ]
            for (command, why) in cases {
                let error = await Self.refusal { _ = try await store.commands.perform(command) }
                #expect(error?.kind == .conflict && error?.description.contains(why) == true, "\(command)")
            }
            let unknown = await Self.refusal { _ = try await store.commands.perform(.decline(transactionID: "7")) }
            #expect(unknown?.kind == .notFound && unknown?.description == "there is no transaction 7")
        }
    }

    @Test func aRefundMayGrowAndBeReversedAndComeAgain() async throws {
        try await Store.run { store in
            let id = try await store.buy { $0.quantity = 3 }.transactionID
            func refund(_ share: Int64?) async throws -> TransactionPayload {
                var order = SimulatorCommand.RefundOrder(transactionID: id)
                order.percentage = share
                order.reason = .appIssue
                return try store.read(try await store.commands.perform(.refund(order)).signedTransaction)
            }
            let part = try await refund(33_333)
            #expect(part.revoked == 33_333 && part.revocationType == .refundProrated)
            #expect(part.revocationReason == .appIssue)
            let less = await Self.refusal { _ = try await refund(33_333) }
            #expect(less?.kind == .conflict)
            let whole = try await refund(nil)
            #expect(whole.revoked == AppStoreLimits.wholeShare && whole.revocationType == .refundFull)
            let reversed = try store.read(
                try await store.commands.perform(.reverse(transactionID: id)).signedTransaction)
            #expect(reversed.revoked == 0 && reversed.revocationType == nil && reversed.signedDate > whole.signedDate)
            #expect(try await refund(nil).revoked == AppStoreLimits.wholeShare)
        }
    }

    @Test func aSubscriptionRenewsFromItsLastPeriod() async throws {
        try await Store.run { store in
            let first = try await store.buy("pass") { $0.type = .autoRenewableSubscription }
            var ids = [first.transactionID]
            for _ in 0..<2 { ids.append(try await store.commands.perform(.renew(transactionID: ids[0])).transactionID) }
            let last = try store.read(try await store.client.transactionInfo(transactionID: ids[2]))
            #expect(Set(ids).count == 3 && last.originalTransactionID == ids[0] && last.transactionReason == .renewal)
            #expect(last.expiresDate == last.purchaseDate + StoreKitProduct.month)
            let bought = try store.read(first.signedTransaction)
            #expect(last.originalPurchaseDate == bought.purchaseDate)
        }
    }

    @Test func onlyWhatIsForSaleIsSold() async throws {
        let file = try StoreKitFile(Array(StoreKitFileTests.example.utf8))
        try await Store.run(configure: { $0.products = file.products }) { store in
            let gems = try store.read(try await store.buy().signedTransaction)
            #expect(gems.type == .consumable && gems.price == 4_990 && gems.currency == "USD")
            let pass = try store.read(try await store.buy("com.example.game.pass").signedTransaction)
            #expect(pass.type == .autoRenewableSubscription && pass.subscriptionGroupIdentifier == "3F96AC84")
            #expect(pass.expiresDate == pass.purchaseDate + 7 * 86_400_000)
            let other = await Self.refusal { try await store.buy("com.example.game.other") }
            #expect(other?.kind == .notFound && other?.description.contains(Store.product) == true)
            let type = await Self.refusal { try await store.buy { $0.type = .nonConsumable } }
            #expect(type?.kind == .invalid)
            let dear = try store.read(try await store.buy { $0.price = 9_990 }.signedTransaction)
            #expect(dear.price == 9_990)
        }
    }

    @Test(arguments: [
        ("buy", "{}", "productId"), ("buy", #"{"productId":"a","quantity":11}"#, "quantity must be 1 … 10"),
        ("buy", #"{"productId":"a","appAccountToken":"p"}"#, "appAccountToken must be a UUID"),
        ("buy", #"{"productId":"a","type":"Gem"}"#, "type must be one of Consumable"),
        ("buy", #"{"productId":"a","prize":1}"#, "prize is not a member of this command"),
        ("buy", #"{"productId":"a","type":"Non-Consumable","quantity":2}"#, "quantity must be 1"),
        ("buy", #"{"productId":"a","familyShared":true}"#, "is not shared by a family"),
        ("refund", "{}", "transactionId"), ("refund", #"{"transactionId":"1","revocationPercentage":0}"#, "must be 1"),
        ("decline", "[]", "must be an object"),
        ("request-consumption", #"{"transactionId":"1","consumptionRequestReason":"NONE"}"#, "must be one of"),
    ])
    func aMalformedCommandIsRefusedByWhatIsWrong(name: String, body: String, why: String) async throws {
        try await Store.run { store in
            let (status, answer) = try await Raw.send(.POST, store.address + "/simulator/\(name)", body: body)
            #expect(status == 400 && answer["error"]?.contains(why) == true, "\(answer)")
        }
    }

    @Test func pagesOfWebSitesAndUnknownCommandsAreRefused() async throws {
        try await Store.run { store in
            let buy = store.address + "/simulator/buy"
            let body = #"{"productId":"a"}"#
            let page = try await Raw.send(.POST, buy, body: body, headers: ["Origin": "https://example.com"])
            #expect(page.status == 403)
            #expect(try await Raw.send(.POST, store.address + "/simulator/steal", body: body).status == 404)
            #expect(try await Raw.send(.PUT, buy, body: body).status == 405)
            let long = #"{"productId":"\#(String(repeating: "a", count: SimulatorLimits.bodyBytesMax))"}"#
            #expect(try await Raw.send(.POST, buy, body: long).status == 413)
            let kept = await store.simulator.state.purchases.count
            #expect(kept == 0)
        }
        let nobody = await Self.refusal {
            _ = try await SimulatorClient(address: "http://127.0.0.1:1").state()
        }
        #expect(nobody?.description.hasPrefix("no simulator at http://127.0.0.1:1") == true)
    }
}
