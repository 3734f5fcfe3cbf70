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
            purchaseDate and transactionId (the App Store's). Lines of one transactionId are one purchase.

            All of it is checked first: every line that is wrong is named, and then nothing is done. An account's lots \
            are posted together or not at all. Run it again after whatever broke it off: what was posted is not posted \
            again.

            Needs a token with the role admin in LEDGER_TOKEN.

            currency-ledger import players.csv --dry-run
            """)

    @Argument(help: "The file to read.", completion: .file())
    var file: String

    @Flag(help: "Check all of it, and say what would be done.")
    var dryRun = false

    @OptionGroup var server: ServerOptions

    /// The largest file: some ten million lots.
    private static let fileBytesMax = 2 << 30
    /// Requests that wait for their answers at one time.
    private static let inFlightMax = 64

    func run() async throws {
        let file = ImportFile(try File.read(self.file, bytesMax: Import.fileBytesMax), now: Clock.now())
        var faults = file.faults
        try await server.withClient { client in
            let currencies = Set(try await client.info().ledger.currencies)
            for part in file.parts {
                for (lot, line) in zip(part.carried.lots, part.lines) where !currencies.contains(lot.currency) {
                    faults.append(ImportFile.Fault(line: line, words: "the ledger has no currency \(lot.currency)"))
                }
            }
            let found = try await Import.inParallel(file.parts) { try await Import.look(for: $0, client) }
            faults += found.flatMap(\.faults)
            if !faults.isEmpty { throw refusal(faults.sorted()) }
            let left = zip(file.parts, found).filter { !$0.1.isDone }.map(\.0)
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
        if case .request = try await client.find(.key(part.carried.key)) { return Found(isDone: true) }
        var found = Found(isDone: false)
        var known: [TransactionID: Bool] = [:]
        for (lot, line) in zip(part.carried.lots, part.lines) {
            guard let transaction = lot.purchase?.transaction else { continue }
            var isKnown = known[transaction]
            if isKnown == nil {
                if case .purchase = try await client.find(.transaction(transaction)) {
                    isKnown = true
                } else {
                    isKnown = false
                }
                known[transaction] = isKnown
            }
            if isKnown == true {
                found.faults.append(
                    ImportFile.Fault(line: line, words: "the ledger has transaction \(transaction) already"))
            }
        }
        return found
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
                        account \(part.carried.account), line \(part.lines[0]): \(error); run it again when the \
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
        for part in left {
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
            "\(dryRun ? "would import" : "imported") \(accounts) accounts: \(purchases) purchases, \(gifts) gifts")
        for (name, sum) in units.sorted(by: { $0.key < $1.key }) { Console.print("\(name) \(sum)") }
        for (currency, sum) in money.sorted(by: { $0.key < $1.key }) {
            Console.print("\(currency) \(Money.text(thousandths: sum))")
        }
        if before > 0 { Console.print("imported before: \(before) of \(parts.count) requests") }
    }
}
