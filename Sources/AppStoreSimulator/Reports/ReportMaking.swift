internal import AppleReports

/// Makes reports of purchases.
struct ReportMaking {
    private let order: ReportOrder
    /// The app's SKU, for which its bundle id stands.
    private let app: String
    private var random: SeededGenerator
    private var files: [SimulatedReports.File] = []
    private var putIn: [SimulatedReports.PutIn] = []
    /// Of the rows of one kind of report that have errors.
    private var usedKeys: Set<[String]> = []

    /// A row, and the file that it belongs to.
    private struct Row: Hashable {
        var file: String
        var draft: DraftLine

        /// A report has one row of each of these, but for the days and prices.
        var key: [String] {
            [draft.product, draft.country.alpha2, draft.customerCurrency, "\(draft.direction)"]
        }
    }

    init(_ order: ReportOrder, app: String) {
        self.order = order
        self.app = app
        random = SeededGenerator(seed: order.seed)
    }

    /// - Parameter purchases: in any order.
    /// - Throws: ``SimulatorError`` where there are too few rows for the errors that are to be put in.
    mutating func make(of purchases: some Sequence<Purchase>) throws(SimulatorError) -> SimulatedReports {
        let sales = purchases.compactMap { purchase in purchase.booked.map { ($0, purchase.reportedType) } }
        for kind in ReportOrder.Kind.allCases where order.kinds.contains(kind) {
            usedKeys = []
            var rows = rows(kind, sales)
            for mistake in order.mistakes where mistake.fits(kind) && !mistake.isOfFile {
                rows = try put(mistake, into: rows, kind)
            }
            try write(kind, rows)
        }
        return SimulatedReports(files: files, putIn: putIn)
    }

    // MARK: Rows

    private func rows(_ kind: ReportOrder.Kind, _ sales: [(BookedTransaction, String)]) -> [Row] {
        var units: [Row: Int64] = [:]
        for (transaction, type) in sales {
            guard let country = CountryCode(alpha3: transaction.storefront) else { continue }
            for direction in SaleDirection.allCases {
                guard let time = transaction.time(of: direction) else { continue }
                let day = order.zone.day(at: time)
                guard order.days?.contains(day) != false, let days = days(of: day, kind) else { continue }
                let price = transaction.unitPrice(of: direction) ?? .zero
                // Financial reports are of what was paid.
                if kind == .financial || kind == .detail, price == .zero { continue }
                let draft = DraftLine(
                    product: transaction.product, productType: type, direction: direction, units: 0,
                    customerPrice: price, customerCurrency: transaction.currency,
                    proceeds: ReportMaking.proceeds(price), country: country, days: days,
                    // One row for all days, but in a detailed report.
                    transactionDay: kind == .detail ? day : days.lowerBound, app: app)
                units[Row(file: name(kind, draft), draft: draft), default: 0] += transaction.quantity
            }
        }
        return units.map { row, count in
            var row = row
            row.draft.units = count
            return row
        }
        .sorted(by: ReportMaking.areInOrder)
    }

    private static func areInOrder(_ left: Row, _ right: Row) -> Bool {
        func key(_ row: Row) -> (String, CivilDay, String, CountryCode) {
            (row.file, row.draft.transactionDay, row.draft.product, row.draft.country)
        }
        func rest(_ row: Row) -> (String, SaleDirection, Thousandths, String) {
            (row.draft.customerCurrency, row.draft.direction, row.draft.customerPrice, row.draft.productType)
        }
        return key(left) == key(right) ? rest(left) < rest(right) : key(left) < key(right)
    }

    /// Seven tenths of the price, to the hundredth: no tax is taken off, and Apple's commission is 30 %.
    private static func proceeds(_ price: Thousandths) -> Thousandths {
        Thousandths(rawValue: (price.rawValue * 7 + 50) / 100 * 10)
    }

    private func days(of day: CivilDay, _ kind: ReportOrder.Kind) -> ClosedRange<CivilDay>? {
        switch kind {
        case .daily: return day...day
        case .weekly:
            let monday = day.advanced(by: -((day.weekday + 6) % 7))
            return monday...monday.advanced(by: 6)
        case .monthly:
            let (year, month, _) = day.parts
            let next = month == 12 ? (year + 1, 1) : (year, month + 1)
            guard let first = CivilDay(year: year, month: month, day: 1),
                let behind = CivilDay(year: next.0, month: next.1, day: 1)
            else { return nil }
            return first...behind.advanced(by: -1)
        case .financial, .detail: return FiscalMonth(containing: day)?.days
        }
    }

    // MARK: Names

    /// As "Report file names" has it.
    private func name(_ kind: ReportOrder.Kind, _ draft: DraftLine) -> String {
        let end = order.isCompressed ? ".txt.gz" : ".txt"
        let last = draft.days.upperBound
        switch kind {
        case .daily: return "S_D_\(order.vendor)_\(ReportMaking.digits(last, "ymd"))\(end)"
        case .weekly: return "S_W_\(order.vendor)_\(ReportMaking.digits(last, "ymd"))\(end)"
        case .monthly: return "S_M_\(order.vendor)_\(ReportMaking.digits(last, "ym"))\(end)"
        case .financial, .detail:
            // The last day of a fiscal month is in the month of the calendar for which it is named, but for a first
            // week that December lends to January; the middle always is.
            let middle = draft.days.lowerBound.advanced(by: 14)
            let region = kind == .detail ? "Z1" : ReportMaking.region(draft)
            return "\(order.vendor)_\(ReportMaking.digits(middle, "my"))_\(region)\(end)"
        }
    }

    private static func digits(_ day: CivilDay, _ form: String) -> String {
        let text = day.description
        let (year, month, number) = (text.prefix(4), text.dropFirst(5).prefix(2), text.suffix(2))
        switch form {
        case "ymd": return "\(year)\(month)\(number)"
        case "ym": return "\(year)\(month)"
        default: return "\(month)\(year.suffix(2))"
        }
    }

    /// "Financial report regions and currencies", as far as it is of use here: the euro's countries are one region, and
    /// so are those where customers pay in dollars without being in the United States.
    private static func region(_ draft: DraftLine) -> String {
        switch (draft.customerCurrency, draft.country.alpha2) {
        case ("EUR", _): "EU"
        case ("USD", let country) where country != "US": "WW"
        case (_, let country): country
        }
    }

    // MARK: Errors that are put in

    private mutating func put(
        _ mistake: ReportOrder.Mistake, into rows: [Row], _ kind: ReportOrder.Kind
    ) throws(SimulatorError) -> [Row] {
        var rows = rows
        let rowCounts = Dictionary(grouping: rows, by: \.file).mapValues(\.count)
        let candidates = rows.indices.filter { place in
            // A report whose only row is not there is not there either, and nothing is compared with it.
            let isMissed = mistake == .dropped || mistake == .day
            return !usedKeys.contains(rows[place].key) && (!isMissed || (rowCounts[rows[place].file] ?? 0) > 1)
        }
        guard let place = candidates.randomElement(using: &random) else {
            throw SimulatorError(
                .conflict,
                """
                there are too few rows for the error \(mistake.rawValue) in a \(kind.rawValue) report: each error \
                needs a product, storefront and currency of its own
                """)
        }
        usedKeys.insert(rows[place].key)
        note(mistake, rows[place].file, rows[place].draft)
        switch mistake {
        case .dropped: rows.remove(at: place)
        case .doubled: rows.insert(rows[place], at: place)
        // Twice as many would look like a row that is there twice.
        case .units: rows[place].draft.units += rows[place].draft.units == 1 ? 2 : 1
        case .price:
            let price = rows[place].draft.customerPrice
            rows[place].draft.customerPrice = Thousandths(rawValue: price.rawValue + 1_000)
        case .day:
            let next = rows[place].draft.days.lowerBound.advanced(by: 1)
            rows[place].draft.days = next...next
            rows[place].draft.transactionDay = next
            rows[place].file = name(kind, rows[place].draft)
        case .total, .cut: preconditionFailure("a file is no row")
        }
        return rows
    }

    private mutating func note(_ mistake: ReportOrder.Mistake, _ file: String, _ draft: DraftLine?) {
        putIn.append(
            SimulatedReports.PutIn(
                mistake: mistake, file: file, product: draft?.product ?? "", country: draft?.country.alpha2 ?? "",
                currency: draft?.customerCurrency ?? "", day: draft?.days.lowerBound.description ?? "",
                isRefund: draft?.direction == .refunded))
    }

    // MARK: Files

    private mutating func write(_ kind: ReportOrder.Kind, _ rows: [Row]) throws(SimulatorError) {
        // The first file has the wrong total, and the last one is cut.
        var isTotalWrong = order.mistakes.contains(.total) && ReportOrder.Mistake.total.fits(kind)
        let isAnyCut = order.mistakes.contains(.cut) && ReportOrder.Mistake.cut.fits(kind)
        let reports = Dictionary(grouping: rows, by: \.file).sorted { $0.key < $1.key }
        if isTotalWrong && isAnyCut && reports.count == 1 {
            throw SimulatorError(
                .conflict, "there is one \(kind.rawValue) report, and one that is cut has no total that is wrong")
        }
        for (place, (name, rows)) in reports.enumerated() {
            let drafts = rows.sorted(by: ReportMaking.areInOrder).map(\.draft)
            var bytes: [UInt8]
            switch kind {
            case .daily, .weekly, .monthly: bytes = ReportText.sales(drafts)
            case .financial: bytes = ReportText.financial(drafts, isTotalWrong: isTotalWrong)
            case .detail:
                bytes = ReportText.financialDetail(
                    drafts, vendor: "Developer", days: drafts[0].days, isTotalWrong: isTotalWrong)
            }
            if isTotalWrong { note(.total, name, nil) }
            isTotalWrong = false
            if isAnyCut && place == reports.count - 1 {
                note(.cut, name, nil)
                bytes = ReportMaking.cut(bytes, behind: kind == .detail ? 6 : 2)
            }
            files.append(.init(name: name, bytes: order.isCompressed ? Gzip.compress(bytes) : bytes))
        }
    }
}

extension ReportMaking {
    /// The first lines.
    fileprivate static func cut(_ bytes: [UInt8], behind count: Int) -> [UInt8] {
        let ends = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }
        return ends.count < count ? bytes : Array(bytes[...ends[count - 1]])
    }
}

extension ReportOrder.Mistake {
    /// Whether it is of a file, and of no row.
    fileprivate var isOfFile: Bool {
        switch self {
        case .total, .cut: true
        case .dropped, .doubled, .units, .price, .day: false
        }
    }
}

extension Simulator {
    /// Reports of what was sold and refunded.
    func reports(_ order: ReportOrder) throws(SimulatorError) -> SimulatedReports {
        var making = ReportMaking(order, app: configuration.bundleID)
        return try making.make(of: state.purchases.values)
    }
}
