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
            price: nil, priceCurrency: nil, revoked: 0, grants: [], consumption: 0, events: [],
            next: nil)
        let consumed = ConsumptionBody(
            sampleContentProvided: true, deliveryStatus: .delivered, consumptionPercentage: 5,
            refundPreference: .decline)
        let asked = ConsumptionQuery(transaction: transaction, sampleContentProvided: true, refundPreference: .decline)
        let spent = SpendReceipt(entry: 2, replayed: false, drawn: [], balances: balances)
        let granted = GrantReceipt(entry: 3, replayed: true, balances: balances)
        let page = HistoryPage(entries: [], next: 4)
        let report = ReportPage(
            kind: .trial, asOf: 9, rows: [.trial(currency: gems, account: .spent, debits: 0, credits: 5)], next: nil)
        let drawn = [DrawnLot(currency: gems, amount: try #require(Amount(5)), lot: 1, transaction: nil)]
        let reversed = ReversalReceipt(entry: 4, replayed: false, returned: drawn, balances: balances)
        let held = HoldReceipt(entry: 5, replayed: false, expiresAt: 9, balances: balances)
        let captured = CaptureReceipt(entry: 6, replayed: true, drawn: drawn, balances: balances)
        let released = ReleaseReceipt(entry: 7, replayed: false, balances: balances)
        let done = AtomicReceipt(
            entry: 8, replayed: false, results: [.capture(drawn: drawn), .release],
            balances: [AccountBalances(account: player, balances: balances)])
        let token = try #require(AppAccountToken("7E3FB204-14E0-4D0B-9D0E-C6E3E2A1B0AF"))
        let linked = LinkReceipt(outcome: .linked, account: player, entry: 9, moved: balances, balances: balances)
        let consented = ConsentReceipt(consumption: true, time: 9, replayed: true)
        let consent = Consent(key: try key("y"), account: player, consumption: true)
        let openLots = OpenItemsPage(
            entry: 9, items: [OpenLot(lot: 7, currency: gems, lotClass: .paid, time: 5, granted: 4, remaining: 3)],
            next: 7)
        let openHolds = OpenItemsPage(
            entry: 9,
            items: [
                OpenHoldView(key: try key("h"), entry: 8, time: 6, currency: gems, amount: 1, expiresAt: 70)
            ], next: nil)
        let feed = JournalPage(
            entries: [
                JournalEntry(entry: 3, time: 1, kind: .hold, key: nil, note: nil, transaction: nil, transfers: [])
            ], next: 3)
        let found = Finding.request(.init(key: try key("k"), answer: .refused(Refusal(.holdClosed, operation: 1))))
        let zeros = [UInt8](repeating: 0, count: 32)
        let blocks = BlocksPage(blocks: [BlocksPage.Block(hash: zeros, body: [1], redactable: [2, 3])], head: 4)
        let external = ExternalPurchase(
            identity: try #require(ExternalIdentity(source: "shop", identifier: "o-1")), account: player,
            product: "gems", quantity: 2, price: 990, priceCurrency: "EUR", purchaseDate: 5, revoked: 0)
        let adjusted = AdjustmentReceipt(entry: 5, replayed: false, balances: balances)
        let adjustment = Adjustment(
            key: try key("j"), account: player, currency: gems, lotClass: .paid, units: -3, reason: "r")
        let imported = ImportReceipt(entry: 6, entries: 2, replayed: false)
        let carried = LotImport(
            key: try key("i"), account: player,
            lots: [
                ImportedLot(currency: gems, amount: try #require(Amount(3))),
                ImportedLot(
                    currency: gems, amount: try #require(Amount(5)),
                    purchase: ImportedPurchase(
                        transaction: try #require(TransactionID("9")), product: "gems", price: 990,
                        priceCurrency: "EUR", purchaseDate: 5)),
            ])
        let closing = ClosingReceipt(through: 7, block: 4, hash: String(repeating: "0", count: 64))
        let promotion = Promotion(promoted: true, block: 4, term: 2)
        let handover = Handover(steppedDown: true, block: 5)
        let reloaded = ReloadReport(applied: false, faults: ["path: can change only at a start"])
        let head = ChainHead(
            block: 7, hash: String(repeating: "0a", count: 32), entry: 3, time: 1, signature: "a.b.c")
        let info = ServerInfo(
            version: "1", ledger: LedgerInfo(environment: "Sandbox", bundleID: "b", engine: "e", currencies: [gems]))
        let script = answering { request in
            switch request {
            case .ping: .pong
            case .authenticate: .authenticated(Identity(name: "books", roles: [.finance]))
            case .info: .info(info)
            case .reload: .reloaded(reloaded)
            case .ledger(.credit): .outcome(.purchase(purchase))
            case .ledger(.notify): .outcome(.notification(notification))
            case .ledger(.purchase): .outcome(.purchaseView(view))
            case .ledger(.consumption): .outcome(.consumption(consumed))
            case .ledger(.keyed(.spend)): .outcome(.spend(spent))
            case .ledger(.keyed(.reverse)): .outcome(.reversal(reversed))
            case .ledger(.keyed(.hold)): .outcome(.hold(held))
            case .ledger(.keyed(.capture)): .outcome(.capture(captured))
            case .ledger(.keyed(.release)): .outcome(.release(released))
            case .ledger(.keyed(.grant)): .outcome(.grant(granted))
            case .ledger(.atomic): .outcome(.atomic(done))
            case .ledger(.link): .outcome(.link(linked))
            case .ledger(.consent): .outcome(.consent(consented))
            case .ledger(.balance): .outcome(.balance(AccountBalances(account: player, balances: balances)))
            case .ledger(.history): .outcome(.history(page))
            case .ledger(.lots): .outcome(.lots(openLots))
            case .ledger(.holds): .outcome(.holds(openHolds))
            case .ledger(.report): .outcome(.report(report))
            case .ledger(.journal): .outcome(.journal(feed))
            case .ledger(.find): .outcome(.finding(found))
            case .ledger(.head): .outcome(.head(head))
            case .ledger(.external): .outcome(.purchase(purchase))
            case .ledger(.adjust): .outcome(.adjustment(adjusted))
            case .ledger(.importLots): .outcome(.imported(imported))
            case .ledger(.close): .outcome(.closed(closing))
            case .ledger(.forget): .outcome(.forgotten(true))
            case .ledger(.blocks): .outcome(.blocks(blocks))
            case .ledger(.promote): .outcome(.promoted(promotion))
            case .ledger(.stepDown): .outcome(.steppedDown(handover))
            }
        }
        let ofBlocks = BlocksQuery(
            standby: try #require(StandbyName("b")), after: 3, hash: zeros, durable: 2, waitMilliseconds: 5)
        let amount = try #require(Amount(5))
        let spend = Spend(
            key: try key("k"), account: player, debits: [CurrencyAmount(currency: gems, amount: amount)], note: "n",
            funds: .paid, expectedVersion: 1, minimumRemaining: 0)
        let grant = Grant(key: try key("g"), account: player, currency: gems, amount: amount)
        let reversal = Reversal(key: try key("r"), spendKey: try key("k"), operation: 1, debits: spend.debits)
        let hold = Hold(key: try key("h"), account: player, currency: gems, amount: amount, timeoutMilliseconds: 7)
        let capture = Capture(key: try key("c"), holdKey: try key("h"), amount: amount)
        let release = Release(key: try key("l"), holdKey: try key("h"), operation: 0)
        let own = try key("a")
        let atomic = LedgerTypes.Atomic(
            key: own,
            operations: [
                .capture(Capture(key: own, holdKey: try key("h"))), .release(Release(key: own, holdKey: try key("h2"))),
            ])
        let query = HistoryQuery(account: player, currency: gems, limit: 3, before: 9)
        let ofOpen = OpenItemsQuery(account: player, currency: gems, limit: 3, before: 9)
        try await Peer.with(script) { peer, client in
            try await client.ping()
            #expect(try await client.authenticate(token: "t").roles == [.finance])
            #expect(try await client.info() == info)
            #expect(try await client.credit(signedTransaction: "a.b.c", account: player) == purchase)
            #expect(try await client.notify(signedPayload: "d.e.f") == notification)
            #expect(try await client.purchase(transaction) == view)
            #expect(try await client.purchase(transaction, limit: 3, before: 9) == view)
            #expect(try await client.consumption(asked) == consumed)
            #expect(try await client.spend(spend) == spent)
            #expect(try await client.reverse(reversal) == reversed)
            #expect(try await client.hold(hold) == held)
            #expect(try await client.capture(capture) == captured)
            #expect(try await client.release(release) == released)
            #expect(try await client.grant(grant) == granted)
            #expect(try await client.atomic(atomic) == done)
            #expect(try await client.link(token, to: player) == linked)
            #expect(try await client.relink(token, to: player) == linked)
            #expect(try await client.consent(consent) == consented)
            #expect(try await client.balance(player, currency: gems, asOf: 7).balances == balances)
            #expect(try await client.history(query) == page)
            #expect(try await client.lots(ofOpen) == openLots)
            #expect(try await client.holds(ofOpen) == openHolds)
            #expect(try await client.report(.trial, asOf: 9, currency: gems, limit: 2, after: "trial.1.2") == report)
            #expect(try await client.journal(after: 2) == feed)
            #expect(try await client.journal(after: 2, limit: 5, wait: .milliseconds(1_500)) == feed)
            #expect(try await client.journal(after: 2, wait: .seconds(1 << 60)) == feed)
            #expect(try await client.journal(after: 2, wait: .seconds(-1)) == feed)
            #expect(try await client.find(.key(try key("k"))) == found)
            #expect(try await client.head() == head)
            #expect(try await client.external(external) == purchase)
            #expect(try await client.adjust(adjustment, approval: "u") == adjusted)
            #expect(try await client.importLots(carried) == imported)
            #expect(try await client.closePeriod(through: 7) == closing)
            #expect(try await client.forget(player))
            #expect(try await client.blocks(ofBlocks) == blocks)
            #expect(try await client.promote() == promotion)
            #expect(try await client.stepDown() == handover)
            #expect(try await client.reload() == reloaded)
            let requests = peer.observed.lines.map { line -> Request? in
                guard case .single(let message) = line.withUnsafeBufferPointer({ LineParser.parse($0) }) else {
                    return nil
                }
                return try? message.body.get().request
            }
            let operations: [KeyedOperation] = [
                .spend(spend), .reverse(reversal), .hold(hold), .capture(capture), .release(release), .grant(grant),
            ]
            let expected: [Request?] =
                [
                    .ping, .authenticate(Authentication(token: "t")), .info,
                    .ledger(.credit(Credit(signedTransaction: Array("a.b.c".utf8), account: player))),
                    .ledger(.notify(Notify(signedPayload: Array("d.e.f".utf8)))),
                    .ledger(.purchase(PurchaseQuery(transaction: transaction))),
                    .ledger(.purchase(PurchaseQuery(transaction: transaction, limit: 3, before: 9))),
                    .ledger(.consumption(asked)),
                ] + operations.map { .ledger(.keyed($0)) } + [
                    .ledger(.atomic(atomic)), .ledger(.link(Link(token: token, account: player))),
                    .ledger(.link(Link(token: token, account: player, moves: true))), .ledger(.consent(consent)),
                    .ledger(.balance(BalanceQuery(account: player, currency: gems, asOf: 7))),
                    .ledger(.history(query)), .ledger(.lots(ofOpen)), .ledger(.holds(ofOpen)),
                    .ledger(
                        .report(ReportRequest(kind: .trial, asOf: 9, currency: gems, limit: 2, after: "trial.1.2"))),
                    .ledger(.journal(JournalQuery(after: 2))),
                    .ledger(.journal(JournalQuery(after: 2, limit: 5, waitMilliseconds: 1_500))),
                    .ledger(.journal(JournalQuery(after: 2, waitMilliseconds: 30_000))),
                    .ledger(.journal(JournalQuery(after: 2))), .ledger(.find(.key(try key("k")))),
                    .ledger(.head), .ledger(.external(external)),
                    .ledger(.adjust(ApprovedAdjustment(adjustment, approval: "u"))),
                    .ledger(.importLots(carried)),
                    .ledger(.close(ClosePeriod(through: 7))),
                    .ledger(.forget(player)),
                    .ledger(.blocks(ofBlocks)), .ledger(.promote), .ledger(.stepDown),
                    .reload,
                ]
            #expect(requests == expected)
        }
    }

    @Test func aFollowerAsksForPageAfterPageAndWaits() async throws {
        // Two entries a page, and at the third time nothing new until the wait is over.
        let script: Peer.Script = { index, line in
            guard let line else { return [] }
            let bytes = answer(line) { request in
                guard case .ledger(.journal(let query)) = request else { return .pong }
                let entries = index == 2 ? [] : [query.after + 1, query.after + 2]
                let page = JournalPage(
                    entries: entries.map {
                        JournalEntry(
                            entry: $0, time: 0, kind: .grant, key: nil, note: nil, transaction: nil, transfers: [])
                    }, next: entries.last ?? query.after)
                return .outcome(.journal(page))
            }
            return [.send(bytes)]
        }
        try await Peer.with(script) { peer, client in
            var read: [EntryID] = []
            for try await entry in client.entries(after: 0) {
                read.append(entry.entry)
                if read.count == 7 { break }
            }
            #expect(read == [1, 2, 3, 4, 5, 6, 7])
            let asked = peer.observed.lines.map { line -> Request? in
                guard case .single(let message) = line.withUnsafeBufferPointer({ LineParser.parse($0) }) else {
                    return nil
                }
                return try? message.body.get().request
            }
            #expect(
                asked
                    == [0, 2, 4, 4, 6].map {
                        .ledger(.journal(JournalQuery(after: $0, limit: 1_000, waitMilliseconds: 30_000)))
                    })
        }
    }

    @Test func aCancelledFollowerAsksNoMore() async throws {
        let script = answering { _ in .outcome(.journal(JournalPage(entries: [], next: 0))) }
        try await Peer.with(script) { peer, client in
            let task = Task {
                for try await _ in client.entries(after: 0) {}
            }
            while peer.observed.lines.isEmpty { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            // Behind what was on its way.
            try await client.ping()
            let asked = peer.observed.lines.count
            try await client.ping()
            #expect(peer.observed.lines.count == asked + 1)
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
