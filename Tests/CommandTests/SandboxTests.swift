import Foundation
import Testing

/// A studio without the App Store: its own chain signs, its own service believes it, finance exports.
@Suite struct SandboxTests {
    private func studio() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        #expect(try Command.run(["sandbox", "init", folder.path("chain")]).status == 0)
        try folder.write(
            "catalog.json", #"{"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}"#)
        try folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["unix:\(folder.path("s"))"],
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["chain/root.der"], "catalog": "catalog.json", "insecureLoopback": true}
            """)
        return folder
    }

    private func signed(_ folder: TemporaryFolder, _ arguments: [String]) throws -> String {
        let finished = try Command.run(["sandbox"] + arguments)
        #expect(finished.status == 0, "\(finished.error)")
        let name = folder.path("\(UUID().uuidString).jws")
        try finished.output.write(toFile: name, atomically: true, encoding: .utf8)
        return "@\(name)"
    }

    @Test func whatTheSandboxSignsTheServiceTakes() throws {
        let folder = try studio()
        let service = try RunningService(folder)
        func call(_ method: String, _ parameters: String...) throws -> Finished {
            try Command.run(["call", method, "--server", service.address] + parameters)
        }
        let date = Int64(Date().timeIntervalSince1970 * 1_000) - 60_000
        let facts = ["--transaction-id", "7", "--quantity", "3", "--purchase-date", "\(date)"]
        let purchase = try signed(folder, ["sign", folder.path("chain"), "--signed-date", "\(date)"] + facts)
        #expect(try call("credit", "account=p,1", "signedTransaction=\(purchase)").output.contains(#""amount": 1500"#))

        let part = try signed(
            folder,
            ["notify", folder.path("chain"), "--notification-type", "REFUND", "--revocation-percentage", "33333"]
                + ["--signed-date", "\(date + 1)"] + facts)
        #expect(try call("notify", "signedPayload=\(part)").output.contains(#""amount": -499"#))
        for type in ["TEST", "RESCIND_CONSENT", "EXTERNAL_PURCHASE_TOKEN", "SUBSCRIBED"] {
            let notification = try signed(
                folder, ["notify", folder.path("chain"), "--notification-type", type, "--no-transaction"])
            let finished = try call("notify", "signedPayload=\(notification)")
            #expect(finished.status == 0, "\(type): \(finished.output)")
            #expect(finished.output.contains(#""purchase": null"#))
        }

        let csv = folder.path("balances.csv")
        let exported = try Command.run(["export", "balances", "--server", service.address, "--output", csv])
        #expect(exported.status == 0, "\(exported.error)")
        #expect(
            try String(contentsOfFile: csv, encoding: .utf8)
                == "account,currency,available,held,debt,paid,free\r\n\"p,1\",gems,1001,0,0,1001,0\r\n")
        let before = try Command.run([
            "export", "balances", "--server", service.address, "--format", "jsonl", "--as-of", "2020-01-31T23:59:59Z",
        ])
        #expect(before.status == 1 && before.error.contains("before the ledger began"), "\(before.error)")
        let future = try Command.run(["export", "trial", "--server", service.address, "--as-of", "2999-01-01"])
        #expect(future.status == 1)
        #expect(future.error.contains("asOf is in the future"))
        let begins = try Command.run(["export", "revenue", "--server", service.address, "--from", "2999-01-01"])
        #expect(begins.status == 1 && begins.error.contains("from is in the future"), "\(begins.error)")
        #expect(service.stop() == 0)
        let offline = try Command.run(["export", "debts", "--path", folder.path("ledger")])
        #expect(offline.output == "account,currency,transactionId,source,lot,debt,since,ageMilliseconds\r\n")
    }

    @Test func aChainIsNotOverwritten() throws {
        let folder = try studio()
        let again = try Command.run(["sandbox", "init", folder.path("chain")])
        #expect(again.status == 1)
        #expect(again.error.contains("holds a chain already"))
        let none = try Command.run(["sandbox", "sign", folder.path("nothing")])
        #expect(none.status == 1)
        #expect(none.error.contains("there is no such file"))
    }

    @Test(arguments: [
        ["export", "balances", "--as-of", "yesterday"], ["export", "nothing"],
        ["export", "trial", "--server", "a:1", "--path", "b"], ["call"], ["call", "ping", "novalue"],
    ])
    func aWrongArgumentIsNamed(arguments: [String]) throws {
        let finished = try Command.run(arguments)
        #expect(finished.status != 0)
        #expect(finished.error.contains("Usage:"), "\(finished.error)")
    }

    @Test func whatIsNoLedgerIsRefusedByItsName() throws {
        let folder = try TemporaryFolder()
        try folder.write("file", "this is no ledger")
        try FileManager.default.createDirectory(atPath: folder.path("empty"), withIntermediateDirectories: false)
        for (name, why) in [("file", "is a file"), ("absent", "there is no ledger at"), ("empty", "no ledger")] {
            let finished = try Command.run(["export", "trial", "--path", folder.path(name)])
            #expect(finished.status == 1)
            #expect(finished.error.contains(folder.path(name)) && finished.error.contains(why), "\(finished.error)")
        }
    }

    private func credited(_ id: String, _ folder: TemporaryFolder, _ service: RunningService) throws -> String {
        let purchase = try signed(folder, ["sign", folder.path("chain"), "--transaction-id", id])
        let finished = try Command.run([
            "call", "credit", "--server", service.address, "account=p", "signedTransaction=\(purchase)",
        ])
        #expect(finished.output.contains(#""outcome": "credited""#), "\(finished.output)")
        return purchase
    }

    /// Signed at different times, of one id: the facts agree, whatever names the transaction.
    @Test(arguments: [true, false])
    func aNotificationIsAboutThePurchaseThatWasSigned(byFile: Bool) throws {
        let folder = try studio()
        let service = try RunningService(folder)
        let purchase = try credited("2000000000000001", folder, service)
        let named =
            byFile ? ["--transaction", String(purchase.dropFirst())] : ["--transaction-id", "2000000000000001"]
        for (type, expected) in [
            ("CONSUMPTION_REQUEST", "already_credited"), ("REFUND", "reversed"), ("REFUND_REVERSED", "reinstated"),
            ("REVOKE", "reversed"), ("ONE_TIME_CHARGE", "reinstated"),
        ] {
            let notification = try signed(
                folder, ["notify", folder.path("chain"), "--notification-type", type] + named)
            let finished = try Command.run([
                "call", "notify", "--server", service.address, "signedPayload=\(notification)",
            ])
            #expect(finished.output.contains(#""outcome": "\#(expected)""#), "\(type): \(finished.output)")
        }
        #expect(service.stop() == 0)
    }

    private func payload(_ jws: String) throws -> [String: Any] {
        let parts = jws.trimmingCharacters(in: .newlines).split(separator: ".")
        try #require(parts.count == 3)
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        let data = try #require(Data(base64Encoded: text))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    private func output(_ arguments: [String]) throws -> [String: Any] {
        let finished = try Command.run(["sandbox"] + arguments)
        try #require(finished.status == 0, "\(finished.error)")
        return try payload(finished.output)
    }

    @Test func everyFieldOfATransactionCanBeSaid() throws {
        let folder = try studio()
        let options = [
            "--bundle-id=b", "--product=p", "--type=Auto-Renewable Subscription", "--transaction-id=8",
            "--original-transaction-id=7", "--account-token=7E3FB20B-4CDB-47CC-936D-99D65F608138",
            "--purchase-date=2026-01-01T00:00:00Z", "--original-purchase-date=1735689600000",
            "--signed-date=2026-01-02", "--price=4990", "--price-currency=EUR", "--storefront=DEU",
            "--storefront-id=143443", "--ownership=FAMILY_SHARED", "--reason=RENEWAL", "--app-transaction-id=70",
            "--environment=Production", "--revocation-date=2026-01-01T12:00:00Z", "--revocation-percentage=33333",
            "--revocation-reason=1", "--offer-type=3", "--offer-identifier=o", "--offer-discount-type=FREE_TRIAL",
            "--offer-period=P1M", "--subscription-group=21", "--expires-date=2026-02-01", "--web-order-line-item-id=9",
            "--upgraded", "--billing-plan-type=MONTHLY", #"--commitment-info={"billingPeriodNumber":1}"#,
            #"--advanced-commerce-info={"items":[]}"#,
        ]
        let payload = try output(["sign", folder.path("chain")] + options) as NSDictionary
        let expected: NSDictionary = [
            "bundleId": "b", "productId": "p", "type": "Auto-Renewable Subscription", "transactionId": "8",
            "originalTransactionId": "7", "appAccountToken": "7e3fb20b-4cdb-47cc-936d-99d65f608138",
            "purchaseDate": 1_767_225_600_000, "originalPurchaseDate": 1_735_689_600_000,
            "signedDate": 1_767_312_000_000, "price": 4_990, "currency": "EUR", "storefront": "DEU",
            "storefrontId": "143443", "inAppOwnershipType": "FAMILY_SHARED", "transactionReason": "RENEWAL",
            "appTransactionId": "70", "environment": "Production", "revocationDate": 1_767_268_800_000,
            "revocationPercentage": 33_333, "revocationReason": 1, "revocationType": "REFUND_PRORATED", "offerType": 3,
            "offerIdentifier": "o", "offerDiscountType": "FREE_TRIAL", "offerPeriod": "P1M",
            "subscriptionGroupIdentifier": "21", "expiresDate": 1_769_904_000_000, "webOrderLineItemId": "9",
            "isUpgraded": true, "billingPlanType": "MONTHLY", "commitmentInfo": ["billingPeriodNumber": 1],
            "advancedCommerceInfo": ["items": [Any]()], "quantity": 1,
        ]
        #expect(payload == expected)
    }

    @Test func withASubscriptionGoesItsRenewal() throws {
        let folder = try studio()
        let notification = try output([
            "notify", folder.path("chain"), "--notification-type", "EXPIRED", "--subtype", "VOLUNTARY",
            "--transaction-id", "8", "--original-transaction-id", "7", "--price", "999", "--price-currency", "EUR",
            "--eligible-win-back-offer", "back", "--app-apple-id", "5", "--bundle-version", "3",
        ])
        let data = try #require(notification["data"] as? [String: Any])
        #expect(
            data["status"] as? Int == 2 && data["appAppleId"] as? Int == 5 && data["bundleVersion"] as? String == "3")
        let transaction = try payload(try #require(data["signedTransactionInfo"] as? String))
        #expect(transaction["type"] as? String == "Auto-Renewable Subscription")
        #expect(transaction["transactionReason"] as? String == "RENEWAL")
        #expect(transaction["purchaseDate"] as? Int == 1_735_689_600_008)
        #expect(transaction["originalPurchaseDate"] as? Int == 1_735_689_600_007)
        let renewal = try payload(try #require(data["signedRenewalInfo"] as? String))
        #expect(renewal["originalTransactionId"] as? String == "7")
        #expect(renewal["autoRenewStatus"] as? Int == 0 && renewal["expirationIntent"] as? Int == 1)
        #expect(renewal["renewalDate"] as? Int == transaction["expiresDate"] as? Int)
        #expect(renewal["renewalPrice"] as? Int == 999 && renewal["currency"] as? String == "EUR")
        #expect(renewal["eligibleWinBackOfferIds"] as? [String] == ["back"])
        let summary = try output([
            "notify", folder.path("chain"), "--notification-type", "RENEWAL_EXTENSION", "--subtype", "SUMMARY",
            "--storefront-country-code", "DEU", "--succeeded-count", "3", "--request-identifier", "r",
        ])
        let parts = try #require(summary["summary"] as? [String: Any])
        #expect(parts["succeededCount"] as? Int == 3 && parts["requestIdentifier"] as? String == "r")
        #expect(parts["storefrontCountryCodes"] as? [String] == ["DEU"])
        let consent = try output(["notify", folder.path("chain"), "--notification-type", "RESCIND_CONSENT"])
        let app = try #require(consent["appData"] as? [String: Any])
        let appTransaction = try payload(try #require(app["signedAppTransactionInfo"] as? String))
        #expect(appTransaction["bundleId"] as? String == "com.example.game")
    }

    @Test(arguments: [
        (["--quantity", "0"], "--quantity must be from 1 to 10, not 0"),
        (["--quantity", "11"], "--quantity must be from 1 to 10, not 11"),
        (["--quantity", "2", "--type", "Non-Consumable"], "--quantity must be 1 for a Non-Consumable"),
        (["--transaction-id", "abc"], "--transaction-id must be decimal digits"),
        (["--transaction-id", "007"], "--transaction-id must be decimal digits"),
        (["--transaction-id", "99999999999999999999"], "--transaction-id must be decimal digits"),
        (["--original-transaction-id", "-1"], "--original-transaction-id"),
        (["--purchase-date", "1767225600"], "--purchase-date must be a time since the App Store opened"),
        (["--purchase-date", "2999-01-01"], "--purchase-date must not be in the future"),
        (["--signed-date", "2999-01-01"], "--signed-date must not be in the future"),
        (["--signed-date", "2020-01-01"], "It would be signed before it was bought"),
        (["--revocation-date", "2020-01-01"], "--revocation-date must be from the --purchase-date"),
        (["--revocation-percentage", "100001"], "--revocation-percentage must be from 0 to 100000"),
        (["--expires-date", "2020-01-01"], "--expires-date must be after the --purchase-date"),
        (["--type", "Consumables"], "--type must be one of Consumable, Non-Consumable"),
        (["--environment", "Moon"], "--environment must be one of Production, Sandbox"),
        (["--account-token", "player-1"], "--account-token must be a UUID"),
        (["--price-currency", "euro"], "--price-currency must be three capital letters"),
        (["--storefront", "DE"], "--storefront must be three capital letters"),
        (["--price", "-1"], "--price"),
        (["--offer-type", "5"], "--offer-type must be from 1 to 4"),
        (["--commitment-info", "[1]"], "--commitment-info must be a JSON object"),
    ])
    func whatAppleCouldNeverSignIsRefused(options: [String], why: String) throws {
        let folder = try studio()
        let finished = try Command.run(["sandbox", "sign", folder.path("chain")] + options)
        #expect(finished.status == 64 && finished.output.isEmpty)
        #expect(finished.error.contains(why), "\(finished.error)")
    }

    @Test func whatAppleNeverNotifiesOfIsRefused() throws {
        let folder = try studio()
        try folder.write("no.jws", "{}")
        for (options, why) in [
            (["--notification-type", "REFUNDED"], "--notification-type must be one of"),
            (["--notification-type", "REFUND", "--subtype", "PART"], "--subtype must be one of"),
            (["--notification-type", "TEST", "--uuid", "1"], "--uuid must be a UUID"),
            (["--notification-type", "REFUND", "--unchanged"], "--unchanged needs --transaction"),
            (["--notification-type", "REFUND", "--transaction", folder.path("no.jws")], "is not a signed transaction"),
        ] {
            let finished = try Command.run(["sandbox", "notify", folder.path("chain")] + options)
            #expect(finished.status != 0 && finished.output.isEmpty)
            #expect(finished.error.contains(why), "\(finished.error)")
        }
    }

    /// The page on notifications: its example is run as it stands there.
    @Test func theRefundOfTheArticleGoesAndComesBack() throws {
        let path = "Sources/LedgerWire/LedgerWire.docc/Notifications.md"
        let page = try String(contentsOf: Command.root.appendingPathComponent(path), encoding: .utf8)
        let parts = page.components(separatedBy: "\n```sh\n")
        try #require(parts.count == 2, "the page has one example")
        let folder = try TemporaryFolder()
        try folder.write("example.sh", try #require(parts[1].components(separatedBy: "\n```\n").first) + "\n")
        let finished = try Command.run(
            URL(fileURLWithPath: "/bin/sh"),
            [
                "-c", #"cd "$1" && PATH="$0:$PATH" exec timeout 120 sh -eu example.sh"#,
                Command.executable.deletingLastPathComponent().path, folder.url.path,
            ])
        #expect(finished.status == 0, "\(finished.output)\(finished.error)")
        let outcomes = finished.output.matches(of: /"outcome": "(\w+)"/).map { String($0.1) }
        #expect(outcomes == ["credited", "reversed", "reinstated", "already_credited"])
        let lines = finished.output.matches(
            of: /"account": "player-1",\s+"balances": \{\s*"gems": \{"available": (\d+)/)
        #expect(lines.map { String($0.1) } == ["500", "0", "500"])
    }
}
