import AppleReports
import Ledger
import Testing

@testable import currency_ledger

/// What is said of refunds that Apple has and the books do not, where there are refunds of imported purchases.
@Suite struct AppleFindingTests {
    private static let gems = "com.example.game.gems500"
    private static let hour: Timestamp = 3_600_000
    /// When the 5th of January 2026 begins.
    private static let fifth: Timestamp = 1_767_571_200_000

    /// The findings of a Summary Sales Report of that day by which units were taken back.
    private static func findings(
        _ units: Int64, booked: [BookedTransaction] = [], _ refunds: [ImportedRefund]
    ) -> [AppleFinding] {
        let report = """
            SKU\tProduct Type Identifier\tUnits\tDeveloper Proceeds\tBegin Date\tEnd Date\tCustomer Currency\t\
            Country Code\tCurrency of Proceeds\tCustomer Price
            \(gems)\tIA1\t-\(units)\t3.49\t01/05/2026\t01/05/2026\tUSD\tUS\tUSD\t4.99

            """
        let options = Reconciliation.Options(zone: .utc)
        let reconciliation = Reconciliation(
            files: [("sales", ReportInput(bytes: Array(report.utf8)))], purchases: booked, options: options)
        return AppleFinding.all(reconciliation, refunds, options).filter { $0.direction == .refunded }
    }

    /// A refund of an imported purchase, so many hours after midnight.
    private static func imported(_ transaction: String, hours: Int64 = 12) -> ImportedRefund {
        ImportedRefund(transaction: transaction, product: gems, time: fifth + hours * hour)
    }

    @Test func aRefundOfAnImportedPurchaseExplainsWhatAppleTookBack() {
        let findings = Self.findings(2, [Self.imported("p"), Self.imported("q")])
        #expect(findings.map(\.kind) == [.imported], "\(findings)")
        #expect(findings.first?.transactions == ["p", "q"])
        #expect(findings.first?.description.hasSuffix(": of imported purchases p q") == true, "\(findings)")
    }

    /// As it is for purchases that Apple may count on the day beside.
    @Test(arguments: [(-2, false), (-1, true), (0, true), (23, true), (25, true), (26, false)] as [(Int64, Bool)])
    func whatIsWithinAnHourOfMidnightMayBeOfTheDayBeside(_ hours: Int64, _ isExplained: Bool) {
        let findings = Self.findings(1, [Self.imported("p", hours: hours)])
        #expect(findings.map(\.kind) == [isExplained ? .imported : .difference], "\(findings)")
    }

    /// The books have it, and the report has it twice: that is a mistake whatever else was refunded on that day.
    @Test func whatAReportHasTwiceIsNotExplained() {
        let booked = BookedTransaction(
            id: "b", product: Self.gems, storefront: "USA", currency: "USD", purchasedAt: Self.fifth - 48 * Self.hour,
            price: Thousandths(rawValue: 4_990), refundedAt: Self.fifth + 13 * Self.hour)
        let findings = Self.findings(2, booked: [booked], [Self.imported("p")])
        #expect(findings.map(\.kind) == [.difference] && findings.first?.transactions == ["b"], "\(findings)")
        #expect(findings.first?.description.contains("counted twice") == true, "\(findings)")
        // Three are not twice one.
        let more = Self.findings(3, booked: [booked], [Self.imported("p"), Self.imported("q")])
        #expect(more.map(\.kind) == [.imported], "\(more)")
    }

    /// A purchase of three units may have been imported, of which the ledger has a quantity of one.
    @Test func whatIsExplainedInPartSaysThatItMayBeMore() {
        let findings = Self.findings(3, [Self.imported("p")])
        #expect(findings.map(\.kind) == [.difference] && findings.first?.transactions == ["p"], "\(findings)")
        let words = """
            at least 1 of imported purchases p (how many units each had the ledger does not know), and nothing of ours \
            explains the rest
            """
        #expect(findings.first?.description.hasSuffix(words) == true, "\(findings)")
        #expect(Self.findings(3, []).first?.description.hasSuffix("nothing of ours explains it") == true)
    }
}
