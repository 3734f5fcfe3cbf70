import Ledger

/// What was sold, where, for which money and by whom.
struct Sold: Hashable {
    var product: String
    var storefront: String?
    var priceCurrency: String?
    var source: PurchaseSource

    /// The values of the columns `product`, `storefront`, `priceCurrency`, `source` and `basis`.
    var values: [ReportValue?] {
        [
            .text(product), storefront.map { .text($0) }, priceCurrency.map { .text($0) },
            .text(Stored.sources.text(source)), .text(source.basis.rawValue),
        ]
    }

    /// The values of these columns where nothing was sold.
    static let none = [ReportValue?](repeating: nil, count: 5)

    static let columns = "p.product, p.storefront, p.price_currency, p.source"

    /// - Parameter first: the column in which the product stands.
    init?(_ row: PreparedStatement, from first: Int32) throws {
        guard let product = row.optionalText(first) else { return nil }
        guard let source = Stored.sources.item(row.text(first + 3)) else {
            throw StoreError.corrupt("a purchase of \(product) has a source that there is not")
        }
        self.product = product
        storefront = row.optionalText(first + 1)
        priceCurrency = row.optionalText(first + 2)
        self.source = source
    }
}
