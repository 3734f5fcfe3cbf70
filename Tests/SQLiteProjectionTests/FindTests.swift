import Foundation
import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// What a string is and whose, read from the tables.
@Suite struct FindTests {
    /// Tables of a workload, with its keys.
    private static func tables() throws -> (store: Ledger, keys: [RequestKey]) {
        var store = try Ledger(TemporaryFolder())
        var workload = Workload(seed: 21)
        for batch in 1...60 {
            workload.now = Int64(batch) * 10
            _ = try store.decide((0..<8).map { _ in workload.next() }, at: workload.now)
        }
        try store.project()
        return (store, store.books.answers.keys.sorted { $0.text < $1.text })
    }

    /// Each statement that is run names the rows that it wants: nothing is looked for row by row.
    @Test func nothingIsScanned() throws {
        let (store, keys) = try Self.tables()
        let plans = try plans(of: store.folder) { db in
            let kinds = try FindQuery.ofWorkload(keys).map { Self.kind(try Finder(db).find($0)) }
            #expect(Set(kinds) == ["unknown", "account", "purchase", "unassigned", "posted", "refused"])
        }
        for (sql, steps) in plans {
            // Of currencies there are 255 at most.
            for step in steps where !step.contains("currency") {
                #expect(step.hasPrefix("SEARCH"), "\(sql): \(step)")
            }
            if sql.contains("FROM account WHERE name") { #expect(steps[0].contains("account_name"), "\(steps)") }
        }
        let tables = Set(plans.keys.flatMap { $0.matches(of: /(?:FROM|JOIN) (\w+)/).map { String($0.1) } })
        #expect(tables.isSuperset(of: ["account", "request", "purchase", "entry", "transfer"]))
    }

    private static func kind(_ finding: Finding) -> String {
        switch finding {
        case .unknown: "unknown"
        case .account: "account"
        case .purchase(let purchase): purchase.account == nil ? "unassigned" : "purchase"
        case .request(let request): if case .posted = request.answer { "posted" } else { "refused" }
        }
    }

    /// What other hands changed is named, not told.
    @Test(arguments: [
        "UPDATE request SET entry = entry + 1 WHERE key = 'k'", "UPDATE request SET entry = NULL WHERE key = 'k'",
        "UPDATE request SET answer = x'02'", "UPDATE entry SET key = 'other' WHERE id = 2",
        "DELETE FROM entry WHERE id = 2", "DELETE FROM transfer WHERE entry = 2",
        "UPDATE purchase SET entry = 2", "UPDATE purchase SET entry = NULL", "UPDATE purchase SET account = NULL",
        "UPDATE purchase SET account = 99", "UPDATE purchase SET entry = -9223372036854775808",
    ])
    func aRowThatDoesNotFitIsNamed(change: String) throws {
        var store = try Ledger(TemporaryFolder())
        let player = Workload.account(1)
        try store.run(.credit(Workload.purchase(1, signedDate: 1), account: player), at: 1)
        let (key, last) = (RequestKey("k")!, RequestKey("l")!)
        for key in [key, last] {
            let grant = Grant(key: key, account: player, currency: CurrencyCode("gems")!, amount: Amount(1)!)
            try store.run(.grant(grant), at: 2)
        }
        let transaction = FindQuery.transaction(TransactionID(number: 2_000_000_001))
        #expect(try Self.kind(store.projection.find(.key(key))) == "posted")
        #expect(try Self.kind(store.projection.find(transaction)) == "purchase")
        try store.projection.close()
        try store.folder.change(change)
        let tables = try open(store.folder)
        var faults: [StoreError] = []
        for query in [.key(key), transaction] as [FindQuery] {
            do { _ = try tables.find(query) } catch let error as StoreError { faults.append(error) }
        }
        #expect(faults.count == 1 && faults[0].kind == .corrupt, "\(change): \(faults)")
        try tables.close()
    }

    /// The index finds another account than the one of the name.
    @Test func anIndexThatIsNotTheTablesIsNamed() throws {
        var store = try Ledger(TemporaryFolder())
        for number in 1...2 {
            let grant = Grant(
                key: RequestKey("k\(number)")!, account: Workload.account(number), currency: CurrencyCode("gems")!,
                amount: Amount(1)!)
            try store.run(.grant(grant), at: 1)
        }
        try store.projection.close()
        // The row changes its name while the index is out of the schema.
        try store.folder.change(
            """
            PRAGMA writable_schema = ON;
            CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'account_name';
            DELETE FROM sqlite_schema WHERE name = 'account_name';
            """)
        try store.folder.change("UPDATE account SET name = 'somebody' WHERE id = 1")
        try store.folder.change(
            """
            PRAGMA writable_schema = ON;
            INSERT INTO sqlite_schema SELECT * FROM kept;
            DROP TABLE kept;
            """)
        let tables = try open(store.folder)
        let error = #expect(throws: StoreError.self) { try tables.find(.account(Workload.account(1))) }
        #expect(error?.kind == .corrupt)
        #expect(try tables.find(.account(Workload.account(2))) == .account(.init(name: Workload.account(2))))
        try tables.close()
    }
}
