import AppleReports
import Ledger
import LedgerWire

/// A period's money on both bases: as the App Store signed it, and as its Financial Reports settled it.
///
/// Each purchase has of Apple's proceeds what ``Settlement`` allocates to it, and of those each lot its share of the
/// price, and each part of the lot its share of the lot. What is rounded away is recognised. So for each lot, at any
/// time, on each basis: deferred + recognised + refunded = what it was sold for.
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
        var deferred: Int128 = 0
        var recognised: Int128 = 0
        var refunded: Int128 = 0

        static func + (left: Parts, right: Parts) -> Parts {
            Parts(
                sold: left.sold + right.sold, deferred: left.deferred + right.deferred,
                recognised: left.recognised + right.recognised, refunded: left.refunded + right.refunded)
        }

        static func - (left: Parts, right: Parts) -> Parts {
            Parts(
                sold: left.sold - right.sold, deferred: left.deferred - right.deferred,
                recognised: left.recognised - right.recognised, refunded: left.refunded - right.refunded)
        }

        /// A part of it all, rounded so that the parts are what is sold.
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
        let refunded: Int128
        let recognised: Int128
        let closing: Int128
    }

    /// What Apple pays for a purchase in one currency.
    private struct Proceeds {
        var currency: String
        var units: Int64
        var share: Int64
    }

    /// A purchase while its lots are read, which follow each other.
    private struct Current {
        var transaction = ""
        /// Of its price, what is of the lots before.
        var before: Int128 = 0
    }

    private var proceeds: [String: [Proceeds]] = [:]
    private var prices: [String: (price: Int64, quantity: Int64)] = [:]
    private var opening: [Key: Parts] = [:]
    private var closing: [Key: Parts] = [:]

    /// - Parameters:
    ///   - settlement: what Apple's Financial Reports pay for which purchase.
    ///   - purchases: those it was made of.
    init(_ settlement: Settlement, _ purchases: [OpenPurchase]) {
        for part in settlement.parts where !part.isReturn {
            var known = proceeds[part.transaction] ?? []
            let place = known.firstIndex { $0.currency == part.shareCurrency } ?? known.count
            if place == known.count { known.append(Proceeds(currency: part.shareCurrency, units: 0, share: 0)) }
            known[place].units += part.units
            known[place].share += part.share.rawValue
            proceeds[part.transaction] = known
        }
        for purchase in purchases where proceeds[purchase.transaction.id] != nil {
            let transaction = purchase.transaction
            prices[transaction.id] = (transaction.price?.rawValue ?? 0, transaction.quantity)
        }
    }

    // MARK: Reading

    /// Reads lots as they were before a period, and at its end; where that is `nil`, now.
    mutating func read(_ source: ReportSource, from: Timestamp, through asOf: Timestamp?) async throws {
        opening = try await sums(source, asOf: from - 1)
        closing = try await sums(source, asOf: asOf)
    }

    private func sums(_ source: ReportSource, asOf: Timestamp?) async throws -> [Key: Parts] {
        let request = ReportRequest(kind: .lots, asOf: asOf, scope: .all, limit: Limits.reportPageMax)
        var sums: [Key: Parts] = [:]
        var current = Current()
        try await source.read(request, beforeLedger: .isEmpty) { rows in
            for case .line(let line) in rows { add(line, &current, to: &sums) }
        }
        return sums
    }

    /// Adds a row of the report `lots`, in their order.
    private func add(_ line: LedgerLine, _ current: inout Current, to sums: inout [Key: Parts]) {
        guard let sold = line.thousandths("price"), sold > 0, let product = line.text("product"),
            let currency = line.text("currency"), let priceCurrency = line.text("priceCurrency")
        else { return }
        let parts = Parts(
            sold: Int128(sold), deferred: Int128(line.thousandths("deferred") ?? 0),
            recognised: Int128(line.thousandths("recognised") ?? 0),
            refunded: Int128(line.thousandths("refunded") ?? 0))
        func key(_ basis: Basis, _ money: String) -> Key {
            Key(
                product: product, storefront: line.text("storefront") ?? "", priceCurrency: priceCurrency,
                source: line.text("source") ?? "", currency: currency, basis: basis, money: money)
        }
        func add(_ parts: Parts, _ key: Key) { sums[key] = (sums[key] ?? Parts()) + parts }

        add(parts, key(.signed, priceCurrency))
        let transaction = line.text("transactionId") ?? ""
        if transaction != current.transaction { current = Current(transaction: transaction) }
        let before = current.before
        current.before += parts.sold
        guard let (price, quantity) = prices[transaction], let proceeds = proceeds[transaction], price > 0 else {
            return add(parts, key(.unsettled, priceCurrency))
        }
        let units = proceeds.reduce(0) { $0 + $1.units }
        let paid = parts.share(Int128(units), of: Int128(quantity))
        if units < quantity { add(parts - paid, key(.unsettled, priceCurrency)) }
        for one in proceeds {
            // Up to each lot those of a purchase have its share of all, rounded down: together they have all.
            let (all, whole) = (Int128(one.share), Int128(price))
            let share = all * min(current.before, whole) / whole - all * min(before, whole) / whole
            let settled = Parts(
                sold: share, deferred: share * parts.deferred / parts.sold,
                recognised: share - share * parts.deferred / parts.sold - share * parts.refunded / parts.sold,
                refunded: share * parts.refunded / parts.sold)
            add(settled, key(.settled, one.currency))
            if proceeds.count == 1 && one.currency == priceCurrency {
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
                key: key, opening: before.deferred, sold: change.sold, refunded: change.refunded,
                recognised: change.recognised, closing: after.deferred)
        }
    }
}
