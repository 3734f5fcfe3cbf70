/// A row of a Summary Sales Report or of a Financial Report that is to be written.
package struct DraftLine: Hashable, Sendable {
    /// The product ID.
    package var product: String
    /// As "Product type identifiers" has it.
    package var productType: String
    /// Whether the units were sold or given back.
    package var direction: SaleDirection
    /// Always positive.
    package var units: Int64
    /// The price of one unit.
    package var customerPrice: Thousandths
    /// Empty where there is no price.
    package var customerCurrency: String
    /// What the developer receives for one unit.
    package var proceeds: Thousandths
    /// The storefront.
    package var country: CountryCode
    /// The days of the report.
    package var days: ClosedRange<CivilDay>
    /// When they were bought, where a report is detailed.
    package var transactionDay: CivilDay
    /// The app's SKU.
    package var app: String

    package init(
        product: String, productType: String, direction: SaleDirection, units: Int64, customerPrice: Thousandths,
        customerCurrency: String, proceeds: Thousandths, country: CountryCode, days: ClosedRange<CivilDay>,
        transactionDay: CivilDay, app: String
    ) {
        self.product = product
        self.productType = productType
        self.direction = direction
        self.units = units
        self.customerPrice = customerPrice
        self.customerCurrency = customerCurrency
        self.proceeds = proceeds
        self.country = country
        self.days = days
        self.transactionDay = transactionDay
        self.app = app
    }

    /// Negative of what was given back.
    fileprivate var signedUnits: Int64 { direction == .sold ? units : -units }
    fileprivate var signedPrice: Thousandths { direction == .sold ? customerPrice : -customerPrice }
    fileprivate var extendedShare: Thousandths { proceeds.times(signedUnits) ?? .zero }

    fileprivate func text(_ column: AppleReportColumn) -> String {
        switch column {
        case .provider: "APPLE"
        case .providerCountry: "US"
        case .sku, .vendorIdentifier: product
        case .developer, .artist, .developerName: "Developer"
        case .title: product.split(separator: ".").last.map(String.init) ?? product
        case .productType: productType
        case .units, .quantity: String(signedUnits)
        case .developerProceeds, .partnerShare: proceeds.description
        case .beginDate, .startDate: days.lowerBound.reportText
        case .endDate: days.upperBound.reportText
        case .customerCurrency, .proceedsCurrency, .partnerShareCurrency: customerCurrency
        case .countryCode, .countryOfSale: country.alpha2
        case .appleIdentifier: "6400000000"
        case .customerPrice: signedPrice.description
        case .parentIdentifier: app
        case .device: "iPhone"
        case .supportedPlatforms: "iOS"
        case .extendedPartnerShare: extendedShare.description
        case .salesOrReturn: direction == .sold ? "S" : "R"
        case .transactionDate, .settlementDate: transactionDay.reportText
        case .version, .promoCode, .subscription, .period, .category, .cmb, .proceedsReason, .preservedPricing,
            .client, .orderType, .upc, .isrc, .label, .grid, .isan, .preorderFlag, .region:
            ""
        }
    }
}

/// Reports as Apple writes them: columns separated by tabs, UTF-8.
package enum ReportText {
    /// A Summary Sales Report, with the columns of its version 1_1.
    package static func sales(_ lines: [DraftLine]) -> [UInt8] { Array(table(salesColumns, lines).utf8) }

    /// The Financial Report of one region: rows and totals.
    /// - Parameter isTotalWrong: whether `Total_Amount` is wrong by 1.
    package static func financial(_ lines: [DraftLine], isTotalWrong: Bool = false) -> [UInt8] {
        var text = table(financialColumns, lines)
        let amount = lines.reduce(Thousandths(rawValue: isTotalWrong ? 1_000 : 0)) {
            $0.adding($1.extendedShare) ?? $0
        }
        text += "Total_Rows\t\(lines.count)\nTotal_Amount\t\(amount)\n"
        text += "Total_Units\t\(lines.reduce(0) { $0 + $1.signedUnits })\n"
        return Array(text.utf8)
    }

    /// The detailed Financial Report of all regions: the vendor and the fiscal month, rows, and a summary by country
    /// and currency.
    /// - Parameter isTotalWrong: whether the first share of the summary is wrong by 1.
    package static func financialDetail(
        _ lines: [DraftLine], vendor: String, days: ClosedRange<CivilDay>, isTotalWrong: Bool = false
    ) -> [UInt8] {
        var text = "Vendor Name\t\(vendor)\nStart Date\t\(days.lowerBound.reportText)\n"
        text += "End Date\t\(days.upperBound.reportText)\n\n"
        // Apple's page has these two otherwise in detailed reports.
        text += table(
            financialDetailColumns, lines,
            names: [.countryOfSale: "Country of Sale", .salesOrReturn: "Sale or Return"])
        text += "\nCountry Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share\n"
        var error = isTotalWrong ? Thousandths(rawValue: 1_000) : .zero
        let places = Dictionary(grouping: lines) { "\($0.country)\t\($0.customerCurrency)" }
        for (place, lines) in places.sorted(by: { $0.key < $1.key }) {
            let share = lines.reduce(error) { $0.adding($1.extendedShare) ?? $0 }
            error = .zero
            text += "\(place)\t\(lines.reduce(0) { $0 + $1.signedUnits })\t\(share)\n"
        }
        return Array(text.utf8)
    }

    /// - Parameter names: other ones than those of ``AppleReportColumn``.
    private static func table(
        _ columns: [AppleReportColumn], _ lines: [DraftLine], names: [AppleReportColumn: String] = [:]
    ) -> String {
        var text = columns.map { names[$0] ?? $0.rawValue }.joined(separator: "\t") + "\n"
        for line in lines { text += columns.map { cell(line.text($0)) }.joined(separator: "\t") + "\n" }
        return text
    }

    /// A cell ends where a tab or a line does.
    private static func cell(_ text: String) -> String {
        String(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
    }

    private static let salesColumns: [AppleReportColumn] = [
        .provider, .providerCountry, .sku, .developer, .title, .version, .productType, .units, .developerProceeds,
        .beginDate, .endDate, .customerCurrency, .countryCode, .proceedsCurrency, .appleIdentifier, .customerPrice,
        .promoCode, .parentIdentifier, .subscription, .period, .category, .cmb, .device, .supportedPlatforms,
        .proceedsReason, .preservedPricing, .client, .orderType,
    ]

    private static let financialColumns: [AppleReportColumn] = [
        .startDate, .endDate, .upc, .isrc, .vendorIdentifier, .quantity, .partnerShare, .extendedPartnerShare,
        .partnerShareCurrency, .salesOrReturn, .appleIdentifier, .artist, .title, .label, .grid, .productType, .isan,
        .countryOfSale, .preorderFlag, .promoCode, .customerPrice, .customerCurrency,
    ]

    private static let financialDetailColumns: [AppleReportColumn] = [
        .transactionDate, .settlementDate, .appleIdentifier, .sku, .title, .developerName, .productType, .countryOfSale,
        .quantity, .partnerShare, .extendedPartnerShare, .partnerShareCurrency, .customerPrice, .customerCurrency,
        .salesOrReturn, .promoCode, .orderType, .region,
    ]
}
