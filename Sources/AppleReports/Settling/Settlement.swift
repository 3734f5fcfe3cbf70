/// What Apple's Financial Reports pay for which purchase of ours.
public struct Settlement: Sendable {
    /// The share of each purchase and line, in the order of the lines. With ``unassigned`` the shares of a line add up
    /// to its Extended Partner Share exactly.
    public internal(set) var parts: [Part] = []
    /// Units of the reports for which our books have no purchase, or no refund.
    public internal(set) var unassigned: [Unassigned] = []
    /// Purchases and refunds of ours that no line has paid or taken back yet, by product, storefront, currency and
    /// time.
    public internal(set) var open: [Open] = []
    /// Rows of the reports that are of no in-app purchase, or of products that were not asked for.
    public internal(set) var otherRowCount = 0

    /// A row of a report.
    public struct Source: Hashable, Sendable, Comparable {
        /// Which of the files, as the caller counts them.
        public let file: Int
        /// The line in it, the first being 1.
        public let line: Int

        /// By file and line.
        public static func < (left: Source, right: Source) -> Bool { (left.file, left.line) < (right.file, right.line) }
    }

    /// What one purchase has of one line.
    public struct Part: Hashable, Sendable {
        /// The App Store's transaction id.
        public let transaction: String
        /// Whether it is taken back.
        public let isReturn: Bool
        /// Units, always positive.
        public let units: Int64
        /// The proceeds; of returns negative.
        public let share: Thousandths
        /// The currency of the proceeds.
        public let shareCurrency: String
        /// Whether Apple states another price for them than our books.
        public let isOtherPrice: Bool
        /// The row that pays it.
        public let source: Source
    }

    /// What no purchase of ours has of one line.
    public struct Unassigned: Hashable, Sendable {
        /// What it is of.
        public let key: SalesKey
        /// Whether it is taken back.
        public let isReturn: Bool
        /// Units, always positive.
        public let units: Int64
        /// The proceeds; of returns negative.
        public let share: Thousandths
        /// The currency of the proceeds.
        public let shareCurrency: String
        /// When it may have been bought or given back: on the day that a detailed report states, else in the fiscal
        /// month or the one before.
        public let days: ClosedRange<CivilDay>
        /// The row that pays it.
        public let source: Source
    }

    /// What is not settled yet.
    public struct Open: Hashable, Sendable {
        /// Why.
        public enum Reason: Hashable, Sendable {
            /// There are reports of its fiscal month or a later one, and they have less than our books.
            case notInReports
            /// It is of a fiscal month behind those of the reports.
            case behindReports
        }

        /// What it is of.
        public let key: SalesKey
        /// The App Store's transaction id.
        public let transaction: String
        /// Whether it is the refund, and not the purchase.
        public let isReturn: Bool
        /// Units, always positive.
        public let units: Int64
        /// When it was bought or refunded, in milliseconds since the UNIX epoch.
        public let time: Int64
        /// Why.
        public let reason: Reason
    }
}
