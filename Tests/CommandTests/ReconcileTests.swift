import AppStore
import AppleReports
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
        /// By whose midnights days are counted: such that it is far from midnight now, near to which Apple may count
        /// a purchase on the day beside.
        let zone: String

        init() async throws {
            let hour = Int64(Date().timeIntervalSince1970) / 3_600 % 24
            zone = (2...21).contains(hour) ? "utc" : "pacific"
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
                ["sandbox", "reports", self.folder.path(folder), "--zone", zone, "--simulator", simulator.address]
                    + options)
            try #require(finished.status == 0, "\(finished)")
            return try FileManager.default.contentsOfDirectory(atPath: self.folder.path(folder)).sorted().map {
                self.folder.path("\(folder)/\($0)")
            }
        }

        func reconcile(_ arguments: [String], evidence: String = "evidence") throws -> Finished {
            try Command.run(
                ["reconcile"] + arguments
                    + ["--evidence", folder.path(evidence), "--zone", zone, "--server", service.address])
        }

        /// Writes a Financial Report of these lines, the header first, with a total that is right.
        func write(_ name: String, _ lines: [String]) throws -> String {
            let rows = lines.filter { !$0.isEmpty }
            try folder.write(name, (rows + ["Total_Rows\t\(rows.count - 1)"]).joined(separator: "\n") + "\n")
            return folder.path(name)
        }

        /// Whichever month it is by now: what is before it is none.
        var month: String {
            String(UTCText.day(of: Int64(Date().timeIntervalSince1970 * 1_000)).prefix(7))
        }

        /// The rows of `reconcile month`.
        func months(evidence: String = "evidence") throws -> CSVTable {
            let finished = try reconcile(["month", month], evidence: evidence)
            try #require(finished.status == 0, "\(finished)")
            return try CSVTable(finished.output)
        }

        /// The same: by storefront's currency, currency and basis, the money's currency and money.
        func month(evidence: String = "evidence") throws -> [String: [String]] {
            let rows = try months(evidence: evidence).rows.map { row in
                let key = ["priceCurrency", "currency", "basis", "moneyCurrency"].map { row[$0] ?? "" }
                let figures = ["opening", "sold", "imported", "refunded", "recognised", "closing"].map { row[$0] ?? "" }
                return (key[..<3].joined(separator: " "), [key[3]] + figures)
            }
            return Dictionary(rows) { $0 + $1 }
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
                "USD gems signed": ["USD", "0.000", "10.950", "0.000", "2.990", "2.495", "5.465"],
                "USD gems unsettled": ["USD", "0.000", "10.950", "0.000", "2.990", "2.495", "5.465"],
                "EUR gems signed": ["EUR", "0.000", "0.050", "0.000", "0.000", "0.000", "0.050"],
                "EUR gems unsettled": ["EUR", "0.000", "0.050", "0.000", "0.000", "0.000", "0.050"],
                "EUR coins signed": ["EUR", "0.000", "0.050", "0.000", "0.000", "0.000", "0.050"],
                "EUR coins unsettled": ["EUR", "0.000", "0.050", "0.000", "0.000", "0.000", "0.050"],
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
        #expect(month["USD gems signed"] == ["USD", "0.000", "10.950", "0.000", "2.990", "2.495", "5.465"])
        #expect(month["USD gems unsettled"] == nil)
        #expect(month["USD gems settled"] == ["USD", "0.000", "7.650", "0.000", "2.090", "1.745", "3.815"], "\(month)")
        #expect(
            month["USD gems withheld"] == ["USD", "0.000", "3.300", "0.000", "0.900", "0.750", "1.650"], "\(month)")
        let (gems, coins) = (month["EUR gems settled"] ?? [], month["EUR coins settled"] ?? [])
        #expect(gems[2] == "0.035" && coins[2] == "0.035", "\(month)")
        let fromFolder = try Command.run([
            "reconcile", "sales", "--evidence", shop.folder.path("evidence"), "--zone", shop.zone, "--path",
            shop.folder.path("ledger"), "--format", "csv",
        ])
        #expect(fromFolder.status == 0, "\(fromFolder)")
        #expect(fromFolder.output.hasPrefix("kind,file,line,product,country,priceCurrency,days,"))
        #expect(fromFolder.output.contains("\r\nagrees,"), "\(fromFolder)")
        try shop.stop()
    }

    @Test(arguments: ["dropped", "doubled", "units", "price", "day"])
    func whatIsWrongInAReportIsNamedWithOurTransactions(mistake: String) async throws {
        let shop = try await Shop()
        let files = try shop.reports("apple", "--kind", "daily", "--mistake", mistake, "--seed", "3")
        let finished = try shop.reconcile(["sales"] + files)
        #expect(finished.status == 1 && finished.output.contains("com.example.game."), "\(finished)")
        #expect(finished.error.contains("1 things are to be looked at"), "\(finished)")
        try shop.stop()
    }

    /// A total that is not the sum of its rows, and a row that is not what it says itself.
    @Test func noMonthIsWrittenOfDamagedFilesUnlessThatIsWanted() async throws {
        let shop = try await Shop()
        let totals = try shop.reports("totals", "--kind", "financial", "--mistake", "total", "--plain")
        let told = try shop.reconcile(["sales"] + totals, evidence: "t")
        #expect(told.status == 1 && told.output.contains("Total_"), "\(told)")
        let files = try shop.reports("apple", "--kind", "financial", "--plain")
        let path = try #require(files.first { $0.hasSuffix("_US.txt") })
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try shop.folder.write("rows_US.txt", text.replacing("\t1\t3.49\t3.49\t", with: "\t1\t3.49\t5.00\t"))
        let rows = try shop.reconcile(["sales", shop.folder.path("rows_US.txt")], evidence: "r")
        #expect(rows.status == 1 && rows.output.contains("rows_US.txt: line "), "\(rows)")

        try shop.folder.write("both.csv", "old")
        for evidence in ["t", "r"] {
            let output = ["--output", shop.folder.path("both.csv")]
            let refused = try shop.reconcile(["month", shop.month] + output, evidence: evidence)
            #expect(
                refused.status == 1 && refused.error.contains("in Apple's files: nothing was written"), "\(refused)")
            #expect(refused.error.contains(evidence == "t" ? "Total_" : "rows_US.txt: line "), "\(refused)")
            #expect(try String(contentsOfFile: shop.folder.path("both.csv"), encoding: .utf8) == "old")
            let wanted = try shop.reconcile(["month", shop.month, "--despite-faults"], evidence: evidence)
            #expect(wanted.status == 0 && wanted.error.contains(evidence == "t" ? "Total_" : "rows_US.txt: line "))
            // The row that is wrong settles nothing; the others do.
            #expect(wanted.output.contains(",unsettled,") == (evidence == "r"), "\(wanted)")
            #expect(wanted.output.contains(",settled,"), "\(wanted)")
        }
        try shop.stop()
    }

    /// What the rows behind the cut would pay is not taken for what Apple does not pay.
    @Test func noMonthIsWrittenOfAFinancialReportThatWasCut() async throws {
        let shop = try await Shop()
        let files = try shop.reports("apple", "--kind", "financial", "--plain")
        let path = try #require(files.first { $0.hasSuffix("_US.txt") })
        let lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
        try shop.folder.write("cut_US.txt", lines.prefix(2).joined(separator: "\n") + "\n")
        let words = "cut_US.txt: has no totals behind its rows: it may be cut"
        let told = try shop.reconcile(["sales", shop.folder.path("cut_US.txt"), "--format", "csv"])
        #expect(told.status == 1 && told.output.contains("\r\nrow,cut_US.txt,"), "\(told)")
        #expect(told.output.contains(words), "\(told)")
        let refused = try shop.reconcile(["month", shop.month])
        #expect(refused.status == 1 && refused.output.isEmpty && refused.error.contains(words), "\(refused)")
        #expect(refused.error.contains("1 fault in Apple's files: nothing was written"), "\(refused)")
        let wanted = try shop.reconcile(["month", shop.month, "--despite-faults"])
        #expect(wanted.status == 0 && wanted.error.contains(words) && wanted.output.contains(",settled,"), "\(wanted)")
        try shop.stop()
    }

    /// Neither a month nor what was settled of it is known of a time before the ledger began.
    @Test func aMonthBeforeTheLedgerBeganIsRefused() async throws {
        let shop = try await Shop()
        try shop.folder.write("both.csv", "old")
        for place in [["--server", shop.service.address], ["--path", shop.folder.path("ledger")]] {
            let refused = try Command.run(
                [
                    "reconcile", "month", "2020-01", "--evidence", shop.folder.path("evidence"), "--output",
                    shop.folder.path("both.csv"),
                ] + place)
            #expect(refused.status == 1 && refused.error.contains("is before the ledger began, at "), "\(refused)")
        }
        #expect(try String(contentsOfFile: shop.folder.path("both.csv"), encoding: .utf8) == "old")
        try shop.stop()
    }

    /// Of a purchase that other books had sold these have no price and no storefront; its refund is Apple's all the
    /// same, and explains what Apple took back, once.
    @Test func refundsOfImportedPurchasesAreExplainedByThem() async throws {
        let shop = try await Shop()
        let client = try await shop.service.client()
        _ = try shop.buy("9.99")
        let id = "2000000000000005"
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        _ = try await client.importLots(
            LotImport(
                key: try #require(RequestKey("i")), account: try #require(AccountName(Self.player)),
                lots: [
                    ImportedLot(
                        currency: try #require(CurrencyCode("gems")), amount: try #require(Amount(300)),
                        purchase: ImportedPurchase(
                            transaction: try #require(TransactionID(id)), product: "com.example.game.gems500",
                            price: 2_994, priceCurrency: "USD", purchaseDate: now - 60_000))
                ]))
        let refund = try shop.simulator.must("refund", id)
        _ = try await client.credit(signedTransaction: refund, account: nil)
        try await client.close()

        // Sold it was before the books began, in reports of that time.
        var files: [String] = []
        var doubled: [String] = []
        for path in try shop.reports("apple", "--plain") {
            let name = try #require(path.split(separator: "/").last.map(String.init))
            let lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n").filter {
                !$0.contains("\t9.99\t") && !$0.hasPrefix("Total")
            }
            let twice = lines + lines.filter { $0.contains("\t-9.99\t") }
            if name.hasPrefix("S_") {
                try shop.folder.write("one_\(name)", lines.joined(separator: "\n"))
                try shop.folder.write("two_\(name)", (twice.filter { !$0.isEmpty }).joined(separator: "\n") + "\n")
                files.append(shop.folder.path("one_\(name)"))
                doubled.append(shop.folder.path("two_\(name)"))
            } else {
                files.append(try shop.write("one_\(name)", lines))
                doubled.append(try shop.write("two_\(name)", twice))
            }
        }
        let explained = try shop.reconcile(["sales"] + files)
        #expect(explained.status == 0 && explained.output.isEmpty, "\(explained)")
        let rows = try CSVTable(shop.reconcile(["sales", "--format", "csv"]).output).rows
        let imported = rows.filter { $0["kind"] == "imported" }
        #expect(imported.map { $0["transactions"] } == [id, id], "\(rows)")
        #expect(imported.map { $0["direction"] } == ["refunded", "refunded"])
        #expect(Set(imported.map { $0["basis"] }) == ["reported", "settled"], "\(imported)")
        #expect(imported.allSatisfy { $0["text"]?.contains("of imported purchases \(id)") == true }, "\(imported)")
        // All other money has a basis too.
        for row in rows where row["money"] != "" { #expect(row["basis"] != "", "\(row)") }
        #expect(rows.contains { $0["kind"] == "agrees" && $0["basis"] == "signed" })

        // One refund explains no two.
        let more = try shop.reconcile(["sales"] + doubled, evidence: "doubled")
        #expect(more.status == 1 && more.error.contains("2 things are to be looked at"), "\(more)")
        #expect(more.output.contains("at least 1 of imported purchases \(id) (how many units"), "\(more)")
        try shop.stop()
    }

    /// Apple may pay a part of a purchase in one currency and a part in another.
    @Test func proceedsInTwoCurrenciesAndRefundsOfAPartAreDivided() async throws {
        let shop = try await Shop()
        let client = try await shop.service.client()
        let refund = try shop.simulator.must(
            "refund", "2000000000000002", "--revocation-percentage", "50000")
        _ = try await client.credit(signedTransaction: refund, account: nil)
        try await client.close()
        let files = try shop.reports("apple", "--kind", "financial", "--plain")
        let path = try #require(files.first { $0.hasSuffix("_US.txt") })
        // What three units at 0.99 bring: two in dollars, and one in euros.
        let lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n").filter {
            !$0.hasPrefix("Total") && !$0.contains("\t-")
        }
        let places = try #require(lines.first).components(separatedBy: "\t")
        let currency = try #require(places.firstIndex(of: "Partner Share Currency"))
        let three = try #require(lines.first { $0.contains("\t3\t0.69\t2.07\t") })
        var euros = three.replacing("\t3\t0.69\t2.07\t", with: "\t1\t0.60\t0.60\t").components(separatedBy: "\t")
        euros[currency] = "EUR"
        let two = [three.replacing("\t3\t0.69\t2.07\t", with: "\t2\t0.69\t1.38\t"), euros.joined(separator: "\t")]
        let both = try shop.write("two_US.txt", lines.filter { $0 != three } + two)
        #expect(try shop.reconcile(["sales", both]).status == 1)
        let rows = try shop.months().rows.filter {
            $0["priceCurrency"] == "USD" && $0["product"]?.hasSuffix("gems500") == true
        }
        func figures(_ basis: String, _ money: String) throws -> [Int128] {
            let row = try #require(rows.first { $0["basis"] == basis && $0["moneyCurrency"] == money }, "\(rows)")
            return try ["opening", "sold", "imported", "refunded", "recognised", "closing"].map {
                try CSVTable.number(row[$0])
            }
        }
        // 4.99 of which half is spent, 2.97 of which half is refunded, and 2.99 that is.
        #expect(try figures("signed", "USD") == [0, 10_950, 0, 4_475, 2_495, 3_980])
        let (dollars, euro) = (try figures("settled", "USD"), try figures("settled", "EUR"))
        // 3.49 and 2.09 and 1.38, and 0.60, of which half is refunded each; what is rounded is recognised.
        #expect(dollars[1] == 6_960 && dollars[3] == 2_090 + 690 && euro[1] == 600 && euro[3] == 300)
        for one in [dollars, euro] { #expect(one[0] + one[1] + one[2] - one[3] - one[4] == one[5], "\(one)") }
        #expect(!rows.contains { $0["basis"] == "unsettled" })
        try shop.stop()
    }

    /// Other stores' purchases and imported lots are on bases of their own, and everything is as in `deferred`.
    @Test func whatAppleDoesNotPayIsApartAndAllIsAsInDeferred() async throws {
        let shop = try await Shop()
        let client = try await shop.service.client()
        let account = try #require(AccountName(Self.player))
        let bought = Int64(Date().timeIntervalSince1970 * 1_000) - 60_000
        func external(revoked: Int64?) async throws {
            _ = try await client.external(
                ExternalPurchase(
                    identity: try #require(ExternalIdentity(source: "shop.example", identifier: "o-1")),
                    account: account, product: "com.example.game.gems500", price: 5_000, priceCurrency: "USD",
                    purchaseDate: bought, revoked: revoked))
        }
        try await external(revoked: nil)
        try await external(revoked: 20_000)
        _ = try await client.importLots(
            LotImport(
                key: try #require(RequestKey("i")), account: account,
                lots: [
                    ImportedLot(
                        currency: try #require(CurrencyCode("gems")), amount: try #require(Amount(300)),
                        purchase: ImportedPurchase(
                            transaction: try #require(TransactionID("77")), product: "com.example.game.gems500",
                            price: 2_994, priceCurrency: "USD", purchaseDate: 1_757_894_400_000))
                ]))
        try await client.close()
        #expect(try shop.reconcile(["sales"] + shop.reports("apple")).status == 0)
        let months = try shop.months()
        let bases = months.rows.reduce(into: [String: Set<String>]()) {
            $0[$1["source"] ?? "", default: []].insert($1["basis"] ?? "")
        }
        #expect(
            bases == ["app_store": ["signed", "settled", "withheld"], "external": ["stated"], "imported": ["carried"]])
        let carried = try #require(months.rows.first { $0["basis"] == "carried" })
        #expect(carried["sold"] == "0.000" && carried["imported"] == "2.994" && carried["closing"] == "2.994")
        let finished = try Command.run(
            ["export", "deferred", "--from", "\(shop.month)-01", "--server", shop.service.address])
        let deferred = try CSVTable(finished.output)
        let names = ["product", "storefront", "priceCurrency", "source", "currency"]
        let figures = ["opening", "sold", "imported", "refunded", "recognised", "closing"]
        func rows(_ table: [[String: String]]) -> Set<[String]> {
            Set(table.map { row in (names + figures).map { row[$0] ?? "" } })
        }
        let priced = months.rows.filter { ["signed", "stated", "carried"].contains($0["basis"] ?? "") }
        #expect(rows(priced) == rows(deferred.rows) && priced.count == deferred.rows.count && priced.count == 5)
        try shop.stop()
    }

    /// A purchase that is told later, with a date before the month's end, takes nothing from those of the month.
    @Test func aMonthThatIsOverIsTheSameWhateverIsPostedLater() throws {
        let (first, day): (Int64, Int64) = (1_757_894_400_000, 86_400_000)
        func payload(_ number: Int, day: Int64) -> TransactionPayload {
            var payload = TransactionPayload(
                transactionID: String(3_000_000_000_000_000 + number), bundleID: "com.example.game",
                productID: "com.example.game.gems500", purchaseDate: day, signedDate: day, environment: .sandbox)
            (payload.storefront, payload.currency, payload.price) = ("USA", "USD", 77_770)
            return payload
        }
        let ann = try #require(AccountName("ann"))
        // Two of one price, of which Apple's report of the month pays one: the older.
        let known = GeneratedGame.Step.credit(payload(2, day: first + 10 * day), account: ann)
        let late = GeneratedGame.Step.credit(payload(1, day: first + 5 * day), account: ann)
        let month = try #require(CivilDay(iso: "2025-08-31"))...(try #require(CivilDay(iso: "2025-09-27")))
        let draft = DraftLine(
            product: "com.example.game.gems500", productType: "IA1", direction: .sold, units: 1,
            customerPrice: Thousandths(rawValue: 77_770),
            customerCurrency: "USD", proceeds: Thousandths(rawValue: 54_440),
            country: try #require(CountryCode(alpha3: "USA")),
            days: month, transactionDay: month.lowerBound, app: "com.example.game")
        var months: [String: [String]] = [:]
        for (name, steps) in [("before", []), ("after", [late])] {
            let studio = try Studio()
            // The first days are those of a ledger of which one purchase is known.
            let folder = try GeneratedGame.write(
                0, seed: 1, from: first, days: 12, to: studio, late: [known], later: steps)
            try Data(ReportText.financial([draft])).write(to: studio.folder.url.appendingPathComponent("0925_US.txt"))
            let evidence = ["--evidence", studio.folder.path("evidence"), "--zone", "utc", "--path", folder]
            _ = try Command.run(["reconcile", "sales", studio.folder.path("0925_US.txt")] + evidence)
            for month in ["2025-09", "2025-10"] {
                let finished = try Command.run(["reconcile", "month", month] + evidence)
                try #require(finished.status == 0, "\(finished.error)")
                months[name, default: []].append(finished.output)
            }
        }
        let (before, after) = (try #require(months["before"]), try #require(months["after"]))
        #expect(before[0] == after[0] && before[0].contains(",settled,USD,0.000,54.440,"), "\(after[0])")
        // In the month in which it was told, it has what the other one had.
        #expect(before[1] != after[1] && after[1].contains(",settled,USD,54.440,0.000,"), "\(after[1])")
    }

    @Test func proceedsThatAreNobodysAndPurchasesThatNobodyPaysAreNamed() async throws {
        let shop = try await Shop()
        let files = try shop.reports("apple", "--kind", "financial", "--plain")
        let path = try #require(files.first { $0.hasSuffix("_US.txt") })
        let rows = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n").filter {
            !$0.hasPrefix("Total")
        }
        func finding(_ name: String, _ rows: [String]) throws -> Finished {
            try shop.reconcile(["sales", shop.write("\(name)_US.txt", rows)], evidence: name)
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
