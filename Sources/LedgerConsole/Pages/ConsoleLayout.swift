import LedgerPages
import LedgerTypes
import LedgerWire

/// What is around each page: who reads it, of which ledger it is, and where else to go.
struct ConsoleLayout {
    let call: ConsoleCall
    let visitor: ConsoleVisitor
    /// `nil` while nobody knows.
    let info: ServerInfo?

    // MARK: Documents

    /// - Parameters:
    ///   - title: in words of this program.
    ///   - subject: what it is of, in whoever's words.
    func document(
        _ title: String, of subject: String? = nil, status: UInt = 200, _ body: (inout HTML) -> Void
    ) -> ConsoleDocument {
        ConsoleLayout.document(title: subject.map { "\(title): \($0)" } ?? title, status: status) { page in
            header(&page)
            page.element("main", ["id": "main", "tabindex": "-1"]) { main in
                main.element("h1") { heading in
                    heading.text(title)
                    if let subject {
                        heading.text(" ")
                        heading.element("small") { $0.name(subject) }
                    }
                }
                if let characters = subject.flatMap({ HTML.characters(of: $0) }) {
                    main.element("p", ["class": "characters"]) { line in
                        line.text("Its characters: ")
                        line.element("code", characters)
                    }
                }
                body(&main)
            }
            footer(&page)
        }
    }

    static func document(
        title: String, status: UInt, _ write: (inout HTML) -> Void
    ) -> ConsoleDocument {
        var page = HTML()
        page.literal("<!DOCTYPE html>\n")
        page.element("html", ["lang": "en"]) { html in
            html.element("head") { head in
                head.empty("meta", ["charset": "utf-8"])
                head.empty("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
                head.empty("meta", ["name": "color-scheme", "content": "light dark"])
                head.empty("meta", ["name": "robots", "content": "noindex"])
                head.element("title") { $0.visible("\(title) \u{2013} Ledger console") }
                head.empty("link", ["rel": "stylesheet", "href": ConsoleAsset.style.path])
                head.empty("link", ["rel": "icon", "type": "image/svg+xml", "href": ConsoleAsset.icon.path])
            }
            html.line()
            html.element("body", ["class": "console"]) { body in
                body.element("a", ["class": "skip", "href": "#main"], "Skip to the content")
                body.line()
                write(&body)
            }
        }
        page.line()
        return ConsoleDocument(status: status, bytes: page.bytes)
    }

    private func header(_ page: inout HTML) {
        page.element("header", ["class": "top"]) { header in
            header.element("div", ["class": "bar-of-page"]) { bar in
                bar.element("a", ["class": "brand", "href": address(.home)]) { brand in
                    brand.element("span", "Ledger console")
                    if let ledger = shown {
                        brand.element("small") { small in
                            small.name(ledger.bundleID)
                            small.text(" \(ledger.environment)")
                            if let name = ledger.name { small.text(" \u{00B7} \(name.text)") }
                        }
                    }
                }
                account(&bar)
            }
            // Which ledger it is of is asked first where nobody has said it.
            if isChosen {
                search(&header)
                navigation(&header)
            }
        }
        page.line()
    }

    /// The ledger that the page is of.
    private var shown: LedgerInfo? {
        isChosen ? info?.ledger : nil
    }

    /// Whether it is said which ledger it is of: by its address, or because the visitor may ask no other.
    var isChosen: Bool { call.ledger != nil || info?.ledgers.count ?? 0 < 2 }

    private func account(_ page: inout HTML) {
        guard visitor.hasSession else { return }
        page.element("form", ["class": "account", "method": "post", "action": "/logout"]) { form in
            form.element("span") { who in
                who.text("Signed in as ")
                who.name(visitor.name ?? "anybody")
            }
            form.text(" ")
            form.element("button", ["type": "submit", "class": "plain"], "Sign out")
        }
    }

    private func search(_ page: inout HTML) {
        page.element("form", ["role": "search", "class": "search", "method": "get", "action": "/find"]) { form in
            form.element("label", ["for": "q"], "Player, token, key or transaction")
            form.element("div", ["class": "field"]) { field in
                var text = ""
                if case .find(let asked) = call.page { text = asked }
                field.empty(
                    "input",
                    [
                        "id": "q", "name": "q", "type": "search", "value": text, "maxlength": "512",
                        "autocomplete": "off", "spellcheck": "false", "autocapitalize": "none",
                    ])
                if let ledger = call.ledger {
                    field.empty("input", ["type": "hidden", "name": "ledger", "value": ledger.text])
                }
                field.element("button", ["type": "submit"], "Find")
            }
        }
    }

    private func navigation(_ page: inout HTML) {
        var places: [(ConsolePage, String, Bool)] = [(.home, "Home", call.page == .home)]
        if visitor.may(Methods.report.method) {
            var isCirculation = false
            var isConsumption = false
            if case .circulation = call.page { isCirculation = true }
            if case .consumption = call.page { isConsumption = true }
            places.append((.circulation(nil), "Circulation and refunds", isCirculation))
            places.append((.consumption(after: nil, asOf: nil), "Apple\u{2019}s questions", isConsumption))
        }
        page.element("nav", ["aria-label": "Pages", "class": "pages"]) { nav in
            nav.element("ul") { list in
                for (place, name, isHere) in places {
                    list.element("li") { item in
                        if isHere {
                            item.element("a", ["href": address(place), "aria-current": "page"], name)
                        } else {
                            item.element("a", ["href": address(place)], name)
                        }
                    }
                }
                if let ledgers = info?.ledgers, ledgers.count > 1 {
                    list.element("li") { $0.element("a", ["href": "/"], "Another ledger") }
                }
            }
        }
    }

    private func footer(_ page: inout HTML) {
        page.element("footer") { footer in
            footer.element("p") { line in
                line.text("Times are in UTC. Nothing on these pages changes the books.")
                if let info { line.text(" currency-ledger \(info.version).") }
            }
        }
        page.line()
    }

    func address(_ page: ConsolePage) -> String { call.to(page).address }

    // MARK: Parts of pages

    func section(_ page: inout HTML, id: String, _ title: String, _ body: (inout HTML) -> Void) {
        page.element("section", ["id": id, "aria-labelledby": "\(id)-name"]) { section in
            section.element("h2", ["id": "\(id)-name"], title)
            body(&section)
        }
        page.line()
    }

    /// Links to other pages of the same list; nothing where there are none.
    func paging(_ name: String, _ links: [(text: String, page: ConsolePage)], _ page: inout HTML) {
        if links.isEmpty { return }
        page.element("nav", ["class": "paging", "aria-label": name]) { nav in
            for link in links {
                nav.element("a", ["href": address(link.page)], link.text)
                nav.text(" ")
            }
        }
    }

    /// A player's name, which leads to their statement where it is not erased.
    func player(_ account: AccountName?, _ page: inout HTML) {
        guard let account else { return page.element("span", ["class": "quiet"], "nobody yet") }
        if account.isErased { return page.element("span", ["class": "quiet"], ConsoleWords.name(account)) }
        let statement = ConsolePage.statement(
            account, currency: nil, before: nil, limit: ConsoleCall.entriesDefault)
        page.element("a", ["href": address(statement)]) { $0.name(account.text) }
    }

    /// The number of an entry, which leads to it where that may be read.
    func entry(_ entry: EntryID, _ page: inout HTML) {
        guard visitor.may(Methods.journal.method) else { return page.text("\(entry)") }
        page.element("a", ["href": address(.entry(entry))], "\(entry)")
    }

    /// A purchase's id, which leads to it where that may be read.
    func purchase(_ transaction: TransactionID, _ page: inout HTML) {
        guard visitor.may(Methods.purchase.method) else { return page.text(transaction.description) }
        page.element("a", ["href": address(.purchase(transaction, before: nil))], transaction.description)
    }

    // MARK: What is not shown

    /// Which of several ledgers.
    func choice() -> ConsoleDocument {
        document("Choose a ledger") { page in
            page.element("ul", ["class": "choice"]) { list in
                for ledger in info?.ledgers ?? [] {
                    list.element("li") { item in
                        let address = ConsoleCall(call.page, ledger: ledger.name).address
                        item.element("a", ["href": address]) { $0.name(ledger.name?.text ?? ledger.bundleID) }
                        item.text(" ")
                        item.element("span", ["class": "quiet"]) { line in
                            line.name(ledger.bundleID)
                            line.text(", \(ledger.environment)")
                        }
                    }
                }
            }
        }
    }

    /// Why a page is not there, in words for people.
    func refused(_ error: WireError) -> ConsoleOutcome {
        let reason = WireReason(rawValue: error.reason)
        if reason == .unauthenticated { return .signedOut }
        let (title, status, words) = ConsoleWords.refusal(reason)
        return .page(
            document(title, status: status) { page in
                page.element("p", ["class": "notice", "role": "status"]) { line in
                    line.text(words)
                    line.text(" ")
                    line.element("span", ["class": "quiet"]) { told in
                        told.text("(")
                        told.name(error.description)
                        told.text(")")
                    }
                }
            })
    }

    /// A page that nobody can have asked for by a link of the console's.
    static func mistaken(_ mistake: ConsoleMistake) -> ConsoleDocument {
        let (title, status): (String, UInt) =
            switch mistake {
            case .noPage: ("There is no such page", 404)
            case .parameter: ("This cannot be shown", 400)
            }
        return document(title: title, status: status) { page in
            page.element("main", ["id": "main"]) { main in
                main.element("h1", title)
                if case .parameter(let name) = mistake {
                    main.element("p", ["class": "notice"]) { line in
                        line.text("The parameter ")
                        line.name(name)
                        line.text(" is missing, or cannot be what it is.")
                    }
                }
                main.element("p") { $0.element("a", ["href": "/"], "To the console") }
            }
        }
    }
}
