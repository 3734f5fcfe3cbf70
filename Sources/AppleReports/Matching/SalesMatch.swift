/// A product in a storefront and a currency: what sales are summed up by.
public struct SalesKey: Hashable, Sendable, Comparable {
    /// The product ID.
    public let product: String
    /// The storefront in two letters; in three where ISO 3166-1 does not have it, so that no report does either.
    public let country: String
    /// What customers pay in.
    public let currency: String

    /// By product, country and currency.
    public static func < (left: SalesKey, right: SalesKey) -> Bool {
        (left.product, left.country, left.currency) < (right.product, right.country, right.currency)
    }

    init(product: String, country: String, currency: String) {
        self.product = product
        self.country = country
        self.currency = currency
    }

    /// - Parameter storefront: three letters.
    init(product: String, storefront: String, currency: String) {
        self.init(
            product: product, country: CountryCode(alpha3: storefront)?.alpha2 ?? storefront, currency: currency)
    }
}

/// What our books and Apple's Summary Sales Reports have, side by side.
public struct SalesMatch: Sendable {
    /// Every line that one of the sides has, by product, country, currency and days.
    public internal(set) var lines: [Line] = []
    /// Where they differ, in the order of the lines.
    public internal(set) var differences: [SalesDifference] = []
    /// Days of which our books have something, and of which there is no report. They are not compared.
    public internal(set) var daysWithoutReport: [CivilDay] = []
    /// Rows of the reports that are of no in-app purchase, as downloads and updates.
    public internal(set) var otherTypeRowCount = 0
    /// Rows of the reports that are of another app's in-app purchases.
    public internal(set) var otherAppRowCount = 0

    /// Whether all that is compared agrees, but for purchases around midnight that Apple counts on the day beside.
    public var agrees: Bool { differences.allSatisfy(\.isNatural) }

    /// A product, a storefront, a currency and the days of one report.
    public struct Line: Hashable, Sendable {
        /// What it sums up.
        public let key: SalesKey
        /// The days: one, of daily reports.
        public let days: ClosedRange<CivilDay>
        /// Our books.
        public let booked: Side
        /// Apple's report.
        public let reported: Side
        /// Whether units and prices are the same.
        public let agrees: Bool
    }

    /// What one side has.
    public struct Side: Hashable, Sendable {
        /// Units sold.
        public internal(set) var unitsSold: Int64 = 0
        /// Units refunded.
        public internal(set) var unitsRefunded: Int64 = 0
        /// What customers paid less what was paid back, of the units whose price is known; no more than 64 bits hold.
        public internal(set) var money = Thousandths.zero
        /// Units whose price is not known.
        public internal(set) var unitsWithoutPrice: Int64 = 0
    }
}

/// Units that are not the same on both sides.
public struct SalesDifference: Hashable, Sendable, CustomStringConvertible {
    /// In which way.
    public enum Kind: Hashable, Sendable {
        /// The report has nothing of what our books have on these days.
        case missingInReport
        /// Our books have nothing of what the report has on these days.
        case missingInBooks
        /// The report has less.
        case fewerInReport
        /// The report has more.
        case moreInReport
        /// The report has exactly twice as much.
        case doubledInReport
        /// As many units at another price.
        case price(booked: Thousandths, reported: Thousandths)
        /// The report has them on days beside.
        case otherDay(ClosedRange<CivilDay>)
        /// Purchases of ours near a midnight beyond which there is no report: booked there, and in the report here; or
        /// booked here, and perhaps in the report of there.
        case dayWithoutReport(CivilDay, isBookedThere: Bool)
    }

    /// What it is of.
    public let key: SalesKey
    /// The days of the report; for ``Kind/otherDay(_:)`` those on which our books have the units.
    public let days: ClosedRange<CivilDay>
    /// Whether it is about sales or refunds.
    public let direction: SaleDirection
    /// In which way.
    public internal(set) var kind: Kind
    /// The units that differ.
    public let units: Int64
    /// The price of one unit, on the side that has more of them; `nil` where our books do not have it.
    public let unitPrice: Thousandths?
    /// All units that our books have of this direction on these days.
    public let bookedUnits: Int64
    /// All units that the report has of this direction on these days.
    public let reportedUnits: Int64
    /// Our transactions that explain it; none where no transactions were given, or nothing of ours explains it.
    public internal(set) var explanation: Explanation?

    /// Transactions of ours.
    public struct Explanation: Hashable, Sendable {
        /// Their ids, by time, ``ReportLimits/explainedMax`` at most.
        public let transactions: [String]
        /// How many there are.
        public let count: Int
        /// Their units.
        public let units: Int64
        /// Whether their units are those that differ. Otherwise the difference is among these transactions.
        public let isExact: Bool
        /// How far the farthest of them is from the midnight between the days, in milliseconds: of
        /// ``Kind/otherDay(_:)`` and ``Kind/dayWithoutReport(_:isBookedThere:)``.
        public let fromMidnightMilliseconds: Int64?
    }

    /// Whether it needs no correction: the transactions that explain it are so near to midnight that Apple may count
    /// them on the day beside.
    public internal(set) var isNatural = false

    /// For people.
    public var description: String {
        let what = direction == .sold ? "sold" : "refunded"
        let span = SalesDifference.text(days)
        let price = unitPrice.map { " at \($0) \(key.currency)" } ?? ""
        let place = "\(key.product) in \(key.country), \(span):"
        let both = "books \(bookedUnits), report \(reportedUnits)"
        let amount = "\(units) \(what)\(price)"
        return switch kind {
        case .missingInReport: "\(place) \(amount) missing in the report"
        case .missingInBooks: "\(place) \(amount) missing in the books"
        case .fewerInReport: "\(place) \(amount) fewer in the report (\(both))"
        case .moreInReport: "\(place) \(amount) more in the report (\(both))"
        case .doubledInReport: "\(place) \(amount) counted twice in the report (\(both))"
        case .price(let booked, let reported):
            "\(place) \(units) \(what) at \(booked) in the books, at \(reported) \(key.currency) in the report"
        case .otherDay(let other): "\(place) \(amount) in the report of \(SalesDifference.text(other))"
        case .dayWithoutReport(let day, isBookedThere: true): "\(place) \(amount) in the books of \(day)"
        case .dayWithoutReport(let day, isBookedThere: false):
            "\(place) \(amount) perhaps in the report of \(day), which was not given"
        }
    }

    private static func text(_ days: ClosedRange<CivilDay>) -> String {
        days.count == 1 ? "\(days.lowerBound)" : "\(days.lowerBound) to \(days.upperBound)"
    }
}
