import Foundation
import Testing

@testable import AppleReports

@Suite struct ReconciliationTests {
    private static func purchase(_ id: String, quantity: Int64 = 1) -> BookedTransaction {
        BookedTransaction(
            id: id, product: Samples.gems, storefront: "USA", currency: "USD",
            purchasedAt: ReportZone.pacific.time(Samples.day), quantity: quantity,
            price: Thousandths(rawValue: 4_990 * quantity))
    }

    private static func reconcile(
        _ files: [(String, [UInt8])], _ purchases: [BookedTransaction]
    ) -> Reconciliation {
        Reconciliation(
            files: files.map { ($0.0, ReportInput(bytes: $0.1)) }, purchases: purchases,
            options: .init(zone: .pacific, app: Samples.app))
    }

    private static let daily = Samples.file(Samples.salesHeader, Samples.sales(units: "2"))
    private static let monthly = Samples.file(
        Samples.financialHeader, Samples.financial(), "Total_Rows\t1", "Total_Amount\t6.98", "Total_Units\t2")

    @Test func filesOfAllKindsAreTakenInAnyOrder() throws {
        let purchases = [Self.purchase("1"), Self.purchase("2")]
        let reconciliation = Self.reconcile(
            [("monthly", Gzip.compress(Self.monthly)), ("daily", Self.daily)], purchases)
        #expect(reconciliation.agrees && reconciliation.files.map(\.name) == ["monthly", "daily"])
        #expect(reconciliation.files.compactMap(\.facts?.kind) == [.financial, .salesSummary])
        #expect(
            reconciliation.match.lines.count == 1 && reconciliation.settlement.parts.map(\.share) == ["3.49", "3.49"])
        #expect(reconciliation.settlement.parts.allSatisfy { $0.source == .init(file: 0, line: 2) })
    }

    /// What stands before the damage does not count either.
    @Test func aFileThatCannotBeReadToItsEndCountsForNothing() throws {
        let whole = Gzip.compress(Self.daily)
        let reconciliation = Self.reconcile(
            [("cut", Array(whole.dropLast(4))), ("whole", whole), ("other", Array("hello".utf8))],
            [Self.purchase("1"), Self.purchase("2")])
        #expect(reconciliation.files.map { $0.fault?.kind } == [.archive, nil, .format])
        #expect(reconciliation.match.differences == [] && reconciliation.match.lines.first?.reported.unitsSold == 2)
        #expect(!reconciliation.agrees)
    }

    @Test func aFileThatOverlapsWithAnotherCountsForNothing() throws {
        let week = Samples.file(
            Samples.salesHeader, Samples.sales("gold", begin: "11/10/2026"),
            Samples.sales(begin: "11/23/2026", end: "11/29/2026"))
        let reconciliation = Self.reconcile(
            [("daily", Self.daily), ("week", week)], [Self.purchase("1"), Self.purchase("2")])
        #expect(reconciliation.files.map { $0.fault?.kind } == [nil, .format])
        #expect(reconciliation.match.lines.map(\.key.product) == [Samples.gems])
    }

    /// The same report with another name or compressed anew, a corrected one, or a region's beside the one of all.
    @Test func aFinancialReportThatPaysWhatAnotherPaysCountsForNothing() throws {
        let corrected = Samples.file(Samples.financialHeader, Samples.financial(quantity: "1", extended: "3.49"))
        for second in [Self.monthly, Gzip.compress(Self.monthly), corrected] {
            let reconciliation = Self.reconcile(
                [("monthly", Self.monthly), ("second", second)], ["1", "2", "3", "4"].map { Self.purchase($0) })
            #expect(reconciliation.files.map { $0.fault?.kind } == [nil, .format])
            #expect(reconciliation.files[1].fault?.words.contains("'monthly' pays already") == true)
            #expect(reconciliation.settlement.parts.map(\.share) == ["3.49", "3.49"])
        }
    }

    @Test func manyEmptyLinesAreNoReport() throws {
        let file = Self.daily + Array(repeating: UInt8(ascii: "\n"), count: 10_001)
        let reconciliation = Self.reconcile([("daily", Gzip.compress(file))], [])
        #expect(reconciliation.files.map { $0.fault?.kind } == [.tooLarge])
    }

    @Test func rowsWithFaultsAreToldAndTheOthersCompared() throws {
        let file = Samples.file(Samples.salesHeader, Samples.sales(units: "?"), Samples.sales(units: "2"))
        let reconciliation = Self.reconcile([("daily", file)], [Self.purchase("1"), Self.purchase("2")])
        #expect(reconciliation.files[0].facts?.faults.count == 1 && !reconciliation.files[0].isSound)
        #expect(reconciliation.match.agrees && !reconciliation.agrees)
    }

    @Test func aFileThatIsThereTwiceIsFound() throws {
        let reconciliation = Self.reconcile(
            [("daily", Self.daily), ("again", Self.daily)], [Self.purchase("1"), Self.purchase("2")])
        #expect(reconciliation.match.differences.map(\.kind) == [.doubledInReport])
    }

    @Test func purchasesAloneDifferFromNothing() throws {
        let reconciliation = Self.reconcile([], [Self.purchase("1")])
        #expect(reconciliation.agrees && reconciliation.match.daysWithoutReport == [Samples.day])
        #expect(reconciliation.settlement.open == [])
    }

    // MARK: The page

    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func theExampleOfThePageIsTheOneThatIsRun() throws {
        let page = try Self.text("Sources/AppleReports/AppleReports.docc/AppleReports.md")
        #expect(page.contains("```swift\n\(try Self.text("Tests/AppleReportsTests/Example.swift"))```\n"))
        // Every kind of difference, by its name, and every column that is needed.
        for name in [
            "missingInReport", "missingInBooks", "fewerInReport", "moreInReport", "doubledInReport", "price",
            "otherDay",
            "dayWithoutReport", "notInReports", "behindReports",
        ] {
            #expect(page.contains("`\(name)`"), "\(name)")
        }
        let flat = page.replacing(/\s+/, with: " ")
        for kind in AppleReportKind.allCases {
            for column in kind.needed { #expect(flat.contains(column.rawValue), "\(column)") }
        }
    }

    @Test func theExampleFindsWhatAPersonMustLookAt() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reports-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files: [(String, [UInt8])] = [
            ("daily", Samples.file(Samples.salesHeader, Samples.sales(units: "3", parent: "GAME1"))),
            ("monthly", Gzip.compress(Self.monthly)),
        ]
        let paths = try files.map { name, bytes in
            let url = folder.appendingPathComponent(name)
            try Data(bytes).write(to: url)
            return url.path
        }
        let found = findings(of: paths + ["/nowhere"], against: [Self.purchase("1")])
        #expect(
            found == [
                "/nowhere: cannot be read: No such file or directory",
                "\(Samples.gems) in US, 2026-11-25: 2 sold at 4.99 USD more in the report (books 1, report 3): "
                    + "nothing of ours",
                "3.49 USD for 1 \(Samples.gems) of nobody",
            ])
    }
}
