import LedgerPages
import LedgerTypes
import LedgerWire

/// What players had on each day of a month, how that came about, and what was sold and refunded.
struct CirculationPage {
    let layout: ConsoleLayout
    /// The current one where it is `nil`.
    let asked: ConsoleMonth?

    /// Currencies of the game, and of money, that are drawn; all are in the tables.
    private static let drawnMax = 6

    private struct Figures {
        var month: ConsoleMonth
        /// The ledger's own time.
        var now: Timestamp
        var days: [String]
        /// What players had at the end of each day, and what they owed, by currency.
        var had: [CurrencyCode: [Int128]] = [:]
        var owed: [CurrencyCode: [Int128]] = [:]
        var rollForward: [ReportLine] = []
        var sales: [ReportLine] = []
        /// Whether all of the month's sales are there.
        var isWhole = true
    }

    func outcome(_ answers: [ConsoleAnswers]) -> ConsoleOutcome {
        let now: Timestamp
        switch answers[0].value(ReportPage.self, at: 1) {
        case .failure(let error): return layout.refused(error)
        case .success(let report): now = report.asOf
        }
        guard let month = asked ?? ConsoleMonth(of: now), month.first <= now else { return .page(notYet) }
        let ends = month.ends(until: now)
        guard answers.count > 1 else {
            let last = ends[ends.count - 1]
            let first = month.first
            let reports =
                [
                    ReportRequest(kind: .rollforward, asOf: last, from: first),
                    ReportRequest(kind: .sales, asOf: last, from: first, limit: ConsoleCall.salesMax),
                ] + ends.map { ReportRequest(kind: .trial, asOf: $0) }
            return .more(reports.map { .ledger(.report($0)) })
        }
        var figures = Figures(month: month, now: now, days: ends.map { UTCText.day(of: $0) })
        do throws(WireError) {
            figures.rollForward = lines([try report(answers[1], at: 0)])
            // The first page of sales came with all else, each further one by itself.
            var sales = [try report(answers[1], at: 1)]
            for further in answers.dropFirst(2) { sales.append(try report(further, at: 0)) }
            let count = sales.reduce(0) { $0 + ($1?.rows.count ?? 0) }
            if let next = sales.last??.next {
                if count < ConsoleCall.salesMax, sales.count < ConsoleCall.salesPagesMax {
                    let request = ReportRequest(
                        kind: .sales, asOf: ends[ends.count - 1], from: month.first,
                        limit: ConsoleCall.salesMax - count, after: next)
                    return .more([.ledger(.report(request))])
                }
                figures.isWhole = false
            }
            figures.sales = lines(sales)
            for place in ends.indices { add(try report(answers[1], at: place + 2), day: place, to: &figures) }
        } catch {
            return layout.refused(error)
        }
        return .page(document(figures))
    }

    /// - Returns: `nil` of a time at which there was no ledger yet.
    private func report(_ answers: ConsoleAnswers, at place: Int) throws(WireError) -> ReportPage? {
        switch answers.value(ReportPage.self, at: place) {
        case .success(let report): return report
        case .failure(let error):
            if error["began"] != nil { return nil }
            throw error
        }
    }

    private func lines(_ reports: [ReportPage?]) -> [ReportLine] {
        var sums = ReportSums()
        for report in reports {
            for case .line(let line) in report?.rows ?? [] { sums.add(line) }
        }
        return sums.rows
    }

    private func add(_ trial: ReportPage?, day: Int, to figures: inout Figures) {
        for case .trial(let currency, let account, let debits, let credits) in trial?.rows ?? [] {
            let nothing = [Int128](repeating: 0, count: figures.days.count)
            switch account {
            case .wallet, .held: figures.had[currency, default: nothing][day] += credits - debits
            case .receivable: figures.owed[currency, default: nothing][day] += debits - credits
            case .purchased, .refunded, .granted, .spent, .expired, .writtenOff, .moved, .adjusted, .imported: break
            }
        }
    }

    // MARK: The page

    private var notYet: ConsoleDocument {
        layout.document("Circulation and refunds", status: 404) { page in
            page.element("p", ["class": "notice", "role": "status"], "This month has not begun.")
            page.element("p") { $0.element("a", ["href": layout.address(.circulation(nil))], "The current month") }
        }
    }

    private func document(_ figures: Figures) -> ConsoleDocument {
        layout.document("Circulation and refunds", of: figures.month.title) { page in
            months(figures, &page)
            circulation(figures, &page)
            sales(figures, &page)
            page.element(
                "p", ["class": "quiet"],
                "The figures are cut by when the ledger posted it. Money is what signed transactions say that "
                    + "customers paid, tax included. The page of a whole month, with what is deferred and recognised: "
                    + "currency-ledger export month.")
        }
    }

    private func months(_ figures: Figures, _ page: inout HTML) {
        page.element("nav", ["class": "paging", "aria-label": "Months"]) { nav in
            if let before = figures.month.before {
                nav.element("a", ["href": layout.address(.circulation(before)), "rel": "prev"], before.title)
                nav.text(" ")
            }
            if let next = figures.month.next, next.first <= figures.now {
                nav.element("a", ["href": layout.address(.circulation(next)), "rel": "next"], next.title)
            }
        }
    }

    private func circulation(_ figures: Figures, _ page: inout HTML) {
        let codes = figures.had.filter { $0.value.contains { $0 != 0 } }.keys.sorted()
        layout.section(&page, id: "circulation", "What players have") { page in
            if codes.isEmpty { return page.element("p", "Nobody had anything in this month.") }
            page.element("div", ["class": "beside"]) { page in
                for (number, code) in codes.prefix(CirculationPage.drawnMax).enumerated() {
                    var series = [DayChart.Series(name: "Players have", values: figures.had[code] ?? [])]
                    if let owed = figures.owed[code], owed.contains(where: { $0 != 0 }) {
                        series.append(DayChart.Series(name: "Players owe", values: owed))
                    }
                    DayChart(
                        title: "\(code), in units, at the end of each day", form: .lines, quantity: .units,
                        days: figures.days, series: series
                    ).write(to: &page, id: "circulation-\(number + 1)")
                }
            }
            rollForward(figures, codes, &page)
            byDay(figures, codes, &page)
        }
    }

    private func rollForward(_ figures: Figures, _ codes: [CurrencyCode], _ page: inout HTML) {
        let columns = [
            ("Opening", "opening"), ("Bought", "purchased"), ("Carried over", "imported"), ("Free", "granted"),
            ("Reinstated", "reinstated"), ("Given back", "reversed"), ("Corrected", "adjusted"), ("Spent", "spent"),
            ("Refunded", "refunded"), ("Written off", "writtenOff"), ("Ran out", "expired"), ("Paid debts", "debtPaid"),
            ("Closing", "closing"),
        ]
        let rows = figures.rollForward.filter { line in columns.contains { line.sum($0.1) != 0 } }
        if rows.isEmpty { return }
        let shown = columns.filter { column in
            ["opening", "closing"].contains(column.1) || rows.contains { $0.sum(column.1) != 0 }
        }
        FigureTable(
            caption: "How it came about, in units", columns: ["Currency", "Class"] + shown.map(\.0),
            rows: rows.map { line in
                FigureTable.Row(
                    header: .code(line.word("currency")),
                    cells: [.text(line.word("class"))] + shown.map { .number(line.sum($0.1), .units) })
            }
        ).write(to: &page)
    }

    private func byDay(_ figures: Figures, _ codes: [CurrencyCode], _ page: inout HTML) {
        page.element("details") { details in
            details.element("summary", "The same by day")
            FigureTable(
                caption: "What players have at the end of each day, in units",
                columns: ["Day"] + codes.map(\.text),
                rows: figures.days.indices.map { day in
                    FigureTable.Row(
                        header: .text(figures.days[day]),
                        cells: codes.map { .number(figures.had[$0]?[day] ?? 0, .units) })
                }
            ).write(to: &details)
        }
    }

    // MARK: Sales

    /// Sold and refunded on each day, of one currency of money.
    private struct Sales {
        var sold: [Int128]
        var refunded: [Int128]
        var units: Int128 = 0
    }

    private func sales(_ figures: Figures, _ page: inout HTML) {
        var money: [String: Sales] = [:]
        let places = Dictionary(uniqueKeysWithValues: zip(figures.days, figures.days.indices))
        for line in figures.sales {
            guard let currency = line.text("priceCurrency"), let day = places[line.word("day")] else { continue }
            let nothing = [Int128](repeating: 0, count: figures.days.count)
            var sales = money[currency] ?? Sales(sold: nothing, refunded: nothing)
            sales.sold[day] += line.sum("sold")
            sales.refunded[day] += line.sum("refunded")
            sales.units += line.sum("units")
            money[currency] = sales
        }
        layout.section(&page, id: "refunds", "What was sold and refunded") { page in
            if !figures.isWhole {
                page.element(
                    "p", ["class": "notice", "role": "status"],
                    "The month has more rows than this page reads. These are not all of its sales; "
                        + "currency-ledger export month writes a page with all of them.")
            }
            if money.isEmpty { return page.element("p", "Nothing was sold or refunded in this month.") }
            // What it cost cannot be compared: most are those of which most was sold.
            let order = money.sorted { ($1.value.units, $0.key) < ($0.value.units, $1.key) }
            page.element("div", ["class": "beside"]) { page in
                for (number, (code, sales)) in order.prefix(CirculationPage.drawnMax).enumerated() {
                    DayChart(
                        title: "\(code) by day", form: .bars, quantity: .money, days: figures.days,
                        series: [
                            DayChart.Series(name: "Sold", values: sales.sold),
                            DayChart.Series(name: "Refunded", values: sales.refunded),
                        ]
                    ).write(to: &page, id: "refunds-\(number + 1)")
                }
            }
            FigureTable(
                caption: "Money, each in its own currency", columns: ["Money", "Sold", "Refunded", "Refunded of sold"],
                rows: money.keys.sorted().compactMap { code in
                    guard let sales = money[code] else { return nil }
                    let (sold, refunded) = (sales.sold.reduce(0, +), sales.refunded.reduce(0, +))
                    let share = sold > 0 ? Int64(clamping: refunded * 1_000 / sold) * 100 : nil
                    return FigureTable.Row(
                        header: .code(code),
                        cells: [
                            .number(sold, .money), .number(refunded, .money),
                            .text(share.map { ConsoleWords.share($0) } ?? "\u{2013}"),
                        ])
                }
            ).write(to: &page)
        }
    }
}
