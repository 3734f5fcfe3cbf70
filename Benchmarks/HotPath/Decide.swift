import AppStore
import Ledger

/// Books in memory without a log, whose journal is dropped after as many decisions as there are prepared commands; so
/// keys and purchases of one turn are new again in the next.
private struct Table {
    private let fresh: Books
    private var books: Books
    private let commands: [Command]
    private var turns = 0

    /// Each credit leaves its wallet one open lot more: books are begun anew before wallets hold more than players do.
    private static let turnsMax = 64

    init(_ studio: Studio, wallets: [Command], _ commands: [Command]) throws {
        var books = Books(
            catalog: studio.catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0),
            hash: { SHA256.hash($0, into: $1) })
        for command in wallets {
            guard case .grant = books.decide(command, at: Studio.now) else {
                throw HotPathError("a wallet could not be filled")
            }
        }
        _ = books.takeRows()
        _ = books.takeRecords()
        _ = books.takeClosers()
        fresh = books
        self.books = books
        self.commands = commands
    }

    mutating func run(_ count: Int, isGood: (Outcome) -> Bool) -> Int {
        var good = 0
        var next = 0
        for _ in 0..<count {
            if isGood(books.decide(commands[next], at: Studio.now)) { good += 1 }
            next += 1
            if next == commands.count {
                turn()
                next = 0
            }
        }
        turn()
        return good
    }

    private mutating func turn() {
        _ = books.takeRows()
        _ = books.takeRecords()
        _ = books.takeClosers()
        turns += 1
        guard turns == Table.turnsMax else { return }
        books = fresh
        turns = 0
    }
}

extension Studio {
    fileprivate func grants() throws -> [Command] {
        guard let amount = Amount(1_000_000_000) else { throw HotPathError("the sample amount is none") }
        return try accounts.map { account in
            let grant = Grant(key: try key("grant-\(account)"), account: account, currency: currency, amount: amount)
            return .keyed(.grant(grant))
        }
    }

    fileprivate func key(_ text: String) throws -> RequestKey {
        guard let key = RequestKey(text) else { throw HotPathError("the sample key is none") }
        return key
    }
}

/// Spends of one unit, each from another of a thousand wallets.
final class DecideSpends: HotPathWorkload {
    private var table: Table

    init() throws {
        let studio = try Studio()
        guard let one = Amount(1) else { throw HotPathError("the sample amount is none") }
        let spends = try studio.accounts.enumerated().map { number, account -> Command in
            let spend = Spend(
                key: try studio.key("0198f1d2-7a3b-7000-8000-\(100_000_000_000 + number)"), account: account,
                debits: [CurrencyAmount(currency: studio.currency, amount: one)])
            return Command.keyed(.spend(spend))
        }
        table = try Table(studio, wallets: try studio.grants(), spends)
    }

    func run(_ count: Int) -> Int {
        table.run(count) { outcome in
            if case .spend(let receipt) = outcome { return receipt.drawn.count == 1 && !receipt.replayed }
            return false
        }
    }
}

/// Credits of verified purchases, each to another of a thousand wallets.
final class DecideCredits: HotPathWorkload {
    private var table: Table

    init() throws {
        let studio = try Studio()
        let evidence = try studio.evidence()
        let credits = studio.accounts.enumerated().map { number, account in
            Command.credit(studio.purchase(number, like: evidence), account: account)
        }
        table = try Table(studio, wallets: try studio.grants(), credits)
    }

    func run(_ count: Int) -> Int {
        table.run(count) { outcome in
            if case .purchase(let receipt) = outcome { return receipt.outcome == .credited }
            return false
        }
    }
}
