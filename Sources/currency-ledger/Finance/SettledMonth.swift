import AppleReports
import Ledger
import LedgerWire

/// A period's money on both bases: as the App Store signed it, and as its Financial Reports settled it.
///
/// Each purchase has of Apple's proceeds what ``Settlement`` allocates to it, and of those each lot its share of the
/// price, and each part of the lot its share of the lot. What is rounded away is recognised. So for each lot, at any
/// time, on each basis: deferred + recognised + refunded = what it was sold for.
///
/// What Apple pays at the period's opening and at its end is allocated to the purchases that were posted by then. So
/// the figures of a period that is over change with what Apple reports, and with nothing that is posted later; and the
/// closing of a month is the opening of the next.
struct SettledMonth {
    /// On what a row's money is based.
    enum Basis: String, CaseIterable {
        /// The price in the JWS, tax included.
        case signed
        /// Of that, what no Financial Report has paid yet.
        case unsettled
        /// What Apple pays for the rest: without its commission, and without tax where it pays that.
        case settled
        /// What of the signed price of the rest Apple does not pay: commission and tax. Only where both are in one
        /// currency.
        case withheld
        /// The price of a purchase of another store, as it was stated. Apple pays nothing of it.
        case stated
        /// What was not earned yet of an imported lot, as the books before had it. Whatever Apple pays of it, these
        /// books do not know the purchase's price by.
        case carried
    }

    /// What a row is of.
    struct Key: Hashable, Comparable {
        let product: String
        let storefront: String
        let priceCurrency: String
        let source: String
        let currency: String
        let basis: Basis
        /// Of the money.
        let money: String

        private var order: [String] {
            [product, storefront, priceCurrency, source, currency, Key.place(basis), money]
        }

        private static func place(_ basis: Basis) -> String { "\(Basis.allCases.firstIndex(of: basis) ?? 0)" }

        static func < (left: Key, right: Key) -> Bool { left.order.lexicographicallyPrecedes(right.order) }
    }

    /// Thousandths, at one time.
    struct Parts: Hashable {
        var sold: Int128 = 0
        var imported: Int128 = 0
        var deferred: Int128 = 0
        var recognised: Int128 = 0
        var refunded: Int128 = 0

        static func + (left: Parts, right: Parts) -> Parts {
            Parts(
                sold: left.sold + right.sold, imported: left.imported + right.imported,
                deferred: left.deferred + right.deferred, recognised: left.recognised + right.recognised,
                refunded: left.refunded + right.refunded)
        }

        static func - (left: Parts, right: Parts) -> Parts {
            Parts(
                sold: left.sold - right.sold, imported: left.imported - right.imported,
                deferred: left.deferred - right.deferred, recognised: left.recognised - right.recognised,
                refunded: left.refunded - right.refunded)
        }

        /// A part of what was sold, rounded so that its parts are what is sold of it.
        func share(_ part: Int128, of whole: Int128) -> Parts {
            if whole == 0 { return Parts() }
            let (sold, deferred, refunded) = (
                sold * part / whole, deferred * part / whole, refunded * part / whole
            )
            return Parts(
                sold: sold, deferred: deferred, recognised: sold - deferred - refunded, refunded: refunded)
        }
    }

    /// A row: what there was, what came and went, and what there is.
    struct Row {
        let key: Key
        let opening: Int128
        let sold: Int128
        let imported: Int128
        let refunded: Int128
        let recognised: Int128
        let closing: Int128
    }

    /// A purchase while its lots are read, which follow each other.
    private struct Current {
        var transaction = ""
        /// Of its price, what is of the lots before.
        var before: Int128 = 0
    }

    private let opening: [Key: Parts]
    private let closing: [Key: Parts]

    /// Reads lots as they were before a period, and at its end.
    /// - Parameters:
    ///   - opening: what Apple pays of what was posted before the period.
    ///   - closing: what Apple pays of what was posted by its end.
    ///   - first: the period's first millisecond.
    ///   - last: its last one; `nil` for now.
    /// - Throws: what reading throws, of a period that was over before the ledger began too.
    init(
        _ source: ReportSource, opening: Proceeds, closing: Proceeds, from first: Timestamp, through last: Timestamp?
    ) async throws {
        // In the month in which the ledger began there was nothing before.
        self.opening = try await SettledMonth.sums(source, opening, asOf: first - 1, beforeLedger: .isEmpty)
        self.closing = try await SettledMonth.sums(source, closing, asOf: last, beforeLedger: .refused)
    }

    // MARK: Reading

    private static func sums(
        _ source: ReportSource, _ proceeds: Proceeds, asOf: Timestamp?, beforeLedger: ReportSource.BeforeLedger
    ) async throws -> [Key: Parts] {
        let request = ReportRequest(kind: .lots, asOf: asOf, scope: .all, limit: Limits.reportPageMax)
        var sums: [Key: Parts] = [:]
        var current = Current()
        try await source.read(request, beforeLedger: beforeLedger) { rows in
            for case .line(let line) in rows { add(line, proceeds, &current, to: &sums) }
        }
        return sums
    }

    /// Adds a row of the report `lots`, in their order.
    private static func add(
        _ line: ReportLine, _ proceeds: Proceeds, _ current: inout Current, to sums: inout [Key: Parts]
    ) {
        guard let price = line.thousandths("price"), price > 0, let product = line.text("product"),
            let currency = line.text("currency"), let priceCurrency = line.text("priceCurrency")
        else { return }
        let source = line.word("source")
        let isImported = source == PurchaseSource.imported.name
        let parts = Parts(
            sold: isImported ? 0 : Int128(price), imported: isImported ? Int128(price) : 0,
            deferred: Int128(line.thousandths("deferred") ?? 0),
            recognised: Int128(line.thousandths("recognised") ?? 0),
            refunded: Int128(line.thousandths("refunded") ?? 0))
        func key(_ basis: Basis, _ money: String) -> Key {
            Key(
                product: product, storefront: line.text("storefront") ?? "", priceCurrency: priceCurrency,
                source: source, currency: currency, basis: basis, money: money)
        }
        func add(_ parts: Parts, _ key: Key) { sums[key] = (sums[key] ?? Parts()) + parts }

        guard source == PurchaseSource.appStore.name else {
            return add(parts, key(isImported ? .carried : .stated, priceCurrency))
        }
        add(parts, key(.signed, priceCurrency))
        let transaction = line.text("transactionId") ?? ""
        if transaction != current.transaction { current = Current(transaction: transaction) }
        let before = current.before
        current.before += parts.sold
        guard let purchase = proceeds[transaction] else { return add(parts, key(.unsettled, priceCurrency)) }
        let units = purchase.parts.reduce(0) { $0 + $1.units }
        let paid = parts.share(Int128(units), of: Int128(purchase.quantity))
        if units < purchase.quantity { add(parts - paid, key(.unsettled, priceCurrency)) }
        for one in purchase.parts {
            // Up to each lot those of a purchase have its share of all, rounded down: together they have all.
            let (all, whole) = (Int128(one.share), Int128(purchase.price))
            let share = all * min(current.before, whole) / whole - all * min(before, whole) / whole
            let settled = Parts(
                sold: share, deferred: share * parts.deferred / parts.sold,
                recognised: share - share * parts.deferred / parts.sold - share * parts.refunded / parts.sold,
                refunded: share * parts.refunded / parts.sold)
            add(settled, key(.settled, one.currency))
            if purchase.parts.count == 1 && one.currency == priceCurrency {
                add(paid - settled, key(.withheld, priceCurrency))
            }
        }
    }

    // MARK: Rows

    /// A row a product, storefront, currency and basis, in that order.
    var rows: [Row] {
        Set(opening.keys).union(closing.keys).sorted().map { key in
            let (before, after) = (opening[key] ?? Parts(), closing[key] ?? Parts())
            let change = after - before
            return Row(
                key: key, opening: before.deferred, sold: change.sold, imported: change.imported,
                refunded: change.refunded, recognised: change.recognised, closing: after.deferred)
        }
    }
}

/// What Apple's Financial Reports pay for each purchase, as far as the ledger knew the purchases at one time.
struct Proceeds {
    /// What is paid for a purchase in one currency.
    struct Part {
        let currency: String
        var units: Int64
        /// In thousandths.
        var share: Int64
    }

    /// A purchase for which something is paid.
    struct Purchase {
        /// The signed price of all units, above 0, in thousandths.
        let price: Int64
        let quantity: Int64
        /// By currency, in the order in which they were met.
        fileprivate(set) var parts: [Part] = []
    }

    private var purchases: [String: Purchase] = [:]

    /// - Parameters:
    ///   - settlement: which purchase the reports pay.
    ///   - purchases: those it was made of.
    init(_ settlement: Settlement, _ purchases: [BookedTransaction]) {
        for purchase in purchases {
            guard let price = purchase.price?.rawValue, price > 0 else { continue }
            self.purchases[purchase.id] = Purchase(price: price, quantity: purchase.quantity)
        }
        for part in settlement.parts where !part.isReturn {
            guard var purchase = self.purchases[part.transaction] else { continue }
            let place = purchase.parts.firstIndex { $0.currency == part.shareCurrency } ?? purchase.parts.count
            if place == purchase.parts.count {
                purchase.parts.append(Part(currency: part.shareCurrency, units: 0, share: 0))
            }
            purchase.parts[place].units += part.units
            purchase.parts[place].share += part.share.rawValue
            self.purchases[part.transaction] = purchase
        }
    }

    /// `nil` of a purchase for which nothing is paid.
    subscript(transaction: String) -> Purchase? { purchases[transaction].flatMap { $0.parts.isEmpty ? nil : $0 } }
}
