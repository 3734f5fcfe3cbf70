import AppleReports
import Ledger

/// A refund of a purchase that was carried over from other books. These books have neither its storefront nor its
/// price, so no row of Apple's is paired with it; but it explains one of its product and day.
struct ImportedRefund {
    let transaction: String
    let product: String
    let units: Int64
    /// In milliseconds since the UNIX epoch.
    let time: Timestamp

    /// - Parameter line: a row of the report `purchases`; `nil` where it was not taken back.
    init?(_ line: ReportLine) {
        guard line.integer("revoked") > 0, let time = line.optionalInteger("revocationDate"),
            let transaction = line.text("transactionId"), let product = line.text("product")
        else { return nil }
        self.transaction = transaction
        self.product = product
        self.units = line.integer("quantity")
        self.time = time
    }
}

/// Such refunds while Apple's refunds are gone through that our books do not have: each explains one of them, once.
struct ImportedRefunds {
    private struct Open {
        let transaction: String
        let units: Int64
        let time: Timestamp
        let day: CivilDay
        var isTaken = false
    }

    /// By product.
    private var open: [String: [Open]] = [:]

    /// - Parameter zone: by whose midnights Apple's reports count days.
    init(_ refunds: [ImportedRefund], zone: ReportZone) {
        for refund in refunds {
            open[refund.product, default: []].append(
                Open(
                    transaction: refund.transaction, units: refund.units, time: refund.time,
                    day: zone.day(at: refund.time)))
        }
    }

    /// Takes refunds that explain units which Apple took back: of these days, and where they are not enough, of the
    /// days beside, for Apple may count what is near to midnight there.
    /// - Returns: their ids, by time; `nil` where they do not make up the units, and nothing is taken.
    mutating func take(_ units: Int64, of product: String, on days: ClosedRange<CivilDay>) -> [String]? {
        let near = days.lowerBound.advanced(by: -1)...days.upperBound.advanced(by: 1)
        let candidates = (open[product] ?? []).enumerated().filter {
            !$0.element.isTaken && near.contains($0.element.day)
        }
        .sorted { left, right in
            let (one, other) = (days.contains(left.element.day), days.contains(right.element.day))
            return one == other
                ? (left.element.time, left.element.transaction) < (right.element.time, right.element.transaction)
                : one
        }
        var rest = units
        var taken: [(place: Int, refund: Open)] = []
        for (place, refund) in candidates where refund.units <= rest {
            taken.append((place, refund))
            rest -= refund.units
        }
        guard rest == 0, !taken.isEmpty else { return nil }
        for (place, _) in taken { open[product]?[place].isTaken = true }
        return taken.map(\.refund).sorted { ($0.time, $0.transaction) < ($1.time, $1.transaction) }.map(\.transaction)
    }
}
