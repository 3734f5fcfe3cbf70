import AppleReports
import Ledger
import LedgerWire

/// The ledger's purchases at the App Store, as Apple's reports may have them: those that somebody paid for.
struct BookedPurchases {
    private(set) var all: [BookedTransaction] = []
    /// Purchases whose JWS states no price or no storefront, as those before iOS 17.2: they match no row of Apple's.
    private(set) var withoutPrice = 0
    /// Of purchases that were carried over from other books, those that the App Store took back.
    private(set) var importedRefunds: [ImportedRefund] = []
    /// The products of which there are purchases. Each name is kept once: there may be millions of purchases of it.
    private(set) var products: Set<String> = []

    /// - Parameters:
    ///   - asOf: the purchases that were posted by then; `nil` for now.
    ///   - beforeLedger: what there is of a time before the ledger began.
    init(
        _ source: ReportSource, asOf: Timestamp?, beforeLedger: ReportSource.BeforeLedger = .refused
    ) async throws {
        let request = ReportRequest(kind: .purchases, asOf: asOf, limit: Limits.reportPageMax)
        var purchases = BookedPurchases()
        try await source.read(request, beforeLedger: beforeLedger) { rows in
            for case .line(let line) in rows { purchases.add(line) }
        }
        self = purchases
    }

    private init() {}

    /// Adds a row of the report `purchases`.
    private mutating func add(_ line: ReportLine) {
        let source = line.word("source")
        if source == PurchaseSource.imported.name, let refund = ImportedRefund(line) { importedRefunds.append(refund) }
        guard source == PurchaseSource.appStore.name else { return }
        guard let id = line.text("transactionId"), let product = line.text("product"),
            let quantity = line.optionalInteger("quantity"), let purchasedAt = line.optionalInteger("purchaseDate"),
            let storefront = line.text("storefront"), let currency = line.text("priceCurrency"),
            let price = line.thousandths("price").map(Thousandths.init(rawValue:))
        else {
            withoutPrice += 1
            return
        }
        let revoked = line.integer("revoked")
        all.append(
            BookedTransaction(
                id: id, product: products.insert(product).memberAfterInsert, storefront: storefront, currency: currency,
                purchasedAt: purchasedAt, quantity: quantity, price: price,
                refundedAt: revoked > 0 ? line.optionalInteger("revocationDate") : nil,
                refundedPrice: revoked > 0 ? price.part(revoked) : nil))
    }
}
