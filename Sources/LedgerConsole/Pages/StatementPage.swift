import LedgerPages
import LedgerTypes
import LedgerWire

/// A player's entries as a statement of a bank has them, with what they have now and the lots of what they bought.
struct StatementPage {
    let layout: ConsoleLayout

    private struct Facts {
        var account: AccountName
        var finding: Finding
        var balances: [CurrencyBalance]
        var history: HistoryPage
        /// What is open now; `nil` on pages of the past.
        var open: OpenItemsTables?
    }

    func outcome(_ answers: [ConsoleAnswers]) -> ConsoleOutcome {
        guard case .statement(let account, _, let before, _) = layout.call.page else {
            preconditionFailure("a statement is of a player")
        }
        var facts: Facts
        do throws(WireError) {
            facts = Facts(
                account: account, finding: try answers[0].value(Finding.self, at: 1).get(),
                balances: try answers[0].value(AccountBalances.self, at: 2).get().balances,
                history: try answers[0].value(HistoryPage.self, at: 3).get())
            if before == nil {
                facts.open = OpenItemsTables(
                    layout: layout, lots: try answers[0].value(OpenItemsPage<OpenLot>.self, at: 4).get(),
                    holds: try answers[0].value(OpenItemsPage<OpenHoldView>.self, at: 5).get())
            }
        } catch {
            return layout.refused(error)
        }
        // A token that was linked keeps what it had before that under its own name.
        guard case .account = facts.finding else { return .page(unknown(account)) }
        let purchases = self.purchases(of: facts.history)
        if answers.count == 1, !purchases.isEmpty {
            let shown = purchases.prefix(ConsoleCall.purchasesMax)
            return .more(shown.map { .ledger(.purchase(PurchaseQuery(transaction: $0, limit: 1))) })
        }
        let views = answers.dropFirst().first.map { more in
            (0..<more.count).compactMap { try? more.value(PurchaseView.self, at: $0).get() }
        }
        return .page(document(facts, views ?? [], of: purchases.count))
    }

    /// The purchases of a page, each once, the newest first; none where they may not be read.
    private func purchases(of history: HistoryPage) -> [TransactionID] {
        guard layout.visitor.may(Methods.purchase.method) else { return [] }
        var seen: Set<TransactionID> = []
        return history.entries.compactMap(\.transaction).filter { seen.insert($0).inserted }
    }

    private func unknown(_ account: AccountName) -> ConsoleDocument {
        layout.document("No such player", of: account.text, status: 404) { page in
            page.element(
                "p", ["class": "notice", "role": "status"], "The ledger has never seen a player of this name.")
            HomePage.writeNotFound(&page)
        }
    }

    // MARK: The page

    private func document(_ facts: Facts, _ views: [PurchaseView], of purchases: Int) -> ConsoleDocument {
        layout.document("Statement", of: ConsoleWords.name(facts.account)) { page in
            about(facts, &page)
            balances(facts, &page)
            facts.open?.write(to: &page)
            entries(facts, &page)
            if !views.isEmpty { lots(views, of: purchases, &page) }
        }
    }

    private func about(_ facts: Facts, _ page: inout HTML) {
        guard case .account(let found) = facts.finding else { return }
        if found.isLinked {
            page.element("p", ["class": "notice"]) { line in
                line.text("This token is linked to the player ")
                layout.player(found.name, &line)
                line.text(". Below is what it had under its own name; the balances are the player\u{2019}s.")
            }
        }
        page.element("p", ["class": "quiet"]) { line in
            if let info = layout.info {
                line.name(info.ledger.bundleID)
                line.text(", \(info.ledger.environment). ")
            }
            if let consent = found.consent {
                line.text(
                    "On \(ConsoleWords.day(consent.time)) they \(consent.consumption ? "allowed" : "forbade") "
                        + "to tell Apple how much they consumed.")
            } else {
                line.text("They have not said whether Apple may be told how much they consumed.")
            }
        }
    }

    private func balances(_ facts: Facts, _ page: inout HTML) {
        layout.section(&page, id: "balances", "What they have now") { page in
            if facts.balances.isEmpty { return page.element("p", "Nothing was ever posted to them.") }
            FigureTable(
                caption: "Balances, in units",
                columns: ["Currency", "Can be spent", "of it paid", "of it free", "Set aside", "Owed"],
                rows: facts.balances.map { wallet in
                    let balance = wallet.balance
                    let figures = [balance.available, balance.paid, balance.free, balance.held, balance.debt]
                    return FigureTable.Row(
                        header: .code(wallet.currency.text), cells: figures.map { .number(Int128($0), .units) })
                }
            ).write(to: &page)
            for wallet in facts.balances where wallet.balance.debt > 0 {
                page.element("p", ["class": "notice debt"]) { line in
                    line.text("They owe \(ConsoleWords.units(wallet.balance.debt)) ")
                    line.name(wallet.currency.text)
                    line.text(
                        ": a refund took back what was spent already. What they get next pays it, before they can "
                            + "spend again.")
                }
            }
        }
    }

    private func entries(_ facts: Facts, _ page: inout HTML) {
        guard case .statement(let account, let currency, let before, let limit) = layout.call.page else { return }
        layout.section(&page, id: "entries", "Entries") { page in
            if facts.balances.count > 1 { currencies(facts, account, currency, limit, &page) }
            if facts.history.entries.isEmpty {
                page.element("p", before == nil ? "There is no entry." : "There is no earlier entry.")
            } else {
                StatementTable(layout: layout, entries: facts.history.entries).write(to: &page)
            }
            pages(facts, account, currency, before, limit, &page)
            page.element(
                "p", ["class": "quiet"],
                "A request that was refused posts no entry, and the ledger does not keep whose it was. Look for its "
                    + "key: that tells why.")
        }
    }

    private func pages(
        _ facts: Facts, _ account: AccountName, _ currency: CurrencyCode?, _ before: EntryID?, _ limit: Int,
        _ page: inout HTML
    ) {
        var links: [(String, ConsolePage)] = []
        func link(_ text: String, before: EntryID?, limit: Int) {
            links.append((text, .statement(account, currency: currency, before: before, limit: limit)))
        }
        if before != nil { link("Newest entries", before: nil, limit: limit) }
        if let next = facts.history.next {
            link("Earlier entries", before: next, limit: limit)
            if limit < ConsoleCall.entriesMax {
                link("\(ConsoleCall.entriesMax) on one page, to print", before: before, limit: ConsoleCall.entriesMax)
            }
        }
        layout.paging("Pages of the statement", links, &page)
    }

    private func currencies(
        _ facts: Facts, _ account: AccountName, _ chosen: CurrencyCode?, _ limit: Int, _ page: inout HTML
    ) {
        page.element("nav", ["class": "choices", "aria-label": "Currencies"]) { nav in
            for code in [nil] + facts.balances.map({ Optional($0.currency) }) {
                let place = ConsolePage.statement(account, currency: code, before: nil, limit: limit)
                if code == chosen {
                    nav.element("a", ["href": layout.address(place), "aria-current": "true"]) {
                        $0.name(code?.text ?? "All currencies")
                    }
                } else {
                    nav.element("a", ["href": layout.address(place)]) { $0.name(code?.text ?? "All currencies") }
                }
                nav.text(" ")
            }
        }
    }

    private func lots(_ views: [PurchaseView], of purchases: Int, _ page: inout HTML) {
        layout.section(&page, id: "purchases", "What became of these purchases") { page in
            GrantTable(caption: "What became of what was bought, in units", layout: layout, views: views)
                .write(to: &page)
            if views.count < purchases {
                page.element(
                    "p", ["class": "quiet"],
                    "These are the newest \(views.count) of the \(purchases) purchases on this page.")
            }
        }
    }
}
