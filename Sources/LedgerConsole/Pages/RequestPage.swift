import LedgerPages
import LedgerTypes
import LedgerWire

/// What became of the request with a key: its entry, or why it was refused.
struct RequestPage {
    let layout: ConsoleLayout
    let key: RequestKey

    func outcome(_ answers: ConsoleAnswers) -> ConsoleOutcome {
        switch answers.value(Finding.self, at: 1) {
        case .failure(let error): return layout.refused(error)
        case .success(.request(let request)): return .page(document(request))
        case .success:
            return .page(
                layout.document("No such request", of: key.text, status: 404) { page in
                    page.element(
                        "p", ["class": "notice", "role": "status"],
                        "The ledger has no answer under this key: the request never came, or its parameters were "
                            + "wrong, or nobody knows its outcome yet.")
                })
        }
    }

    private func document(_ request: Finding.Request) -> ConsoleDocument {
        layout.document("Request", of: key.text) { page in
            switch request.answer {
            case .posted(let entry):
                page.element("p", ["class": "notice good"], "It was carried out.")
                EntryPage.write(entry, layout, &page)
            case .refused(let refusal):
                let error = WireError(refusal)
                page.element("p", ["class": "notice bad"]) { line in
                    line.text("It was refused, and every repetition is answered the same: ")
                    line.element("strong") { $0.name(error.message) }
                }
                page.element("dl", ["class": "facts"]) { list in
                    PurchasePage.fact("Reason", &list) { $0.name(error.reason) }
                    for detail in error.details {
                        PurchasePage.fact(detail.name, &list) { $0.name(detail.value.description) }
                    }
                }
                page.element("p", ["class": "quiet"], "Whose the request was, and who asked, is not kept.")
            case .recorded(let consent):
                page.element(
                    "p", ["class": "notice good"],
                    "It recorded, on \(ConsoleWords.time(consent.time)), that a player "
                        + "\(consent.consumption ? "allowed" : "forbade") to tell Apple how much they consumed.")
            case .usedUp(let count):
                page.element(
                    "p", ["class": "notice good"],
                    "It carried over \(count) purchases of which nothing was left, and posted nothing.")
            }
        }
    }
}

/// One entry with its transfers.
struct EntryPage {
    let layout: ConsoleLayout
    let entry: EntryID

    func outcome(_ answers: ConsoleAnswers) -> ConsoleOutcome {
        switch answers.value(JournalPage.self, at: 1) {
        case .failure(let error): return layout.refused(error)
        case .success(let page):
            guard let found = page.entries.first, found.entry == entry else {
                return .page(
                    layout.document("No such entry", of: "\(entry)", status: 404) { page in
                        page.element(
                            "p", ["class": "notice", "role": "status"], "The journal has no entry of this number.")
                    })
            }
            return .page(layout.document("Entry", of: "\(entry)") { EntryPage.write(found, layout, &$0) })
        }
    }

    static func write(_ entry: JournalEntry, _ layout: ConsoleLayout, _ page: inout HTML) {
        page.element("dl", ["class": "facts"]) { list in
            PurchasePage.fact("What", &list) { $0.text(ConsoleWords.entry(entry.kind)) }
            PurchasePage.fact("Posted", &list) {
                $0.element("time", ["datetime": UTCText.time(entry.time)], ConsoleWords.time(entry.time))
            }
            PurchasePage.fact("Who asked", &list) { fact in
                if let actor = entry.actor {
                    fact.name(actor)
                } else {
                    // The ledger does some things by itself, and knows no name where nobody needs a token.
                    fact.text("nobody by name")
                }
            }
            PurchasePage.fact("Entry", &list) { layout.entry(entry.entry, &$0) }
            if let transaction = entry.transaction {
                PurchasePage.fact("Transaction", &list) { layout.purchase(transaction, &$0) }
            }
            if let key = entry.key {
                PurchasePage.fact("Key", &list) { fact in
                    fact.element("a", ["href": layout.address(.request(key))]) { $0.name(key.text) }
                }
            }
            if let note = entry.note { PurchasePage.fact("Note", &list) { $0.name(note) } }
        }
        page.line()
        FigureTable(
            caption: "Transfers, in units",
            columns: ["Transfer", "Player", "From", "To", "Lot", "Currency", "Amount"],
            rows: entry.transfers.map { line in
                let statement = ConsolePage.statement(
                    line.account, currency: nil, before: nil, limit: ConsoleCall.entriesDefault)
                let player: FigureTable.Cell =
                    line.account.isErased
                    ? .text(ConsoleWords.name(line.account)) : .link(line.account.text, to: layout.address(statement))
                return FigureTable.Row(
                    header: .text("\(line.transfer)"),
                    cells: [
                        player, .text(ConsoleWords.account(line.debit)), .text(ConsoleWords.account(line.credit)),
                        .text("\(line.lot)"), .code(line.currency.text), .number(Int128(line.amount.units), .units),
                    ])
            }
        ).write(to: &page)
        if entry.transfersMore > 0 {
            page.element(
                "p", ["class": "quiet"], "\(ConsoleWords.units(Int64(entry.transfersMore))) more transfers follow.")
        }
    }
}
