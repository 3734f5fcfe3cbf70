import Ledger
import LedgerClient
import LedgerWire

/// The figures of a page: what the rows of reports add up to, the same rows that `export` writes as CSV.
///
/// It says which reports it asks (``questions``), and is given their rows (``add(_:of:)``). However many there are, it
/// keeps sums by day, currency, product and storefront, and the first few lots and debts. Units of different currencies
/// are never added up, and neither is money.
struct MonthFigures {
    /// So many lots and debts are kept, those that are there for the longest time.
    static let oldestMax = 20

    /// A report that is asked, and read to its end.
    struct Question {
        let request: ReportRequest
        fileprivate let part: Part
    }

    fileprivate enum Part {
        case rollforward
        case rollforwardOfDay(Int)
        case sales
        case revenueOfDay(Int)
        case deferred
        case deferredOfDay(Int)
        case lots
        case debts
        case unassigned
    }

    let period: FigurePeriod
    /// By the code of a game's currency.
    private(set) var currencies: [String: Currency] = [:]
    /// By the code of the currency that customers paid in.
    private(set) var money: [String: Money] = [:]
    /// How many were bought without a price: of those there is no money.
    private(set) var boughtWithoutPrice: Int128 = 0
    /// Of paid lots of which something is left, those that were bought first.
    private(set) var oldestLots = Earliest<ReportLine>(limit: oldestMax)
    private(set) var oldestDebts = Earliest<Debt>(limit: oldestMax)
    /// Purchases that no account had claimed at the end, by the currency of their price; `""` where they have none.
    private(set) var unassigned: [String: Unassigned] = [:]
    /// The days on which something was imported: of these it is asked how much money that was.
    private var daysOfImports: [Int] {
        period.days.indices.filter { day in currencies.values.contains { $0.days[day].imported != 0 } }
    }

    init(_ period: FigurePeriod) { self.period = period }

    // MARK: What is asked

    private func ask(
        _ kind: ReportKind, _ part: Part, from: Timestamp? = nil, through: Timestamp? = nil
    ) -> Question {
        Question(
            request: ReportRequest(
                kind: kind, asOf: through ?? period.last, from: kind.isOfPeriods ? from ?? period.first : nil,
                limit: Limits.reportPageMax),
            part: part)
    }

    /// What is asked first.
    var questions: [Question] {
        let ofDays = period.days.enumerated().flatMap { place, day in
            [
                ask(.rollforward, .rollforwardOfDay(place), from: day.first, through: day.last),
                ask(.revenue, .revenueOfDay(place), from: day.first, through: day.last),
            ]
        }
        return [ask(.rollforward, .rollforward), ask(.sales, .sales), ask(.deferred, .deferred)] + ofDays
            + [ask(.lots, .lots), ask(.debts, .debts), ask(.unassigned, .unassigned)]
    }

    /// What is asked when the ``questions`` are answered: what was deferred on days of imports. It is asked of these
    /// alone, for each reads all lots.
    var questionsOfImports: [Question] {
        daysOfImports.map { place in
            let day = period.days[place]
            return ask(.deferred, .deferredOfDay(place), from: day.first, through: day.last)
        }
    }

    // MARK: What is answered

    /// Adds rows of a report that was asked.
    mutating func add(_ rows: [ReportRow], of question: Question) {
        for row in rows {
            switch row {
            case .line(let line): add(line, question.part)
            case .debt(let account, let currency, let transaction, let source, let lot, let units, let since, _):
                let debt = Debt(
                    account: account, currency: currency.text, transaction: transaction, source: source.name,
                    units: units)
                currencies[currency.text, default: Currency(period.days.count)].debts += 1
                oldestDebts.add(debt, at: since, number: lot)
            case .balance, .trial, .notification, .consumptionRequest, .closing:
                preconditionFailure("a page asks for no such report")
            }
        }
    }

    private mutating func add(_ line: ReportLine, _ part: Part) {
        switch part {
        case .rollforward:
            currencies[line.word("currency"), default: Currency(period.days.count)].classes.append(line)
        case .rollforwardOfDay(let day):
            currencies[line.word("currency"), default: Currency(period.days.count)].add(line, onDay: day)
        case .sales:
            guard let code = priceCurrency(line) else {
                boughtWithoutPrice += line.sum("units")
                return
            }
            let day = period.days.firstIndex { $0.text == line.word("day") } ?? 0
            money[code, default: Money(period.days.count)].addSale(line, onDay: day)
        case .revenueOfDay(let day):
            guard let code = priceCurrency(line) else { return }
            money[code, default: Money(period.days.count)].addRevenue(line, onDay: day)
        case .deferred:
            guard let code = priceCurrency(line) else { return }
            money[code, default: Money(period.days.count)].addDeferred(line)
        case .deferredOfDay(let day):
            guard let code = priceCurrency(line) else { return }
            money[code, default: Money(period.days.count)].addDeferred(line, onDay: day)
        case .lots:
            guard line.word("class") == "paid", line.integer("left") > 0 else { return }
            oldestLots.add(
                line, at: line.optionalInteger("purchaseDate") ?? line.integer("time"), number: line.integer("lot"))
        case .debts: preconditionFailure("debts have rows of their own")
        case .unassigned:
            unassigned[priceCurrency(line) ?? "", default: Unassigned()].add(line)
        }
    }

    /// `nil` of what was bought without a price.
    private func priceCurrency(_ line: ReportLine) -> String? {
        let code = line.word("priceCurrency")
        return code.isEmpty ? nil : code
    }

    /// What was counted lot by lot must be what was counted transfer by transfer, and days must make up the period.
    /// - Throws: ``Failure``
    func check() throws(Failure) {
        let damaged = Failure("the page does not add up: the tables are damaged; run currency-ledger audit")
        for figures in money.values {
            let deferred = figures.deferredByDay
            let end = deferred.last ?? 0
            let sums = figures.days.reduce(into: Money.Day()) { $0.add($1) }
            let added = figures.sold + figures.imported
            guard figures.closing == figures.opening + added - figures.refunded - figures.recognised,
                end == figures.closing, sums.sold == figures.sold, sums.refunded == figures.refunded,
                sums.recognised == figures.recognised, sums.imported == figures.imported,
                daysOfImports.allSatisfy({ deferred[$0] == figures.closings[$0] ?? 0 })
            else { throw damaged }
        }
        for figures in currencies.values {
            guard let day = figures.days.last else { continue }
            guard figures.sum("closing") == day.paid + day.free,
                figures.days.reduce(0, { $0 + $1.spent }) == figures.sum("spent"),
                figures.days.reduce(0, { $0 + $1.issued }) == figures.issued
            else { throw damaged }
        }
    }
}

// MARK: Currencies of the game

extension MonthFigures {
    /// A currency of the game, in units.
    struct Currency {
        struct Day {
            /// Bought, given for free, and brought along from other books.
            var issued: Int128 = 0
            /// The last of these.
            var imported: Int128 = 0
            var spent: Int128 = 0
            /// What players had at its end, less what they owed.
            var paid: Int128 = 0
            var free: Int128 = 0
        }

        /// Rows of `rollforward`, one for paid units and one for free ones.
        var classes: [ReportLine] = []
        /// How many purchases players owed something of at the end.
        var debts = 0
        private(set) var days: [Day]

        init(_ days: Int) { self.days = Array(repeating: Day(), count: days) }

        fileprivate mutating func add(_ line: ReportLine, onDay day: Int) {
            days[day].issued += Currency.issued(line)
            days[day].imported += line.sum("imported")
            days[day].spent += line.sum("spent")
            if line.word("class") == "paid" {
                days[day].paid += line.sum("closing")
            } else {
                days[day].free += line.sum("closing")
            }
        }

        private static func issued(_ line: ReportLine) -> Int128 {
            line.sum("purchased") + line.sum("granted") + line.sum("imported")
        }

        /// Bought, given for free, and brought along from other books.
        var issued: Int128 { classes.reduce(0) { $0 + Currency.issued($1) } }

        /// Of both classes.
        func sum(_ column: String) -> Int128 { classes.reduce(0) { $0 + $1.sum(column) } }

        /// Whether it was ever used.
        var isUsed: Bool {
            classes.contains { $0.values.contains { if case .sum(let sum)? = $0 { sum != 0 } else { false } } }
        }
    }

    /// What a player owes of one purchase.
    struct Debt {
        var account: AccountName
        var currency: String
        var transaction: TransactionID
        var source: String
        var units: Int64
    }
}

// MARK: Money

extension MonthFigures {
    /// A currency that customers paid in, in thousandths.
    struct Money {
        struct Day {
            var sold: Int128 = 0
            var imported: Int128 = 0
            var refunded: Int128 = 0
            /// Less what was given back.
            var recognised: Int128 = 0

            fileprivate mutating func add(_ other: Day) {
                sold += other.sold
                imported += other.imported
                refunded += other.refunded
                recognised += other.recognised
            }
        }

        /// What was sold of a product, or in a storefront, and what became of it and of what was sold before.
        struct Trade {
            var units: Int128 = 0
            var money = Day()
        }

        /// A product or a storefront, and where it was bought.
        struct Place: Hashable {
            var name: String
            /// The name of a ``PurchaseSource``.
            var source: String
        }

        /// Names of the columns of `deferred` that say how long ago it was paid, with what those say here.
        static let ages = [
            ("upTo30Days", "up to 30 days"), ("upTo90Days", "up to 90 days"), ("upTo180Days", "up to 180 days"),
            ("upTo365Days", "up to a year"), ("older", "older"),
        ]

        // As `deferred` has them.
        private(set) var opening: Int128 = 0
        private(set) var sold: Int128 = 0
        private(set) var imported: Int128 = 0
        private(set) var refunded: Int128 = 0
        private(set) var recognised: Int128 = 0
        private(set) var closing: Int128 = 0
        /// Of which something is left.
        private(set) var lots: Int128 = 0
        /// Of ``closing``, as ``ages``.
        private(set) var ageSums = [Int128](repeating: 0, count: Money.ages.count)

        /// How many were bought, as `sales` counts them.
        private(set) var units: Int128 = 0
        /// Of what was sold in the period, what stood refunded at its end.
        private(set) var refundedOfSale: Int128 = 0
        /// As `revenue` has them: what was earned, and what of that or of earlier was given back.
        private(set) var earned: Int128 = 0
        private(set) var reversed: Int128 = 0

        private(set) var days: [Day]
        /// At the ends of the days of which that was asked.
        fileprivate private(set) var closings: [Int: Int128] = [:]
        private(set) var products: [Place: Trade] = [:]
        private(set) var storefronts: [Place: Trade] = [:]
        /// By where it was bought.
        private(set) var sources: [String: Trade] = [:]
        /// What of ``closing`` was bought where.
        private(set) var closingBySource: [String: Int128] = [:]

        fileprivate init(_ days: Int) { self.days = Array(repeating: Day(), count: days) }

        /// What was deferred at the end of each day.
        var deferredByDay: [Int128] {
            var deferred = opening
            return days.map { day in
                deferred += day.sold + day.imported - day.refunded - day.recognised
                return deferred
            }
        }

        fileprivate mutating func addSale(_ line: ReportLine, onDay day: Int) {
            units += line.sum("units")
            refundedOfSale += line.sum("refundedOfSale")
            add(
                Trade(
                    units: line.sum("units"), money: Day(sold: line.sum("sold"), refunded: line.sum("refunded"))),
                line, onDay: day)
        }

        fileprivate mutating func addRevenue(_ line: ReportLine, onDay day: Int) {
            earned += line.sum("recognised")
            reversed += line.sum("reversed")
            add(
                Trade(money: Day(recognised: line.sum("recognised") - line.sum("reversed"))), line, onDay: day)
        }

        private mutating func add(_ trade: Trade, _ line: ReportLine, onDay day: Int) {
            days[day].add(trade.money)
            let source = line.word("source")
            products[Place(name: line.word("product"), source: source), default: Trade()].add(trade)
            storefronts[Place(name: line.word("storefront"), source: source), default: Trade()].add(trade)
            sources[source, default: Trade()].add(trade)
        }

        fileprivate mutating func addDeferred(_ line: ReportLine, onDay day: Int) {
            days[day].imported += line.sum("imported")
            closings[day, default: 0] += line.sum("closing")
        }

        fileprivate mutating func addDeferred(_ line: ReportLine) {
            opening += line.sum("opening")
            sold += line.sum("sold")
            imported += line.sum("imported")
            refunded += line.sum("refunded")
            recognised += line.sum("recognised")
            closing += line.sum("closing")
            closingBySource[line.word("source"), default: 0] += line.sum("closing")
            sources[line.word("source"), default: Trade()].money.imported += line.sum("imported")
            lots += line.sum("lots")
            for (place, age) in Money.ages.enumerated() { ageSums[place] += line.sum(age.0) }
        }
    }

    /// Purchases that no account has claimed.
    struct Unassigned {
        private(set) var purchases = 0
        private(set) var price: Int128 = 0

        fileprivate mutating func add(_ line: ReportLine) {
            purchases += 1
            price += line.sum("price")
        }
    }
}

extension MonthFigures.Money.Trade {
    fileprivate mutating func add(_ other: MonthFigures.Money.Trade) {
        units += other.units
        money.add(other.money)
    }
}

// MARK: The first few

/// The first few of many by their time, of those of one time by their number.
struct Earliest<Item> {
    private let limit: Int
    private var kept: [(time: Timestamp, number: Int64, item: Item)] = []

    init(limit: Int) { self.limit = limit }

    var items: [(time: Timestamp, item: Item)] { kept.map { ($0.time, $0.item) } }

    mutating func add(_ item: Item, at time: Timestamp, number: Int64) {
        if kept.count == limit, let last = kept.last, (last.time, last.number) < (time, number) { return }
        let place = kept.firstIndex { (time, number) < ($0.time, $0.number) } ?? kept.count
        kept.insert((time, number, item), at: place)
        if kept.count > limit { kept.removeLast() }
    }
}
