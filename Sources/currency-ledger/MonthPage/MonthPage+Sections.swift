import Ledger
import LedgerClient
import LedgerPages
import LedgerWire

/// The sections of a page.
extension MonthPage {
    // MARK: A currency of the game

    func currency(_ code: String, id: String, _ page: inout HTML) {
        guard let currency = figures.currencies[code] else { return }
        let days = figures.period.days.map(\.text)
        section(&page, id: id, code, kind: "currency of the game") { page in
            page.element("div", ["class": "beside"]) { page in
                statement(code, currency).write(to: &page)
                page.element("div") { page in
                    DayChart(
                        title: "\(code) in circulation", form: .lines, quantity: .units, days: days,
                        series: [
                            .init(name: "Paid", values: currency.days.map(\.paid)),
                            .init(name: "Free", values: currency.days.map(\.free)),
                        ]
                    ).write(to: &page, id: "\(id)-circulation")
                    DayChart(
                        title: "\(code) issued against spent", form: .bars, quantity: .units, days: days,
                        series: [
                            .init(name: "Issued", values: currency.days.map(\.issued)),
                            .init(name: "Spent", values: currency.days.map(\.spent)),
                        ]
                    ).write(to: &page, id: "\(id)-issued")
                }
            }
        }
    }

    /// Every column of `rollforward`, paid and free beside each other.
    private func statement(_ code: String, _ currency: MonthFigures.Currency) -> FigureTable {
        let columns = ReportKind.rollforward.columns.filter { $0.type == .units }.map(\.name)
        return FigureTable(
            caption: "\(code), in units", columns: ["Movement", "Paid", "Free", "Together"],
            rows: columns.map { column in
                func sum(_ lotClass: String) -> Int128 {
                    currency.classes.first { $0.word("class") == lotClass }?.sum(column) ?? 0
                }
                return FigureTable.Row(
                    header: .text(MonthPage.sign(column) + MonthPage.words(column)),
                    cells: [
                        .number(sum("paid"), .units), .number(sum("free"), .units),
                        .number(currency.sum(column), .units),
                    ], isSum: column == "closing")
            })
    }

    /// How a column takes part in the sum: opening and what moved are closing, of which the last three are parts.
    private static func sign(_ column: String) -> String {
        switch column {
        case "opening": ""
        case "closing": "= "
        case "available": "of which "
        case "spent", "refunded", "expired", "debt": "\u{2212} "
        default: "+ "
        }
    }

    /// The words of a name as `writtenOff`.
    private static func words(_ name: String) -> String {
        name.replacing(/[A-Z]/) { " \($0.0.lowercased())" }
    }

    // MARK: A currency of money

    func money(_ code: String, id: String, _ page: inout HTML) {
        guard let money = figures.money[code] else { return }
        let days = figures.period.days.map(\.text)
        section(&page, id: id, code, kind: "money") { page in
            page.element("div", ["class": "beside"]) { page in
                statement(code, money).write(to: &page)
                DayChart(
                    title: "\(code) sold and recognised", form: .bars, quantity: .money, days: days,
                    series: [
                        .init(name: "Sold", values: money.days.map(\.sold)),
                        .init(name: "Recognised", values: money.days.map(\.recognised)),
                    ]
                ).write(to: &page, id: "\(id)-sold")
                ages(code, money).write(to: &page)
                DayChart(
                    title: "\(code) deferred", form: .lines, quantity: .money, days: days,
                    series: [.init(name: "Deferred", values: money.deferredByDay)]
                ).write(to: &page, id: "\(id)-deferred")
                let refunded = money.days.map(\.refunded)
                if refunded.contains(where: { $0 != 0 }) {
                    DayChart(
                        title: "\(code) refunded", form: .bars, quantity: .money, days: days,
                        series: [.init(name: "Refunded", values: refunded)]
                    ).write(to: &page, id: "\(id)-refunded")
                }
            }
            sources(code, money).write(to: &page)
            top("\(code) by product", "Product", money.products, &page)
            top("\(code) by storefront", "Storefront", money.storefronts, &page)
        }
    }

    private func statement(_ code: String, _ money: MonthFigures.Money) -> FigureTable {
        let imported = money.imported == 0 ? [] : [("+ imported", money.imported, false)]
        let lines: [(String, Int128, Bool)] =
            [("Deferred at first", money.opening, false), ("+ sold", money.sold, false)] + imported + [
                ("\u{2212} refunded", money.refunded, false), ("\u{2212} recognised", money.recognised, false),
                ("= deferred at the end", money.closing, true), ("Recognised: earned", money.earned, false),
                ("\u{2212} given back", money.reversed, false), ("= recognised", money.recognised, true),
            ]
        return FigureTable(
            caption: "\(code), deferred and recognised", columns: ["Movement", code],
            rows: lines.map { .init(header: .text($0.0), cells: [.number($0.1, .money)], isSum: $0.2) })
    }

    private func ages(_ code: String, _ money: MonthFigures.Money) -> FigureTable {
        let most = money.ageSums.max() ?? 0
        let rows = zip(MonthFigures.Money.ages, money.ageSums).map { age, sum in
            FigureTable.Row(header: .text(age.1), cells: [.measured(sum, .money, most: most)])
        }
        return FigureTable(
            caption: "\(code) deferred at the end, by how long ago it was paid", columns: ["Paid", code], rows: rows)
    }

    /// What was bought where, and brought along.
    private func sources(_ code: String, _ money: MonthFigures.Money) -> FigureTable {
        let names = PurchaseSource.allCases.map(\.name).filter {
            money.sources[$0] != nil || money.closingBySource[$0] != nil
        }
        return FigureTable(
            caption: "\(code) by source",
            columns: ["Source", "Bought", "Sold", "Imported", "Refunded", "Recognised", "Deferred at the end"],
            rows: names.map { name in
                let trade = money.sources[name] ?? MonthFigures.Money.Trade()
                return FigureTable.Row(
                    header: .text(MonthPage.shown(source: name)),
                    cells: [
                        .number(trade.units, .units), .number(trade.money.sold, .money),
                        .number(trade.money.imported, .money), .number(trade.money.refunded, .money),
                        .number(trade.money.recognised, .money),
                        .number(money.closingBySource[name] ?? 0, .money),
                    ])
            })
    }

    /// Words for the name of a source; empty where it is none's.
    private static func shown(source name: String) -> String {
        switch PurchaseSource(name: name) {
        case .appStore: "App Store"
        case .imported: "imported"
        case .external: "other store"
        case nil: ""
        }
    }

    /// Of what most was sold, and the rest in a row.
    private func top(
        _ caption: String, _ column: String, _ trades: [MonthFigures.Money.Place: MonthFigures.Money.Trade],
        _ page: inout HTML
    ) {
        let order = trades.sorted { left, right in
            (right.value.money.sold, left.key.name, left.key.source)
                < (left.value.money.sold, right.key.name, right.key.source)
        }
        if order.isEmpty { return }
        let most = order[0].value.money.sold
        func row(
            _ header: FigureTable.Cell, _ source: String, _ trades: some Collection<MonthFigures.Money.Trade>,
            isSum: Bool = false
        ) -> FigureTable.Row {
            func sum(_ figure: (MonthFigures.Money.Trade) -> Int128) -> Int128 { trades.reduce(0) { $0 + figure($1) } }
            let sold = sum(\.money.sold)
            return FigureTable.Row(
                header: header,
                cells: [
                    .text(source), .number(sum(\.units), .units),
                    isSum ? .number(sold, .money) : .measured(sold, .money, most: most),
                    .number(sum(\.money.refunded), .money), .number(sum(\.money.recognised), .money),
                ], isSum: isSum)
        }
        var rows = order.prefix(MonthPage.topMax).map { place, trade in
            row(.name(place.name.isEmpty ? "none" : place.name), MonthPage.shown(source: place.source), [trade])
        }
        let others = order.dropFirst(MonthPage.topMax).map(\.value)
        if !others.isEmpty { rows.append(row(.text("\(others.count) others"), "", others)) }
        rows.append(row(.text("All"), "", order.map(\.value), isSum: true))
        FigureTable(
            caption: caption, columns: [column, "Source", "Bought", "Sold", "Refunded", "Recognised"], rows: rows
        ).write(to: &page)
    }

    // MARK: Refunds and debt

    func refundsAndDebt(_ page: inout HTML) {
        section(&page, id: "refunds", "Refunds and debt") { page in
            if !allMoney.isEmpty {
                let rows = allMoney.compactMap { code in
                    figures.money[code].map { money in
                        FigureTable.Row(
                            header: .code(code),
                            cells: [
                                .number(money.refunded, .money), .number(money.refundedOfSale, .money),
                                .number(money.reversed, .money),
                            ])
                    }
                }
                FigureTable(
                    caption: "Refunds",
                    columns: ["Money", "Refunded", "Of what was sold in the period", "Recognised before, given back"],
                    rows: rows
                ).write(to: &page)
            }
            let owing = usedCurrencies.filter { figures.currencies[$0].map { $0.debts > 0 } ?? false }
            if owing.isEmpty {
                page.element("p", "No player owes anything.")
            } else {
                let rows = owing.compactMap { code in
                    figures.currencies[code].map {
                        FigureTable.Row(
                            header: .code(code),
                            cells: [.number(Int128($0.debts), .units), .number($0.sum("debt"), .units)])
                    }
                }
                FigureTable(
                    caption: "What players owe at the end", columns: ["Currency", "Purchases", "Units"], rows: rows
                ).write(to: &page)
                let debts = figures.oldestDebts.items.map { since, debt in
                    FigureTable.Row(
                        header: .text(UTCText.day(of: since)),
                        cells: [
                            .name(debt.account.shown), .text(debt.transaction.description),
                            .text(MonthPage.shown(source: debt.source)), .code(debt.currency),
                            .number(Int128(debt.units), .units),
                        ])
                }
                FigureTable(
                    caption: "The oldest debts",
                    columns: ["Since", "Player", "Transaction", "Source", "Currency", "Owed"], rows: debts
                ).write(to: &page)
            }
            if !figures.unassigned.isEmpty {
                let rows = figures.unassigned.sorted { $0.key < $1.key }.map { code, unassigned in
                    FigureTable.Row(
                        header: code.isEmpty ? .text("without a price") : .code(code),
                        cells: [.number(Int128(unassigned.purchases), .units), .number(unassigned.price, .money)])
                }
                FigureTable(
                    caption: "Purchases that no account has claimed: in no other figure here",
                    columns: ["Money", "Purchases", "Price"], rows: rows
                ).write(to: &page)
            }
        }
    }

    // MARK: Lots

    func oldest(_ page: inout HTML) {
        section(&page, id: "oldest", "The oldest unspent lots") { page in
            let lots = figures.oldestLots.items
            if lots.isEmpty { page.element("p", "No paid lot is left.") }
            if lots.isEmpty { return }
            let rows = lots.map { time, lot in
                FigureTable.Row(
                    header: .text(UTCText.day(of: time)),
                    cells: [
                        .number(Int128((figures.period.last - time) / 86_400_000), .units),
                        .name(AccountName(stored: lot.word("account")).shown), .name(lot.word("product")),
                        .text(MonthPage.shown(source: lot.word("source"))),
                        .number(Int128(lot.integer("left")), .units),
                        .number(Int128(lot.integer("granted")), .units), .code(lot.word("currency")),
                        .number(lot.sum("deferred"), .money), .code(lot.word("priceCurrency")),
                    ])
            }
            FigureTable(
                caption: "The oldest paid lots of which something is left",
                columns: [
                    "Bought", "Days ago", "Player", "Product", "Source", "Left", "Granted", "Currency", "Deferred",
                    "Money",
                ], rows: rows
            ).write(to: &page)
        }
    }

    // MARK: Days

    func byDay(_ page: inout HTML) {
        let days = figures.period.days.map(\.text)
        section(&page, id: "days", "Day by day") { page in
            for code in usedCurrencies {
                guard let currency = figures.currencies[code] else { continue }
                let rows = zip(days, currency.days).map { day, figures in
                    FigureTable.Row(
                        header: .text(day),
                        cells: [figures.issued, figures.spent, figures.paid, figures.free].map { .number($0, .units) })
                }
                FigureTable(
                    caption: "\(code) by day, in units", columns: ["Day", "Issued", "Spent", "Paid", "Free"], rows: rows
                ).write(to: &page)
            }
            for code in drawnMoney {
                guard let money = figures.money[code] else { continue }
                let rows = zip(zip(days, money.days), money.deferredByDay).map { day, deferred in
                    let (text, figures) = day
                    return FigureTable.Row(
                        header: .text(text),
                        cells: [
                            figures.sold, figures.imported, figures.refunded, figures.recognised, deferred,
                        ].map { .number($0, .money) })
                }
                FigureTable(
                    caption: "\(code) by day",
                    columns: ["Day", "Sold", "Imported", "Refunded", "Recognised", "Deferred"], rows: rows
                ).write(to: &page)
            }
        }
    }
}
