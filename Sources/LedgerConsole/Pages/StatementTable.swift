import LedgerPages
import LedgerTypes

/// Entries of one player, each a row: when, what, for which product, who asked, what came in or went out, and what the
/// player had after it. On a narrow screen each row is a card, and stays a row to who listens.
struct StatementTable {
    let layout: ConsoleLayout
    let entries: [HistoryEntry]

    private static let columns = ["Date", "What", "Product", "Who asked", "In", "Out", "Balance"]

    func write(to page: inout HTML) {
        page.element("table", ["class": "statement", "role": "table"]) { table in
            table.element("caption", "Entries, the newest first")
            table.element("thead", ["role": "rowgroup"]) { head in
                head.element("tr", ["role": "row"]) { row in
                    for column in StatementTable.columns {
                        let isNumber = ["In", "Out", "Balance"].contains(column)
                        row.element(
                            "th",
                            ["scope": "col", "role": "columnheader", "class": isNumber ? "number" : "text"], column)
                    }
                }
            }
            table.element("tbody", ["role": "rowgroup"]) { body in
                for entry in entries { row(entry, &body) }
            }
        }
        page.line()
    }

    private func row(_ entry: HistoryEntry, _ page: inout HTML) {
        let flows = self.flows(of: entry)
        page.element("tr", ["role": "row", "id": "entry-\(entry.entry)"]) { row in
            row.element("th", ["scope": "row", "role": "rowheader", "class": "when"]) { cell in
                cell.element("time", ["datetime": UTCText.time(entry.time)], ConsoleWords.time(entry.time))
                cell.element("small") { small in
                    small.text("entry ")
                    layout.entry(entry.entry, &small)
                }
            }
            row.element("td", ["role": "cell", "class": "what"]) { what(entry, &$0) }
            row.element("td", ["role": "cell", "class": "product"]) { product(entry, &$0) }
            let who = entry.actor == nil ? "who none" : "who"
            row.element("td", ["role": "cell", "class": who]) { cell in
                StatementTable.label("Who asked", &cell)
                if let actor = entry.actor {
                    cell.name(actor)
                } else {
                    cell.element("span", ["class": "quiet"], "\u{2013}")
                }
            }
            amounts("In", "in", flows, \.paidIn, sign: "+", &row)
            amounts("Out", "out", flows, \.paidOut, sign: "\u{2212}", &row)
            row.element("td", ["role": "cell", "class": "number balance"]) { cell in
                StatementTable.label("Balance", &cell)
                for wallet in entry.balances { balance(wallet, &cell) }
            }
        }
        page.line()
    }

    private func what(_ entry: HistoryEntry, _ page: inout HTML) {
        page.element("span", ["class": "kind \(entry.kind.name)"], ConsoleWords.entry(entry.kind))
        if let note = entry.note { page.element("small") { $0.name(note) } }
        if let key = entry.key {
            page.element("small") { small in
                small.text("key ")
                small.element("a", ["href": layout.address(.request(key))]) { $0.name(key.text) }
            }
        }
        let aside = StatementTable.setAside(by: entry)
        for (currency, amount) in aside where amount != 0 {
            page.element("small") { small in
                small.text(amount > 0 ? "sets aside " : "takes from what is set aside ")
                small.text(ConsoleWords.units(Int64(clamping: amount.magnitude)) + " ")
                small.name(currency.text)
            }
        }
        if entry.transfersMore > 0 {
            page.element(
                "small",
                "The amounts are of its first \(entry.transfers.count) transfers; \(entry.transfersMore) more follow.")
        }
    }

    private func product(_ entry: HistoryEntry, _ page: inout HTML) {
        guard let transaction = entry.transaction else { return }
        if let product = entry.product {
            page.name(product)
            ConsoleWords.write(quantity: entry.quantity, &page)
        }
        if let price = ConsoleWords.money(entry.price, entry.priceCurrency) {
            page.element("small", ["class": "price"], price)
        }
        page.element("small") { small in
            small.text("transaction ")
            layout.purchase(transaction, &small)
        }
    }

    private func amounts(
        _ name: String, _ style: String, _ flows: [Flow], _ amount: KeyPath<Flow, Int128>, sign: String,
        _ page: inout HTML
    ) {
        let shown = flows.filter { $0[keyPath: amount] > 0 }
        page.element("td", ["role": "cell", "class": shown.isEmpty ? "number none" : "number \(style)"]) { cell in
            if shown.isEmpty { return }
            StatementTable.label(name, &cell)
            for flow in shown {
                cell.element("span", ["class": "amount"]) { line in
                    line.text("\(sign)\(Quantity.units.text(flow[keyPath: amount])) ")
                    line.element("span", ["class": "code"]) { $0.name(flow.currency.text) }
                }
            }
        }
    }

    /// What a player has, or owes: never both.
    private func balance(_ wallet: CurrencyBalance, _ page: inout HTML) {
        let balance = wallet.balance
        page.element("span", ["class": balance.debt > 0 ? "amount owes" : "amount"]) { line in
            line.text(ConsoleWords.units(balance.debt > 0 ? -balance.debt : balance.available) + " ")
            line.element("span", ["class": "code"]) { $0.name(wallet.currency.text) }
        }
        if balance.debt > 0 { page.element("small", "owed") }
        if balance.held > 0 { page.element("small", "and \(ConsoleWords.units(balance.held)) set aside") }
    }

    /// The column's name beside a cell of a card; who listens has it from the column.
    private static func label(_ name: String, _ page: inout HTML) {
        page.element("span", ["class": "label", "aria-hidden": "true"], name)
    }

    // MARK: Amounts

    private struct Flow {
        var currency: CurrencyCode
        var change: Int128

        var paidIn: Int128 { max(change, 0) }
        var paidOut: Int128 { max(-change, 0) }
    }

    /// What an entry changed of what a player has, with what is set aside and less what they owe.
    private func flows(of entry: HistoryEntry) -> [Flow] {
        StatementTable.sums(of: entry) { kind in kind.isPersonal }.map { Flow(currency: $0.0, change: $0.1) }
    }

    /// What an entry set aside, or took from that.
    private static func setAside(by entry: HistoryEntry) -> [(CurrencyCode, Int128)] {
        sums(of: entry) { $0 == .held }
    }

    /// What came into accounts less what went out, by currency in the order of the transfers.
    private static func sums(
        of entry: HistoryEntry, in isOne: (AccountKind) -> Bool
    ) -> [(CurrencyCode, Int128)] {
        var sums: [(CurrencyCode, Int128)] = []
        for transfer in entry.transfers {
            let amount = Int128(transfer.amount.units)
            let change = (isOne(transfer.credit) ? amount : 0) - (isOne(transfer.debit) ? amount : 0)
            if let place = sums.firstIndex(where: { $0.0 == transfer.currency }) {
                sums[place].1 += change
            } else {
                sums.append((transfer.currency, change))
            }
        }
        return sums
    }
}
