import Ledger
import LedgerClient
import LedgerPages
import LedgerWire

/// The page of a month that people of finance read: one HTML file that needs nothing else, and does nothing but be
/// read.
struct MonthPage {
    /// So many products and storefronts are named; the others are one row.
    static let topMax = 10
    /// So many currencies of money have a section of their own; all of them are in the table of the money.
    static let moneyMax = 8

    let figures: MonthFigures
    /// Whose books these are.
    let ledger: BlockRows.LedgerRow?
    /// What fixes the period; `nil` where it is open.
    let closing: PeriodClosing?

    var bytes: [UInt8] {
        var page = HTML()
        page.literal("<!DOCTYPE html>\n")
        page.element("html", ["lang": "en"]) { html in
            html.element("head") { head(&$0) }
            html.line()
            html.element("body") { body in
                header(&body)
                body.element("main") { main in
                    overview(&main)
                    for (number, code) in usedCurrencies.enumerated() {
                        currency(code, id: "currency-\(number + 1)", &main)
                    }
                    for (number, code) in drawnMoney.enumerated() { money(code, id: "money-\(number + 1)", &main) }
                    refundsAndDebt(&main)
                    oldest(&main)
                    byDay(&main)
                    notes(&main)
                }
            }
        }
        page.line()
        return page.bytes
    }

    private func head(_ head: inout HTML) {
        head.empty("meta", ["charset": "utf-8"])
        // Nothing is loaded and nothing is run, whatever stands in the page.
        head.empty(
            "meta",
            ["http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"])
        head.empty("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
        head.empty("meta", ["name": "color-scheme", "content": "light dark"])
        head.element("title", "\(figures.period.title): \(owner)")
        head.element("style") { $0.literal(PageStyle.css) }
    }

    private var owner: String { ledger?.bundleID ?? "an empty ledger" }

    private func header(_ page: inout HTML) {
        page.element("header") { header in
            header.element("h1", figures.period.title)
            header.element("p") { line in
                line.text("Currency and money of ")
                line.element("bdi", owner)
                if let environment = ledger?.environment { line.text(" (\(environment))") }
                line.text(", posted from ")
                line.element("span", ["class": "whole"], UTCText.time(figures.period.first))
                line.text(" to ")
                line.element("span", ["class": "whole"], UTCText.time(figures.period.last))
                line.text(".")
            }
            if let closing {
                header.element("p") { line in
                    line.text("Closed for ever through ")
                    line.element("span", ["class": "whole"], UTCText.time(closing.through))
                    line.text(" by block \(closing.block), ")
                    line.element("bdi", closing.hash)
                    line.text(".")
                }
            }
            header.element("nav", ["aria-label": "Sections"]) { nav in
                for (number, code) in usedCurrencies.enumerated() { link(&nav, "currency-\(number + 1)", code) }
                for (number, code) in drawnMoney.enumerated() { link(&nav, "money-\(number + 1)", code) }
                link(&nav, "refunds", "Refunds and debt")
                link(&nav, "oldest", "Oldest lots")
                link(&nav, "days", "By day")
                link(&nav, "notes", "Notes")
            }
        }
        page.line()
    }

    private func link(_ nav: inout HTML, _ id: String, _ text: String) {
        nav.element("a", ["href": "#\(id)"], text)
        nav.text(" ")
    }

    // MARK: What there is

    var usedCurrencies: [String] { figures.currencies.filter { $0.value.isUsed }.keys.sorted() }

    var allMoney: [String] { figures.money.keys.sorted() }

    /// Those in which most was bought; how many that is can be compared, what it cost cannot.
    var drawnMoney: [String] {
        let order = figures.money.sorted { ($1.value.units, $0.key) < ($0.value.units, $1.key) }
        return order.prefix(MonthPage.moneyMax).map(\.key).sorted()
    }

    /// - Parameter kind: what it is that has this title, where that is a name.
    func section(
        _ page: inout HTML, id: String, _ title: String, kind: String? = nil, _ body: (inout HTML) -> Void
    ) {
        page.element("section", ["id": id, "aria-labelledby": "\(id)-name"]) { section in
            section.element("h2", ["id": "\(id)-name"]) { heading in
                heading.text(title)
                if let kind { heading.element("small", " \(kind)") }
            }
            body(&section)
        }
        page.line()
    }

    // MARK: Overview

    private func overview(_ page: inout HTML) {
        section(&page, id: "overview", "In short") { page in
            if usedCurrencies.isEmpty && allMoney.isEmpty { page.element("p", "Nothing was posted up to then.") }
            if !usedCurrencies.isEmpty {
                let rows = usedCurrencies.compactMap { code in
                    figures.currencies[code].map { figures in
                        FigureTable.Row(
                            header: .code(code),
                            cells: [
                                .number(figures.issued, .units),
                                .number(figures.sum("spent"), .units), .number(figures.sum("closing"), .units),
                                .number(figures.sum("debt"), .units),
                            ])
                    }
                }
                FigureTable(
                    caption: "Currencies, in units",
                    columns: ["Currency", "Issued", "Spent", "In circulation at the end", "Owed by players"], rows: rows
                ).write(to: &page)
            }
            if !allMoney.isEmpty {
                // Most ledgers never import anything.
                let hasImports = figures.money.values.contains { $0.imported != 0 }
                let rows = allMoney.compactMap { code in
                    figures.money[code].map { money in
                        FigureTable.Row(
                            header: .code(code),
                            cells: [.number(money.units, .units), .number(money.sold, .money)]
                                + (hasImports ? [.number(money.imported, .money)] : [])
                                + [
                                    .number(money.refunded, .money), .number(money.recognised, .money),
                                    .number(money.closing, .money),
                                ])
                    }
                }
                FigureTable(
                    caption: "Money, each in its own currency",
                    columns: ["Money", "Bought", "Sold"] + (hasImports ? ["Imported"] : [])
                        + ["Refunded", "Recognised", "Deferred at the end"],
                    rows: rows
                ).write(to: &page)
            }
            if allMoney.count > drawnMoney.count {
                page.element(
                    "p",
                    "The \(drawnMoney.count) in which most was bought have sections of their own below; all others are "
                        + "in this table.")
            }
            if figures.boughtWithoutPrice != 0 {
                page.element(
                    "p",
                    "Bought without a price, and so without money: "
                        + "\(Quantity.units.text(figures.boughtWithoutPrice)).")
            }
        }
    }

    // MARK: Notes

    private func notes(_ page: inout HTML) {
        section(&page, id: "notes", "Notes") { page in
            for note in MonthPage.notes { page.element("p", note) }
        }
    }

    private static let notes = [
        "Money of the App Store is what its signed transactions say that customers paid, tax included; of other "
            + "stores what was stated of the purchase; of imported lots what was not earned yet of them by the books "
            + "before. The tables by source, product and storefront keep them apart, all others add them up. It is "
            + "there at once and exact for each purchase, and it is indicative: the source for recognising revenue of "
            + "the App Store is App Store Connect's reports.",
        "What was sold is deferred until its units are spent, which recognises it, or refunded. For each money: "
            + "opening + sold + imported \u{2212} refunded \u{2212} recognised = closing. Closing was counted lot "
            + "by lot, the rest transfer by transfer, and they agree.",
        "Issued is what was bought, what was given for free and what was imported. In circulation is what players "
            + "have, set aside ones included, less what they owe.",
        "Everything is cut by when the ledger posted it, in UTC: what came late is in the period in which it came, "
            + "and a past period never changes.",
        "The same figures as CSV, of the same period: currency-ledger export rollforward, sales, revenue, deferred, "
            + "lots, debts and unassigned.",
    ]
}
