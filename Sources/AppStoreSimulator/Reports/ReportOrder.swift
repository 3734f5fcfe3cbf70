package import AppleReports
internal import StrictJSON

/// Which reports of App Store Connect's are written, and how.
package struct ReportOrder: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        /// A Summary Sales Report of each day.
        case daily
        /// … of each week, Monday to Sunday.
        case weekly
        /// … of each month of the calendar.
        case monthly
        /// A Financial Report of each region and fiscal month.
        case financial
        /// A detailed Financial Report of each fiscal month.
        case detail
    }

    /// An error that is put in on wish.
    package enum Mistake: String, CaseIterable, Hashable, Sendable {
        /// A row is not there.
        case dropped
        /// A row is there twice.
        case doubled
        /// A row has one unit more; two more, where it has one.
        case units
        /// A row has a price that is higher by 1.
        case price
        /// A row is in the report of the next day, of daily ones alone.
        case day
        /// A total is higher by 1 than its rows, of financial reports alone.
        case total
        /// A file ends behind its first row, of financial reports alone.
        case cut

        /// Whether a kind of report can have it.
        func fits(_ kind: Kind) -> Bool {
            switch (self, kind) {
            case (.dropped, _), (.doubled, _), (.units, _), (.price, _), (.day, .daily): true
            case (.total, .financial), (.total, .detail), (.cut, .financial), (.cut, .detail): true
            case (.day, _), (.total, _), (.cut, _): false
            }
        }
    }

    package var kinds: [Kind] = [.daily, .financial]
    /// The days of sales and refunds; all where it is `nil`.
    package var days: ClosedRange<CivilDay>?
    /// By whose midnights days are counted.
    package var zone = ReportZone.pacific
    /// Apple's number of the vendor, eight digits: in the names of the files.
    package var vendor = "80012345"
    /// Each is put into every kind of report that can have it, in different rows.
    package var mistakes: [Mistake] = []
    /// What the rows with mistakes follow from.
    package var seed: UInt64 = 1
    /// Whether files are compressed by gzip.
    package var isCompressed = true

    package init() {}
}

// MARK: As a query

extension ReportOrder {
    /// The query of the request. All that stands in it is letters, digits, `-` and `,`.
    var query: String {
        var parts = [
            "kinds=\(kinds.map(\.rawValue).joined(separator: ","))", "zone=\(zone.name)", "vendor=\(vendor)",
            "mistakes=\(mistakes.map(\.rawValue).joined(separator: ","))", "seed=\(seed)",
            "compressed=\(isCompressed)",
        ]
        if let days { parts += ["from=\(days.lowerBound)", "to=\(days.upperBound)"] }
        return parts.joined(separator: "&")
    }

    init(_ query: Query) throws(SimulatorError) {
        self.init()
        if let text = query["kinds"] { kinds = try ReportOrder.list(text, "kinds") }
        if let text = query["mistakes"] { mistakes = try ReportOrder.list(text, "mistakes") }
        if let text = query["zone"] {
            guard let zone = ReportZone(name: text) else {
                let names = ReportZone.allCases.map(\.name).joined(separator: ", ")
                throw SimulatorError(.invalid, "zone must be one of \(names)")
            }
            self.zone = zone
        }
        if let text = query["vendor"] {
            guard (1...20).contains(text.utf8.count), text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else {
                throw SimulatorError(.invalid, "vendor must be 1 to 20 digits")
            }
            vendor = text
        }
        if let text = query["seed"] {
            guard let seed = UInt64(text) else { throw SimulatorError(.invalid, "seed must be a number") }
            self.seed = seed
        }
        if let text = query["compressed"] {
            guard let isCompressed = Bool(text) else {
                throw SimulatorError(.invalid, "compressed must be true or false")
            }
            self.isCompressed = isCompressed
        }
        guard query["from"] != nil || query["to"] != nil else { return }
        guard let from = query["from"].flatMap(CivilDay.init(iso:)), let to = query["to"].flatMap(CivilDay.init(iso:)),
            from <= to
        else { throw SimulatorError(.invalid, "from and to must be days as 2026-11-25, from the first to the last") }
        days = from...to
    }

    private static func list<Value: RawRepresentable<String> & CaseIterable>(
        _ text: String, _ name: String
    ) throws(SimulatorError) -> [Value] {
        var values: [Value] = []
        for part in text.split(separator: ",") {
            guard let value = Value(rawValue: String(part)) else {
                let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
                throw SimulatorError(.invalid, "\(name) must be of \(names), not \(part)")
            }
            values.append(value)
        }
        return values
    }
}
