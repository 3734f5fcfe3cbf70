import LedgerPages
import LedgerWire

/// Where something is looked for.
struct HomePage {
    let layout: ConsoleLayout

    var document: ConsoleDocument {
        layout.document("What do you look for?") { page in
            page.element("p", "Type what you have in hand into the field above. The ledger can look up:")
            page.element("ul", ["class": "plain-list"]) { list in
                for (what, words) in HomePage.found {
                    list.element("li") { item in
                        item.element("strong", what)
                        item.text(": \(words)")
                    }
                }
            }
            HomePage.writeNotFound(&page)
            if layout.visitor.may(Methods.report.method) {
                layout.section(&page, id: "finance", "For finance") { page in
                    page.element("ul", ["class": "plain-list"]) { list in
                        list.element("li") {
                            $0.element(
                                "a", ["href": layout.address(.circulation(nil))],
                                "What players have, and what was sold and refunded, month by month")
                        }
                        list.element("li") {
                            $0.element(
                                "a", ["href": layout.address(.consumption(after: nil, asOf: nil))],
                                "What Apple asks about refunds and nobody has answered")
                        }
                    }
                }
            }
        }
    }

    private static let found = [
        ("A player", "the name under which your game keeps them"),
        ("An appAccountToken", "a UUID; it leads to the player to whom it is linked"),
        ("The key of a request", "as your game server sent it: what became of it, and why it was refused"),
        (
            "A transaction id",
            "of the App Store. A consumable\u{2019}s original transaction id is the same number. Of another store it "
                + "is the number that this ledger gave the purchase"
        ),
    ]

    /// What nobody can look up here, and where they can.
    static func writeNotFound(_ page: inout HTML) {
        page.element(
            "p", ["class": "quiet"],
            "What it does not know: the order id of an e-mail receipt (as MK4\u{2026}) and the web order line item id. "
                + "Apple\u{2019}s Look Up Order ID, or Get Transaction Info, tells the transaction id of one.")
    }
}
