import Ledger
import LedgerWire
import StrictJSON
import Testing

/// What one side writes the other reads as the same value.
@Suite struct RoundTripTests {
    @Test func everyRequestIsReadAsItWasWritten() throws {
        let requests = try Samples.requests()
        #expect(Set(requests.map(\.method)) == Set(Methods.all))
        for (index, request) in requests.enumerated() {
            var writer = RequestWriter()
            request.write(&writer, .integer(Int64(index)))
            #expect(writer.bytes.last == UInt8(ascii: "\n"))
            #expect(writer.bytes.count(where: { $0 == UInt8(ascii: "\n") }) == 1)
            #expect(
                parse(writer.bytes) == .single(Message(id: .integer(Int64(index)), body: .success(request.message))),
                "\(String(decoding: writer.bytes, as: UTF8.self))")
        }
    }

    @Test func requestsOfABatchAreReadInTheirOrder() throws {
        let requests = try Samples.requests()
        var writer = RequestWriter()
        writer.write(Methods.info, NoParams(), id: nil)
        let before = writer.bytes.count
        writer.beginBatch()
        for request in requests { request.write(&writer, .string(request.method.description)) }
        writer.endBatch()
        #expect(
            parse(Array(writer.bytes[before...]))
                == .batch(requests.map { Message(id: .string($0.method.description), body: .success($0.message)) }))
        #expect(parse(Array(writer.bytes[..<before])).message?.id == nil)
    }

    @Test func parametersGivenAsJSONStayOnOneLine() throws {
        var writer = RequestWriter()
        try writer.write(method: "ping", params: Array("{\r\n\n}\n".utf8), id: .integer(1))
        #expect(writer.bytes.count(where: { $0 == UInt8(ascii: "\n") }) == 1)
        #expect(parse(writer.bytes).request == .ping)
        writer.removeAll()
        try writer.write(method: "a\"\nb", params: [], id: .integer(1))
        #expect(parse(writer.bytes).error?.reason == "method_not_found")
        writer.removeAll()
        for bad in ["{", "{} {}", "{\"a\":1}}", "x", "{\"a\":\"\n\"}"] {
            #expect(throws: (any Error).self) { try writer.write(method: "ping", params: Array(bad.utf8), id: nil) }
        }
        #expect(writer.bytes == [])
    }

    /// Writes a reply, checks its text, and reads the result again.
    private func read<Value: WireValue & Equatable>(
        _ reply: Reply, _ text: String, as value: Value, _ location: SourceLocation = #_sourceLocation
    ) throws {
        var writer = ReplyWriter()
        writer.write(reply, id: .integer(5))
        #expect(
            String(decoding: writer.bytes, as: UTF8.self) == #"{"jsonrpc":"2.0","id":5,"result":"# + text + "}\n",
            sourceLocation: location)
        if case .outcome(let outcome) = reply {
            // Also where a page was written beforehand.
            var again = ReplyWriter()
            again.write(.outcome(outcome.writtenPage), id: .integer(5))
            #expect(again.bytes == writer.bytes, sourceLocation: location)
        }
        let message = try #require(try ReplyLine(line: writer.bytes).messages.first, sourceLocation: location)
        #expect(message.id == .integer(5), sourceLocation: location)
        let range = try message.body.get()
        #expect(try Value(json: Array(writer.bytes[range])) == value, sourceLocation: location)
    }

    private let balances =
        #"{"gems":{"available":450,"held":3,"debt":0,"paid":400,"free":50,"version":7},"#
        + #""tickets":{"available":0,"held":0,"debt":12,"paid":0,"free":0,"version":2}}"#

    @Test func theServersOwnAnswersAreReadAsTheyWereWritten() throws {
        var writer = ReplyWriter()
        writer.write(.pong, id: .string("p"))
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"{"jsonrpc":"2.0","id":"p","result":{}}"# + "\n")
        for role in Role.allCases {
            let identity = Identity(name: "eu-game-1", roles: [role])
            let text = #"{"name":"eu-game-1","role":"\#(role.rawValue)","roles":["\#(role.rawValue)"]}"#
            try read(.authenticated(identity), text, as: identity)
        }
        let both = Identity(name: nil, roles: [.purchases, .game])
        try read(.authenticated(both), #"{"roles":["purchases","game"]}"#, as: both)
        let info = ServerInfo(
            version: "1.0",
            ledger: LedgerInfo(
                environment: "Sandbox", bundleID: "com.example", engine: "sqlite 3.45",
                currencies: [try Samples.currency("gems"), try Samples.currency("tickets")]))
        try read(
            .info(info),
            #"""
            {"version":"1.0","environment":"Sandbox","bundleId":"com.example","engine":"sqlite 3.45",\#
            "currencies":["gems","tickets"]}
            """#,
            as: info)
    }

    @Test func whatIsSaidOfStandbysIsReadAsItWasWritten() throws {
        let zeros = String(repeating: "0", count: 64)
        let page = BlocksPage(
            blocks: [BlocksPage.Block(hash: Samples.zeros, body: [0, 255, 16], redactable: [])], head: 9)
        try read(
            .outcome(.blocks(page)),
            #"{"blocks":[{"hash":"\#(zeros)","body":"AP8Q","redactable":""}],"head":9}"#, as: page)
        let promotion = Promotion(promoted: true, block: 8, term: 3)
        try read(.outcome(.promoted(promotion)), #"{"promoted":true,"block":8,"term":3}"#, as: promotion)
        let handover = Handover(steppedDown: true, block: 8)
        try read(.outcome(.steppedDown(handover)), #"{"steppedDown":true,"block":8}"#, as: handover)
        var info = ServerInfo(
            version: "1.0",
            ledger: LedgerInfo(environment: "Sandbox", bundleID: "com.example", engine: "e", currencies: []))
        let start = #""version":"1.0","environment":"Sandbox","bundleId":"com.example","engine":"e","currencies":[]"#
        info.ledger.standby = StandbyStanding(
            leader: "h:1", state: .connecting, reason: "r", block: 7, leaderBlock: 9, millisecondsBehind: 12)
        info.ledger.replication = ReplicationStanding(
            required: 1, block: 7,
            standbys: [ReplicationStanding.Standby(name: try Samples.standby("b"), block: 6, isConnected: true)])
        try read(
            .info(info),
            #"""
            {\#(start),"standby":{"leader":"h:1","state":"connecting","reason":"r","block":7,"leaderBlock":9,\#
            "blocksBehind":2,"millisecondsBehind":12},"replication":{"required":1,"block":7,\#
            "standbys":[{"name":"b","block":6,"isConnected":true}]}}
            """#, as: info)
        info.ledger.replication = nil
        info.ledger.standby = StandbyStanding(
            leader: "h:1", state: .following, reason: nil, block: 0, leaderBlock: nil, millisecondsBehind: nil)
        try read(
            .info(info),
            #"""
            {\#(start),"standby":{"leader":"h:1","state":"following","block":0,"leaderBlock":null,\#
            "blocksBehind":null,"millisecondsBehind":null}}
            """#, as: info)
    }

    @Test func aPlaceInTheChainIsReadStrictly() throws {
        let hash = String(repeating: "a", count: 64)
        for (params, path) in [
            (#""standby":"b","after":1,"hash":"\#(hash.uppercased())""#, "hash"),
            (#""standby":"b","after":1,"hash":"\#(hash.dropLast())""#, "hash"),
            (#""standby":"b","after":1,"hash":"\#(hash)","durable":2"#, "durable"),
            (#""standby":"","after":1,"hash":"\#(hash)""#, "standby"),
            (#""standby":"b","hash":"\#(hash)""#, "after"),
            (#""standby":"b","after":1,"hash":"\#(hash)","bytesMax":0"#, "bytesMax"),
            (#""standby":"b","after":1,"hash":"\#(hash)","waitMilliseconds":30001"#, "waitMilliseconds"),
        ] {
            let line = parse(#"{"jsonrpc":"2.0","id":1,"method":"blocks","params":{\#(params)}}"#)
            #expect(line.error?.path == path, "\(params)")
        }
    }

    @Test func aHeadIsReadAsItWasWritten() throws {
        let hash = String(repeating: "0a", count: 32)
        for signature in ["a.b.c", nil] {
            let head = ChainHead(block: 42, hash: hash, entry: 7, time: 1_750_000_000_000, signature: signature)
            let written = signature.map { "\"\($0)\"" } ?? "null"
            try read(
                .outcome(.head(head)),
                #"{"block":42,"hash":"\#(hash)","entry":7,"time":1750000000000,"signature":\#(written)}"#, as: head)
        }
    }

    @Test func aClosingIsReadAsItWasWritten() throws {
        let hash = String(repeating: "0a", count: 32)
        let receipt = ClosingReceipt(through: 9, block: 3, hash: hash)
        try read(.outcome(.closed(receipt)), #"{"through":9,"block":3,"hash":"\#(hash)"}"#, as: receipt)
        let page = ReportPage(
            kind: .closings, asOf: 20,
            rows: [
                .closing(PeriodClosing(through: 9, block: 3, hash: hash, time: 11, actor: "books")),
                .closing(PeriodClosing(through: 12, block: 4, hash: hash, time: 12, actor: nil)),
            ], next: "closings.12.4")
        try read(
            .outcome(.report(page)),
            #"""
            {"kind":"closings","asOf":20,"rows":[{"through":9,"block":3,"hash":"\#(hash)","time":11,"actor":"books"},\#
            {"through":12,"block":4,"hash":"\#(hash)","time":12,"actor":null}],"next":"closings.12.4"}
            """#,
            as: page)
    }

    @Test func keyedReceiptsAreReadAsTheyWereWritten() throws {
        let gems = try Samples.currency("gems")
        let spend = SpendReceipt(
            entry: 9, replayed: true,
            drawn: [
                DrawnLot(
                    currency: gems, amount: try Samples.amount(5), lot: 3, transaction: try Samples.transaction("12")),
                DrawnLot(currency: gems, amount: try Samples.amount(1), lot: 4, transaction: nil),
            ], balances: try Samples.balances())
        try read(
            .outcome(.spend(spend)),
            #"""
            {"entry":9,"replayed":true,"drawn":[{"currency":"gems","amount":5,"lot":3,"transactionId":"12"},\#
            {"currency":"gems","amount":1,"lot":4,"transactionId":null}],"balances":\#(balances)}
            """#,
            as: spend)
        let grant = GrantReceipt(entry: 10, replayed: false, balances: try Samples.balances())
        try read(.outcome(.grant(grant)), #"{"entry":10,"replayed":false,"balances":\#(balances)}"#, as: grant)
    }

    private let lots =
        #"""
        [{"currency":"gems","amount":5,"lot":3,"transactionId":"12"},{"currency":"gems","amount":1,"lot":4,\#
        "transactionId":null}]
        """#

    @Test func operationReceiptsAreReadAsTheyWereWritten() throws {
        let (own, drawn) = (try Samples.balances(), try Samples.drawn())
        let reversal = ReversalReceipt(entry: 9, replayed: false, returned: drawn, balances: own)
        try read(
            .outcome(.reversal(reversal)),
            #"{"entry":9,"replayed":false,"returned":\#(lots),"balances":\#(balances)}"#, as: reversal)
        let hold = HoldReceipt(entry: 9, replayed: true, expiresAt: 1_767_225_600_000, balances: own)
        try read(
            .outcome(.hold(hold)),
            #"{"entry":9,"replayed":true,"expiresAt":1767225600000,"balances":\#(balances)}"#, as: hold)
        let capture = CaptureReceipt(entry: 9, replayed: false, drawn: drawn, balances: own)
        try read(
            .outcome(.capture(capture)),
            #"{"entry":9,"replayed":false,"drawn":\#(lots),"balances":\#(balances)}"#, as: capture)
        let release = ReleaseReceipt(entry: 9, replayed: true, balances: own)
        try read(
            .outcome(.release(release)), #"{"entry":9,"replayed":true,"balances":\#(balances)}"#, as: release)
        for missing in [
            #"{"entry":1,"replayed":true,"balances":{}}"#, #"{"entry":1,"replayed":true,"drawn":[],"returned":1}"#,
            #"{"replayed":true,"drawn":[],"returned":[],"expiresAt":1,"balances":{}}"#,
        ] {
            let json = Array(missing.utf8)
            #expect(throws: (any Error).self) { try ReversalReceipt(json: json) }
            #expect(throws: (any Error).self) { try HoldReceipt(json: json) }
            #expect(throws: (any Error).self) { try CaptureReceipt(json: json) }
        }
    }

    @Test func anAtomicsReceiptIsReadAsItWasWritten() throws {
        let drawn = try Samples.drawn()
        let accounts = [
            AccountBalances(account: try Samples.account("a\"b"), balances: []),
            AccountBalances(account: try Samples.account("player-1"), balances: try Samples.balances()),
        ]
        let receipt = AtomicReceipt(
            entry: 9, replayed: true,
            results: [
                .spend(drawn: drawn), .reverse(returned: drawn), .grant, .hold(expiresAt: 7), .capture(drawn: []),
                .release,
            ], balances: accounts)
        try read(
            .outcome(.atomic(receipt)),
            #"""
            {"entry":9,"replayed":true,"results":[{"method":"spend","drawn":\#(lots)},{"method":"reverse",\#
            "returned":\#(lots)},{"method":"grant"},{"method":"hold","expiresAt":7},{"method":"capture",\#
            "drawn":[]},{"method":"release"}],"balances":{"a\"b":{},"player-1":\#(balances)}}
            """#,
            as: receipt)
        for bad in [
            #"{}"#, #"{"method":"spend"}"#, #"{"method":"hold"}"#, #"{"method":"reverse","drawn":[]}"#,
            #"{"method":"mint"}"#,
        ] { #expect(throws: (any Error).self) { try AtomicReceipt.Result(json: Array(bad.utf8)) } }
    }

    @Test func theJournalIsReadAsItWasWritten() throws {
        try read(
            .outcome(.journal(try Samples.journalPage())),
            #"""
            {"entries":[{"entry":8,"time":9,"kind":"credit","transactionId":"12",\#
            "transfers":[{"transfer":20,"account":"player-1","debit":"purchased","credit":"wallet",\#
            "currency":"gems","amount":5,"lot":20},{"transfer":21,"account":"player-1","debit":"wallet",\#
            "credit":"receivable","currency":"gems","amount":2,"lot":20,"debtLot":7}]},{"entry":9,"time":10,\#
            "kind":"hold_expiry","key":"k","note":"n\n","actor":"eu \"1\"","transfers":[]}],"next":9}
            """#,
            as: try Samples.journalPage())
        let empty = JournalPage(entries: [], next: 0)
        try read(.outcome(.journal(empty)), #"{"entries":[],"next":0}"#, as: empty)
        #expect(throws: (any Error).self) { try JournalPage(json: Array(#"{"entries":[],"next":null}"#.utf8)) }
        for kind in EntryKind.allCases {
            let page = JournalPage(
                entries: [
                    JournalEntry(entry: 1, time: 1, kind: kind, key: nil, note: nil, transaction: nil, transfers: [])
                ], next: 1)
            try read(
                .outcome(.journal(page)),
                #"{"entries":[{"entry":1,"time":1,"kind":"\#(kind.name)","transfers":[]}],"next":1}"#, as: page)
        }
    }

    @Test func purchaseReceiptsAreReadAsTheyWereWritten() throws {
        let purchase = try Samples.purchaseReceipt()
        let text =
            #"""
            {"outcome":"reversed","transactionId":"2000000849195831","account":"player-1",\#
            "posted":[{"currency":"gems","amount":-500}],"balances":\#(balances),"entry":42,"finish":true}
            """#
        try read(.outcome(.purchase(purchase)), text, as: purchase)
        var erased = purchase
        erased.account = AccountName(told: "\u{7F}erased 3")
        try #require(erased.account?.isErased == true)
        let toldErased = text.replacing("player-1", with: "\u{7F}erased 3")
        try read(.outcome(.purchase(erased)), toldErased, as: erased)
        var unassigned = purchase
        (unassigned.outcome, unassigned.account, unassigned.posted, unassigned.balances) = (.unassigned, nil, [], [])
        (unassigned.entry, unassigned.finish) = (nil, false)
        try read(
            .outcome(.purchase(unassigned)),
            #"""
            {"outcome":"unassigned","transactionId":"2000000849195831","account":null,"posted":[],\#
            "balances":{},"entry":null,"finish":false}
            """#,
            as: unassigned)
        for outcome in PurchaseOutcome.allCases {
            var receipt = unassigned
            receipt.outcome = outcome
            var writer = ReplyWriter()
            writer.write(.outcome(.purchase(receipt)), id: .null)
            let range = try #require(try ReplyLine(line: writer.bytes).messages.first).body.get()
            #expect(try PurchaseReceipt(json: Array(writer.bytes[range])) == receipt)
        }
        let notification = NotificationReceipt(
            type: "REFUND", subtype: nil, uuid: "u-1", duplicate: false, purchase: purchase)
        try read(
            .outcome(.notification(notification)),
            #"""
            {"notificationType":"REFUND","subtype":null,"notificationUUID":"u-1","duplicate":false,\#
            "purchase":\#(text)}
            """#,
            as: notification)
        let bare = NotificationReceipt(type: "TEST", subtype: "S", uuid: "u-2", duplicate: true, purchase: nil)
        try read(
            .outcome(.notification(bare)),
            #"{"notificationType":"TEST","subtype":"S","notificationUUID":"u-2","duplicate":true,"purchase":null}"#,
            as: bare)
    }

    @Test func readsAreReadAsTheyWereWritten() throws {
        let own = AccountBalances(account: try Samples.account("player-1"), balances: try Samples.balances())
        try read(.outcome(.balance(own)), #"{"account":"player-1","balances":\#(balances)}"#, as: own)
        let none = AccountBalances(account: try Samples.account("a\"b"), balances: [])
        try read(.outcome(.balance(none)), #"{"account":"a\"b","balances":{}}"#, as: none)
        try read(
            .outcome(.purchaseView(try Samples.purchaseView())),
            #"""
            {"transactionId":"2000000849195831","state":"partly_revoked","account":"player-1",\#
            "product":"com.example.gems","quantity":3,"purchaseDate":1767225600000,"price":4990,\#
            "priceCurrency":"EUR","revoked":33333,"grants":[{"lot":7,"currency":"gems","granted":1500,\#
            "spent":100,"held":1,"revoked":499,"debt":2,"writtenOff":3,"repaid":4,"remaining":891}],\#
            "consumption":6666,"events":[{"number":4,"kind":"signed","time":5,"signedDate":4,"revoked":0,"entry":9},\#
            {"number":5,"kind":"signed","time":6,"signedDate":5,"revoked":33333,"entry":null},\#
            {"number":6,"kind":"consumption_request","time":7,"signedDate":6,"reason":"OTHER",\#
            "deadline":43200006,"entry":null},\#
            {"number":7,"kind":"assigned","time":8,"signedDate":null,"entry":10},\#
            {"number":8,"kind":"consumption_sent","time":9,"signedDate":null,"end":"refused","code":4000006,\#
            "body":"{\"a\":1}","entry":null},\#
            {"number":9,"kind":"finished","time":9,"signedDate":null,"end":"accepted","entry":null}],"next":4}
            """#,
            as: try Samples.purchaseView())
        var bare = try Samples.purchaseView()
        (bare.account, bare.price, bare.priceCurrency, bare.grants[0].lot, bare.next) = (nil, nil, nil, nil, nil)
        var writer = ReplyWriter()
        writer.write(.outcome(.purchaseView(bare)), id: .null)
        let range = try #require(try ReplyLine(line: writer.bytes).messages.first).body.get()
        #expect(try PurchaseView(json: Array(writer.bytes[range])) == bare)
        try read(
            .outcome(.history(try Samples.historyPage())),
            #"""
            {"entries":[{"entry":9,"time":10,"kind":"spend","key":"k","note":"n","actor":"game",\#
            "transfers":[{"debit":"wallet","credit":"spent","currency":"gems","amount":5,"change":-5,\#
            "lot":3}],"balances":\#(balances)},{"entry":8,"time":9,"kind":"credit","transactionId":"12",\#
            "product":"com.example.gems","quantity":3,"price":4990,"priceCurrency":"EUR",\#
            "transfers":[{"debit":"wallet","credit":"receivable","currency":"gems","amount":5,"change":-5,\#
            "lot":3,"debtLot":2}],"balances":{}}],"next":8}
            """#,
            as: try Samples.historyPage())
        let end = HistoryPage(entries: [], next: nil)
        try read(.outcome(.history(end)), #"{"entries":[],"next":null}"#, as: end)
    }

    @Test func whatIsOpenIsReadAsItWasWritten() throws {
        try read(
            .outcome(.lots(try Samples.lotsPage())),
            #"""
            {"entry":12,"lots":[{"lot":9,"currency":"gems","class":"paid","time":7,"transactionId":"12",\#
            "product":"com.example.gems","granted":500,"remaining":20,"held":30,"debt":0},{"lot":3,\#
            "currency":"tickets","class":"free","time":5,"granted":4,"remaining":0,"held":0,"debt":4,\#
            "expiresAt":99}],"next":3}
            """#,
            as: try Samples.lotsPage())
        try read(
            .outcome(.holds(try Samples.holdsPage())),
            #"""
            {"entry":12,"holds":[{"key":"h\\","operation":0,"entry":11,"time":8,"currency":"gems","amount":30,\#
            "expiresAt":99,"actor":"eu \"1\""},{"key":"k","entry":10,"time":7,"currency":"gems","amount":5,\#
            "expiresAt":98}],"next":null}
            """#,
            as: try Samples.holdsPage())
    }

    @Test func reportsAreReadAsTheyWereWritten() throws {
        let gems = try Samples.currency("gems")
        let balancesPage = ReportPage(
            kind: .balances, asOf: 7,
            rows: [
                .balance(
                    account: try Samples.account("player-1"), currency: gems, available: 10, held: 1, debt: 2, paid: 4)
            ], next: "1.2")
        try read(
            .outcome(.report(balancesPage)),
            #"""
            {"kind":"balances","asOf":7,"rows":[{"account":"player-1","currency":"gems","available":10,\#
            "held":1,"debt":2,"paid":4,"free":6}],"next":"1.2"}
            """#,
            as: balancesPage)
        let trial = ReportPage(
            kind: .trial, asOf: 7,
            rows: AccountKind.allCases.map { .trial(currency: gems, account: $0, debits: 1, credits: 3) }, next: nil)
        let rows = AccountKind.allCases.map {
            #"{"currency":"gems","account":"\#($0.name)","debits":1,"credits":3,"balance":-2}"#
        }.joined(separator: ",")
        try read(.outcome(.report(trial)), #"{"kind":"trial","asOf":7,"rows":[\#(rows)],"next":null}"#, as: trial)
        let debts = ReportPage(
            kind: .debts, asOf: 7,
            rows: [
                .debt(
                    account: try Samples.account("player-1"), currency: gems,
                    transaction: try Samples.transaction("12"), source: .external, lot: 3, debt: 380, since: 5, age: 2)
            ], next: "1.3")
        try read(
            .outcome(.report(debts)),
            #"""
            {"kind":"debts","asOf":7,"rows":[{"account":"player-1","currency":"gems","transactionId":"12",\#
            "source":"external","lot":3,"debt":380,"since":5,"ageMilliseconds":2}],"next":"1.3"}
            """#,
            as: debts)
    }

    @Test func reportsOfNotificationsAreReadAsTheyWereWritten() throws {
        let notifications = ReportPage(
            kind: .notifications, asOf: 7,
            rows: [
                .notification(
                    ReportRow.Notification(
                        uuid: "u-1", type: "REFUND", subtype: nil, signedDate: 5, time: 6,
                        transaction: try Samples.transaction("12"), account: try Samples.account("player-1"),
                        verdict: .reversed, entry: 4,
                        posted: [PostedAmount(currency: try Samples.currency("gems"), units: -500)])),
                .notification(
                    ReportRow.Notification(
                        uuid: "u-2", type: "TEST", subtype: "x", signedDate: 5, time: 6, transaction: nil, account: nil,
                        verdict: .recorded, entry: nil, posted: [])),
            ], next: "notifications.6.2")
        try read(
            .outcome(.report(notifications)),
            #"""
            {"kind":"notifications","asOf":7,"rows":[{"notificationUUID":"u-1","notificationType":"REFUND",\#
            "subtype":null,"signedDate":5,"time":6,"transactionId":"12","account":"player-1","verdict":"reversed",\#
            "entry":4,"posted":[{"currency":"gems","amount":-500}]},{"notificationUUID":"u-2",\#
            "notificationType":"TEST","subtype":"x","signedDate":5,"time":6,"transactionId":null,"account":null,\#
            "verdict":"recorded","entry":null,"posted":[]}],"next":"notifications.6.2"}
            """#,
            as: notifications)
        let requests = ReportPage(
            kind: .consumptionRequests, asOf: 7,
            rows: [
                .consumptionRequest(
                    ReportRow.ConsumptionRequest(
                        uuid: "u-1", transaction: try Samples.transaction("12"), product: "gems500",
                        account: try Samples.account("player-1"), reason: "OTHER", signedDate: 5, time: 6,
                        consent: .given, state: .refused, endedAt: 7, code: 4_000_006)),
                .consumptionRequest(
                    ReportRow.ConsumptionRequest(
                        uuid: "u-2", transaction: try Samples.transaction("13"), product: "gems500", account: nil,
                        reason: nil, signedDate: 5, time: 6, consent: .unknown, state: .open, endedAt: nil, code: nil)),
            ], next: nil)
        try read(
            .outcome(.report(requests)),
            #"""
            {"kind":"consumption_requests","asOf":7,"rows":[{"notificationUUID":"u-1","transactionId":"12",\#
            "product":"gems500","account":"player-1","reason":"OTHER","signedDate":5,"time":6,"deadline":43200005,\#
            "consent":"given","state":"refused","endedAt":7,"code":4000006},{"notificationUUID":"u-2",\#
            "transactionId":"13","product":"gems500","account":null,"reason":null,"signedDate":5,"time":6,\#
            "deadline":43200005,"consent":"none","state":"open","endedAt":null,"code":null}],"next":null}
            """#,
            as: requests)
    }

    @Test func reportsOfFinanceAreReadAsTheyWereWritten() throws {
        let page = ReportPage(
            kind: .revenue, asOf: 7,
            rows: [
                .line(
                    ReportLine(
                        .revenue,
                        [
                            .text("gems500"), nil, .text("USD"), .text("app_store"), .text("signed"), .text("gems"),
                            .sum(1 << 60), .sum(-1_996), .sum(1 << 70),
                        ]))
            ], next: "revenue.0.3")
        try read(
            .outcome(.report(page)),
            #"""
            {"kind":"revenue","asOf":7,"rows":[{"product":"gems500","storefront":null,"priceCurrency":"USD",\#
            "source":"app_store","basis":"signed","currency":"gems","units":"1152921504606846976",\#
            "recognised":"-1.996",\#
            "reversed":"1180591620717411303.424"}],"next":"revenue.0.3"}
            """#,
            as: page)
        for kind in ReportKind.allCases where !kind.columns.isEmpty {
            let values: [ReportValue?] = kind.columns.map { column in
                switch column.type {
                case .text: column.isOptional ? nil : .text("x\u{1}")
                case .day: .text("2026-01-31")
                case .time, .integer: .integer(-1)
                case .units, .money: .sum(-5)
                }
            }
            let page = ReportPage(kind: kind, asOf: 7, rows: [.line(ReportLine(kind, values))], next: nil)
            var writer = JSONWriter()
            page.write(to: &writer)
            let again = try writer.bytes.withUnsafeBufferPointer { bytes in
                var reader = JSONReader(bytes)
                return try ReportPage(from: &reader)
            }
            #expect(again == page)
            guard case .line(let line) = page.rows[0] else { continue }
            #expect(line.resultBytes >= writer.bytes.count - 60, "\(kind)")
        }
    }

    @Test(arguments: ["", ".", "1", "1.99", "1.9999", "01.990", "-0.000", "+1.000", "1,990", "٠.990", " 1.000"])
    func whatIsNoMoneyIsRefused(text: String) { #expect(Money.thousandths(text) == nil) }

    /// A sum that not every JSON client would hold as a number is text, to the last digit.
    @Test func sumsBeyondWhatANumberHoldsAreText() throws {
        let gems = try Samples.currency("gems")
        let most = Int128(Limits.amountMax)
        let cases: [(debits: Int128, credits: Int128, text: String)] = [
            (most, most, #""debits":9007199254740991,"credits":9007199254740991,"balance":0"#),
            (0, most, #""debits":0,"credits":9007199254740991,"balance":-9007199254740991"#),
            (most + 1, 1, #""debits":"9007199254740992","credits":1,"balance":9007199254740991"#),
            (0, most + 1, #""debits":0,"credits":"9007199254740992","balance":"-9007199254740992""#),
            (
                1 << 116, 1 << 63,
                #""debits":"83076749736557242056487941267521536","credits":"9223372036854775808","#
                    + #""balance":"83076749736557232833115904412745728""#
            ),
        ]
        for (debits, credits, text) in cases {
            let page = ReportPage(
                kind: .trial, asOf: 7,
                rows: [.trial(currency: gems, account: .spent, debits: debits, credits: credits)], next: nil)
            try read(
                .outcome(.report(page)),
                #"{"kind":"trial","asOf":7,"rows":[{"currency":"gems","account":"spent",\#(text)}],"next":null}"#,
                as: page)
        }
    }

    @Test(arguments: [
        #""-1""#, "-1", #""01""#, #""1.5""#, "1.5", #""1e3""#, #""+1""#, #"" 1""#, #""""#, "null", "true", "[]",
        #""170141183460469231731687303715884105728""#, "9223372036854775808",
    ])
    func whatIsNoSumIsRefused(text: String) throws {
        let row = #"{"currency":"gems","account":"spent","debits":\#(text),"credits":1,"balance":1}"#
        #expect(throws: (any Error).self) {
            try ReportPage(json: Array(#"{"kind":"trial","asOf":7,"rows":[\#(row)],"next":null}"#.utf8))
        }
    }

    @Test func aConsumptionIsTheBodyThatAppleTakes() throws {
        var body = ConsumptionBody(
            sampleContentProvided: false, deliveryStatus: .delivered, consumptionPercentage: 25_000,
            refundPreference: .grantProrated)
        try read(
            .outcome(.consumption(body)),
            #"""
            {"requestBody":{"customerConsented":true,"consumptionPercentage":25000,\#
            "deliveryStatus":"DELIVERED","refundPreference":"GRANT_PRORATED","sampleContentProvided":false}}
            """#,
            as: body)
        body.refundPreference = nil
        try read(
            .outcome(.consumption(body)),
            #"""
            {"requestBody":{"customerConsented":true,"consumptionPercentage":25000,\#
            "deliveryStatus":"DELIVERED","sampleContentProvided":false}}
            """#,
            as: body)
        body.consumptionPercentage = nil
        try read(
            .outcome(.consumption(body)),
            #"""
            {"requestBody":{"customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false}}
            """#,
            as: body)
    }

    @Test func aReaderSkipsMembersOfANewerServer() throws {
        let text =
            #"""
            {"entry":1,"more":{"a":[1]},"replayed":false,"balances":{"gems":{"available":1,"held":0,\#
            "debt":0,"paid":1,"free":0,"version":1,"x":[]}}}
            """#
        let receipt = try GrantReceipt(json: Array(text.utf8))
        #expect(receipt.entry == 1)
        #expect(receipt.balances.map(\.balance) == [Balance(available: 1, paid: 1, version: 1)])
        #expect(throws: (any Error).self) { try GrantReceipt(json: Array(#"{"entry":1,"replayed":false}"#.utf8)) }
    }

    @Test(arguments: [
        "", "{}", #"{"jsonrpc":"2.0","id":1}"#, #"{"id":1,"result":{}}"#, #"{"jsonrpc":"2.0","result":{}}"#,
        #"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
        #"{"jsonrpc":"2.0","id":1,"result":{}} x"#, #"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
        #"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
    ])
    func aLineThatIsNoReplyIsRefused(text: String) {
        #expect(throws: (any Error).self) { try ReplyLine(line: Array(text.utf8)) }
    }
}
