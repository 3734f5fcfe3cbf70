import LedgerPages
import LedgerTypes
import LedgerWire

/// What a player has open now: what holds have set aside, and of which lots something is left.
struct OpenItemsTables {
    let layout: ConsoleLayout
    let lots: OpenItemsPage<OpenLot>
    let holds: OpenItemsPage<OpenHoldView>

    func write(to page: inout HTML) {
        layout.section(&page, id: "holds", "Open holds") { page in
            if holds.items.isEmpty { return page.element("p", "Nothing is set aside.") }
            FigureTable(
                caption: "Set aside and neither spent nor given back, in units",
                columns: ["Since", "Amount", "Currency", "Until", "Who asked", "Key", "Entry"],
                rows: holds.items.map { row($0) }
            ).write(to: &page)
            note(holds.next, holds.items.count, "holds", &page)
        }
        layout.section(&page, id: "lots", "Open lots") { page in
            if lots.items.isEmpty { return page.element("p", "Nothing is left of any lot.") }
            FigureTable(
                caption: "Lots of which something is left, set aside or owed, in units",
                columns: [
                    "Lot", "Left", "Set aside", "Owed", "Of", "Currency", "Class", "Runs out", "Product", "Transaction",
                    "Since",
                ],
                rows: lots.items.map { row($0) }
            ).write(to: &page)
            note(lots.next, lots.items.count, "lots", &page)
        }
    }

    private func row(_ hold: OpenHoldView) -> FigureTable.Row {
        let place = hold.operation.map { ", operation \($0)" } ?? ""
        return FigureTable.Row(
            header: .text(ConsoleWords.time(hold.time)),
            cells: [
                .number(Int128(hold.amount), .units), .code(hold.currency.text),
                .text(ConsoleWords.time(hold.expiresAt)), .name(hold.actor ?? OpenItemsTables.none),
                .link(hold.key.text + place, to: layout.address(.request(hold.key))), entry(hold.entry),
            ])
    }

    private func row(_ lot: OpenLot) -> FigureTable.Row {
        let figures = [lot.remaining, lot.held, lot.debt, lot.granted]
        return FigureTable.Row(
            header: .text("\(lot.lot)"),
            cells: figures.map { .number(Int128($0), .units) } + [
                .code(lot.currency.text), .text(lot.lotClass.name),
                .text(lot.expiresAt.map { ConsoleWords.time($0) } ?? "never"),
                lot.product.map { .name($0) } ?? .text(OpenItemsTables.none), transaction(lot.transaction),
                .text(ConsoleWords.time(lot.time)),
            ])
    }

    private static let none = "\u{2013}"

    private func entry(_ entry: EntryID) -> FigureTable.Cell {
        layout.visitor.may(Methods.journal.method)
            ? .link("\(entry)", to: layout.address(.entry(entry))) : .text("\(entry)")
    }

    private func transaction(_ transaction: TransactionID?) -> FigureTable.Cell {
        guard let transaction else { return .text(OpenItemsTables.none) }
        let name = transaction.description
        return layout.visitor.may(Methods.purchase.method)
            ? .link(name, to: layout.address(.purchase(transaction, before: nil))) : .text(name)
    }

    private func note(_ next: Int64?, _ count: Int, _ what: String, _ page: inout HTML) {
        if next == nil { return }
        page.element(
            "p", ["class": "quiet"],
            "These are the newest \(count). The method \u{201C}\(what)\u{201D} of the protocol tells the others.")
    }
}
