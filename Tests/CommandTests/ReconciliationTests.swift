import AppStore
import Foundation
import LedgerClient
import LedgerWire
import Testing

/// What the App Store could not deliver is fetched from it: by the service itself, and by hand.
@Suite struct ReconciliationTests {
    @Test func theServiceCarriesOutWhatItsWebhookMissedOverRestartsToo() async throws {
        let stand = try await AppStoreStand(historySeconds: 1)
        let day: Int64 = 86_400_000
        try stand.lose(.oneTimeCharge, try stand.transaction(1), before: 20 * day)
        try stand.lose(.oneTimeCharge, try stand.transaction(2, product: "com.example.game.new"), before: 10 * day)
        for _ in 0..<25 { try stand.lose(.test, nil, before: 5 * day) }
        var service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 500, at: service)
        try stand.lose(.refund, try stand.transaction(1, isRefunded: true), before: 1_000)
        try await stand.waits(for: 0, at: service)
        try await stand.waits(for: "carried out what Apple's notification history had", at: service)
        let waiting = try service.said.split(separator: "\n").filter { $0.contains("history wait") }
        #expect(waiting.count == 1 && waiting[0].contains("unknown_product"), "\(waiting)")
        #expect(waiting[0].contains("com.example.game.new") && waiting[0].contains(/notification [0-9a-f\-]+ \(/))
        #expect(service.stop() == 0)
        // The product that the catalog lacked holds the position, however much was carried out behind it.
        let position = try String(contentsOfFile: stand.studio.folder.path("ledger/app-store.history"), encoding: .utf8)
        #expect(try #require(Int64(position.trimmingCharacters(in: .newlines))) <= stand.studio.now - 10 * day)
        try stand.studio.folder.write(
            "catalog.json",
            #"""
            {"currencies": {"gems": {}},
             "products": {"com.example.game.gems500": {"gems": 500}, "com.example.game.new": {"gems": 70}}}
            """#)
        service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 70, at: service)
        #expect(service.stop() == 0)
        let audit = try Command.run(["audit", "--config", stand.studio.folder.path("ledger.json")])
        #expect(audit.status == 0 && audit.output.contains("everything holds"), "\(audit)")
    }

    /// A studio may have come with balances: what was bought before is in these.
    @Test func aNewLedgerCarriesOutNothingFromLongBeforeIt() async throws {
        let stand = try await AppStoreStand(historySeconds: 1, historyFrom: nil)
        try stand.lose(.oneTimeCharge, try stand.transaction(1), before: 2 * 86_400_000)
        try stand.lose(.oneTimeCharge, try stand.transaction(2), before: 1_000)
        let service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 500, at: service)
        #expect(try stand.requests().allSatisfy { !$0.path.contains("/1/") })
        let purchase = try Command.run(["call", "--server", service.address, "purchase", "transactionId=1"])
        #expect(purchase.output.contains("unknown_purchase"), "\(purchase)")
        #expect(service.stop() == 0)
    }

    @Test func aPlaceInTheFutureIsNotBelieved() async throws {
        let stand = try await AppStoreStand(historySeconds: 1, historyFrom: nil)
        var service = try RunningService(stand.studio.folder)
        try await stand.waits(for: "listening", at: service)
        #expect(service.stop() == 0)
        try stand.lose(.oneTimeCharge, try stand.transaction(1), before: 0)
        try stand.studio.folder.write("ledger/app-store.history", "\(stand.studio.now + 10 * 86_400_000)\n")
        service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 500, at: service)
        #expect(try service.said.contains("the place in Apple's history is in the future"))
        #expect(service.stop() == 0)
    }

    @Test func aServiceThatCannotListenSaysSoAndAsksForNothingAnyMore() async throws {
        let stand = try await AppStoreStand(historySeconds: 1, more: #", "finish": true"#)
        let taken = try RunningService(Studio().folder)
        for _ in 0..<5 {
            let second = try Command.run(
                ["serve", "--create", "--config", stand.studio.folder.path("ledger.json"), "--listen", taken.address])
            #expect(second.status == 1 && second.error.contains("in use"), "\(second)")
        }
        #expect(taken.stop() == 0)
    }

    /// Apple's refund says no account: the purchase was credited to one that the request named, or to none yet.
    @Test func aRefundOfAPurchaseThatNamesNoAccountIsTakenBackFromWhoeverHasIt() async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        let service = try RunningService(stand.studio.folder)
        let player = try #require(AccountName("player-1"))
        let client = try await service.client()
        _ = try await client.credit(signedTransaction: try stand.transaction(1, account: nil), account: player)
        _ = try await client.credit(signedTransaction: try stand.transaction(2), account: nil)
        let told = NotificationPayload(
            notificationType: .oneTimeCharge, notificationUUID: "u", signedDate: stand.studio.now - 1_000,
            data: .init(
                bundleID: "com.example.game", environment: .sandbox,
                signedTransactionInfo: try stand.transaction(3, account: nil)))
        _ = try await client.notify(signedPayload: try stand.studio.chain.sign(told))
        for number in [1, 3, 4] {
            try stand.append(try stand.transaction(number, account: nil, isRefunded: true), to: "refunds.jsonl")
        }
        let since = "\(stand.studio.now - 2 * 86_400_000)"
        let deep = try stand.reconcile(service, "--since", since, "--deep")
        #expect(deep.status == 1, "\(deep)")
        #expect(deep.output.contains(#""outcome":"reversed","transactionId":"1","account":"player-1""#), "\(deep)")
        let waits = "the refund of purchase 3 (com.example.game.gems500) waits: no account has claimed the purchase"
        #expect(deep.error.contains(waits), "\(deep)")
        #expect(try await client.purchase(try #require(TransactionID("1"))).state == .revoked)
        // Told once, the refund of a purchase without an account waits for nothing; and where the owner was forgotten,
        // it is taken back from what they left.
        let refund = NotificationPayload(
            notificationType: .refund, notificationUUID: "r", signedDate: stand.studio.now - 1_000,
            data: .init(
                bundleID: "com.example.game", environment: .sandbox,
                signedTransactionInfo: try stand.transaction(3, account: nil, isRefunded: true)))
        _ = try await client.notify(signedPayload: try stand.studio.chain.sign(refund))
        let gone = try #require(AccountName("gone"))
        _ = try await client.credit(signedTransaction: try stand.transaction(5, account: nil), account: gone)
        _ = try await client.forget(gone)
        try stand.append(try stand.transaction(5, account: nil, isRefunded: true), to: "refunds.jsonl")
        let again = try stand.reconcile(service, "--since", since, "--deep")
        #expect(again.status == 0, "\(again)")
        #expect(again.output.contains(#""outcome":"reversed","transactionId":"5""#), "\(again)")
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// Apple's word for another environment is not carried out there, whoever hands it over.
    @Test func byHandALedgerThatIsNamedTakesNothingOfAnother() async throws {
        let production = #"{"bundleId": "com.example.game", "appAppleId": 1, "environment": "Production"}"#
        let sandbox = #"{"bundleId": "com.example.game", "environment": "Sandbox"}"#
        let stand = try await AppStoreStand(
            historySeconds: 0, more: #", "sendConsumption": false"#,
            ledgers: ["prod": production, "test": sandbox])
        let service = try RunningService(stand.studio.folder)
        let client = try await service.client()
        let player = try #require(AccountName("player-1"))
        _ = try await client.credit(
            signedTransaction: try stand.transaction(1, account: nil, environment: .production), account: player)
        try stand.append(try stand.transaction(1, account: nil, isRefunded: true), to: "refunds.jsonl")
        try stand.lose(.oneTimeCharge, try stand.transaction(2), before: 1_000)
        let since = "\(stand.studio.now - 2 * 86_400_000)"
        let foreign = try stand.reconcile(service, "--since", since, "--deep", "--ledger", "prod")
        #expect(foreign.status == 2 && foreign.error.contains("wrong_environment"), "\(foreign)")
        #expect(foreign.output == "{\"new\":0,\"known\":0,\"refused\":2,\"postponed\":0,\"unknown\":0}\n", "\(foreign)")
        for (ledger, entries) in [("prod", 1), ("test", 0)] {
            let head = try Command.run(["call", "--server", service.address, "--ledger", ledger, "head"])
            #expect(head.output.filter { !$0.isWhitespace }.contains(#""entry":\#(entries)"#), "\(ledger): \(head)")
        }
        let own = try stand.reconcile(service, "--since", since, "--ledger", "test")
        #expect(own.status == 0 && own.output.contains(#""new":1"#), "\(own)")
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// A purchase that no account has claimed has no entry; Apple refunds it all the same.
    @Test func byHandPurchasesWithoutAnAccountAreAskedForToo() async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        let service = try RunningService(stand.studio.folder)
        let client = try await service.client()
        let told = try stand.notification(.oneTimeCharge, try stand.transaction(3, account: nil), before: 1_000)
        _ = try await client.notify(signedPayload: told)
        let deep = try stand.reconcile(service, "--since", "\(stand.studio.now - 86_400_000)", "--deep")
        #expect(deep.status == 0, "\(deep)")
        #expect(try stand.requests().contains { $0.path == "/inApps/v2/refund/lookup/3" })
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// Apple first refunds a part, which is told, and then the whole, which is not.
    @Test func byHandARefundOfTheRestIsFoundWhoeverHasThePurchase() async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        let service = try RunningService(stand.studio.folder)
        let client = try await service.client()
        // Nobody has the one; the other was refunded in part when it was credited.
        func part(_ number: Int, account: String?) throws -> String {
            try stand.transaction(number, quantity: 3, account: account, isRefunded: true, percentage: 33_333)
        }
        let told = try stand.notification(.refund, try part(31, account: nil), before: 1_000)
        _ = try await client.notify(signedPayload: told)
        _ = try await client.credit(signedTransaction: try part(32, account: AppStoreStand.player))
        try stand.append(try stand.transaction(31, quantity: 3, account: nil, isRefunded: true), to: "refunds.jsonl")
        try stand.append(try stand.transaction(32, quantity: 3, isRefunded: true), to: "refunds.jsonl")
        let deep = try stand.reconcile(service, "--since", "\(stand.studio.now - 86_400_000)", "--deep")
        #expect(deep.status == 1 && deep.error.contains("the refund of purchase 31 (com.example.game.gems500) waits"))
        let asked = Set(try stand.requests().map(\.path))
        #expect(asked.isSuperset(of: [31, 32].map { "/inApps/v2/refund/lookup/\($0)" }), "\(asked)")
        #expect(try await client.purchase(try #require(TransactionID("32"))).state == .revoked)
        try await client.close()
        #expect(service.stop() == 0)
    }

    @Test func byHandWhatEndsEarlySaysWhatItDidAndFromWhereToGoOn() async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        let service = try RunningService(stand.studio.folder)
        let client = try await service.client()
        for number in 1...2 { _ = try await client.credit(signedTransaction: try stand.transaction(number)) }
        try stand.append(try stand.transaction(1, isRefunded: true), to: "refunds.jsonl")
        try stand.studio.folder.write("refusals.json", #"{"/inApps/v2/refund/lookup/2": [401, 1]}"#)
        let since = stand.studio.now - 86_400_000
        let ended = try stand.reconcile(service, "--since", "\(since)", "--deep")
        #expect(ended.status == 1 && ended.error.contains("HTTP 401"), "\(ended)")
        #expect(!ended.error.contains("\u{1B}") && ended.error.contains(#"\u{1b}[31m"#), "\(ended)")
        let place = try #require(ended.error.firstMatch(of: /go on with --since (\d+) --deep/)).1
        #expect(try #require(Int64(place)) > since)
        #expect(ended.output.contains(#""refused":0,"postponed":0,"unknown":0}"#), "\(ended)")
        try stand.studio.folder.write("refusals.json", "{}")
        let rest = try stand.reconcile(service, "--since", String(place), "--deep")
        #expect(rest.status == 0, "\(rest)")
        #expect(try await client.purchase(try #require(TransactionID("1"))).state == .revoked)
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// The App Store says nothing of the second purchase.
    @Test(arguments: [SIGINT, SIGTERM])
    func byHandWhatIsInterruptedSaysWhatItDidAndFromWhereToGoOn(ending: Int32) async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        let service = try RunningService(stand.studio.folder)
        let client = try await service.client()
        for number in 1...2 { _ = try await client.credit(signedTransaction: try stand.transaction(number)) }
        let path = "/inApps/v2/refund/lookup/2"
        try stand.studio.folder.write("refusals.json", #"{"\#(path)": [0, null]}"#)
        let since = stand.studio.now - 86_400_000
        let command = try stand.startReconcile(service, "--since", "\(since)", "--deep")
        for _ in 0..<1_200 where try !stand.requests().contains(where: { $0.path == path }) {
            try await Task.sleep(for: .milliseconds(50))
        }
        kill(command.process.processIdentifier, ending)
        let ended = try command.finish()
        #expect(ended.status == 128 + ending, "\(ended)")
        #expect(ended.output.hasSuffix(#""refused":0,"postponed":0,"unknown":0}"# + "\n"), "\(ended)")
        let place = try #require(ended.error.firstMatch(of: /go on with --since (\d+) --deep/), "\(ended)").1
        #expect(try #require(Int64(place)) > since)
        try await client.close()
        #expect(service.stop() == 0)
    }

    @Test func byHandWhatOthersWroteIsShownWithoutWhatATerminalObeys() async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        let service = try RunningService(stand.studio.folder)
        let client = try await service.client()
        _ = try await client.credit(signedTransaction: try stand.transaction(1))
        let product = "gems\u{1B}[2J\u{9B}31m\u{202E}\u{2028}"
        try stand.append(try stand.transaction(2, product: product, isRefunded: true), to: "refunds.jsonl")
        try stand.lose(.init(rawValue: "NEW\u{9B}31m\u{7F}\u{202E}"), nil, before: 1_000)
        let deep = try stand.reconcile(service, "--since", "\(stand.studio.now - 86_400_000)", "--deep")
        #expect(deep.status == 1 && deep.output.contains(#""new":1"#), "\(deep)")
        #expect(deep.output.contains(#""notificationType":"NEW\u009b31m\u007f\u202e""#), "\(deep)")
        #expect(deep.error.contains(#"purchase 2 (gems\u{1b}[2J\u{9b}31m\u{202e}\u{2028}) was not carried out"#))
        #expect(deep.error.contains("unknown_product") && deep.error.contains("product: gems"), "\(deep.error)")
        let shown = (deep.output + deep.error).unicodeScalars
        #expect(
            !shown.contains {
                $0 != "\n" && [.control, .format, .lineSeparator].contains($0.properties.generalCategory)
            })
        try await client.close()
        #expect(service.stop() == 0)
    }

    @Test func byHandWithoutATokenNothingIsTakenAndItIsSaid() async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        try stand.lose(.oneTimeCharge, try stand.transaction(1), before: 1_000)
        let tokens = Studio.tokens(("backend", "purchases", "purchases-secret"))
        let file = try String(contentsOfFile: stand.studio.folder.path("ledger.json"), encoding: .utf8)
        try stand.studio.folder.write(
            "ledger.json", file.replacing(#""insecureLoopback": true"#, with: #""tokens": \#(tokens)"#))
        let service = try RunningService(stand.studio.folder)
        let since = "\(stand.studio.now - 86_400_000)"
        let nameless = try stand.reconcile(service, "--since", since, "--deep")
        #expect(nameless.status == 1 && nameless.error.contains("unauthenticated"), "\(nameless)")
        #expect(nameless.output.contains(#""new":0,"known":0,"refused":0,"postponed":1"#), "\(nameless)")
        // The journal is for another role.
        let half = try stand.reconcile(service, "--since", since, "--deep", token: "purchases-secret")
        #expect(half.status == 1 && half.error.contains("forbidden"), "\(half)")
        #expect(half.output.hasSuffix("{\"new\":1,\"known\":0,\"refused\":0,\"postponed\":0,\"unknown\":0}\n"))
        #expect(service.stop() == 0)
    }

    @Test(arguments: [
        ("SUCCESS", 0, "it arrived"), ("TLS_\u{1B}[31mISSUE", 1, #"it did not arrive: TLS_\u{1b}[31mISSUE"#),
    ])
    func aTestNotificationSaysWhetherItArrived(result: String, status: Int32, words: String) async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        try stand.studio.folder.write(
            "attempt.json", String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
        let finished = try Command.run(
            ["app-store", "test-notification", "--config", stand.studio.folder.path("ledger.json")])
        #expect(finished.status == status, "\(finished)")
        #expect((finished.output + finished.error).contains(words) && !finished.error.contains("\u{1B}"), "\(finished)")
    }

    @Test func byHandWhatIsNewIsSaidAndRefundsAreFoundWithoutANotification() async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        try stand.lose(.oneTimeCharge, try stand.transaction(1), before: 3_600_000)
        try stand.lose(.oneTimeCharge, try stand.transaction(2), before: 1_800_000)
        let service = try RunningService(stand.studio.folder)
        let since = "\(stand.studio.now - 2 * 86_400_000)"
        let first = try stand.reconcile(service, "--since", since)
        #expect(first.status == 0, "\(first)")
        let counts = #"{"new":2,"known":0,"refused":0,"postponed":0,"unknown":0}"#
        #expect(first.output.hasSuffix(counts + "\n"), "\(first)")
        #expect(first.output.contains(#""notificationType":"ONE_TIME_CHARGE""#))
        try await stand.waits(for: 1_000, at: service)
        let second = try stand.reconcile(service, "--since", since)
        #expect(second.output == "{\"new\":0,\"known\":2,\"refused\":0,\"postponed\":0,\"unknown\":0}\n", "\(second)")

        try stand.append(try stand.transaction(2, isRefunded: true), to: "refunds.jsonl")
        let deep = try stand.reconcile(service, "--since", since, "--deep")
        #expect(deep.status == 0 && deep.output.contains(#""outcome":"reversed""#), "\(deep)")
        try await stand.waits(for: 500, at: service)

        // Of a purchase that is credited to one player Apple signs another's token; and of one that was never seen.
        let token = "7e3fb204-2cf4-4a0f-9a0b-8d2d3c1e5f60"
        let client = try await service.client()
        _ = try await client.grant(
            Grant(
                key: try #require(RequestKey("g")), account: try #require(AccountName(token)),
                currency: try #require(CurrencyCode("gems")), amount: try #require(Amount(1))))
        try await client.close()
        try stand.append(try stand.transaction(77, account: nil, isRefunded: true), to: "refunds.jsonl")
        try stand.append(try stand.transaction(1, account: token, isRefunded: true), to: "refunds.jsonl")
        let refused = try stand.reconcile(service, "--since", since, "--deep")
        #expect(refused.status == 2 && refused.output.contains(#""refused":"#), "\(refused)")
        #expect(refused.error.contains("the refund of purchase 1 (com.example.game.gems500) was not"), "\(refused)")
        #expect(refused.error.contains("account_mismatch"), "\(refused)")
        #expect(refused.error.contains("purchase 77 (com.example.game.gems500) is of a purchase that the ledger has"))
        #expect(refused.output.contains(#""unknown":2"#), "\(refused)")

        // What cannot be taken yet, and what is wrong, is said.
        try stand.lose(.oneTimeCharge, try stand.transaction(3, product: "com.example.game.new"), before: 60_000)
        let postponed = try stand.reconcile(service, "--since", since)
        #expect(postponed.status == 1 && postponed.error.contains("unknown_product"), "\(postponed)")
        #expect(postponed.error.contains(/notification [^ ]+ \(ONE_TIME_CHARGE\) was not carried out/), "\(postponed)")
        let early = try stand.reconcile(service, "--since", "2020-01-01")
        #expect(early.status == 64 && early.error.contains("for 30 days"), "\(early)")
        #expect(service.stop() == 0)
        let stopped = try stand.reconcile(service, "--since", since)
        #expect(stopped.status != 0 && stopped.error.contains("no service at"), "\(stopped)")
        try FileManager.default.removeItem(atPath: stand.studio.folder.path("AuthKey.p8"))
        let keyless = try stand.reconcile(service, "--since", since)
        #expect(keyless.status != 0 && keyless.error.contains("(it is named by appStore.key)"), "\(keyless)")
    }
}
