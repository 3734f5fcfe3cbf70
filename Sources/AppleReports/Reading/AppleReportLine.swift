/// A row of a Summary Sales Report ("Summary Sales Report").
public struct SalesLine: Sendable {
    /// The in-app purchase's product ID; an app's SKU.
    public let sku: String
    /// What kind of transaction it is ("Product type identifiers"): `IA1` is an in-app purchase.
    public let productType: String
    /// Units; refunds are negative.
    public let units: Int64
    /// What the developer receives for one unit; never negative. An estimate.
    public let developerProceeds: Thousandths
    /// The days that it sums up: one, in a daily report.
    public let days: ClosedRange<CivilDay>
    /// What customers paid in; `nil` where nothing was paid and the file says none.
    public let customerCurrency: String?
    /// The storefront.
    public let country: CountryCode
    /// The currency of ``developerProceeds``; `nil` where there are none and the file says none.
    public let proceedsCurrency: String?
    /// What a customer paid for one unit, taxes included, without the sign that refunds have in the file.
    public let customerPrice: Thousandths
    /// An in-app purchase's app, by its SKU.
    public let parentIdentifier: String?
    /// The row as it stands in the file.
    public let row: AppleReportRow

    /// Whether it is of an in-app purchase: identifiers that begin with `IA`, or `FI1` on a Mac of old.
    public var isInAppPurchase: Bool { AppleReportLine.isInAppPurchase(productType) }

    init(_ row: AppleReportRow) throws(ReportFault) {
        self.row = row
        sku = try row.text(.sku)
        productType = try row.text(.productType)
        units = try row.count(.units)
        let begin = try row.day(.beginDate)
        let end = try row.day(.endDate)
        guard begin <= end else { throw row.fault(.endDate, "is before the Begin Date") }
        guard end.number - begin.number < ReportLimits.periodDaysMax else {
            throw row.fault(.endDate, "is more than a year after the Begin Date")
        }
        days = begin...end
        country = try row.country(.countryCode)
        let price = try row.amount(.customerPrice)
        // Nobody pays to give something back, and refunds of what was free are free.
        guard units <= 0 || price >= .zero else {
            throw row.fault(.customerPrice, "is negative, and the units are not")
        }
        customerPrice = price.magnitude
        customerCurrency =
            price == .zero && row.optionalText(.customerCurrency) == nil
            ? nil : try row.currency(.customerCurrency)
        developerProceeds = try row.amount(.developerProceeds).magnitude
        proceedsCurrency =
            developerProceeds == .zero && row.optionalText(.proceedsCurrency) == nil
            ? nil : try row.currency(.proceedsCurrency)
        parentIdentifier = row.optionalText(.parentIdentifier)
    }
}

/// A row of a Financial Report ("Financial report fields").
public struct FinancialLine: Sendable {
    /// The in-app purchase's product ID; an app's SKU.
    public let product: String
    /// What kind of transaction it is ("Product type identifiers").
    public let productType: String
    /// Whether it is of returns, and not of sales.
    public let isReturn: Bool
    /// Units; returns are negative.
    public let quantity: Int64
    /// What the developer receives for one unit; never negative.
    public let partnerShare: Thousandths
    /// What the developer receives for all units; of returns negative.
    public let extendedPartnerShare: Thousandths
    /// The currency of the shares.
    public let shareCurrency: String
    /// The storefront.
    public let country: CountryCode
    /// What a customer paid for one unit, taxes included, without the sign that returns have in the file.
    public let customerPrice: Thousandths
    /// What customers paid in.
    public let customerCurrency: String
    /// The fiscal month, as the report states it.
    public let days: ClosedRange<CivilDay>
    /// When it was bought, of a detailed report.
    public let transactionDay: CivilDay?
    /// When it was settled, of a detailed report.
    public let settlementDay: CivilDay?
    /// The row as it stands in the file.
    public let row: AppleReportRow

    /// Whether it is of an in-app purchase: identifiers that begin with `IA`, or `FI1` on a Mac of old.
    public var isInAppPurchase: Bool { AppleReportLine.isInAppPurchase(productType) }

    /// - Parameter stated: the fiscal month, where the lines before the header state it.
    init(_ row: AppleReportRow, stated: ClosedRange<CivilDay>?) throws(ReportFault) {
        self.row = row
        let isDetail = row.header.kind == .financialDetail
        product = try row.text(isDetail ? .sku : .vendorIdentifier)
        productType = try row.text(.productType)
        switch try row.text(.salesOrReturn) {
        case "S": isReturn = false
        case "R": isReturn = true
        case let other: throw row.fault(.salesOrReturn, "must be S or R, not '\(other.prefix(40))'")
        }
        quantity = try row.count(.quantity)
        guard isReturn ? quantity <= 0 : quantity >= 0 else {
            throw row.fault(.quantity, "\(quantity) is not the sign of a \(isReturn ? "return" : "sale")")
        }
        partnerShare = try row.amount(.partnerShare).magnitude
        extendedPartnerShare = try row.amount(.extendedPartnerShare)
        shareCurrency = try row.currency(.partnerShareCurrency)
        country = try row.country(.countryOfSale)
        customerPrice = try row.amount(.customerPrice).magnitude
        customerCurrency = try row.currency(.customerCurrency)
        if isDetail {
            transactionDay = try row.day(.transactionDate)
            let settlement = try row.day(.settlementDate)
            settlementDay = settlement
            guard let days = stated ?? FiscalMonth(containing: settlement)?.days else {
                throw row.fault(.settlementDate, "is in no fiscal month")
            }
            self.days = days
        } else {
            let start = try row.day(.startDate)
            let end = try row.day(.endDate)
            guard start <= end else { throw row.fault(.endDate, "is before the Start Date") }
            guard end.number - start.number < ReportLimits.periodDaysMax else {
                throw row.fault(.endDate, "is more than a year after the Start Date")
            }
            days = start...end
            transactionDay = nil
            settlementDay = nil
        }
        try checkExtendedShare()
    }

    /// "Quantity multiplied by Partner Share": but for what the share of one unit was rounded by, half of its last
    /// digit, which is the second behind the point.
    private func checkExtendedShare() throws(ReportFault) {
        guard let exact = partnerShare.times(quantity), let least = exact.adding(.init(rawValue: -5 * abs(quantity))),
            let most = exact.adding(.init(rawValue: 5 * abs(quantity)))
        else { throw row.fault(.extendedPartnerShare, "is too large") }
        guard (least...most).contains(extendedPartnerShare) else {
            throw row.fault(
                .extendedPartnerShare, "\(extendedPartnerShare) is not \(quantity) times \(partnerShare)")
        }
    }
}

/// A row of a report.
public enum AppleReportLine: Sendable {
    /// Of a Summary Sales Report.
    case sales(SalesLine)
    /// Of a Financial Report.
    case financial(FinancialLine)

    static func isInAppPurchase(_ productType: String) -> Bool {
        productType.hasPrefix("IA") || productType == "FI1"
    }
}
