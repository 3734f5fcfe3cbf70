/// Allocates the proceeds of Financial Reports to our purchases of that product, storefront, currency and fiscal month.
///
/// Apple names no transactions. So the units of a line go to purchases of the line's price: where the line names the
/// day they were bought, to those of that day and then of the days beside; otherwise to the oldest of the fiscal month
/// and of the one before (Apple: a transaction may be processed in the following fiscal month), then to older ones.
/// Units that are left over go to purchases at another price. Returns go to refunds in the same way.
///
/// Of books that are given up to a time only, a line may be for purchases that are not there. So one that names a later
/// day goes to purchases of that day alone, and one of a month that goes on then to none at another price.
///
/// Purchases and lines are kept in memory: give them product by product where there are very many.
public struct Settling: Sendable {
    private let zone: ReportZone
    private let products: Set<String>?
    private let knownThrough: Int64?
    private var lines: [SalesKey: [(source: Settlement.Source, line: FinancialLine)]] = [:]
    private var purchases: [SalesKey: [BookedTransaction]] = [:]
    private var lastDay: CivilDay?
    private var otherRowCount = 0

    /// - Parameters:
    ///   - zone: by whose midnights Apple counts days.
    ///   - products: rows of other products are passed over; `nil` takes all in-app purchases.
    ///   - knownThrough: the time, in milliseconds since the UNIX epoch, up to which our books are given; `nil` where
    ///     they are whole. What a line pays that may be for later purchases goes to none of those that are given.
    public init(zone: ReportZone, products: Set<String>? = nil, knownThrough: Int64? = nil) {
        self.zone = zone
        self.products = products
        self.knownThrough = knownThrough
    }

    /// Adds a row of a report.
    /// - Parameter file: which of the files, as the caller counts them. A file must be given once.
    public mutating func add(_ line: FinancialLine, file: Int = 0) {
        guard line.isInAppPurchase, products?.contains(line.product) != false else {
            otherRowCount += 1
            return
        }
        lastDay = max(lastDay ?? line.days.upperBound, line.days.upperBound)
        let key = SalesKey(product: line.product, country: line.country.alpha2, currency: line.customerCurrency)
        lines[key, default: []].append((.init(file: file, line: line.row.line), line))
    }

    /// Adds a purchase. Those of all months whose reports are added, and earlier ones, belong to it.
    public mutating func add(_ purchase: BookedTransaction) {
        purchases[SalesKey(purchase), default: []].append(purchase)
    }

    /// Allocates.
    public func result() -> Settlement {
        var settlement = Settlement()
        let firstUnknown = knownThrough.map { zone.day(at: $0 + 1) }
        settlement.otherRowCount = otherRowCount
        for key in Set(lines.keys).union(purchases.keys).sorted() {
            for direction in SaleDirection.allCases {
                var pass = SettlingPass(
                    key: key, direction: direction, zone: zone, lines: lines[key] ?? [],
                    purchases: purchases[key] ?? [], firstUnknownDay: firstUnknown)
                pass.settle()
                settlement.parts += pass.parts
                settlement.unassigned += pass.unassigned
                settlement.open += pass.open(lastDay: lastDay)
            }
        }
        settlement.parts.sort { ($0.source, $0.transaction) < ($1.source, $1.transaction) }
        settlement.unassigned.sort { $0.source < $1.source }
        return settlement
    }
}
