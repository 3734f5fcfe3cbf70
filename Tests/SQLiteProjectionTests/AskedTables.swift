import Foundation
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// Tables as a crash leaves them, their write-ahead log beside them, with every question and its right answer.
struct AskedTables {
    let folder: TemporaryFolder
    let store: Ledger
    let keys: [RequestKey]
    private(set) var answers: [String: String] = [:]
    /// The file itself as it was some blocks before.
    private(set) var earlier = Data()

    /// - Parameter checkpointPages: pages of the write-ahead log from which it is copied: what is asked is asked
    ///   right after it was.
    init(seed: UInt64, checkpointPages: Int) throws {
        folder = try TemporaryFolder()
        var bounds = SQLiteBounds()
        bounds.checkpointPages = checkpointPages
        // So that whatever is changed of the file is of the write-ahead log itself.
        bounds.walBytesReserved = 0
        var store = try Ledger(folder, bounds: bounds)
        var workload = Workload(seed: seed)
        for batch in 1...200 {
            workload.now = Int64(batch) * 10
            _ = try store.decide((0..<8).map { _ in workload.next() }, at: workload.now)
            try store.project()
            if batch % 10 == 0 { try store.closePeriod(through: workload.now) }
            if batch == 50 { earlier = try Data(contentsOf: URL(fileURLWithPath: folder.database)) }
            // The worst moment: all of the write-ahead log was just copied, and is still there.
            if batch >= 60 && (store.projection.walPages >= checkpointPages || checkpointPages > 10_000) { break }
        }
        keys = store.books.answers.keys.sorted { $0.text < $1.text }
        self.store = store
        answers = try #require(try ask(copy()))
        #expect(!answers.values.contains("error"))
        #expect(answers.count > 200)
    }

    /// The files as they are now, while a connection has them open.
    func copy() throws -> TemporaryFolder { try folder.copy() }

    /// What is answered to every question; `nil` where the tables are to be made anew.
    /// - Parameter change: what happens to the tables right after they are opened.
    func ask(_ folder: TemporaryFolder, _ change: () throws -> Void = {}) throws -> [String: String]? {
        let projection: SQLiteProjection
        let state: ProjectedState
        do {
            projection = try open(folder)
            state = try projection.state()
            // As at a start: what they lack is applied again.
            try projection.apply(Array(store.blocks[Int(state.head?.number ?? 0)...]))
        } catch let error as ProjectionOpeningError {
            #expect(error.kind == .rebuild || error.kind == .foreign, "\(error)")
            return nil
        } catch let error as StoreError {
            #expect(error.kind == .corrupt, "\(error)")
            return nil
        }
        defer { try? projection.close() }
        try change()
        var answers: [String: String] = [:]
        func note(_ question: String, _ answer: () throws -> Any) rethrows {
            do { answers[question] = "\(try answer())" } catch let error as StoreError {
                #expect(error.kind == .corrupt, "\(error)")
                answers[question] = "error"
            }
        }
        func books(_ needs: Needs) throws -> Books {
            let state = try projection.state()
            var books = Books(
                catalog: Workload.catalog, known: state.currencies, position: state.position,
                totals: state.totals, closedThrough: state.closedThrough, headers: state.headers,
                actors: state.actors, hash: Workload.hash)
            try projection.load(needs, into: &books)
            return books
        }
        for number in 0..<12 {
            let account = Workload.account(number)
            var needs = Needs()
            needs.accounts = [account]
            try note("player \(account)") {
                let books = try books(needs)
                return books.playerIDs[account].flatMap { books.players[$0] } as Any
            }
            try note("history \(account)") { try projection.history(HistoryQuery(account: account)) }
            try note("lots \(account)") { try projection.lots(OpenItemsQuery(account: account), at: 300) }
            try note("holds \(account)") { try projection.holds(OpenItemsQuery(account: account), at: 300) }
            try note("past \(account)") { try projection.balances(account, currency: nil, asOf: 300) }
        }
        for key in keys {
            var needs = Needs()
            needs.keys = [key]
            try note("key \(key)") { try books(needs).answers[key] as Any }
        }
        for number in 0..<60 {
            let transaction = Workload.transaction(number)
            var needs = Needs()
            needs.transactions = [transaction]
            try note("purchase \(number)") { try books(needs).purchases[transaction] as Any }
            guard store.books.purchases[transaction] != nil else { continue }
            try note("view of \(number)") { try projection.purchase(PurchaseQuery(transaction: transaction)) }
        }
        for kind in ReportKind.allCases {
            try note("report \(kind)") { try projection.report(ReportQuery(kind: kind, asOf: 900)).rows }
        }
        for scope in ReportScope.allCases {
            try note("requests \(scope)") {
                try projection.report(ReportQuery(kind: .consumptionRequests, asOf: 900, scope: scope)).rows
            }
        }
        for query in AppStoreWorkQuery.all { try note("\(query)") { try projection.appStoreWork(query) } }
        for query in FindQuery.ofWorkload(keys) { try note("find \(query)") { try projection.find(query) } }
        try note("closing") { try projection.closing(through: 200) as Any }
        try note("journal") { try projection.journal(JournalQuery(after: 0, limit: 1_000)).entries }
        return answers
    }
}
