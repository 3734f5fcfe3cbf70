import Foundation
import Testing

/// A program of plain-text accounting that reads an exported journal.
enum JournalProgram: String, CaseIterable, CustomTestStringConvertible {
    case hledger, ledger, beancount

    var testDescription: String { rawValue }

    /// In thousandths, by account and commodity; what is zero is left out.
    typealias Balances = [String: [String: Int128]]

    private static func url(_ name: String) -> URL { URL(fileURLWithPath: "/usr/bin/\(name)") }

    /// The commands that ``check(_:)`` and ``balances(_:atCost:)`` run.
    private var commands: [String] { self == .beancount ? ["bean-check", "bean-query"] : [rawValue] }

    private var isInstalled: Bool {
        commands.allSatisfy { FileManager.default.isExecutableFile(atPath: JournalProgram.url($0).path) }
    }

    /// Those that are there, or have to be.
    static let tested = allCases.filter { $0.isInstalled || NeededPrograms.contain($0.rawValue) }
    static let absence: Comment = "none of hledger, ledger and beancount is installed"

    /// Fails where the program does not accept the file.
    func check(_ path: String) throws {
        switch self {
        case .hledger: _ = try run("hledger", ["-f", path, "check", "ordereddates"])
        case .ledger: _ = try run("ledger", ["--args-only", "-f", path, "stats"])
        case .beancount: _ = try run("bean-check", [path])
        }
    }

    /// What each account has of each commodity: units, or what they cost.
    func balances(_ path: String, atCost: Bool) throws -> Balances {
        switch self {
        case .hledger:
            let cost = atCost ? ["-B"] : []
            let text = try run(
                "hledger", ["-f", path, "balance", "--flat", "-N", "-O", "csv", "--layout=bare"] + cost)
            return try balances(
                text.split(whereSeparator: \.isNewline).dropFirst().map { line in
                    // "account","commodity","balance", none of which has a quotation mark in it.
                    let fields = line.split(separator: "\"", omittingEmptySubsequences: false)
                    try #require(fields.count == 7, "\(line)")
                    return (String(fields[1]), String(fields[3]), String(fields[5]))
                })
        case .ledger:
            // Without the prices, before they are added: as many commodities as prices take a time that grows with
            // their square.
            let options = atCost ? ["-B", "--unround"] : ["--amount", "strip(amount)"]
            let total = atCost ? "unround(total)" : "total"
            let text = try run(
                "ledger",
                ["--args-only", "-f", path, "balance", "--flat", "--no-total", "--format", "%(account)|%(\(total))\n"]
                    + options)
            var account = ""
            return try balances(
                text.split(whereSeparator: \.isNewline).map { line in
                    var amount = line
                    if let bar = line.firstIndex(of: "|") {
                        account = String(line[..<bar])
                        amount = line[line.index(after: bar)...]
                    }
                    // The commodity stands behind the number, or in front of it without a space; an account of
                    // nothing has a zero without one.
                    let parts = try #require(amount.wholeMatch(of: /([A-Z]*)(-?[0-9.,]+)(?:\ (.*))?/), "\(line)")
                    let commodity = parts.1.isEmpty ? parts.3 ?? "" : parts.1
                    return (account, String(commodity.filter { $0 != "\"" }), String(parts.2))
                })
        case .beancount:
            // As text it has all of its digits: numbers are rounded to those that most of them have.
            let query =
                atCost
                ? "SELECT account, currency(weight) AS c, str(sum(number(weight))) AS n GROUP BY account, c"
                : "SELECT account, currency AS c, str(sum(number)) AS n GROUP BY account, c"
            let text = try run("bean-query", ["-q", "-f", "csv", path, query])
            return try balances(
                text.split(whereSeparator: \.isNewline).dropFirst().map { line in
                    let fields = line.split(separator: ",", omittingEmptySubsequences: false).map {
                        $0.trimmingCharacters(in: .whitespaces)
                    }
                    try #require(fields.count == 3, "\(line)")
                    // Decimal('1.500')
                    return (fields[0], fields[1], String(fields[2].dropFirst(9).dropLast(2)))
                })
        }
    }

    private func balances(_ lines: [(account: String, commodity: String, number: String)]) throws -> Balances {
        var balances: Balances = [:]
        for line in lines {
            let number = try JournalProgram.thousandths(line.number)
            if number != 0 { balances[line.account, default: [:]][line.commodity, default: 0] += number }
        }
        return balances
    }

    /// A number of three decimals, which may have groups. (beancount divides a total cost by its units, with 28 digits,
    /// and multiplies again.)
    private static func thousandths(_ text: String) throws -> Int128 {
        let exact = try #require(Decimal(string: text.filter { $0 != "," }), "\(text)") * 1_000
        var (rounded, unrounded) = (Decimal(), exact)
        NSDecimalRound(&rounded, &unrounded, 0, .plain)
        try #require(abs(exact - rounded) < Decimal(string: "0.000000001")!, "\(text) has more than three decimals")
        return try #require(Int128("\(rounded)"), "\(text)")
    }

    private func run(_ name: String, _ arguments: [String]) throws -> String {
        let finished = try Command.run(
            JournalProgram.url(name), arguments, environment: ["LC_ALL": "C.UTF-8", "TZ": "UTC"])
        try #require(finished.status == 0, "\(name) does not accept it: \(finished.error.prefix(2_000))")
        return finished.output
    }

    // MARK: Names, as the page Finance says

    /// The account of a kind, a player's where it is one's.
    func account(_ kind: String, of player: String? = nil) -> String {
        let root =
            switch kind {
            case "wallet", "held": "liabilities"
            case "receivable": "assets"
            case "spent": "income"
            default: "equity"
            }
        guard self == .beancount else {
            let plain = CharacterSet(
                charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
            let own = player.flatMap { $0.addingPercentEncoding(withAllowedCharacters: plain) }
            return "\(root):\(kind)" + (own.map { ":\($0)" } ?? "")
        }
        let words = kind.replacingOccurrences(of: "_", with: "-")
        let own = player.map { player in
            ":P-"
                + player.utf8.map { byte in
                    let character = Character(UnicodeScalar(byte))
                    let isPlain = byte < 0x80 && (character.isLetter || character.isNumber)
                    return isPlain ? String(character) : String(format: "-%02X", byte)
                }.joined()
        }
        return "\(root.capitalized):\(words.prefix(1).uppercased())\(words.dropFirst())\(own ?? "")"
    }

    /// How a currency of the game is called.
    func commodity(_ currency: String) -> String {
        let isLikeMoney = currency.count == 3 && currency == currency.uppercased()
        if self != .beancount { return isLikeMoney ? "\(currency) (game)" : currency }
        return isLikeMoney ? "GAME.\(currency)" : currency.uppercased()
    }
}
