/// Allocates the proceeds of Financial Reports to our purchases of that product, storefront, currency and fiscal month.
///
/// Apple names no transactions. So the units of a line go to purchases of the line's price: where the line names the
/// day they were bought, to those of that day and then of the days beside; otherwise to the oldest of the fiscal month
/// and of the one before (Apple: a transaction may be processed in the following fiscal month), then to older ones.
/// Units that are left over go to purchases at another price. Returns go to refunds in the same way.
///
/// Purchases and lines are kept in memory: give them product by product where there are very many.
public struct Settling: Sendable {
    private let zone: ReportZone
    private let products: Set<String>?
    private var lines: [SalesKey: [(source: Settlement.Source, line: FinancialLine)]] = [:]
    private var purchases: [SalesKey: [OpenPurchase]] = [:]
    private var lastDay: CivilDay?
    private var otherRowCount = 0

    /// - Parameters:
    ///   - zone: by whose midnights Apple counts days.
    ///   - products: rows of other products are passed over; `nil` takes all in-app purchases.
    public init(zone: ReportZone, products: Set<String>? = nil) {
        self.zone = zone
        self.products = products
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

    /// Adds a purchase: all of the reports' fiscal months, and earlier ones that are not settled yet.
    public mutating func add(_ purchase: OpenPurchase) {
        purchases[SalesKey(purchase.transaction), default: []].append(purchase)
    }

    /// Allocates.
    public func result() -> Settlement {
        var settlement = Settlement()
        settlement.otherRowCount = otherRowCount
        for key in Set(lines.keys).union(purchases.keys).sorted() {
            for direction in SaleDirection.allCases {
                var pass = SettlingPass(
                    key: key, direction: direction, zone: zone, lines: lines[key] ?? [],
                    purchases: purchases[key] ?? [])
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
