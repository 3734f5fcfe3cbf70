import ArgumentParser
import Foundation
import LedgerClient
import LedgerWire

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Carries over what players have left by the books of another system.",
        discussion: """
            The file is CSV with a header: account, currency, class (paid or free), amount; and of what was bought \
            also product, price (what is not earned yet of what was paid for the lot, as 4.99), priceCurrency, \
            purchaseDate and transactionId (the App Store's). Lines of one transactionId are one purchase. A purchase \
            of which nothing is left has the amount 0: it is known from then on, and gives nothing.

            All of it is checked first: every line that is wrong is named, and then nothing is done. An account's lots \
            are posted together or not at all. Run it again after whatever broke it off: what was posted is not posted \
            again. Each account is imported once; for more of the same account, call that import by another --name.

            Needs a token with the role admin in LEDGER_TOKEN.

            currency-ledger import players.csv --dry-run
            """)

    @Argument(help: "The file to read.", completion: .file())
    var file: String

    @Flag(help: "Check all of it, and say what would be done.")
    var dryRun = false

    @Option(help: "What this import is called: each account is imported once under each name.")
    var name = ""

    @OptionGroup var server: ServerOptions

    /// The largest file: some ten million lots.
    private static let fileBytesMax = 2 << 30
    /// Requests that wait for their answers at one time.
    private static let inFlightMax = 64

    func run() async throws {
        let file = ImportFile(try File.read(self.file, bytesMax: Import.fileBytesMax), name: name, now: Clock.now())
        var faults = file.faults
        try await server.withClient { client in
            let currencies = Set(try await client.info().ledger.currencies)
            for part in file.parts {
                for (lot, line) in zip(part.carried.lots, part.lotLines) where !currencies.contains(lot.currency) {
                    faults.append(ImportFile.Fault(line: line, words: "the ledger has no currency \(lot.currency)"))
                }
            }
            let found = try await Import.inParallel(file.parts) { try await Import.look(for: $0, client) }
            faults += found.flatMap(\.faults)
            let left = zip(file.parts, found).filter { !$0.1.isDone }.map(\.0)
            faults += try await Import.whatDoesNotFit(left, client)
            if !faults.isEmpty { throw refusal(faults.sorted()) }
            let before = file.parts.count - left.count
            if !dryRun { try await post(left, client) }
            summarise(file.parts, left, before: before)
        }
    }

    private func refusal(_ faults: [ImportFile.Fault]) -> Failure {
        for fault in faults { Console.error("line \(fault.line): \(fault.words)") }
        let count = Set(faults.map(\.line)).count
        return Failure("\(file) has \(count) wrong line\(count == 1 ? "" : "s"), and nothing was imported")
    }

    /// What the ledger knows of a part.
    private struct Found {
        /// Whether it was imported before.
        var isDone: Bool
        var faults: [ImportFile.Fault] = []
    }

    private static func look(for part: ImportFile.Part, _ client: LedgerClient) async throws -> Found {
        if case .request = try await client.find(.key(part.carried.key)) {
            var found = Found(isDone: true)
            do {
                // It is answered as it was, and nothing is posted.
                _ = try await client.importLots(part.carried)
            } catch let error as WireError where error.reason == WireReason.keyReused.rawValue {
                let words =
                    "account \(part.carried.account) was imported before, and not the same of it; if this is to be "
                    + "added, give it another --name"
                found.faults.append(ImportFile.Fault(line: part.firstLine, words: words))
            }
            return found
        }
        var found = Found(isDone: false)
        for (transaction, line) in part.purchases {
            guard case .purchase = try await client.find(.transaction(transaction)) else { continue }
            found.faults.append(
                ImportFile.Fault(line: line, words: "the ledger has transaction \(transaction) already"))
        }
        return found
    }

    /// The lines by which a wallet would hold more than a wallet can.
    private static func whatDoesNotFit(
        _ parts: [ImportFile.Part], _ client: LedgerClient
    ) async throws -> [ImportFile.Fault] {
        let accounts = Dictionary(grouping: parts) { $0.carried.account }
        return try await inParallel(Array(accounts)) { account, parts in
            let balances = try await client.balance(account).balances
            var sums = Dictionary(
                balances.map { ($0.currency, Int128($0.balance.available) + Int128($0.balance.held)) },
                uniquingKeysWith: { first, _ in first })
            var faults: [ImportFile.Fault] = []
            for (lot, line) in parts.flatMap({ zip($0.carried.lots, $0.lotLines) }) {
                let sum = sums[lot.currency, default: 0] + Int128(lot.amount.units)
                sums[lot.currency] = sum
                if sum <= Int128(Limits.amountMax) { continue }
                let words = "account \(account) would have \(sum) \(lot.currency), and at most 2^53 - 1 can be"
                faults.append(ImportFile.Fault(line: line, words: words))
            }
            return faults
        }.flatMap { $0 }
    }

    private func post(_ parts: [ImportFile.Part], _ client: LedgerClient) async throws {
        let progress = ProgressBar("importing, requests")
        defer { progress.end() }
        var done = 0
        for start in stride(from: 0, to: parts.count, by: Import.inFlightMax) {
            let some = Array(parts[start..<min(start + Import.inFlightMax, parts.count)])
            _ = try await Import.inParallel(some) { part in
                do {
                    return try await client.importLots(part.carried)
                } catch let error as WireError {
                    throw Failure(
                        """
                        account \(part.carried.account), line \(part.firstLine): \(error); run it again when the \
                        reason is gone
                        """)
                }
            }
            done += some.count
            progress.show(Int64(done), of: Int64(parts.count))
        }
    }

    /// The results in the order of the items, of which a bounded number is worked on at one time.
    private static func inParallel<Item: Sendable, Result: Sendable>(
        _ items: [Item], _ body: @escaping @Sendable (Item) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var results = [Result?](repeating: nil, count: items.count)
            for (index, item) in items.enumerated() {
                if index >= inFlightMax, let (place, result) = try await group.next() { results[place] = result }
                group.addTask { (index, try await body(item)) }
            }
            while let (place, result) = try await group.next() { results[place] = result }
            return results.compactMap { $0 }
        }
    }

    private func summarise(_ parts: [ImportFile.Part], _ left: [ImportFile.Part], before: Int) {
        var units: [String: Int128] = [:]
        var money: [String: Int128] = [:]
        var purchases = 0
        var gifts = 0
        var usedUp = 0
        for part in left {
            usedUp += part.carried.usedUp.count
            purchases += part.carried.purchases.count
            gifts += part.carried.gifts.count
            let free = Set(
                part.carried.purchases.filter { $0.allSatisfy { $0.purchase?.price == 0 } }
                    .compactMap { $0[0].purchase?.transaction })
            for lot in part.carried.lots {
                let isFree = lot.purchase.map { free.contains($0.transaction) } ?? true
                units["\(lot.currency) \(isFree ? "free" : "paid")", default: 0] += Int128(lot.amount.units)
                if let purchase = lot.purchase, purchase.price > 0 {
                    money[purchase.priceCurrency, default: 0] += Int128(purchase.price)
                }
            }
        }
        let accounts = Set(left.map(\.carried.account)).count
        Console.print(
            "\(dryRun ? "would import" : "imported") \(accounts) accounts: \(purchases) purchases, \(gifts) gifts"
                + (usedUp > 0 ? ", \(usedUp) purchases that are used up" : ""))
        for (name, sum) in units.sorted(by: { $0.key < $1.key }) { Console.print("\(name) \(sum)") }
        for (currency, sum) in money.sorted(by: { $0.key < $1.key }) {
            Console.print("\(currency) \(Money.text(thousandths: sum))")
        }
        if before > 0 { Console.print("imported before: \(before) of \(parts.count) requests") }
    }
}
