/// The columns that Apple documents, by their names in the header ("Summary Sales Report", "Financial report fields").
enum AppleReportColumn: String, CaseIterable, Sendable {
    // Of a Summary Sales Report, in its order.
    case provider = "Provider"
    case providerCountry = "Provider Country"
    case sku = "SKU"
    case developer = "Developer"
    case title = "Title"
    case version = "Version"
    case productType = "Product Type Identifier"
    case units = "Units"
    case developerProceeds = "Developer Proceeds"
    case beginDate = "Begin Date"
    case endDate = "End Date"
    case customerCurrency = "Customer Currency"
    case countryCode = "Country Code"
    case proceedsCurrency = "Currency of Proceeds"
    case appleIdentifier = "Apple Identifier"
    case customerPrice = "Customer Price"
    case promoCode = "Promo Code"
    case parentIdentifier = "Parent Identifier"
    case subscription = "Subscription"
    case period = "Period"
    case category = "Category"
    case cmb = "CMB"
    case device = "Device"
    case supportedPlatforms = "Supported Platforms"
    case proceedsReason = "Proceeds Reason"
    case preservedPricing = "Preserved Pricing"
    case client = "Client"
    case orderType = "Order Type"

    // What a financial report has beside these, in its order.
    case startDate = "Start Date"
    case upc = "UPC"
    case isrc = "ISRC/ISBN"
    case vendorIdentifier = "Vendor Identifier"
    case quantity = "Quantity"
    case partnerShare = "Partner Share"
    case extendedPartnerShare = "Extended Partner Share"
    case partnerShareCurrency = "Partner Share Currency"
    case salesOrReturn = "Sales or Return"
    case artist = "Artist/Show/Developer/Author"
    case label = "Label/Studio/Network/Developer/Publisher"
    case grid = "Grid"
    case isan = "ISAN/Other Identifier"
    case countryOfSale = "Country Of Sale"
    case preorderFlag = "Pre-order Flag"

    // What a detailed financial report has beside these.
    case transactionDate = "Transaction Date"
    case settlementDate = "Settlement Date"
    case developerName = "Developer Name"
    case region = "Region"

    /// Other names of columns, as some of Apple's pages and files have them.
    private static let otherNames: [String: AppleReportColumn] = [
        "saleorreturn": .salesOrReturn, "preorderflag": .preorderFlag, "preorder": .preorderFlag,
        "countrycode": .countryCode,
    ]

    /// The column of a name; `nil` where it is not known. Capitals and spaces do not count: the pages and the files
    /// differ in them ("Country of Sale", "ISRC / ISBN").
    static func named(_ name: some StringProtocol) -> AppleReportColumn? {
        let plain = plain(name)
        return byName[plain] ?? otherNames[plain]
    }

    private static func plain(_ name: some StringProtocol) -> String { name.lowercased().filter { $0 != " " } }

    private static let byName: [String: AppleReportColumn] = Dictionary(
        uniqueKeysWithValues: allCases.map { (plain($0.rawValue), $0) })
}

/// A kind of report, known by its header.
public enum AppleReportKind: Hashable, Sendable, CaseIterable {
    /// Sales and Trends: a Summary Sales Report of a day, a week, a month or a year.
    case salesSummary
    /// A Financial Report of a fiscal month, of one region or of all ("Single File", "Multiple Files").
    case financial
    /// A Financial Report of a fiscal month with the dates of purchases ("Detailed").
    case financialDetail

    /// The columns without which nothing can be compared or settled.
    var needed: [AppleReportColumn] {
        switch self {
        case .salesSummary:
            [
                .sku, .productType, .units, .developerProceeds, .beginDate, .endDate, .customerCurrency, .countryCode,
                .proceedsCurrency, .customerPrice,
            ]
        case .financial:
            [.startDate, .endDate, .vendorIdentifier] + AppleReportKind.neededOfFinancials
        case .financialDetail:
            [.transactionDate, .settlementDate, .sku] + AppleReportKind.neededOfFinancials
        }
    }

    private static let neededOfFinancials: [AppleReportColumn] = [
        .quantity, .partnerShare, .extendedPartnerShare, .partnerShareCurrency, .salesOrReturn, .productType,
        .countryOfSale, .customerPrice, .customerCurrency,
    ]

    /// The columns that no other kind has.
    var own: [AppleReportColumn] {
        switch self {
        case .salesSummary: [.units, .developerProceeds, .beginDate, .countryCode, .proceedsCurrency]
        case .financial: [.vendorIdentifier, .startDate]
        case .financialDetail: [.transactionDate, .settlementDate, .sku]
        }
    }
}
