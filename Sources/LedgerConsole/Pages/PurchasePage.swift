import LedgerPages
import LedgerTypes
import LedgerWire

/// Everything that is known of a purchase: whose it is, where its units went, and its story with who vouches for what.
struct PurchasePage {
    let layout: ConsoleLayout

    func outcome(_ answers: ConsoleAnswers) -> ConsoleOutcome {
        let view: PurchaseView
        switch answers.value(PurchaseView.self, at: 1) {
        case .success(let told): view = told
        case .failure(let error): return layout.refused(error)
        }
        var entry: EntryID?
        if case .success(.purchase(let found)) = answers.value(Finding.self, at: 2) { entry = found.entry?.entry }
        return .page(document(view, creditedBy: entry))
    }

    private func document(_ view: PurchaseView, creditedBy entry: EntryID?) -> ConsoleDocument {
        layout.document("Purchase", of: view.transaction.description) { page in
            facts(view, entry, &page)
            layout.section(&page, id: "lots", "Where its units went") { page in
                GrantTable(caption: "Lots of the purchase, in units", layout: layout, views: [view]).write(to: &page)
                let debts = view.grants.filter { $0.debt > 0 }
                for grant in debts {
                    page.element("p", ["class": "notice debt"]) { line in
                        line.text("The player still owes \(ConsoleWords.units(grant.debt)) ")
                        line.name(grant.currency.text)
                        line.text(" of what was refunded after it was spent.")
                    }
                }
            }
            story(view, &page)
        }
    }

    private func facts(_ view: PurchaseView, _ entry: EntryID?, _ page: inout HTML) {
        page.element("dl", ["class": "facts"]) { list in
            PurchasePage.fact("State", &list) {
                $0.element("strong", ["class": "state \(view.state.rawValue)"], ConsoleWords.state(view.state))
                if view.revoked > 0 { $0.text(" (\(ConsoleWords.share(view.revoked)) of it)") }
            }
            PurchasePage.fact("Player", &list) { layout.player(view.account, &$0) }
            PurchasePage.fact("Product", &list) { fact in
                fact.name(view.product)
                ConsoleWords.write(quantity: view.quantity, &fact)
            }
            PurchasePage.fact("Price", &list) {
                $0.text(ConsoleWords.money(view.price, view.priceCurrency) ?? "not told")
            }
            PurchasePage.fact("Bought", &list) {
                $0.element("time", ["datetime": UTCText.time(view.purchaseDate)], ConsoleWords.time(view.purchaseDate))
            }
            PurchasePage.fact("Consumed", &list) { $0.text(ConsoleWords.share(view.consumption)) }
            PurchasePage.fact("Sold by", &list) { fact in
                fact.text(ConsoleWords.source(view))
                if let external = view.external {
                    fact.text(", ")
                    fact.name(external.source)
                    fact.text(" ")
                    fact.name(external.identifier)
                }
            }
            if let entry { PurchasePage.fact("Credited by entry", &list) { layout.entry(entry, &$0) } }
        }
        page.line()
    }

    static func fact(_ name: String, _ page: inout HTML, _ body: (inout HTML) -> Void) {
        page.element("div") { pair in
            pair.element("dt", name)
            pair.element("dd", [:], body)
        }
    }

    // MARK: The story

    private func story(_ view: PurchaseView, _ page: inout HTML) {
        layout.section(&page, id: "story", "Its story") { page in
            page.element("ol", ["class": "story"]) { list in
                var before: Int64? = view.next == nil ? 0 : nil
                for event in view.events {
                    list.element("li", ["value": "\(event.number)"]) { write(event, of: view, before: before, &$0) }
                    list.line()
                    before = event.revoked ?? before
                }
            }
            pages(of: view, &page)
            page.element(
                "p", ["class": "quiet"],
                "The ledger records only what it has verified: Apple\u{2019}s signature, its chain of certificates up "
                    + "to a configured root, the app and the environment. A message that it did not believe is in no "
                    + "story; the service\u{2019}s log has a line of it.")
        }
    }

    private func pages(of view: PurchaseView, _ page: inout HTML) {
        guard case .purchase(_, let shown) = layout.call.page else { return }
        var links: [(String, ConsolePage)] = []
        if shown != nil { links.append(("Newest events", .purchase(view.transaction, before: nil))) }
        if let next = view.next { links.append(("Earlier events", .purchase(view.transaction, before: next))) }
        layout.paging("Pages of the story", links, &page)
    }

    /// - Parameter before: the share that was revoked before it; `nil` where that is on another page.
    private func write(
        _ event: PurchaseView.Event, of view: PurchaseView, before: Int64?, _ page: inout HTML
    ) {
        page.element("p", ["class": "event"]) { line in
            line.element("strong", PurchasePage.what(event, before: before))
            line.text(" ")
            line.element(
                "time", ["class": "quiet", "datetime": UTCText.time(event.time)],
                "recorded \(ConsoleWords.time(event.time))")
        }
        page.element("p", ["class": "verdict"]) { line in
            let (word, style, words) = PurchasePage.verdict(event, view)
            line.element("span", ["class": "mark \(style)"], word)
            line.text(" \(words)")
            if let signed = event.signedDate { line.text(" Signed \(ConsoleWords.time(signed)).") }
        }
        if let reason = event.reason {
            page.element("p") { line in
                line.text("The customer\u{2019}s reason, as Apple says it: ")
                line.name(reason)
            }
        }
        if let deadline = event.deadline {
            page.element("p", "Apple takes an answer until \(ConsoleWords.time(deadline)).")
        }
        if let end = event.end { page.element("p", PurchasePage.words(end)) }
        if let entry = event.entry {
            page.element("p") { line in
                line.text("Posted entry ")
                layout.entry(entry, &line)
                line.text(".")
            }
        } else if !event.kind.isCall {
            page.element("p", ["class": "quiet"], "It changed no balance.")
        }
        if let body = event.body {
            page.element("details") { details in
                details.element("summary", "What was sent")
                details.element("pre", ["tabindex": "0", "role": "region", "aria-label": "What was sent"]) {
                    $0.name(body)
                }
            }
        }
    }

    private static func what(_ event: PurchaseView.Event, before: Int64?) -> String {
        switch event.kind {
        case .signed, .stated:
            let revoked = event.revoked ?? 0
            if event.number == 1 { return revoked == 0 ? "Bought" : "Bought, and refunded already" }
            guard let before else {
                return revoked == 0 ? "Stands" : "\(ConsoleWords.share(revoked)) of it is refunded"
            }
            if revoked > before { return "Refunded: \(ConsoleWords.share(revoked)) of it" }
            if revoked < before {
                return revoked == 0
                    ? "Refund reversed: it stands again" : "Refund reversed down to \(ConsoleWords.share(revoked))"
            }
            return "Told again, with nothing new"
        case .assigned: return "The player became known"
        case .consumptionRequest: return "Apple asks how much was consumed"
        case .refundDeclined: return "Apple declined a refund"
        case .consumptionSent: return "Apple was told how much was consumed"
        case .finished: return "Apple was told that it is finished"
        case .accountTokenSet: return "Apple was told whose it is"
        }
    }

    private static func verdict(
        _ event: PurchaseView.Event, _ view: PurchaseView
    ) -> (word: String, style: String, words: String) {
        switch event.kind {
        case .signed, .consumptionRequest, .refundDeclined:
            ("\u{2713} Verified", "good", "Signed by Apple, and verified when it was recorded.")
        case .stated:
            (
                "Stated", "plain",
                view.source == .external ? "Another store\u{2019}s: nobody signed it." : "Nobody signed it."
            )
        case .assigned: ("No signature", "plain", "It follows from a request, and from what was verified before.")
        case .consumptionSent, .finished, .accountTokenSet: ("Own", "plain", "This service\u{2019}s own call.")
        }
    }

    private static func words(_ end: AppStoreCallEnd) -> String {
        switch end {
        case .accepted: "Apple took it."
        case .refused(let code): "Apple refused it, with the code \(code)."
        case .expired: "Its time was over before Apple took it."
        }
    }
}
