import Foundation
import LedgerTestKit
import Testing

@testable import AppleReports

@Suite struct ReadingTests {
    // MARK: A sales report

    @Test func aSalesReportIsReadByTheNamesOfItsColumns() throws {
        let (lines, facts) = try Samples.read(
            Samples.file(
                Samples.salesHeader, Samples.sales(), Samples.sales(units: "-1", price: "-4.99"),
                Samples.sales("game", type: "1F", units: "10.00", proceeds: "0", currency: " ", price: "0")))
        #expect(facts.kind == .salesSummary && facts.isSound && facts.lineCount == 3 && facts.unknownColumns == [])
        #expect(facts.days == Samples.day...Samples.day)
        let sales = lines.compactMap { if case .sales(let line) = $0 { line } else { nil } }
        try #require(sales.count == 3)
        let (sold, refunded, download) = (sales[0], sales[1], sales[2])
        #expect(sold.sku == Samples.gems && sold.productType == "IA1" && sold.isInAppPurchase && sold.units == 3)
        #expect(sold.developerProceeds == "3.49" && sold.customerPrice == "4.99" && sold.customerCurrency == "USD")
        #expect(sold.country.alpha2 == "US" && sold.proceedsCurrency == "USD" && sold.parentIdentifier == Samples.app)
        #expect(sold.row.line == 2 && sold.row["Device"] == "iPhone" && sold.row["Client"] == nil)
        #expect(refunded.units == -1 && refunded.customerPrice == "4.99")
        #expect(!download.isInAppPurchase && download.units == 10 && download.customerCurrency == nil)
    }

    @Test func columnsMayStandInAnyOrderAndUnknownOnesAreKeptAside() throws {
        let bytes = Samples.file(
            "Novelty\tUnits\tSKU\tProduct Type Identifier\tDeveloper Proceeds\tBegin Date\tEnd Date\t"
                + "customer currency\tCountry Code\tCurrency of Proceeds\tCustomer Price\t",
            "new\t3\t\(Samples.gems)\tIA1\t3.49\t11/25/2026\t11/25/2026\tUSD\tUS\tUSD\t4.99")
        let (lines, facts) = try Samples.read(bytes)
        #expect(facts.isSound && facts.unknownColumns == ["Novelty"])
        guard case .sales(let line) = try #require(lines.first) else { throw ReportFault(.format, "no sales") }
        #expect(line.units == 3 && line.customerPrice == "4.99" && line.row["Novelty"] == "new")
        #expect(line.row.unknownCells.map(\.column) == ["Novelty"] && line.row.unknownCells.map(\.text) == ["new"])
    }

    @Test(arguments: AppleReportKind.salesSummary.needed.map(\.rawValue))
    func aColumnThatIsNeededAndMissingIsNamed(column: String) throws {
        let header = ("\t" + Samples.salesHeader + "\t").replacing("\t\(column)\t", with: "\tSomething\t").trimmed
        let fault = #expect(throws: ReportFault.self) { try Samples.read(Samples.file(header, Samples.sales())) }
        #expect(fault?.kind == .header && fault?.line == 1 && fault?.words.hasSuffix(": \(column)") == true)
    }

    @Test func allMissingColumnsAreNamedAtOnce() {
        let header = Samples.salesHeader.replacing("SKU", with: "X").replacing("Country Code", with: "Y")
        let fault = #expect(throws: ReportFault.self) { try Samples.read(Samples.file(header)) }
        #expect(fault?.description == "line 1: lacks what is needed: SKU, Country Code")
    }

    @Test func aColumnThatIsThereTwiceIsRefused() {
        let fault = #expect(throws: ReportFault.self) {
            try Samples.read(Samples.file(Samples.salesHeader + "\tUnits", Samples.sales()))
        }
        #expect(fault?.kind == .header && fault?.column == "Units")
    }

    @Test(arguments: [
        (Samples.sales(units: "1.5"), "Units", "'1.5' is no whole number"),
        (Samples.sales(units: "many"), "Units", "'many' is no whole number"),
        (Samples.sales(units: " "), "Units", "is empty"),
        (
            Samples.sales(price: "4,99"), "Customer Price",
            "'4,99' is no amount with at most three digits behind the point"
        ),
        (Samples.sales(price: "-4.99"), "Customer Price", "is negative, and the units are not"),
        (
            Samples.sales(proceeds: "1.2345"), "Developer Proceeds",
            "'1.2345' is no amount with at most three digits behind the point"
        ),
        (Samples.sales(begin: "2026-11-25"), "Begin Date", "'2026-11-25' is no day as 11/25/2026"),
        (Samples.sales(end: "11/24/2026"), "End Date", "is before the Begin Date"),
        (Samples.sales(end: "11/26/2027"), "End Date", "is more than a year after the Begin Date"),
        (Samples.sales(currency: "usd"), "Customer Currency", "'usd' is no currency of three capital letters"),
        (Samples.sales(currency: " "), "Customer Currency", "is empty"),
        (Samples.sales(country: "USA"), "Country Code", "'USA' is no country of two capital letters"),
        (Samples.sales(""), "SKU", "is empty"),
    ])
    func aBadCellIsAFaultWithLineAndColumn(row: String, column: String, words: String) throws {
        let (lines, facts) = try Samples.read(
            Samples.file(Samples.salesHeader, Samples.sales(), row, Samples.sales()))
        #expect(facts.faults == [ReportFault(.cell, line: 3, column: column, words)])
        #expect(lines.count == 2 && facts.lineCount == 2)
    }

    @Test func aRowWithMoreCellsThanTheHeaderIsAFault() throws {
        let facts = try Samples.read(Samples.file(Samples.salesHeader, Samples.sales() + "\tmore")).facts
        #expect(facts.faults.map(\.description) == ["line 2: has 29 cells, and the header 28"])
        #expect(try Samples.read(Samples.file(Samples.salesHeader, Samples.sales() + "\t\t")).facts.isSound)
    }

    @Test func cellsAtTheEndThatAreCutAreEmpty() throws {
        let row = Samples.sales().trimmed
        let (lines, facts) = try Samples.read(Samples.file(Samples.salesHeader, row))
        #expect(facts.isSound && lines.count == 1)
    }

    @Test func noMoreFaultsAreKeptThanAreTold() throws {
        let rows = [String](repeating: Samples.sales(units: "?"), count: 250).joined(separator: "\n")
        let facts = try Samples.read(Samples.file(Samples.salesHeader, rows)).facts
        #expect(facts.faults.count == 100 && facts.untoldFaultCount == 150 && !facts.isSound)
    }

    // MARK: What is no report

    @Test(arguments: [
        ("", "is empty"), ("hello\n", "has no header"), ("a,b,c\n1,2,3\n", "has no header"),
        (String(repeating: "x\ty\n", count: 100), "has no header"),
    ])
    func whatIsNoReportIsRefused(text: String, words: String) {
        let fault = #expect(throws: ReportFault.self) { try Samples.read(Array(text.utf8)) }
        #expect(fault?.kind == .format && fault?.words.hasPrefix(words) == true)
    }

    @Test func whatIsNoUTF8IsRefused() {
        let fault = #expect(throws: ReportFault.self) {
            try Samples.read(Samples.file(Samples.salesHeader) + [0x41, 0xFF, 0x0A])
        }
        #expect(fault?.kind == .format && fault?.line == 2)
    }

    @Test func aFileThatIsNotThereIsNamed() {
        let fault = #expect(throws: ReportFault.self) {
            try ReportReader().read(ReportInput(path: "/nowhere/at/all")) { _ in }
        }
        #expect(fault?.kind == .unreadable)
    }

    // MARK: Bytes

    @Test func lineEndsByteOrderMarkAndEmptyLinesSayNothing() throws {
        let plain = try Samples.read(Samples.file(Samples.salesHeader, Samples.sales(), Samples.sales(units: "4")))
        let other =
            "\u{FEFF}" + Samples.salesHeader + "\r\n\r\n" + Samples.sales() + "\r\n\t\t\t\n"
            + Samples.sales(units: "4")
        let (lines, facts) = try Samples.read(Array(other.utf8))
        #expect(facts.isSound && lines.count == plain.lines.count && facts.columns == plain.facts.columns)
    }

    @Test func aCompressedFileIsReadAsThePlainOne() throws {
        var text = Samples.salesHeader + "\n"
        for number in 0..<20_000 { text += Samples.sales(units: String(number)) + "\n" }
        let plain = Array(text.utf8)
        let compressed = Gzip.compress(plain)
        #expect(compressed.count < plain.count / 10)
        for bytes in [plain, compressed] {
            var units: Int64 = 0
            let facts = try ReportReader().read(ReportInput(bytes: bytes)) { line in
                if case .sales(let line) = line { units += line.units }
            }
            #expect(facts.isSound && facts.lineCount == 20_000 && units == 199_990_000)
        }
    }

    /// What the system's own tool wrote, in two members, through a pipe.
    @Test func whatGzipWroteIsRead() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reports-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("S_D_80012345_20261125.txt.gz").path
        let script = """
            printf '%s\\n%s\\n' "$1" "$2" | gzip > "$3" && printf '%s\\n' "$2" | gzip -9 >> "$3" && mkfifo "$4"
            """
        let pipe = folder.appendingPathComponent("pipe").path
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", script, "sh", Samples.salesHeader, Samples.sales(), file, pipe]
        try shell.run()
        shell.waitUntilExit()
        try #require(shell.terminationStatus == 0)
        #expect(try ReportReader().read(ReportInput(path: file)) { _ in }.lineCount == 2)
        let feeder = Process()
        feeder.executableURL = URL(fileURLWithPath: "/bin/sh")
        feeder.arguments = ["-c", "cat \"$1\" > \"$2\"", "sh", file, pipe]
        try feeder.run()
        #expect(try ReportReader().read(ReportInput(path: pipe)) { _ in }.lineCount == 2)
        feeder.waitUntilExit()
    }

    @Test func whatIsCompressedAndDamagedIsRefused() throws {
        let good = Gzip.compress(Samples.file(Samples.salesHeader, Samples.sales()))
        for count in [2, 9, 12, good.count / 2, good.count - 1] {
            let fault = #expect(throws: ReportFault.self) { try Samples.read(Array(good[..<count])) }
            #expect(fault?.kind == .archive, "\(count) bytes")
        }
        for place in [3, 12, good.count / 2, good.count - 6] {
            var bad = good
            bad[place] ^= 0x55
            #expect(throws: ReportFault.self, "byte \(place)") { try Samples.read(bad) }
        }
        let fault = #expect(throws: ReportFault.self) { try Samples.read(good + Array("rubbish behind it".utf8)) }
        #expect(fault?.kind == .archive)
    }

    @Test func aFileInflatesToNoMoreThanItsBound() throws {
        var limits = ReportLimits.standard
        limits.inflatedBytesMax = 1 << 20
        let spaces = String(repeating: Samples.sales() + "\n", count: 20_000)
        let bytes = Samples.file(Samples.salesHeader, spaces)
        #expect(Gzip.compress(bytes).count < 1 << 16)
        for bytes in [Gzip.compress(bytes), bytes] {
            let fault = #expect(throws: ReportFault.self) { try Samples.read(bytes, limits: limits) }
            #expect(fault?.kind == .tooLarge && fault?.words.contains("more than 1048576 bytes") == true)
        }
    }

    @Test func aLineAndARowHaveBounds() throws {
        let long = Samples.file(Samples.salesHeader, String(repeating: "x", count: 70_000))
        for bytes in [long, Gzip.compress(long), Array(long.dropLast())] {
            let fault = #expect(throws: ReportFault.self) { try Samples.read(bytes) }
            #expect(fault?.kind == .tooLarge && fault?.line == 2)
        }
        let wide = Samples.file(Samples.salesHeader, String(repeating: "x\t", count: 300))
        #expect(throws: ReportFault.self) { try Samples.read(wide) }
    }

    // MARK: Financial reports

    @Test func aFinancialReportOfOneRegionIsReadAndItsTotalsAreChecked() throws {
        let (lines, facts) = try Samples.read(
            Samples.file(
                Samples.financialHeader, Samples.financial(),
                Samples.financial(quantity: "-1", extended: "-3.49", sale: "R", price: "-4.99"), "Total_Rows\t2",
                "Total_Amount\t3.49", "Total_Units\t1"))
        #expect(facts.kind == .financial && facts.isSound && facts.checkedTotals == 3)
        #expect(facts.days == "2026-11-01"..."2026-11-28")
        let financial = lines.compactMap { if case .financial(let line) = $0 { line } else { nil } }
        try #require(financial.count == 2)
        #expect(financial[0].product == Samples.gems && financial[0].quantity == 2 && !financial[0].isReturn)
        #expect(financial[0].partnerShare == "3.49" && financial[0].extendedPartnerShare == "6.98")
        #expect(financial[1].isReturn && financial[1].quantity == -1 && financial[1].customerPrice == "4.99")
        #expect(financial[0].transactionDay == nil && financial[0].days == "2026-11-01"..."2026-11-28")
    }

    /// The form of all regions in one file: the number of rows, and a summary.
    @Test func aFinancialReportOfAllRegionsIsCheckedByItsSummary() throws {
        let rows = [
            Samples.financialHeader, Samples.financial(), Samples.financial(currency: "EUR", country: "DE"),
            Samples.financial(currency: "EUR", country: "FR"), "Total_Rows\t3", "",
            "Country Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share", "US\tUSD\t2\t6.98",
            "DE\tEUR\t2\t6.98",
        ]
        let facts = try Samples.read(Samples.file((rows + ["FR\tEUR\t2\t6.98"]).joined(separator: "\n"))).facts
        #expect(facts.isSound && facts.checkedTotals == 7)
        let wrong = try Samples.read(Samples.file((rows + ["FR\tEUR\t2\t6.99"]).joined(separator: "\n"))).facts
        #expect(
            wrong.faults.map(\.description) == [
                "line 10, Extended Partner Share of FR EUR: says 6.99, and the rows add up to 6.98"
            ])
    }

    @Test func aDetailedFinancialReportHasDatesAndAPreamble() throws {
        let (lines, facts) = try Samples.read(
            Samples.file(
                "Vendor Name\tStudio", "Start Date\t11/01/2026", "End Date\t11/28/2026", "", Samples.detailHeader,
                Samples.detail(), Samples.detail(quantity: "-1", extended: "-3.49", sale: "R", price: "-4.99"),
                "Country Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share", "US\tUSD\t1\t3.49"))
        #expect(facts.kind == .financialDetail && facts.isSound && facts.checkedTotals == 2)
        #expect(facts.preamble["Vendor Name"] == "Studio")
        guard case .financial(let line) = try #require(lines.first) else { throw ReportFault(.format, "no row") }
        #expect(line.transactionDay == "2026-11-20" && line.settlementDay == "2026-11-22")
        #expect(line.days == "2026-11-01"..."2026-11-28" && line.product == Samples.gems)
    }

    /// Without dates before the header the fiscal calendar says the month.
    @Test func aDetailedReportWithoutDatesIsOfTheMonthInWhichItWasSettled() throws {
        let lines = try Samples.financialLines(
            [Samples.detail(day: "10/31/2026", settled: "11/01/2026")], header: Samples.detailHeader)
        #expect(lines.first?.days == "2026-11-01"..."2026-11-28")
    }

    @Test func theReportsOfBefore2010HaveTotalsWithColons() throws {
        let facts = try Samples.read(
            Samples.file(Samples.financialHeader, Samples.financial(), "Total_Rows:1", "Total_Amount:6.98")
        ).facts
        #expect(facts.isSound && facts.checkedTotals == 2)
    }

    @Test(arguments: [
        ("Total_Rows\t3", "line 4, Total_Rows: says 3.00, and the rows add up to 2.00"),
        ("Total_Amount\t13.97", "line 4, Total_Amount: says 13.97, and the rows add up to 13.96"),
        ("Total_Units\t5", "line 4, Total_Units: says 5.00, and the rows add up to 4.00"),
        ("Total_Weight\t5", "line 4, Total_Weight: is no total that is known"),
        ("Total_Rows\tmany", "line 4, Total_Rows: has no number"),
        ("Total_Rows\t2\n" + Samples.financial(), "line 5: stands behind the totals, and is neither total nor summary"),
        ("Country Of Sale\tQuantity", "line 4: lacks what is needed of the summary: Partner Share Currency"),
    ])
    func aTotalThatIsNotTheSumOfTheRowsIsAFault(end: String, fault: String) throws {
        let facts = try Samples.read(
            Samples.file(Samples.financialHeader, Samples.financial(), Samples.financial(), end)
        ).facts
        #expect(facts.faults.map(\.description) == [fault])
    }

    /// A file that ends behind a row is read without a complaint otherwise, and the rows behind are those that are
    /// not paid.
    @Test func aFinancialReportThatEndsBehindARowMayBeCut() throws {
        let rows = [Samples.financial(), Samples.financial()]
        let cut = ReportFault(.total, "has no totals behind its rows: it may be cut")
        for (header, row) in [(Samples.financialHeader, Samples.financial()), (Samples.detailHeader, Samples.detail())]
        {
            let (lines, facts) = try Samples.read(Samples.file(header, row, row))
            #expect(facts.faults == [cut] && !facts.isSound && lines.count == 2)
            // All of them may be cut off.
            #expect(try Samples.read(Samples.file(header)).facts.faults == [cut])
            #expect(try Samples.read(Samples.file(header, "Total_Rows\t0")).facts.isSound)
        }
        #expect(cut.description == "has no totals behind its rows: it may be cut")
        #expect(try Samples.read(Samples.file(Samples.salesHeader, Samples.sales())).facts.isSound)
        let whole = Samples.file(([Samples.financialHeader] + rows + ["Total_Rows\t2"]).joined(separator: "\n"))
        #expect(try Samples.read(whole).facts.isSound)
    }

    /// Where the rows are counted, none is missing; otherwise each country and currency must be summed up.
    @Test func aSummaryThatLacksAPlaceMayBeCut() throws {
        let rows = [
            Samples.financialHeader, Samples.financial(), Samples.financial(currency: "EUR", country: "FR"),
            Samples.financial(currency: "EUR", country: "DE"),
        ]
        let summary = ["Country Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share", "US\tUSD\t2\t6.98"]
        let facts = try Samples.read(Samples.file((rows + summary).joined(separator: "\n"))).facts
        #expect(
            facts.faults.map(\.description) == [
                "has rows of DE in EUR, and its summary has none: it may be cut",
                "has rows of FR in EUR, and its summary has none: it may be cut",
            ])
        #expect(facts.faults.allSatisfy { $0.kind == .total })
        let counted = rows + ["Total_Rows\t3"] + summary
        #expect(try Samples.read(Samples.file(counted.joined(separator: "\n"))).facts.isSound)
    }

    /// Of files of both kinds: those that count returns and those that do not.
    @Test(arguments: [1, 2]) func unitsMayBeThoseSoldOrTheDifference(units: Int) throws {
        let facts = try Samples.read(
            Samples.file(
                Samples.financialHeader, Samples.financial(),
                Samples.financial(quantity: "-1", extended: "-3.49", sale: "R", price: "-4.99"),
                "Total_Units\t\(units)")
        ).facts
        #expect(facts.isSound)
    }

    @Test func amountsOfARowWithAFaultAreNotMissedInTheTotals() throws {
        let facts = try Samples.read(
            Samples.file(
                Samples.financialHeader, Samples.financial(), Samples.financial(share: "?"), "Total_Rows\t2",
                "Total_Amount\t13.96", "Total_Units\t4")
        ).facts
        #expect(facts.faults.map(\.column) == ["Partner Share"])
    }

    @Test(arguments: [
        (Samples.financial(sale: "X"), "Sales or Return", "must be S or R, not 'X'"),
        (Samples.financial(sale: "R"), "Quantity", "2 is not the sign of a return"),
        (Samples.financial(quantity: "-2", extended: "-6.98"), "Quantity", "-2 is not the sign of a sale"),
        (Samples.financial(extended: "7.00"), "Extended Partner Share", "7.00 is not 2 times 3.49"),
        (Samples.financial(extended: "-6.98"), "Extended Partner Share", "-6.98 is not 2 times 3.49"),
        (
            Samples.financial(quantity: "9000000000000", share: "9000000000000"), "Extended Partner Share",
            "is too large"
        ),
        (Samples.financial(start: "11/29/2026"), "End Date", "is before the Start Date"),
        (
            Samples.financial(country: "United States"), "Country Of Sale",
            "'United States' is no country of two capital letters"
        ),
    ])
    func aRowThatContradictsItselfIsAFault(row: String, column: String, words: String) throws {
        let facts = try Samples.read(Samples.file(Samples.financialHeader, row, "Total_Rows\t1")).facts
        #expect(facts.faults == [ReportFault(.cell, line: 2, column: column, words)])
    }

    /// Half of the last digit of a unit's share.
    @Test func theShareOfAllUnitsMayBeExacterThanThatOfOne() throws {
        #expect(try Samples.financialLines([Samples.financial(extended: "6.99")]).count == 1)
    }

    // MARK: Anything

    /// Whatever bytes there are: faults, and no trap.
    @Test func anyBytesAreReadOrRefused() throws {
        var random = SplitMix64(seed: Seed.drawn())
        let seeds = [
            Samples.file(Samples.salesHeader, Samples.sales(), Samples.sales(units: "-1", price: "-4.99")),
            Samples.file(
                Samples.financialHeader, Samples.financial(), "Total_Rows\t1", "Total_Amount\t6.98", "Total_Units\t2",
                "Country Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share", "US\tUSD\t2\t6.98"),
            Samples.file("Vendor Name\tStudio", Samples.detailHeader, Samples.detail()),
        ]
        let pieces = [
            "\t", "\n", "9007199254740.991", "-", "9007199254740", "\u{FEFF}", "R", "Total_Units\t", ":", "é",
        ]
        for _ in 0..<4_000 {
            var bytes = seeds.randomElement(using: &random) ?? []
            if Bool.random(using: &random) { bytes = bytes + bytes }
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.insert(contentsOf: Array((pieces.randomElement(using: &random) ?? "").utf8), at: place)
                default: bytes.remove(at: place)
                }
            }
            if Int.random(in: 0..<10, using: &random) == 0 {
                bytes = Gzip.compress(bytes)
                bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1
            }
            guard let (lines, facts) = try? Samples.read(bytes) else { continue }
            #expect(facts.lineCount == lines.count)
            var matching = SalesMatching(zone: .utc)
            var settling = Settling(zone: .utc)
            for line in lines {
                switch line {
                case .sales(let line): try? matching.add(line)
                case .financial(let line): settling.add(line)
                }
            }
            _ = matching.result()
            _ = settling.result()
        }
    }
}
