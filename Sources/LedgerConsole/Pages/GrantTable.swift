import LedgerPages
import LedgerTypes

/// The lots of purchases, each a row: what was bought, where it went and what is left.
struct GrantTable {
    let caption: String
    let layout: ConsoleLayout
    let views: [PurchaseView]

    func write(to page: inout HTML) {
        // Most purchases never have any of these.
        let grants = views.flatMap(\.grants)
        let optional: [(name: String, value: (PurchaseView.Grant) -> Int64)] = [
            ("Set aside", \.held), ("Refunded", \.revoked), ("Owed", \.debt), ("Written off", \.writtenOff),
            ("Paid debts", \.repaid), ("Corrected", \.adjusted),
        ]
        let shown = optional.filter { column in grants.contains { column.value($0) != 0 } }
        FigureTable(
            caption: caption,
            columns: ["Transaction", "Lot", "Product", "Currency", "Bought", "Spent"] + shown.map(\.name) + ["Left"],
            rows: views.flatMap { view in view.grants.map { row(view, $0, shown.map(\.value)) } }
        ).write(to: &page)
    }

    private func row(
        _ view: PurchaseView, _ grant: PurchaseView.Grant, _ values: [(PurchaseView.Grant) -> Int64]
    ) -> FigureTable.Row {
        let figures = [grant.granted, grant.spent] + values.map { $0(grant) } + [grant.remaining]
        let address = layout.address(.purchase(view.transaction, before: nil))
        return FigureTable.Row(
            header: .link(view.transaction.description, to: address),
            cells: [
                .text(grant.lot.map { "\($0)" } ?? "\u{2013}"), .name(view.product), .code(grant.currency.text),
            ] + figures.map { .number(Int128($0), .units) })
    }
}
