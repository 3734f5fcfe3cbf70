import Testing

@testable public import AppleReports

/// Files as Apple gives them out, made of single cells.
enum Samples {
    static let gems = "com.example.game.gems500"
    static let app = "com.example.game"
    /// A day far from any change of clocks.
    static let day = CivilDay(year: 2026, month: 11, day: 25)!

    static let salesHeader =
        "Provider\tProvider Country\tSKU\tDeveloper\tTitle\tVersion\tProduct Type Identifier\tUnits\t"
        + "Developer Proceeds\tBegin Date\tEnd Date\tCustomer Currency\tCountry Code\tCurrency of Proceeds\t"
        + "Apple Identifier\tCustomer Price\tPromo Code\tParent Identifier\tSubscription\tPeriod\tCategory\tCMB\t"
        + "Device\tSupported Platforms\tProceeds Reason\tPreserved Pricing\tClient\tOrder Type"

    /// A row of a Summary Sales Report.
    static func sales(
        _ product: String = gems, type: String = "IA1", units: String = "3", proceeds: String = "3.49",
        begin: String = "11/25/2026", end: String? = nil, currency: String = "USD", country: String = "US",
        price: String = "4.99", parent: String = app
    ) -> String {
        "APPLE\tUS\t\(product)\tStudio\t500 Gems\t \t\(type)\t\(units)\t\(proceeds)\t\(begin)\t\(end ?? begin)\t"
            + "\(currency)\t\(country)\t\(currency)\t6400000001\t\(price)\t \t\(parent)\t \t \tGames\t \tiPhone\t"
            + "iOS\t \t \t \t "
    }

    static let financialHeader =
        "Start Date\tEnd Date\tUPC\tISRC/ISBN\tVendor Identifier\tQuantity\tPartner Share\tExtended Partner Share\t"
        + "Partner Share Currency\tSales or Return\tApple Identifier\tArtist/Show/Developer/Author\tTitle\t"
        + "Label/Studio/Network/Developer/Publisher\tGrid\tProduct Type Identifier\tISAN/Other Identifier\t"
        + "Country Of Sale\tPre-order Flag\tPromo Code\tCustomer Price\tCustomer Currency"

    /// A row of a Financial Report.
    static func financial(
        _ product: String = gems, quantity: String = "2", share: String = "3.49", extended: String = "6.98",
        currency: String = "USD", sale: String = "S", type: String = "IA1", country: String = "US",
        price: String = "4.99", start: String = "11/01/2026", end: String = "11/28/2026"
    ) -> String {
        "\(start)\t\(end)\t\t\t\(product)\t\(quantity)\t\(share)\t\(extended)\t\(currency)\t\(sale)\t6400000001\t"
            + "Studio\t500 Gems\t\t\t\(type)\t\t\(country)\t\t\t\(price)\t\(currency)"
    }

    static let detailHeader =
        "Transaction Date\tSettlement Date\tApple Identifier\tSKU\tTitle\tDeveloper Name\tProduct Type Identifier\t"
        + "Country of Sale\tQuantity\tPartner Share\tExtended Partner Share\tPartner Share Currency\tCustomer Price\t"
        + "Customer Currency\tSale or Return\tPromo Code\tOrder Type\tRegion"

    /// A row of a detailed Financial Report.
    static func detail(
        _ product: String = gems, day: String = "11/20/2026", settled: String = "11/22/2026", quantity: String = "2",
        share: String = "3.49", extended: String = "6.98", sale: String = "S", price: String = "4.99"
    ) -> String {
        "\(day)\t\(settled)\t6400000001\t\(product)\t500 Gems\tStudio\tIA1\tUS\t\(quantity)\t\(share)\t\(extended)\t"
            + "USD\t\(price)\tUSD\t\(sale)\t\t\tAmericas"
    }

    static func file(_ lines: String...) -> [UInt8] { Array((lines.joined(separator: "\n") + "\n").utf8) }

    // MARK: Read

    static func read(
        _ bytes: [UInt8], limits: ReportLimits = .standard
    ) throws(ReportFault) -> (lines: [AppleReportLine], facts: ReportFacts) {
        var lines: [AppleReportLine] = []
        let facts = try ReportReader(limits: limits).read(ReportInput(bytes: bytes)) { lines.append($0) }
        return (lines, facts)
    }

    static func salesLines(_ rows: String...) throws -> [SalesLine] {
        let (lines, facts) = try read(Array((salesHeader + "\n" + rows.joined(separator: "\n")).utf8))
        #expect(facts.faults == [])
        return lines.compactMap { if case .sales(let line) = $0 { line } else { nil } }
    }

    static func financialLines(_ rows: [String], header: String = financialHeader) throws -> [FinancialLine] {
        let (lines, facts) = try read(file(([header] + rows + ["Total_Rows\t\(rows.count)"]).joined(separator: "\n")))
        #expect(facts.faults == [])
        return lines.compactMap { if case .financial(let line) = $0 { line } else { nil } }
    }
}

extension ReportZone {
    /// A time of a day, in milliseconds since the UNIX epoch.
    func time(_ day: CivilDay, hour: Int64 = 12, minute: Int64 = 0) -> Int64 {
        start(of: day) + hour * 3_600_000 + minute * 60_000
    }
}

extension CivilDay: ExpressibleByStringLiteral {
    /// `2026-11-25`
    public init(stringLiteral value: String) {
        guard let day = CivilDay(iso: value) else { preconditionFailure("\(value) is no day") }
        self = day
    }
}

extension Thousandths: ExpressibleByStringLiteral {
    /// `4.99`
    public init(stringLiteral value: String) {
        guard let amount = Thousandths(value) else { preconditionFailure("\(value) is no amount") }
        self = amount
    }
}
