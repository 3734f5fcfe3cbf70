import LedgerPages
import LedgerTypes
import LedgerWire

/// What somebody holds in their hands is looked for as everything that it can be.
struct FindPage {
    let layout: ConsoleLayout
    let text: String

    /// What is asked, in this order.
    static func queries(_ text: String) -> [LedgerRequest] {
        let short = trimmed(text)
        // A name may begin or end with a space, and more often that was copied with it.
        let names = short == text ? [text] : [text, short]
        return names.compactMap { AccountName($0).map { .find(.account($0)) } }
            + [RequestKey(short).map { .find(.key($0)) }, TransactionID(short).map { .find(.transaction($0)) }]
            .compactMap { $0 }
    }

    /// Without white space of ASCII before and behind it.
    private static func trimmed(_ text: String) -> String {
        let blank: Set<Character> = [" ", "\t", "\r", "\n", "\r\n"]
        return String(text.drop { blank.contains($0) }.reversed().drop { blank.contains($0) }.reversed())
    }

    func outcome(_ answers: ConsoleAnswers) -> ConsoleOutcome {
        var found: [(page: ConsolePage, what: String, name: String)] = []
        for place in FindPage.queries(text).indices {
            switch answers.value(Finding.self, at: place + 1) {
            case .failure(let error): return layout.refused(error)
            case .success(let finding): if let one = self.found(finding) { found.append(one) }
            }
        }
        if found.count == 1 { return .found(layout.address(found[0].page)) }
        return .page(
            layout.document(
                found.isEmpty ? "Nothing found" : "Found", of: FindPage.trimmed(text),
                status: found.isEmpty ? 404 : 200
            ) { page in
                if found.isEmpty {
                    page.element("p", ["class": "notice", "role": "status"], "The ledger knows nothing of this name.")
                    return HomePage.writeNotFound(&page)
                }
                page.element("p", "It is more than one thing:")
                page.element("ul", ["class": "choice"]) { list in
                    for one in found {
                        list.element("li") { item in
                            item.element("a", ["href": layout.address(one.page)]) { link in
                                link.text("\(one.what) ")
                                link.name(one.name)
                            }
                        }
                    }
                }
            })
    }

    /// The page of what was found; `nil` where nothing was.
    private func found(_ finding: Finding) -> (ConsolePage, String, String)? {
        switch finding {
        case .unknown: nil
        case .account(let account):
            (
                .statement(account.name, currency: nil, before: nil, limit: ConsoleCall.entriesDefault), "The player",
                account.name.text
            )
        case .purchase(let purchase):
            // Who may not read purchases may read whose it is.
            if !layout.visitor.may(Methods.purchase.method), let account = purchase.account {
                (
                    .statement(account, currency: nil, before: nil, limit: ConsoleCall.entriesDefault),
                    "The player of the purchase", account.text
                )
            } else {
                (.purchase(purchase.transaction, before: nil), "The purchase", purchase.transaction.description)
            }
        case .request(let request): (.request(request.key), "The request", request.key.text)
        }
    }
}
