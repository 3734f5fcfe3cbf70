import Foundation
import LedgerClient
import LedgerTestKit
import Testing

/// `export month`: a page whose figures are those of the CSV files of the same period.
@Suite struct MonthPageTests {
    private static let month = "2025-10"
    private static let end = "2025-10-31T23:59:59.999Z"
    private static let days = (1...31).map { "2025-10-" + ($0 < 10 ? "0" : "") + "\($0)" }

    /// Books of two months: from the middle of September on.
    private static func ledger(_ operations: Int = 3_000) throws -> (Studio, String) {
        let studio = try Studio()
        let first: Int64 = 1_757_894_400_000
        #expect(UTCText.day(of: first) == "2025-09-15")
        return (studio, try GeneratedGame.write(operations, seed: 16, from: first, days: 61, to: studio))
    }

    private static func page(_ folder: String, _ arguments: [String] = ["--month", month]) throws -> Finished {
        try Command.run(["export", "month", "--format", "html", "--path", folder] + arguments)
    }

    /// A page and the CSV files of the same month.
    private struct Exports {
        let page: ParsedPage
        let rollforward, sales, revenue, deferred, lots, debts, unassigned: CSVTable

        init(_ folder: String) throws {
            let finished = try MonthPageTests.page(folder)
            try #require(finished.status == 0, "\(finished.error)")
            page = try ParsedPage(Data(finished.output.utf8))
            let month = MonthPageTests.month
            rollforward = try .export("rollforward", "--month", month, folder: folder)
            sales = try .export("sales", "--month", month, folder: folder)
            revenue = try .export("revenue", "--month", month, folder: folder)
            deferred = try .export("deferred", "--month", month, folder: folder)
            lots = try .export("lots", "--as-of", MonthPageTests.end, folder: folder)
            debts = try .export("debts", "--as-of", MonthPageTests.end, folder: folder)
            unassigned = try .export("unassigned", "--as-of", MonthPageTests.end, folder: folder)
        }

        var money: [String] { Set(deferred.rows.compactMap { $0["priceCurrency"] }).subtracting([""]).sorted() }
        var currencies: [String] { Set(rollforward.rows.compactMap { $0["currency"] }).sorted() }
    }

    /// One page of each kind of test is enough: reading it changes nothing.
    private static let shared = Result { () throws -> (Studio, String, Exports) in
        let (studio, folder) = try ledger()
        return (studio, folder, try Exports(folder))
    }

    // MARK: Figures

    @Test func theMovementsOfEachCurrencyAreThoseOfRollforward() throws {
        let exports = try Self.shared.get().2
        #expect(exports.currencies == ["GLD", "gems", "gold"])
        let overview = try exports.page.table("Currencies, in units")
        for code in exports.currencies {
            let table = try exports.page.table("\(code), in units")
            #expect(table.columns == ["Movement", "Paid", "Free", "Together"])
            var seen: Set<String> = []
            for row in table.rows {
                let words = String(row[0].replacing("of which ", with: "").drop { !$0.isLetter })
                let column = words.replacing(/\ ([a-z])/) { $0.1.uppercased() }
                seen.insert(column)
                let sums = try exports.rollforward.sums(column, by: "currency", "class")
                let (paid, free) = (try #require(sums[[code, "paid"]]), try #require(sums[[code, "free"]]))
                #expect(try row.dropFirst().map(ParsedPage.number) == [paid, free, paid + free], "\(code): \(row)")
            }
            #expect(seen == Set(exports.rollforward.header).subtracting(["currency", "class"]))
            func sum(_ column: String) throws -> Int128 {
                try exports.rollforward.sums(column, by: "currency")[[code]] ?? 0
            }
            let short = try #require(overview.rows.first { $0[0] == code }).dropFirst().map(ParsedPage.number)
            let issued = try sum("purchased") + sum("granted") + sum("imported")
            #expect(try short == [issued, sum("spent"), sum("closing"), sum("debt")])
        }
    }

    @Test func theMoneyIsThatOfSalesRevenueAndDeferred() throws {
        let exports = try Self.shared.get().2
        #expect(exports.money == ["EUR", "GBP", "JPY", "USD"])
        let overview = try exports.page.table("Money, each in its own currency")
        #expect(overview.rows.map { $0[0] } == exports.money)
        let columns = ["Money", "Bought", "Sold", "Imported", "Refunded", "Recognised", "Deferred at the end"]
        #expect(overview.columns == columns)
        let refunds = try exports.page.table("Refunds")
        for code in exports.money {
            func sum(_ table: CSVTable, _ column: String) throws -> Int128 {
                try table.sums(column, by: "priceCurrency")[[code]] ?? 0
            }
            let deferred = try ["opening", "sold", "imported", "refunded", "recognised", "closing"].map {
                try sum(exports.deferred, $0)
            }
            let revenue = try ["recognised", "reversed"].map { try sum(exports.revenue, $0) }
            #expect(revenue[0] - revenue[1] == deferred[4] && deferred.allSatisfy { $0 > 0 } && revenue[1] > 0)
            let statement = try exports.page.table("\(code), deferred and recognised")
            #expect(try statement.rows.map { try ParsedPage.number($0[1]) } == deferred + revenue + [deferred[4]])
            let ages = try exports.page.table("\(code) deferred at the end, by how long ago it was paid")
            let columns = ["upTo30Days", "upTo90Days", "upTo180Days", "upTo365Days", "older"]
            #expect(
                try ages.rows.map { try ParsedPage.number($0[1]) } == columns.map { try sum(exports.deferred, $0) })
            let short = try #require(overview.rows.first { $0[0] == code }).dropFirst().map(ParsedPage.number)
            #expect(
                try short == [
                    sum(exports.sales, "units"), sum(exports.sales, "sold"), deferred[2],
                    sum(exports.sales, "refunded"), deferred[4], deferred[5],
                ])
            let refunded = try #require(refunds.rows.first { $0[0] == code }).dropFirst().map(ParsedPage.number)
            #expect(try refunded == [deferred[3], sum(exports.sales, "refundedOfSale"), revenue[1]])
        }
        let unclaimed = try exports.page.table("Purchases that no account has claimed: in no other figure here")
        var expected: [String: [Int128]] = [:]
        for row in exports.unassigned.rows {
            let code = try #require(row["priceCurrency"])
            let price = row["price"] == "" ? 0 : try CSVTable.number(row["price"])
            let sums = expected[code.isEmpty ? "without a price" : code] ?? [0, 0]
            expected[code.isEmpty ? "without a price" : code] = [sums[0] + 1, sums[1] + price]
        }
        let found = try unclaimed.rows.map { ($0[0], try $0.dropFirst().map(ParsedPage.number)) }
        #expect(Dictionary(uniqueKeysWithValues: found) == expected && !expected.isEmpty)
    }

    @Test(arguments: ["product", "storefront"])
    func productsAndStorefrontsAreThoseOfSalesAndRevenue(_ column: String) throws {
        let exports = try Self.shared.get().2
        for code in exports.money {
            func sums(_ table: CSVTable, _ figure: String) throws -> [String: Int128] {
                let sums = try table.sums(figure, by: "priceCurrency", column, "source").filter { $0.key[0] == code }
                return Dictionary(
                    uniqueKeysWithValues: sums.map { key, sum in
                        ("\(key[1].isEmpty ? "none" : key[1]), \(Self.sources[key[2]] ?? "")", sum)
                    })
            }
            let (units, sold) = (try sums(exports.sales, "units"), try sums(exports.sales, "sold"))
            let refunded = try sums(exports.sales, "refunded")
            let (earned, reversed) = (try sums(exports.revenue, "recognised"), try sums(exports.revenue, "reversed"))
            let table = try exports.page.table("\(code) by \(column)")
            let names = Set(sold.keys).union(earned.keys)
            #expect(Set(table.rows.map { "\($0[0]), \($0[1])" }) == names.union(["All, "]))
            #expect(names.contains { $0.hasSuffix("App Store") } && names.contains { $0.hasSuffix("other store") })
            var all: [Int128] = [0, 0, 0, 0]
            for row in table.rows.dropLast() {
                let name = "\(row[0]), \(row[1])"
                let figures = [
                    units[name] ?? 0, sold[name] ?? 0, refunded[name] ?? 0, (earned[name] ?? 0) - (reversed[name] ?? 0),
                ]
                #expect(try row.dropFirst(2).map(ParsedPage.number) == figures, "\(code): \(row)")
                all = zip(all, figures).map(+)
            }
            #expect(try table.rows.last?.dropFirst(2).map(ParsedPage.number) == all)
        }
    }

    /// What the page calls the sources.
    private static let sources = ["app_store": "App Store", "imported": "imported", "external": "other store"]

    @Test func whatOtherStoresSoldAndWhatWasImportedIsToldApart() throws {
        let exports = try Self.shared.get().2
        for code in exports.money {
            let table = try exports.page.table("\(code) by source")
            #expect(table.rows.map { $0[0] } == ["App Store", "imported", "other store"])
            for (name, words) in Self.sources {
                func sum(_ table: CSVTable, _ column: String) throws -> Int128 {
                    try table.sums(column, by: "priceCurrency", "source")[[code, name]] ?? 0
                }
                let row = try #require(table.rows.first { $0[0] == words })
                let figures =
                    try [sum(exports.sales, "units")]
                    + ["sold", "imported", "refunded", "recognised", "closing"].map { try sum(exports.deferred, $0) }
                #expect(try row.dropFirst().map(ParsedPage.number) == figures, "\(code): \(row)")
            }
        }
    }

    @Test func everyDayIsThatOfTheReportsOfTheDay() throws {
        let (_, folder, exports) = try Self.shared.get()
        var importing = 0
        for (place, day) in Self.days.enumerated() {
            let period = ["--from", day, "--as-of", "\(day)T23:59:59.999Z"]
            let revenue = try CSVTable.export("revenue", period[0], period[1], period[2], period[3], folder: folder)
            let rollforward = try CSVTable.export(
                "rollforward", period[0], period[1], period[2], period[3], folder: folder)
            let deferred = try CSVTable.export("deferred", period[0], period[1], period[2], period[3], folder: folder)
            for code in exports.money {
                let sales = try ["sold", "refunded"].map {
                    try exports.sales.sums($0, by: "day", "priceCurrency")[[day, code]] ?? 0
                }
                let parts = try ["recognised", "reversed"].map {
                    try revenue.sums($0, by: "priceCurrency")[[code]] ?? 0
                }
                let closing = try deferred.sums("closing", by: "priceCurrency")[[code]] ?? 0
                let imported = try deferred.sums("imported", by: "priceCurrency")[[code]] ?? 0
                importing += imported == 0 ? 0 : 1
                let row = try exports.page.table("\(code) by day").rows[place]
                #expect(row[0] == day)
                #expect(
                    try row.dropFirst().map(ParsedPage.number)
                        == [sales[0], imported, sales[1], parts[0] - parts[1], closing], "\(code): \(row)")
            }
            for code in exports.currencies {
                func sum(_ column: String, _ lotClass: String) throws -> Int128 {
                    try rollforward.sums(column, by: "currency", "class")[[code, lotClass]] ?? 0
                }
                let row = try exports.page.table("\(code) by day, in units").rows[place]
                let issued = try ["purchased", "granted", "imported"].reduce(Int128(0)) { issued, column in
                    try issued + sum(column, "paid") + sum(column, "free")
                }
                let spent = try sum("spent", "paid") + sum("spent", "free")
                #expect(
                    try row.dropFirst().map(ParsedPage.number) == [
                        issued, spent, sum("closing", "paid"), sum("closing", "free"),
                    ], "\(code): \(row)")
            }
        }
        #expect(importing > 4 && importing < Self.days.count * exports.money.count)
    }

    /// What was deferred on days before an import does not have it.
    @Test func whatIsImportedIsDeferredFromItsDayOn() throws {
        let studio = try Studio()
        let (first, day): (Int64, Int64) = (1_757_894_400_000, 86_400_000)
        let lot = ImportedLot(
            currency: GeneratedGame.gems, amount: try #require(Amount(300)),
            purchase: ImportedPurchase(
                transaction: try #require(TransactionID("77")), product: "com.example.game.gems500", price: 2_994,
                priceCurrency: "USD", purchaseDate: first))
        let carried = LotImport(key: try #require(RequestKey("i")), account: AccountName("ann")!, lots: [lot])
        let folder = try GeneratedGame.write(
            0, seed: 1, from: first, days: 2, to: studio, late: [.importLots(carried)])
        let end = UTCText.time(first + 3 * day - 1)
        let page = try Self.page(folder, ["--from", UTCText.day(of: first), "--as-of", end])
        try #require(page.status == 0, "\(page.error)")
        let rows = try ParsedPage(Data(page.output.utf8)).table("USD by day").rows
        #expect(
            rows.map { $0[2] } == ["0.000", "0.000", "2.994"] && rows.map { $0[5] } == ["0.000", "0.000", "2.994"])
        let units = try ParsedPage(Data(page.output.utf8)).table("gems by day, in units").rows
        #expect(units.map { $0[1] } == ["0", "0", "300"])
    }

    /// What a correction added nobody bought.
    private static func date(_ lot: [String: String]) -> String {
        let bought = lot["purchaseDate"] ?? ""
        return bought.isEmpty ? lot["time"] ?? "" : bought
    }

    @Test func theOldestLotsAndDebtsAreTheFirstOfTheLists() throws {
        let exports = try Self.shared.get().2
        let lots = try exports.lots.rows.filter { $0["class"] == "paid" && $0["left"] != "0" }
            .map { row in (Self.date(row), try CSVTable.number(row["lot"]), row) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
        let shown = try exports.page.table("The oldest paid lots of which something is left")
        #expect(shown.rows.count == 20 && lots.count > 20)
        for (row, lot) in zip(shown.rows, lots) {
            #expect(row[0] == Self.date(lot).prefix(10))
            let names = ["account", "product", "currency", "priceCurrency"].map { lot[$0] }
            #expect([row[2], row[3], row[7], row[9]] == names)
            #expect(row[4] == Self.sources[lot["source"] ?? ""] ?? "")
            let figures = try ["left", "granted", "deferred"].map { try CSVTable.number(lot[$0]) }
            #expect(try [row[5], row[6], row[8]].map(ParsedPage.number) == figures)
        }
        let debts = try exports.debts.rows.map { ($0["since"] ?? "", try CSVTable.number($0["lot"]), $0) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
        let owed = try exports.page.table("The oldest debts")
        #expect(!debts.isEmpty && owed.rows.count == min(20, debts.count))
        for (row, debt) in zip(owed.rows, debts) {
            #expect([row[1], row[2], row[4]] == ["account", "transactionId", "currency"].map { debt[$0] })
            #expect(row[3] == Self.sources[debt["source"] ?? ""])
            #expect(try ParsedPage.number(row[5]) == CSVTable.number(debt["debt"]))
        }
        let all = try exports.page.table("What players owe at the end")
        for row in all.rows {
            let sum = try exports.debts.sums("debt", by: "currency")[[row[0]]]
            #expect(try ParsedPage.number(row[2]) == sum)
            #expect(try ParsedPage.number(row[1]) == Int128(exports.debts.rows.count { $0["currency"] == row[0] }))
        }
    }

    /// Every drawing has a name and says its figures: those of the tables by day.
    @Test func theChartsSayTheFiguresOfTheTables() throws {
        let page = try Self.shared.get().2.page
        #expect(page.drawings.count == 3 * 2 + 4 * 3)
        for drawing in page.drawings {
            #expect(!drawing.title.isEmpty && !drawing.description.isEmpty)
            #expect(drawing.told.count == 31)
            let words = drawing.title.split(separator: " ")
            let isMoney = words[0].count == 3 && words[0] != "GLD"
            let table = try page.table("\(words[0]) by day" + (isMoney ? "" : ", in units"))
            for (row, told) in zip(table.rows, drawing.told) {
                let figures = Dictionary(uniqueKeysWithValues: zip(table.columns, row))
                for part in told.dropFirst(row[0].count + 2).split(separator: ", ") {
                    let name = try #require(part.split(separator: " ").first.map(String.init))
                    #expect(part == "\(name) \(figures[name] ?? "")", "\(drawing.title): \(told)")
                }
                #expect(told.hasPrefix("\(row[0]): "))
            }
        }
    }

    // MARK: The file

    @Test func aPageIsOneFileThatLoadsNothingAndRunsNothing() throws {
        let (_, folder, exports) = try Self.shared.get()
        #expect(exports.page.faults == [], "\(exports.page.faults.prefix(5))")
        #expect(exports.page.title == "October 2025: com.example.game")
        let text = try Self.page(folder).output
        #expect(text.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\">"))
        for forbidden in ["http:", "https:", "//", "url(", "@import", "<script"] {
            #expect(!text.contains(forbidden), "\(forbidden)")
        }
        #expect(text.contains("default-src &#39;none&#39;"))
    }

    @Test func aPageIsTheSameFromAServiceAndWhenItIsMadeAgain() throws {
        let (studio, folder) = try Self.ledger(400)
        let page = try Self.page(folder)
        #expect(page.status == 0 && page.error.contains("the tables have all up to block"))
        // Of few players, most have names that are markup or run backwards.
        #expect(page.output.contains("<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>"))
        let service = try RunningService(studio.folder)
        let path = studio.folder.path("page.html")
        let told = try Command.run(
            ["export", "month", "--month", Self.month, "--server", service.address, "-o", path])
        #expect(told.status == 0, "\(told.error)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == page.output)
        #expect(service.stop() == 0)
        #expect(try Command.run(["rebuild", "--config", studio.folder.path("ledger.json")]).status == 0)
        #expect(try Self.page(folder).output == page.output)
    }

    @Test func aPeriodMayEndNow() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: AccountName("player-1")!)
        try await client.close()
        let day = UTCText.day(of: studio.now)
        let told = try Command.run(["export", "month", "--from", day, "--server", service.address])
        #expect(service.stop() == 0)
        // It may be another day by now.
        #expect(told.status == 0 && told.output.contains("<h1>\(day)"), "\(told.error)")
        let table = try ParsedPage(Data(told.output.utf8)).table("Currencies, in units")
        #expect(table.rows == [["gems", "500", "0", "500", "0"]])
        // From a folder it ends with the last block.
        let folder = studio.folder.path("ledger")
        let page = try Command.run(["export", "month", "--from", day, "--path", folder])
        #expect(try ParsedPage(Data(page.output.utf8)).table("Currencies, in units").rows == table.rows)
    }

    @Test func aPageOfAnEmptyLedgerSaysSo() throws {
        let studio = try Studio()
        #expect(try RunningService(studio.folder).stop() == 0)
        let folder = studio.folder.path("ledger")
        let finished = try Command.run(
            ["export", "month", "--from", UTCText.day(of: studio.now - 86_400_000), "--path", folder])
        #expect(finished.status == 0 && finished.output.contains("Nothing was posted up to then."), "\(finished)")
        // A month that was over before.
        let early = try Self.page(folder)
        #expect(early.status == 1 && early.error.contains("is before the ledger began, at "), "\(early)")
        let page = try ParsedPage(Data(finished.output.utf8))
        #expect(page.faults == [] && page.tables.isEmpty)
    }

    @Test(arguments: [
        (["month"], "month needs --month, or --from"),
        (["month", "--month", "2025-13"], "--month must be as 2026-01, not '2025-13'"),
        (["month", "--month", "2025-10", "--format", "csv"], "month is --format html, not csv"),
        (["month", "--month", "2025-10", "--currency", "gems"], "--currency is not of month"),
        (["month", "--month", "2025-10", "--by", "effective"], "--by is not of month"),
        (["month", "--month", "2025-10", "--scope", "all"], "--scope is of consumption_requests and lots only"),
        (["sales", "--format", "html"], "--format html is of month only"),
        (["month", "--month", "2999-10"], "is in the future"),
        (["month", "--from", "2025-01-01", "--as-of", "2025-10-01"], "a page is of at most 100 days, not of 274"),
        (["month", "--from", "2025-10-02", "--as-of", "2025-10-01"], "the period begins 2025-10-02T00:00:00.000Z"),
    ])
    func wrongInputIsNamedAndTheOldFileStays(_ arguments: [String], _ words: String) throws {
        let (studio, folder, _) = try Self.shared.get()
        let name = "\(UUID().uuidString).html"
        try studio.folder.write(name, "old")
        let finished = try Command.run(
            ["export"] + arguments + ["--path", folder, "--output", studio.folder.path(name)])
        #expect(finished.status != 0 && finished.error.contains(words), "\(finished.error)")
        #expect(try String(contentsOfFile: studio.folder.path(name), encoding: .utf8) == "old")
        #expect(
            try !FileManager.default.contentsOfDirectory(atPath: studio.folder.url.path)
                .contains { $0.hasPrefix(".currency-ledger") })
    }
}
