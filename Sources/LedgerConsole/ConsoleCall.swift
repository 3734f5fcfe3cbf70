package import LedgerTypes
import LedgerWire

/// A page of the console, and what it is of.
package enum ConsolePage: Hashable, Sendable {
    /// Where something is looked for.
    case home
    /// What somebody holds in their hands.
    case find(String)
    /// A player's entries, the newest first.
    case statement(AccountName, currency: CurrencyCode?, before: EntryID?, limit: Int)
    /// Everything that is known of a purchase, with the events before one where that is given.
    case purchase(TransactionID, before: Int64?)
    /// What became of the request with a key.
    case request(RequestKey)
    /// One entry with its transfers.
    case entry(EntryID)
    /// What players have and what was sold in a month; the current one where it is `nil`.
    case circulation(ConsoleMonth?)
    /// What Apple asks and nobody has answered, after a row of a page as of a time.
    case consumption(after: String?, asOf: Timestamp?)
}

/// A page that is asked for, of one of the service's ledgers.
package struct ConsoleCall: Hashable, Sendable {
    package var page: ConsolePage
    /// `nil` where none is chosen.
    package var ledger: LedgerName?

    package init(_ page: ConsolePage, ledger: LedgerName? = nil) {
        self.page = page
        self.ledger = ledger
    }

    /// Entries of a statement that are shown where no number is given; and the most, for paper. Fifty are a few
    /// screens; five hundred are some ten sheets, and a page of them takes less than the 2 MiB that a read may have.
    package static let entriesDefault = 50
    package static let entriesMax = 500
    /// Purchases of a statement's page whose lots are shown: each is a read of its own, in one batch.
    package static let purchasesMax = 25
    /// Lots, and holds, that are open: more than most players ever have, and the page says where there are more.
    static let openItemsMax = Limits.openItemsPageDefault
    /// Events of a purchase, and questions of Apple's, of one page.
    static let eventsMax = 100
    /// Rows of sales of one month: those of a game with a hundred products in thirty storefronts need more, and the
    /// page says so.
    static let salesMax = Limits.reportPageMax
    /// Pages in which these come: a page ends early where the ledger has looked at many rows of others.
    static let salesPagesMax = 64
}

/// Why a page is not shown: what is asked for is no page, or cannot be.
package enum ConsoleMistake: Error, Hashable, Sendable {
    case noPage
    /// The parameter of this name is missing or cannot be.
    case parameter(String)
}

extension ConsoleCall {
    /// Reads what a browser asks for by GET.
    /// - Parameter target: a path, and behind a question mark a query.
    package init(target: String) throws(ConsoleMistake) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = String(parts[0])
        guard let form = ConsoleForm(parts.count == 2 ? String(parts[1]) : "") else {
            throw ConsoleMistake.parameter("query")
        }
        ledger = try form.value("ledger") { LedgerName($0) }
        switch path {
        case "/": page = .home
        case "/find": page = .find(form["q"] ?? "")
        case "/statement":
            page = .statement(
                try form.needed("account") { AccountName($0) },
                currency: try form.value("currency") { CurrencyCode($0) },
                before: try form.value("before") { ConsoleCall.number($0) },
                limit: try form.value("limit") { text in
                    Int(text).flatMap { (1...ConsoleCall.entriesMax).contains($0) ? $0 : nil }
                } ?? ConsoleCall.entriesDefault)
        case "/purchase":
            page = .purchase(
                try form.needed("transactionId") { TransactionID($0) },
                before: try form.value("before") { ConsoleCall.number($0) })
        case "/request": page = .request(try form.needed("key") { RequestKey($0) })
        case "/entry": page = .entry(try form.needed("entry") { ConsoleCall.number($0) })
        case "/circulation": page = .circulation(try form.value("month") { ConsoleMonth($0) })
        case "/consumption":
            page = .consumption(
                after: form["after"], asOf: try form.value("asOf") { ConsoleCall.number($0) })
        default: throw ConsoleMistake.noPage
        }
    }

    /// A number that an entry, an event or a time may have.
    private static func number(_ text: String) -> Int64? {
        Int64(text).flatMap { (1...Limits.amountMax).contains($0) ? $0 : nil }
    }

    /// Where the page is: what ``init(target:)`` reads.
    package var address: String {
        var query: [(String, String?)] = []
        let path: String
        switch page {
        case .home: path = "/"
        case .find(let text):
            path = "/find"
            query = [("q", text)]
        case .statement(let account, let currency, let before, let limit):
            path = "/statement"
            query = [
                ("account", account.text), ("currency", currency?.text), ("before", before.map { "\($0)" }),
                ("limit", limit == ConsoleCall.entriesDefault ? nil : "\(limit)"),
            ]
        case .purchase(let transaction, let before):
            path = "/purchase"
            query = [("transactionId", transaction.description), ("before", before.map { "\($0)" })]
        case .request(let key):
            path = "/request"
            query = [("key", key.text)]
        case .entry(let entry):
            path = "/entry"
            query = [("entry", "\(entry)")]
        case .circulation(let month):
            path = "/circulation"
            query = [("month", month?.text)]
        case .consumption(let after, let asOf):
            path = "/consumption"
            query = [("after", after), ("asOf", asOf.map { "\($0)" })]
        }
        query.append(("ledger", ledger?.text))
        let text = query.compactMap { name, value in value.map { "\(name)=\(ConsoleForm.encoded($0))" } }
        return text.isEmpty ? path : "\(path)?\(text.joined(separator: "&"))"
    }

    /// Another page of the same ledger.
    func to(_ page: ConsolePage) -> ConsoleCall { ConsoleCall(page, ledger: ledger) }
}
