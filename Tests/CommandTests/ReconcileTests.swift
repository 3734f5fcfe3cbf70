import Foundation
import LedgerClient
import LedgerTestKit
import Testing

/// App Store Connect's reports, as a simulator writes them, beside the books of a service.
@Suite(.serialized) struct ReconcileTests {
    private static let player = "f47ac10b-58cc-4372-a567-0e02b2c3d479"

    /// A service with two purchases of a simulator, of the first of which half was spent, and one that was refunded.
    private struct Shop {
        let folder: TemporaryFolder
        let simulator: RunningSimulator
        let service: RunningService

        init() async throws {
            folder = try TemporaryFolder()
            simulator = try await RunningSimulator(folder)
            try folder.write(
                "catalog.json",
                #"""
                {"currencies": {"gems": {}, "coins": {}},
                 "products": {"com.example.game.gems500": {"gems": 500},
                              "com.example.game.both": {"gems": 1, "coins": 2}}}
                """#)
            try folder.write(
                "ledger.json",
                """
                {"path": "ledger", "listen": ["127.0.0.1:0"],
                 "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
                 "anchors": ["chain/root.der"], "catalog": "catalog.json", "insecureLoopback": true}
                """)
            service = try RunningService(folder)
            let client = try await service.client()
            let gems = try #require(CurrencyCode("gems"))
            let account = try #require(AccountName(ReconcileTests.player))
            _ = try await client.credit(signedTransaction: try buy("4.99"), account: nil)
            _ = try await client.spend(
                Spend(
                    key: try #require(RequestKey("s")), account: account,
                    debits: [CurrencyAmount(currency: gems, amount: try #require(Amount(250)))]))
            _ = try await client.credit(signedTransaction: try buy("0.99", "--quantity", "3"), account: nil)
            _ = try await client.credit(signedTransaction: try buy("2.99"), account: nil)
            let refund = try simulator.must("refund", "2000000000000003")
            _ = try await client.credit(signedTransaction: refund, account: nil)
            _ = try await client.credit(
                signedTransaction: try buy("0.10", "--currency", "EUR", product: "both"), account: nil)
            try await client.close()
        }

        func buy(_ price: String, _ more: String..., product: String = "gems500") throws -> String {
            let finished = try Command.run(
                [
                    "sandbox", "buy", "--product", "com.example.game.\(product)", "--price", price, "--account",
                    ReconcileTests.player, "--simulator", simulator.address,
                ] + more)
            try #require(finished.status == 0, "\(finished)")
            return finished.output.trimmingCharacters(in: .newlines)
        }

        /// Has the simulator write reports.
        func reports(_ folder: String, _ options: String...) throws -> [String] {
            let finished = try Command.run(
                ["sandbox", "reports", self.folder.path(folder), "--zone", "utc", "--simulator", simulator.address]
                    + options)
            try #require(finished.status == 0, "\(finished)")
            return try FileManager.default.contentsOfDirectory(atPath: self.folder.path(folder)).sorted().map {
                self.folder.path("\(folder)/\($0)")
            }
        }

        func reconcile(_ arguments: [String], evidence: String = "evidence") throws -> Finished {
            try Command.run(
                ["reconcile"] + arguments
                    + ["--evidence", folder.path(evidence), "--zone", "utc", "--server", service.address])
        }

        /// The rows of `reconcile month`: by storefront's currency, currency and basis, the money's currency and money.
        func month(_ more: String...) throws -> [String: [String]] {
            // Whichever month it is by now: what is before it is none.
            let now = Date().timeIntervalSince1970
            let month = String(UTCText.day(of: Int64(now * 1_000)).prefix(7))
            let finished = try reconcile(["month", month] + more)
            try #require(finished.status == 0, "\(finished)")
            let lines = finished.output.split(separator: "\r\n").dropFirst().map {
                $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
            return Dictionary(uniqueKeysWithValues: lines.map { ("\($0[2]) \($0[4]) \($0[5])", Array($0[6...])) })
        }

        func stop() throws {
            #expect(service.stop() == 0)
            #expect(try simulator.stop().status == 0)
        }
    }

    @Test func reportsOfTheSameSalesAgreeAndSettleThem() async throws {
        let shop = try await Shop()
        #expect(
            try shop.month() == [
                "USD gems signed": ["USD", "0.000", "10.950", "2.990", "2.495", "5.465"],
                "USD gems unsettled": ["USD", "0.000", "10.950", "2.990", "2.495", "5.465"],
                "EUR gems signed": ["EUR", "0.000", "0.050", "0.000", "0.000", "0.050"],
                "EUR gems unsettled": ["EUR", "0.000", "0.050", "0.000", "0.000", "0.050"],
                "EUR coins signed": ["EUR", "0.000", "0.050", "0.000", "0.000", "0.050"],
                "EUR coins unsettled": ["EUR", "0.000", "0.050", "0.000", "0.000", "0.050"],
            ])
        let files = try shop.reports("apple")
        let agreeing = try shop.reconcile(["sales"] + files)
        #expect(agreeing.status == 0 && agreeing.output.isEmpty, "\(agreeing)")
        #expect(agreeing.error.contains("\(files.count) files, \(files.count) of them new; 4 purchases"), "\(agreeing)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: shop.folder.path("evidence")).count == files.count)
        // Given again, under another name too, a file is the one that is kept.
        try FileManager.default.copyItem(atPath: files[0], toPath: shop.folder.path("again.gz"))
        let again = try shop.reconcile(["sales", shop.folder.path("again.gz")] + files)
        #expect(again.status == 0 && again.error.contains("\(files.count) files, 0 of them new"), "\(again)")

        // Apple pays 70 %: 3.49 and 3 × 0.69; 2.09 of what was refunded; 0.07 for both currencies together.
        let month = try shop.month()
        #expect(month["USD gems signed"] == ["USD", "0.000", "10.950", "2.990", "2.495", "5.465"])
        #expect(month["USD gems unsettled"] == nil)
        #expect(month["USD gems settled"] == ["USD", "0.000", "7.650", "2.090", "1.745", "3.815"], "\(month)")
        #expect(month["USD gems withheld"] == ["USD", "0.000", "3.300", "0.900", "0.750", "1.650"], "\(month)")
        let (gems, coins) = (month["EUR gems settled"] ?? [], month["EUR coins settled"] ?? [])
        #expect(gems[2] == "0.035" && coins[2] == "0.035", "\(month)")
        let fromFolder = try Command.run([
            "reconcile", "sales", "--evidence", shop.folder.path("evidence"), "--zone", "utc", "--path",
            shop.folder.path("ledger"), "--format", "csv",
        ])
        #expect(fromFolder.status == 0, "\(fromFolder)")
        #expect(fromFolder.output.hasPrefix("kind,file,line,product,country,priceCurrency,days,"))
        #expect(fromFolder.output.contains("\r\nagrees,"), "\(fromFolder)")
        try shop.stop()
    }

    @Test(arguments: ["dropped", "doubled", "units", "price"])
    func whatIsWrongInAReportIsNamedWithOurTransactions(mistake: String) async throws {
        let shop = try await Shop()
        let files = try shop.reports("apple", "--kind", "daily", "--mistake", mistake, "--seed", "3")
        let finished = try shop.reconcile(["sales"] + files)
        #expect(finished.status == 1 && finished.output.contains("com.example.game."), "\(finished)")
        #expect(finished.error.contains("1 things are to be looked at"), "\(finished)")
        try shop.stop()
    }

    @Test func proceedsThatAreNobodysAndPurchasesThatNobodyPaysAreNamed() async throws {
        let shop = try await Shop()
        let files = try shop.reports("apple", "--kind", "financial", "--plain")
        let path = try #require(files.first { $0.hasSuffix("_US.txt") })
        let rows = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n").filter {
            !$0.hasPrefix("Total")
        }
        func finding(_ name: String, _ rows: [String]) throws -> Finished {
            try shop.folder.write("\(name)_US.txt", rows.joined(separator: "\n"))
            return try shop.reconcile(["sales", shop.folder.path("\(name)_US.txt")], evidence: name)
        }
        let more = rows.map { $0.replacing("\t3\t0.69\t2.07\t", with: "\t4\t0.69\t2.76\t") }
        let pays = try finding("more", more)
        #expect(pays.status == 1, "\(pays)")
        #expect(pays.output.contains("Apple pays 0.69 USD for 1 com.example.game.gems500 in US"), "\(pays)")
        let unpaid = try finding("unpaid", rows.filter { !$0.contains("\t4.99\t") })
        #expect(unpaid.status == 1, "\(unpaid)")
        let why = "1 of 2000000000000001 are not paid by any Financial Report of their month or a later one"
        #expect(unpaid.output.contains(why), "\(unpaid)")
        let other = try finding("other", more.filter { !$0.contains("\t4.99\t") })
        #expect(other.output.contains("1 of 2000000000000001 can only be paid at another price"), "\(other)")
        try shop.stop()
    }

    @Test func filesThatAreNoReportsAreRefusedAndChangedEvidenceIsNamed() async throws {
        let shop = try await Shop()
        try shop.folder.write("none.txt", "a\tb\n1\t2\n")
        let none = try shop.reconcile(["sales", shop.folder.path("none.txt")])
        #expect(none.status == 1 && none.error.contains("none.txt: "), "\(none)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: shop.folder.path("evidence")).isEmpty)
        let empty = try shop.reconcile(["sales"])
        #expect(empty.status == 1 && empty.error.contains("has no reports, and none were given"), "\(empty)")
        let files = try shop.reports("apple")
        #expect(try shop.reconcile(["sales"] + files).status == 0)
        let kept = try #require(
            try FileManager.default.contentsOfDirectory(atPath: shop.folder.path("evidence")).first)
        try shop.folder.write("evidence/\(kept)", "changed")
        for command in [["sales"], ["month", "2026-01"]] {
            let changed = try shop.reconcile(command)
            #expect(changed.status == 1 && changed.error.contains("is not what it was when it was kept"), "\(changed)")
        }
        let month = try shop.reconcile(["month", "2026-13"])
        #expect(month.status == 64 && month.error.contains("must be as 2026-01, not '2026-13'"), "\(month)")
        try shop.stop()
    }
}
