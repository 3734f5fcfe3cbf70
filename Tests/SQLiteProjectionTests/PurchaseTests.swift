import GRDB
import GRDBSQLite
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// One purchase that Apple signs, or tells of, again and again.
@Suite struct PurchaseTests {
    private static let player = Workload.account(1)
    private static let transaction = Workload.transaction(1)

    /// A JWS of the purchase, newer than all before it; every second of them comes with a notification that tells
    /// something of its own. So each such pair makes three events.
    private static func events(_ dates: ClosedRange<Timestamp>) -> [Command] {
        dates.map { date in
            let signed = Workload.purchase(1, signedDate: date)
            if date % 2 == 1 { return .credit(signed, account: player) }
            return .notify(
                SignedNotification(
                    uuid: "uuid-\(date)", type: date % 4 == 0 ? "CONSUMPTION_REQUEST" : "REFUND_DECLINED",
                    subtype: nil, signedDate: date, reason: date % 4 == 0 ? "OTHER" : nil, evidence: signed.evidence,
                    purchase: signed), account: nil)
        }
    }

    /// A purchase that found its account late, and was then signed so often.
    private static func tables(_ signatures: Int64) throws -> Ledger {
        var store = try Ledger(TemporaryFolder())
        let first = Workload.purchase(1, signedDate: 1)
        let told = SignedNotification(
            uuid: "first", type: "ONE_TIME_CHARGE", subtype: nil, signedDate: 1, evidence: first.evidence,
            purchase: first)
        try store.run(.notify(told, account: nil), at: 1)
        try store.run(.credit(first, account: player), at: 2)
        try store.run(.credit(Workload.purchase(1, signedDate: 2, revoked: 50_000), account: player), at: 3)
        for begin in stride(from: 3, through: signatures, by: 500) {
            try store.run(events(begin...min(begin + 499, signatures)), at: 10 + begin)
        }
        return store
    }

    /// The books count such a purchase as one.
    @Test func howManyOfAnImportedPurchaseThereWereIsNotSaid() throws {
        var store = try Ledger(TemporaryFolder())
        let imported = ImportedPurchase(
            transaction: Self.transaction, product: "gems500", price: 990, priceCurrency: "USD", purchaseDate: 5)
        let amount = try #require(Amount(40))
        let lot = ImportedLot(currency: try #require(CurrencyCode("gems")), amount: amount, purchase: imported)
        let key = try #require(RequestKey("import"))
        try store.run(.importLots(LotImport(key: key, account: Self.player, lots: [lot])), at: 10)
        // Of an odd number there are two.
        try store.run(.credit(Workload.purchase(3, signedDate: 1), account: Self.player), at: 11)
        let history = try store.projection.history(HistoryQuery(account: Self.player)).entries
        #expect(history.map(\.kind) == [.credit, .imported] && history.map(\.quantity) == [2, nil])
        #expect(history.map(\.product) == ["bundle", "gems500"])
        #expect(try Self.view(store).quantity == nil)
        let bought = PurchaseQuery(transaction: Workload.transaction(3), limit: 1)
        #expect(try store.projection.purchase(bought).quantity == 2)
    }

    private static func view(
        _ store: Ledger, limit: Int = Limits.purchasePageMax, before: Int64? = nil
    ) throws -> PurchaseView {
        try store.projection.purchase(PurchaseQuery(transaction: transaction, limit: limit, before: before))
    }

    /// All events, read from the newest page on; between the pages `meanwhile` is called.
    private static func paged(
        _ store: inout Ledger, limit: Int, _ meanwhile: (inout Ledger) throws -> Void = { _ in }
    ) throws -> [PurchaseView.Event] {
        var events: [PurchaseView.Event] = []
        var before: Int64?
        repeat {
            let page = try view(store, limit: limit, before: before)
            #expect(page.events.count == limit || page.next == nil)
            events = page.events + events
            before = page.next
            try meanwhile(&store)
        } while before != nil
        return events
    }

    // MARK: Costs

    /// How many instructions SQLite's machine runs while `body` does.
    private static func steps(_ db: Database, _ body: () throws -> Void) rethrows -> Int {
        let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        count.initialize(to: 0)
        defer { count.deallocate() }
        sqlite3_progress_handler(
            db.sqliteConnection, 1,
            { count in
                count?.assumingMemoryBound(to: Int.self).pointee += 1
                return 0
            }, count)
        defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
        try body()
        return count.pointee
    }

    /// What one command loads of a ledger that knows nothing but its tables.
    private static func costs(_ signatures: Int64) throws -> [String: Int] {
        let store = try tables(signatures)
        let state = try store.projection.state()
        let next = signatures + 1
        let commands: [String: Command] = [
            "credit": .credit(Workload.purchase(1, signedDate: next), account: player),
            "refund": .credit(Workload.purchase(1, signedDate: next, revoked: 100_000), account: player),
            "notify": events(next + 1...next + 1)[0],
            "consumption": .consumption(ConsumptionQuery(transaction: transaction)),
        ]
        let queue = try DatabaseQueue(path: store.folder.database)
        return try queue.read { db in
            let loader = try BooksLoader(db, UsedKeys(), SuspectTables())
            var costs = try commands.mapValues { command in
                var books = Books(
                    catalog: Workload.catalog, known: state.currencies, position: state.position,
                    totals: state.totals, headers: state.headers, hash: Workload.hash)
                var needs = Needs()
                needs.add(command)
                let cost = try steps(db) { try loader.load(needs, into: &books) }
                #expect(books.purchases[transaction]?.signedDate == signatures)
                #expect(books.purchases[transaction]?.lastEntry == 3)
                return cost
            }
            costs["page"] = try steps(db) {
                _ = try PurchaseReader(db).view(PurchaseQuery(transaction: transaction, limit: 2))
            }
            return costs
        }
    }

    @Test func whatIsLoadedIsTheSameHoweverOftenItWasSigned() throws {
        let few = try Self.costs(8)
        let many = try Self.costs(5_008)
        #expect(few.values.allSatisfy { $0 > 20 })
        #expect(many == few)
    }

    /// Every statement finds what it wants, and nothing is sorted.
    @Test func nothingIsScanned() throws {
        var store = try Self.tables(8)
        // A debt, so that the report looks for its refunds.
        let all = CurrencyAmount(currency: CurrencyCode("gems")!, amount: Amount(500)!)
        try store.run(.spend(Spend(key: RequestKey("all")!, account: Self.player, debits: [all])), at: 900)
        try store.run(.credit(Workload.purchase(1, signedDate: 900, revoked: 100_000), account: Self.player), at: 901)
        let plans = try plans(of: store.folder) { db in
            _ = try PurchaseReader(db).view(PurchaseQuery(transaction: Self.transaction))
            _ = try Reports(db).page(ReportQuery(kind: .debts, asOf: 1_000))
        }
        let events = plans.filter { $0.key.contains("purchase_event") }
        #expect(events.count == 5)
        for (sql, steps) in events {
            for step in steps where step.contains("purchase_event") || step.contains(" e ") {
                #expect(step.hasPrefix("SEARCH"), "\(sql): \(step)")
            }
            if sql.contains("kind = 'signed'") { #expect(steps[0].contains("purchase_event_signed"), "\(steps)") }
            if sql.contains("entry IS NOT NULL") {
                #expect(steps.contains { $0.contains("purchase_event_entry") }, "\(steps)")
            }
            #expect(sql.contains("movement") || !steps.contains { $0.contains("TEMP B-TREE") }, "\(sql): \(steps)")
        }
    }

    // MARK: Pages

    @Test func pagesGiveEveryEventOnceInOrder() throws {
        var store = try Self.tables(5_000)
        let whole = try Self.paged(&store, limit: 1_000)
        // Two of them told, 4,998 after them of which the even ones told something more.
        #expect(whole.count == 3 + 4_998 + 2_499)
        #expect(whole.map(\.number) == Array(1...Int64(whole.count)))
        #expect(whole.map(\.time) == whole.map(\.time).sorted())
        #expect(whole.prefix(3).map(\.kind) == [.signed, .assigned, .signed])
        #expect(whole.prefix(3).map(\.entry) == [nil, 1, 2])
        #expect(whole.filter { $0.kind == .signed }.map(\.signedDate) == (1...5_000).map { Int64($0) })
        #expect(Set(whole.filter { $0.kind != .signed }.compactMap(\.signedDate)).count == 2_499)
        #expect(try Self.paged(&store, limit: 7) == whole)
        let random = try Self.view(store, limit: 3, before: 4_000)
        #expect(random.events == Array(whole[3_996..<3_999]) && random.next == 3_997)
    }

    @Test func eventsThatComeBetweenPagesChangeNoEarlierPage() throws {
        var store = try Self.tables(100)
        let before = try Self.paged(&store, limit: 1_000)
        var date: Int64 = 100
        let read = try Self.paged(&store, limit: 10) { store in
            try store.run(Self.events(date + 1...date + 3), at: 200 + date)
            date += 3
        }
        #expect(read == before)
        #expect(try Self.paged(&store, limit: 9).prefix(before.count) == before[...])
    }

    @Test func theEndsOfThePages() throws {
        let store = try Self.tables(2)
        let view = try Self.view(store)
        #expect(view.events.map(\.number) == [1, 2, 3] && view.next == nil)
        for (limit, before, numbers, next) in [
            (1, nil, [3], 3), (2, nil, [2, 3], 2), (3, nil, [1, 2, 3], nil), (1, 3, [2], 2), (5, 3, [1, 2], nil),
            (1, 2, [1], nil), (9, 1, [], nil), (2, 99, [2, 3], 2), (1, Int64.max, [3], 3),
        ] as [(Int, Int64?, [Int64], Int64?)] {
            let page = try Self.view(store, limit: limit, before: before)
            #expect(page.events.map(\.number) == numbers && page.next == next, "\(limit) before \(before ?? 0)")
            #expect(page.grants == view.grants && page.state == view.state)
        }
    }

    /// Their numbers are those of the blocks, however many blocks are applied together.
    @Test func eventsOfOneStepAndOfManyHaveTheSameNumbers() throws {
        let store = try Self.tables(40)
        let whole = try Self.view(store)
        for step in [1, 3, 100] {
            let folder = try TemporaryFolder()
            let projection = try open(folder)
            var rest = store.blocks[...]
            while !rest.isEmpty {
                try projection.apply(Array(rest.prefix(step)))
                rest = rest.dropFirst(step)
            }
            let view = try projection.purchase(PurchaseQuery(transaction: Self.transaction, limit: 1_000))
            #expect(view == whole, "\(step)")
            try projection.close()
        }
    }

    // MARK: Damage

    /// What other hands changed is named where it is read, not told.
    @Test(arguments: [
        "DELETE FROM purchase_event WHERE number = 2", "DELETE FROM purchase_event WHERE number = 5",
        "UPDATE purchase_event SET number = 1 WHERE number = 2",
        "UPDATE purchase_event SET number = number + 100 WHERE number > 5",
        "UPDATE purchase_event SET number = 9223372036854775807 WHERE number = 6",
        "UPDATE purchase_event SET kind = 'heard' WHERE number = 4",
        "UPDATE purchase_event SET revoked = NULL WHERE number = 4",
        "UPDATE purchase_event SET signed_date = NULL WHERE number = 4",
        "UPDATE purchase_event SET signed_date = 5 WHERE kind = 'assigned'",
        "UPDATE purchase_event SET time = 9223372036854775807 WHERE number = 6",
        "UPDATE purchase_event SET entry = 99 WHERE number = 5", "UPDATE purchase_event SET entry = 1 WHERE number = 5",
        "UPDATE purchase_event SET revoked = 60000 WHERE number = 3", "UPDATE lot SET refunded = refunded + 1",
        "UPDATE lot SET account = 1", "DELETE FROM lot", "DELETE FROM purchase", "UPDATE purchase SET revoked = -1",
        "UPDATE purchase SET grants = 'gems:500:1'", "UPDATE purchase SET entry = 1",
        "UPDATE purchase SET account = 99",
    ])
    func aRowThatDoesNotFitIsNamed(change: String) throws {
        var store = try Ledger(TemporaryFolder())
        // Entry 1 is of another's purchase.
        try store.run(.credit(Workload.purchase(2, signedDate: 1), account: Workload.account(2)), at: 1)
        let first = Workload.purchase(1, signedDate: 1)
        let told = SignedNotification(
            uuid: "first", type: "REFUND_DECLINED", subtype: nil, signedDate: 1, evidence: first.evidence,
            purchase: first)
        try store.run(.notify(told, account: nil), at: 1)
        try store.run(.credit(first, account: Self.player), at: 2)
        try store.run(Self.events(2...3), at: 3)
        try store.run(.credit(Workload.purchase(1, signedDate: 4, revoked: 50_000), account: Self.player), at: 3)
        let view = try Self.view(store)
        #expect(
            view.events.map(\.kind) == [
                .signed, .refundDeclined, .assigned, .signed, .signed, .refundDeclined, .signed,
            ])
        try store.projection.close()
        try store.folder.change(change)
        let tables = try open(store.folder)
        let error = #expect(throws: StoreError.self) {
            try tables.purchase(PurchaseQuery(transaction: Self.transaction))
        }
        #expect(error?.kind == .corrupt, "\(error?.description ?? "")")
        try tables.close()
    }
}
