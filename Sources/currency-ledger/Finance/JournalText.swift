import AppStore
import Ledger
import LedgerClient

/// The journal as plain text for hledger, ledger and beancount: a transaction an entry, two postings a transfer.
///
/// Debits are positive, credits negative. Currencies of the game are commodities, and what a transfer moved of the
/// price of its lot is the postings' total cost (`@@`). So, at cost: what `purchased` has is what was sold; with the
/// other sign, wallets and holds have what is deferred, `refunded` what was given back, the rest what is recognised.
struct JournalText {
    private let format: Export.Format
    private var lastEntry: Int64?
    /// Codes whose names beancount was told.
    private var named: Set<String> = []
    /// Of the last entry: the commodities that are new in it, which stand before it, and the entry itself.
    private var commodities = ""
    private var open = ""

    init(_ format: Export.Format) { self.format = format }

    /// What stands before the first entry.
    var header: String {
        switch format {
        case .beancount:
            """
            ; The journal of a currency-ledger. At cost: Equity:Purchased is what was sold.
            plugin "beancount.plugins.auto_accounts"
            option "inferred_tolerance_default" "*:0.0005"

            """
        default: "; The journal of a currency-ledger. At cost: equity:purchased is what was sold.\n"
        }
    }

    /// Takes a row of the report `journal`, which come in their order.
    /// - Returns: the entry before, where the row begins another one: only then it is known to be whole.
    mutating func text(_ line: ReportLine) -> String {
        let entry = line.integer("entry")
        var whole = ""
        if entry != lastEntry {
            whole = end()
            open = "\n" + begin(line)
            lastEntry = entry
        }
        let code = line.word("currency")
        if format == .beancount, named.insert(code).inserted {
            commodities += "\n\(UTCText.day(of: line.integer("time"))) commodity \(JournalText.commodity(code))\n"
            commodities += "  name: \"\(code)\"\n"
        }
        open += postings(line, code)
        return whole
    }

    /// The last entry, behind the last row; nothing where there was none.
    mutating func end() -> String {
        defer { (commodities, open) = ("", "") }
        return commodities + open
    }

    // MARK: Parts

    private func postings(_ line: ReportLine, _ code: String) -> String {
        let account = line.word("account")
        let (debit, credit) = (line.word("debit"), line.word("credit"))
        let amount = line.integer("amount")
        let commodity = commodity(code)
        let currency = line.word("priceCurrency")
        let basis = line.word("basis")

        var left: [Part: Int128] = [:]
        if !currency.isEmpty {
            left = [
                .deferred: line.sum("deferred"), .recognised: line.sum("recognised"),
                .refunded: line.sum("refunded"),
            ]
        }
        var debited: Int128 = 0
        var credited: Int128 = 0
        if let part = Part(debit) {
            debited = max(0, -(left[part] ?? 0))
            left[part, default: 0] += debited
        } else if debit == "purchased" || debit == "imported" || debit == "moved" {
            debited = max(0, left[.deferred] ?? 0)
        }
        if let part = Part(credit) {
            credited = max(0, left[part] ?? 0)
            left[part, default: 0] -= credited
        } else if credit == "moved" {
            credited = max(0, debited)
        }
        if (debited == 0) != (credited == 0) {
            // Units at a cost on one side alone would not balance those without on the other.
            if let part = Part(debit) { left[part, default: 0] -= debited }
            if let part = Part(credit) { left[part, default: 0] += credited }
            (debited, credited) = (0, 0)
        }
        var text = posting(name(debit, account), "\(amount) \(commodity)", cost: debited, currency, basis)
        text += posting(name(credit, account), "-\(amount) \(commodity)", cost: credited, currency, basis)
        // What a refund moved besides: of units that a hold had set aside.
        for part in Part.allCases {
            guard let rest = left[part], rest != 0 else { continue }
            let place = name(part.account, account)
            text += posting(place, "\(decimal(-rest)) \(currency)", cost: 0, currency, basis)
        }
        return text
    }

    private func begin(_ line: ReportLine) -> String {
        let time = line.integer("time")
        // Of an entry that is a purchase's, its lots are so too.
        let ofPurchase = line.word("transactionId").isEmpty ? [] : ["transactionId", "source"]
        let tags =
            [("time", UTCText.time(time))]
            + (ofPurchase + ["key", "note", "actor"]).map { ($0, line.word($0)) }.filter { !$0.1.isEmpty }
        let (day, entry, kind) = (UTCText.day(of: time), line.integer("entry"), line.word("kind"))
        switch format {
        case .beancount:
            return "\(day) * \"\(kind)\" \"entry \(entry)\"\n"
                + tags.map { "  \($0.0.lowercased()): \"\(JournalText.escaped($0.1))\"\n" }.joined()
        default:
            return "\(day) * (\(entry)) \(kind)\n"
                + tags.map { "    ; \($0.0): \(JournalText.escaped($0.1))\n" }.joined()
        }
    }

    /// Where there is money in it, who vouches for that stands beside it.
    private func posting(
        _ account: String, _ amount: String, cost: Int128, _ currency: String, _ basis: String
    ) -> String {
        let text = "    \(account)  \(amount)"
        let isMoney = !currency.isEmpty && amount.hasSuffix(" \(currency)")
        if cost == 0 && !isMoney { return text + "\n" }
        let tag = format == .beancount ? "\n      basis: \"\(basis)\"" : "  ; basis: \(basis)"
        return text + (isMoney ? "" : " @@ \(decimal(cost)) \(currency)") + tag + "\n"
    }

    private func decimal(_ thousandths: Int128) -> String { Money.text(thousandths: thousandths) }

    private func name(_ kind: String, _ account: String) -> String {
        let (root, isPersonal) =
            switch kind {
            case "wallet", "held": ("liabilities", true)
            case "receivable": ("assets", true)
            case "spent": ("income", false)
            default: ("equity", false)
            }
        switch format {
        case .beancount:
            let own = isPersonal ? ":P-" + JournalText.component(account) : ""
            let words = kind.replacing("_", with: "-")
            return "\(root.capitalized):\(words.prefix(1).uppercased())\(words.dropFirst())\(own)"
        default: return "\(root):\(kind)" + (isPersonal ? ":" + JournalText.encoded(account) : "")
        }
    }

    private func commodity(_ code: String) -> String {
        if format == .beancount { return JournalText.commodity(code) }
        // Not to be taken for the money.
        let isMoney = code.utf8.count == 3 && code.utf8.allSatisfy { (0x41...0x5A).contains($0) }
        return isMoney ? "\"\(code) (game)\"" : "\"\(code)\""
    }

    /// The commodity of a currency for beancount, which knows capital letters alone, and at most 24 characters. It
    /// follows from the code, so that it is the same in every export, and no two codes have one:
    ///
    /// - of small letters, digits, `.`, `_` and `-`, the same in capital letters, where that is not like money's;
    /// - else `GAME.` and the code, of whose letters small ones are capital behind an apostrophe;
    /// - where that does not fit, `GAME-` and the first 18 hexadecimal digits of the code's SHA-256.
    static func commodity(_ code: String) -> String {
        let capital = code.uppercased()
        let isOwn = capital.hasPrefix("GAME.") || capital.hasPrefix("GAME-")
        if code == code.lowercased() && code.utf8.count != 3 && !isOwn && isCommodity(capital) { return capital }
        let escaped =
            "GAME." + code.map { $0.isLowercase ? "'\($0.uppercased())" : String($0) }.joined()
        if isCommodity(escaped) { return escaped }
        return "GAME-" + Digest(sha256: SHA256.hash(Array(code.utf8))).hexadecimal.prefix(18).uppercased()
    }

    private static func isCommodity(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Z][A-Z0-9'._-]{0,22}[A-Z0-9]/) != nil
    }

    // MARK: Text

    /// Of a posting's account: bytes other than letters, digits, `.`, `_` and `-` as `%` and two hexadecimal digits.
    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = isAlphanumeric(byte) || "._-".utf8.contains(byte)
            return isPlain ? String(UnicodeScalar(byte)) : "%" + hexadecimal(byte)
        }.joined()
    }

    /// The same for beancount, with `-` in place of `%`.
    private static func component(_ text: String) -> String {
        text.utf8.map { isAlphanumeric($0) ? String(UnicodeScalar($0)) : "-" + hexadecimal($0) }.joined()
    }

    /// Of a tag: nothing that ends the line or a text.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            let isPlain =
                scalar.value >= 0x20 && scalar.value != 0x7F && scalar != "\"" && scalar != "\\" && scalar != "%"
            let isLineEnd = scalar.value == 0x85 || scalar.value == 0x2028 || scalar.value == 0x2029
            return isPlain && !isLineEnd ? String(scalar) : scalar.utf8.map { "%" + hexadecimal($0) }.joined()
        }.joined()
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    /// What a price is divided into.
    private enum Part: CaseIterable {
        case deferred, recognised, refunded

        /// The part of which an account's units are; `nil` of those that are none's.
        init?(_ account: String) {
            switch account {
            case "wallet", "held": self = .deferred
            case "spent", "receivable", "written_off", "adjusted": self = .recognised
            case "refunded": self = .refunded
            default: return nil
            }
        }

        /// The account whose money is corrected.
        var account: String {
            switch self {
            case .deferred: "wallet"
            case .recognised: "spent"
            case .refunded: "refunded"
            }
        }
    }
}
