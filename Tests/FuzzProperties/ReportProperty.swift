import AppleReports

/// A file of App Store Connect's is refused, or its rows are counted; compressed it is read as it is plain; what is
/// settled of each row is the row, and nothing traps that goes on with it.
enum ReportProperty {
    static func check(_ bytes: [UInt8]) -> Bool {
        guard let (lines, facts) = try? read(bytes) else { return false }
        require(lines.count == facts.lineCount, "a row is handed on, and counted")
        if let (same, others) = try? read(Gzip.compress(bytes)) {
            require(same.count == lines.count && others.faults == facts.faults, "compressed it is the same file")
        } else {
            require(bytes.starts(with: [0x1F, 0x8B]), "what is read is read when it is compressed")
        }
        var matching = SalesMatching(zone: .pacific)
        var settling = Settling(zone: .utc)
        var shares: [Int: Int128] = [:]
        for line in lines {
            switch line {
            case .sales(let line): try? matching.add(line)
            case .financial(let line) where line.isInAppPurchase:
                shares[line.row.line] = Int128(line.extendedPartnerShare.rawValue)
                settling.add(line)
            case .financial(let line): settling.add(line)
            }
        }
        for purchase in purchases {
            matching.add(purchase)
            settling.add(purchase)
        }
        _ = matching.result(explainedBy: purchases).differences.map(\.description)
        let settlement = settling.result()
        for part in settlement.parts { shares[part.source.line, default: 0] -= Int128(part.share.rawValue) }
        for rest in settlement.unassigned { shares[rest.source.line, default: 0] -= Int128(rest.share.rawValue) }
        require(shares.values.allSatisfy { $0 == 0 }, "the parts of a row are the row")
        return !lines.isEmpty
    }

    private static func read(_ bytes: [UInt8]) throws(ReportFault) -> ([AppleReportLine], ReportFacts) {
        var lines: [AppleReportLine] = []
        let facts = try ReportReader().read(ReportInput(bytes: bytes)) { lines.append($0) }
        return (lines, facts)
    }

    /// 25 November 2026, 8 o'clock in California.
    private static let time: Int64 = 1_795_622_400_000

    private static let purchases: [BookedTransaction] = (0..<6).map { (number: Int64) -> BookedTransaction in
        let quantity = number % 2 + 1
        let price: Thousandths? = number == 4 ? nil : Thousandths(rawValue: 4_990 * quantity)
        return BookedTransaction(
            id: String(number), product: "gems", storefront: number == 5 ? "DEU" : "USA", currency: "USD",
            purchasedAt: time + number * 3_600_000, quantity: quantity, price: price,
            refundedAt: number == 3 ? time + 86_400_000 : nil)
    }

    private static let draft = DraftLine(
        product: "gems", productType: "IA1", direction: .sold, units: 3,
        customerPrice: Thousandths(rawValue: 4_990), customerCurrency: "USD", proceeds: Thousandths(rawValue: 3_490),
        country: certain(CountryCode(alpha3: "USA"), "a country"), days: day...day, transactionDay: day, app: "game")
    private static let day = ReportZone.pacific.day(at: time)

    static var seeds: [[UInt8]] {
        var refund = draft
        refund.direction = .refunded
        refund.units = 1
        let files = [
            ReportText.sales([draft, refund]), ReportText.financial([draft, refund]),
            ReportText.financialDetail([draft, refund], vendor: "Studio", days: day...day),
            ReportText.financial([draft], isTotalWrong: true),
        ]
        return files + files.map(Gzip.compress) + [Array("Units\n1\n".utf8)]
    }

    static let words = [
        "\t", "\n", "\r\n", "Units", "Quantity", "Total_Rows\t", "Total_Units\t", "Total_Amount\t", "Country Of Sale\t",
        "9007199254740.991", "-0.99", ".7", "11/25/2026", "USD", "US", "IA1", "S", "R",
    ]
}
