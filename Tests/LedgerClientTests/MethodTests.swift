import LedgerClient
import Testing

/// Each typed method sends its request and gives its receipt.
@Suite struct MethodTests {
    @Test func everyMethodSendsItsRequestAndGivesItsReceipt() async throws {
        let player = try account("player-1")
        let gems = try currency("gems")
        let balances = [CurrencyBalance(currency: gems, balance: Balance(available: 5, paid: 5, version: 1))]
        let transaction = try #require(TransactionID("12"))
        let purchase = PurchaseReceipt(
            outcome: .credited, transaction: transaction, account: player,
            posted: [PostedAmount(currency: gems, units: 5)], balances: balances, entry: 1, finish: true)
        let notification = NotificationReceipt(
            type: "ONE_TIME_CHARGE", subtype: nil, uuid: "u", duplicate: false, purchase: purchase)
        let view = PurchaseView(
            transaction: transaction, state: .standing, account: player, product: "p", quantity: 1, purchaseDate: 1,
            price: nil, priceCurrency: nil, revoked: 0, grants: [], consumption: 0, events: [])
        let consumed = ConsumptionBody(
            sampleContentProvided: true, deliveryStatus: .delivered, consumptionPercentage: 5,
            refundPreference: .decline)
        let asked = ConsumptionQuery(transaction: transaction, sampleContentProvided: true, refundPreference: .decline)
        let spent = SpendReceipt(entry: 2, replayed: false, drawn: [], balances: balances)
        let granted = GrantReceipt(entry: 3, replayed: true, balances: balances)
        let page = HistoryPage(entries: [], next: 4)
        let report = ReportPage(
            kind: .trial, asOf: 9, rows: [.trial(currency: gems, account: .spent, debits: 0, credits: 5)], next: nil)
        let info = ServerInfo(
            version: "1", environment: "Sandbox", bundleID: "b", engine: "e", currencies: [gems])
        let script = answering { request in
            switch request {
            case .ping: .pong
            case .authenticate: .authenticated(.finance)
            case .info: .info(info)
            case .credit: .outcome(.purchase(purchase))
            case .notify: .outcome(.notification(notification))
            case .purchase: .outcome(.purchaseView(view))
            case .consumption: .outcome(.consumption(consumed))
            case .spend: .outcome(.spend(spent))
            case .grant: .outcome(.grant(granted))
            case .balance: .balances(AccountBalances(account: player, balances: balances))
            case .history: .history(page)
            case .report: .report(report)
            }
        }
        let amount = try #require(Amount(5))
        let spend = Spend(
            key: try key("k"), account: player, debits: [CurrencyAmount(currency: gems, amount: amount)], note: "n",
            funds: .paid, expectedVersion: 1, minimumRemaining: 0)
        let grant = Grant(key: try key("g"), account: player, currency: gems, amount: amount)
        let query = HistoryQuery(account: player, currency: gems, limit: 3, before: 9)
        try await Peer.with(script) { peer, client in
            try await client.ping()
            #expect(try await client.authenticate(token: "t") == .finance)
            #expect(try await client.info() == info)
            #expect(try await client.credit(signedTransaction: "a.b.c", account: player) == purchase)
            #expect(try await client.notify(signedPayload: "d.e.f") == notification)
            #expect(try await client.purchase(transaction) == view)
            #expect(try await client.consumption(asked) == consumed)
            #expect(try await client.spend(spend) == spent)
            #expect(try await client.grant(grant) == granted)
            #expect(try await client.balance(player, currency: gems, asOf: 7).balances == balances)
            #expect(try await client.history(query) == page)
            #expect(try await client.report(.trial, asOf: 9, currency: gems, limit: 2, after: "1.2") == report)
            let requests = peer.observed.lines.map { line -> Request? in
                guard case .single(let message) = line.withUnsafeBufferPointer({ LineParser.parse($0) }) else {
                    return nil
                }
                return try? message.body.get()
            }
            let expected: [Request?] = [
                .ping, .authenticate(token: "t"), .info,
                .credit(signedTransaction: Array("a.b.c".utf8), account: player),
                .notify(signedPayload: Array("d.e.f".utf8), account: nil), .purchase(transaction), .consumption(asked),
                .spend(spend),
                .grant(grant), .balance(account: player, currency: gems, asOf: 7), .history(query),
                .report(kind: .trial, asOf: 9, currency: gems, limit: 2, after: "1.2"),
            ]
            #expect(requests == expected)
        }
    }

    @Test func aRefusalIsThrownWithItsDetails() async throws {
        let refusal = Refusal(.insufficientFunds(currency: try currency("gems"), available: 3), replayed: true)
        try await Peer.with(answering { _ in .outcome(.refused(refusal)) }) { _, client in
            let error = await #expect(throws: WireError.self) { try await client.ping() }
            #expect(error?.reason == "insufficient_funds")
            #expect(error?["available"] == .integer(3))
            #expect(error?["replayed"] == .bool(true))
            #expect(error?.retryable == false)
        }
    }

    @Test func anyMethodCanBeCalledWithJSON() async throws {
        try await Peer.with(answering(echo)) { peer, client in
            let result = try await client.call(method: "balance", params: Array("{\n\"account\": \"p\"\n}".utf8))
            #expect(String(decoding: result, as: UTF8.self) == #"{"account":"p","balances":{}}"#)
            let error = await #expect(throws: WireError.self) { try await client.call(method: "no\nsuch") }
            #expect(error?.reason == "method_not_found")
            #expect(peer.observed.lines.count == 2)
        }
    }

    @Test func aRequestThatCannotBeSentLeavesTheConnectionGood() async throws {
        try await Peer.with(answering(echo)) { peer, client in
            let params = await #expect(throws: ClientError.self) {
                try await client.call(method: "ping", params: Array("{".utf8))
            }
            guard case .invalidParams = params else {
                Issue.record("\(String(describing: params))")
                return
            }
            await #expect(throws: ClientError.requestTooLong) {
                try await client.credit(signedTransaction: String(repeating: "a", count: WireLimits.lineBytesMax))
            }
            try await client.ping()
            #expect(peer.observed.lines.count == 1)
        }
    }

    @Test func aResultWithoutWhatIsNeededIsUnreadableAndTheConnectionGood() async throws {
        try await Peer.with(answering { _ in .pong }) { _, client in
            let error = await #expect(throws: ClientError.self) { try await client.info() }
            #expect(error == .unreadableReply("version is missing"))
            try await client.ping()
        }
    }
}
