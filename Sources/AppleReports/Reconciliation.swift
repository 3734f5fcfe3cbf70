/// Our books against Apple's files, in one call: sales reports are compared, financial ones settle.
public struct Reconciliation: Sendable {
    /// Each file, in the order given.
    public private(set) var files: [File] = []
    /// The books and the Summary Sales Reports, side by side.
    public let match: SalesMatch
    /// What the Financial Reports pay; nothing, and nothing open, where there are none. ``Settlement/Source/file`` is
    /// the place in ``files``.
    public let settlement: Settlement

    /// A file that was given.
    public struct File: Sendable {
        /// As it was given.
        public let name: String
        /// What it is, and what is wrong with single rows and totals; `nil` where ``fault`` says more.
        public let facts: ReportFacts?
        /// Why nothing of it counts: it cannot be read to its end, is no report, or overlaps with another.
        public let fault: ReportFault?

        /// Whether nothing is wrong with it.
        public var isSound: Bool { facts?.isSound == true }
    }

    /// How files are compared.
    public struct Options: Sendable {
        /// By whose midnights the reports count days.
        public var zone: ReportZone
        /// The app's SKU, where the vendor has other apps with in-app purchases too; `nil` takes all.
        public var app: String?
        /// The products whose proceeds are allocated; `nil` takes all in-app purchases.
        public var products: Set<String>?
        /// The time up to which the purchases are given, in milliseconds since the UNIX epoch; `nil` where all are.
        public var knownThrough: Int64?
        /// So far from midnight a purchase may be that Apple counts on the day beside.
        public var nearMidnightMilliseconds: Int64 = 3_600_000
        /// The bounds of reading and explaining.
        public var limits = ReportLimits.standard

        /// Options with these.
        public init(
            zone: ReportZone, app: String? = nil, products: Set<String>? = nil, knownThrough: Int64? = nil
        ) {
            self.zone = zone
            self.app = app
            self.products = products
            self.knownThrough = knownThrough
        }
    }

    /// Reads the files, and holds them against the books.
    ///
    /// The purchases are gone through up to three times. Where there are Financial Reports they are kept in memory;
    /// otherwise what is kept grows with products, storefronts, prices and days alone.
    /// - Parameters:
    ///   - files: names and bytes. A sales report that is there twice is counted twice, which is found; of two
    ///     Financial Reports that pay the same storefront's month the first counts.
    ///   - purchases: ours.
    public init(
        files: [(name: String, input: ReportInput)], purchases: some Sequence<BookedTransaction>, options: Options
    ) {
        var sides = Sides(options)
        let names = files.map(\.name)
        for (place, file) in files.enumerated() { self.files.append(sides.read(file, place, names)) }
        for purchase in purchases { sides.matching.add(purchase) }
        match = sides.matching.result(explainedBy: purchases)
        if sides.hasFinancials {
            for purchase in purchases { sides.settling.add(purchase) }
        }
        settlement = sides.settling.result()
    }

    /// Whether every file is sound, and all that is compared agrees.
    public var agrees: Bool { files.allSatisfy(\.isSound) && match.agrees && settlement.unassigned.isEmpty }

    /// What is read so far.
    private struct Sides {
        let options: Options
        var matching: SalesMatching
        var settling: Settling
        var hasFinancials = false
        /// What a Financial Report pays: a storefront's customers, in a currency.
        private struct Payment: Hashable {
            let country: CountryCode
            let currency: String

            init(_ line: FinancialLine) {
                country = line.country
                currency = line.shareCurrency
            }
        }

        /// Of which times there are Financial Reports, each with its place among the files.
        private var paid: [Payment: [(days: ClosedRange<CivilDay>, file: Int)]] = [:]

        init(_ options: Options) {
            self.options = options
            matching = Sides.matching(options)
            settling = Settling(
                zone: options.zone, products: options.products, knownThrough: options.knownThrough)
        }

        private static func matching(_ options: Options) -> SalesMatching {
            SalesMatching(
                zone: options.zone, app: options.app, nearMidnightMilliseconds: options.nearMidnightMilliseconds,
                limits: options.limits)
        }

        private func isNoted(_ line: FinancialLine, _ place: Int) -> Bool {
            paid[Payment(line)]?.contains { $0.file == place && $0.days == line.days } ?? false
        }

        /// Apple pays each storefront's month once: by one file of its region, or by a detailed one of all.
        private func checkOverlap(_ lines: [FinancialLine], _ names: [String]) throws(ReportFault) {
            for line in lines {
                guard let other = paid[Payment(line)]?.first(where: { $0.days.overlaps(line.days) }) else { continue }
                throw ReportFault(
                    .format, line: line.row.line,
                    """
                    pays \(line.country) in \(line.shareCurrency) for \(line.days.lowerBound) to \
                    \(line.days.upperBound), which '\(names[other.file])' pays already: give one of the two
                    """)
            }
        }

        /// Counts all of a file, or nothing of it.
        /// - Parameter names: those of all files that were given.
        mutating func read(_ file: (name: String, input: ReportInput), _ place: Int, _ names: [String]) -> File {
            var sales = Sides.matching(options)
            var financial: [FinancialLine] = []
            var fault: ReportFault?
            do throws(ReportFault) {
                let facts = try ReportReader(limits: options.limits).read(file.input) { line in
                    switch line {
                    case .sales(let line):
                        do throws(ReportFault) { try sales.add(line) } catch { fault = fault ?? error }
                    case .financial(let line): financial.append(line)
                    }
                }
                if let fault { throw fault }
                try checkOverlap(financial, names)
                try matching.add(reportsOf: sales)
                for line in financial where !isNoted(line, place) {
                    paid[Payment(line), default: []].append((line.days, place))
                }
                for line in financial { settling.add(line, file: place) }
                hasFinancials = hasFinancials || facts.kind != .salesSummary
                return File(name: file.name, facts: facts, fault: nil)
            } catch {
                return File(name: file.name, facts: nil, fault: error)
            }
        }
    }
}
