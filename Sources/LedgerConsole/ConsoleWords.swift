import LedgerPages
import LedgerTypes
import LedgerWire

/// What the protocol's words mean to people.
enum ConsoleWords {
    /// As `27 Nov 2026, 00:16:58`.
    static func time(_ time: Timestamp) -> String {
        // Counted from the end: a year after 9999 has more digits.
        "\(day(time)), \(UTCText.time(time).suffix(13).prefix(8))"
    }

    /// As `27 Nov 2026`, or `12 Oct 287396`.
    static func day(_ time: Timestamp) -> String {
        let day = UTCText.day(of: time)
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = Int(day.suffix(5).prefix(2)).map { months[$0 - 1] } ?? ""
        var year = day.dropLast(6)
        if year.hasPrefix("+") { year = year.drop { "+0".contains($0) } }
        return "\(day.suffix(2).drop { $0 == "0" }) \(month) \(year)"
    }

    static func units(_ number: Int64) -> String { Quantity.units.text(Int128(number)) }

    /// Money of one purchase.
    static func money(_ thousandths: Int64?, _ currency: String?) -> String? {
        thousandths.map { Quantity.money.text(Int128($0)) + (currency.map { "\u{00A0}\($0)" } ?? "") }
    }

    /// Behind the name of a product, how many of it; nothing where it is one, or nobody says.
    static func write(quantity: Int64?, _ page: inout HTML) {
        if let quantity, quantity != 1 { page.text("\u{00A0}\u{00D7}\u{00A0}\(units(quantity))") }
    }

    /// A share in thousandths of a percent, as `100 %` or `12.5 %`.
    static func share(_ share: Int64) -> String {
        let decimals = String(String(1_000 + share % 1_000).dropFirst()).replacing(/0+$/, with: "")
        return "\(share / 1_000)\(decimals.isEmpty ? "" : ".\(decimals)")\u{00A0}%"
    }

    static func name(_ account: AccountName) -> String {
        account.isErased ? "erased player \(account.text.split(separator: " ").last ?? "")" : account.text
    }

    static func entry(_ kind: EntryKind) -> String {
        switch kind {
        case .credit: "Purchase"
        case .refund: "Refund"
        case .reinstatement: "Refund reversed"
        case .spend: "Spent"
        case .grant: "Given for free"
        case .reversal: "Spend given back"
        case .hold: "Set aside"
        case .capture: "Spent of what was set aside"
        case .release: "No longer set aside"
        case .holdExpiry: "Set aside for too long"
        case .expiry: "Ran out"
        case .atomic: "Several at once"
        case .link: "Token linked"
        case .adjustment: "Corrected by hand"
        case .imported: "Carried over"
        }
    }

    static func account(_ kind: AccountKind) -> String {
        switch kind {
        case .wallet: "wallet"
        case .held: "set aside"
        case .receivable: "owed by the player"
        case .purchased: "bought"
        case .refunded: "refunded"
        case .granted: "given for free"
        case .spent: "spent"
        case .expired: "ran out"
        case .writtenOff: "written off"
        case .moved: "moved by a link"
        case .adjusted: "corrected by hand"
        case .imported: "carried over"
        }
    }

    static func state(_ state: PurchaseView.State) -> String {
        switch state {
        case .standing: "Stands"
        case .partlyRevoked: "Partly refunded"
        case .revoked: "Refunded"
        case .unassigned: "Nobody\u{2019}s yet"
        }
    }

    static func source(_ view: PurchaseView) -> String {
        switch view.source {
        case .appStore: "App Store"
        case .imported: "Carried over from other books"
        case .external: "Another store"
        }
    }

    /// What a page says where the ledger refuses to tell, and the status that it is sent with.
    static func refusal(_ reason: WireReason?) -> (title: String, status: UInt, words: String) {
        switch reason {
        case .forbidden:
            ("Not for this token", 403, "Your token\u{2019}s roles or limits do not allow to read this.")
        case .unknownPurchase: ("No such purchase", 404, "The ledger knows no purchase of this transaction id.")
        case .unknownCurrency: ("No such currency", 404, "The ledger has no currency of this code.")
        case .unknownLedger, .ledgerRequired: ("No such ledger", 404, "The service keeps no ledger of this name.")
        case .invalidParams, .invalidRequest, .batchTooLong, .lineTooLong, .parseError:
            ("This cannot be shown", 400, "The ledger does not take this question.")
        case .overloaded, .shuttingDown, .storageUnavailable, .notLeader, .outcomeUnknown:
            ("Not now", 503, "The service cannot answer now. Load the page again in a moment.")
        case _: ("The ledger refuses", 500, "The ledger does not answer this question.")
        }
    }
}
