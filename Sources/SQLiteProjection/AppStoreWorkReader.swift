import GRDB
import Ledger

/// Reads what there may be to tell Apple, each page by an index, in one snapshot.
struct AppStoreWorkReader {
    private let db: Database
    private let calls: StoredCalls

    init(_ db: Database) throws {
        self.db = db
        calls = try StoredCalls(db)
    }

    func page(_ query: AppStoreWorkQuery) throws -> AppStoreWork {
        switch query {
        case .consumptionRequests(let after, let since, let limit):
            .consumptionRequests(try requests(after: try place(after, since, .requests), limit))
        case .purchases(let after, let since, let limit):
            .purchases(try purchases(after: try place(after, since, .purchases), limit))
        case .assignments(let after, let since, let limit):
            .assignments(try assignments(after: try place(after, since, .assignments), limit))
        }
    }

    /// An order of rows by number, in which time never runs backwards.
    private struct Order {
        /// The number and the time of the first row after a number.
        let next: String
        let last: String

        static let requests = Order(
            "number", "notification", "type = 'CONSUMPTION_REQUEST' AND transaction_id IS NOT NULL")
        static let purchases = Order("evidence", "purchase", "source = 'app_store'")
        static let assignments = Order("id", "assignment", "TRUE")

        private init(_ number: String, _ table: String, _ condition: String) {
            next =
                "SELECT \(number), time FROM \(table) WHERE \(condition) AND \(number) > ? ORDER BY \(number) LIMIT 1"
            last = "SELECT \(number) FROM \(table) WHERE \(condition) AND \(number) > 0 ORDER BY \(number) DESC LIMIT 1"
        }
    }

    /// The number after which the rows from a time on begin, or the given one where that is higher: found by halving.
    private func place(_ after: Int64, _ since: Timestamp, _ order: Order) throws -> Int64 {
        let next = try PreparedStatement(db, order.next)
        func first(after number: Int64) throws -> (number: Int64, time: Timestamp)? {
            next.bind(1, number)
            return try next.first { ($0.integer(0), $0.integer(1)) }
        }
        guard let row = try first(after: after), row.time < since else { return after }
        var old = row.number
        var end = try PreparedStatement(db, order.last).first { $0.integer(0) } ?? old
        while old < end {
            let middle = old + (end - old) / 2
            if let row = try first(after: middle), row.time < since { old = row.number } else { end = middle }
        }
        return old
    }

    private func statement(_ sql: String, after: Int64, _ limit: Int) throws -> PreparedStatement {
        let select = try PreparedStatement(db, sql)
        select.bind(1, after)
        select.bind(2, Int64(max(0, min(limit, Limits.appStoreWorkMax))))
        return select
    }

    private func requests(after: Int64, _ limit: Int) throws -> [AppStoreWork.ConsumptionRequest] {
        // With the index's own condition, so that it is used.
        let select = try statement(
            """
            SELECT n.number, n.uuid, n.transaction_id, n.signed_date, n.time, p.transaction_id IS NOT NULL, p.account
            FROM notification AS n LEFT JOIN purchase AS p ON p.transaction_id = n.transaction_id
            WHERE n.type = 'CONSUMPTION_REQUEST' AND n.transaction_id IS NOT NULL AND n.number > ?
            ORDER BY n.number LIMIT ?
            """, after: after, limit)
        let links = try StoredLinks(db)
        var rows: [AppStoreWork.ConsumptionRequest] = []
        try select.forEach { row in
            let transaction = TransactionID(number: row.integer(2))
            guard row.integer(5) == 1, Plausible.isTime(row.integer(3)), Plausible.isTime(row.integer(4))
            else { throw StoreError.corrupt("notification \(row.integer(0)) has a purchase or a time that cannot be") }
            let owner = try row.optionalInteger(6).map { try links.owner(of: $0) }
            let end = try calls.last(of: transaction, .consumptionSent, row.integer(0))
            let deadline = row.integer(3) + Limits.consumptionAnswerMilliseconds
            rows.append(
                AppStoreWork.ConsumptionRequest(
                    number: row.integer(0), notificationUUID: row.text(1), transaction: transaction,
                    signedDate: row.integer(3), time: row.integer(4),
                    consent: try owner.flatMap {
                        try links.consent(of: links.members(of: $0), through: deadline)?.consumption
                    },
                    isEnded: end?.isFinal ?? false, refusalCode: end?.code))
        }
        return rows
    }

    /// The entry that opened a purchase stands in an event where it found its account later, and in none otherwise.
    private func purchases(after: Int64, _ limit: Int) throws -> [AppStoreWork.Purchase] {
        let select = try statement(
            """
            SELECT evidence, transaction_id,
                account IS NOT NULL AND NOT EXISTS (
                    SELECT 1 FROM purchase_event AS e
                    WHERE e.transaction_id = purchase.transaction_id AND e.entry = purchase.entry
                ), time
            FROM purchase WHERE source = 'app_store' AND evidence > ? ORDER BY evidence LIMIT ?
            """, after: after, limit)
        var rows: [AppStoreWork.Purchase] = []
        try select.forEach { row in
            let transaction = TransactionID(number: row.integer(1))
            let end = try calls.last(of: transaction, .finished, 0)
            rows.append(
                AppStoreWork.Purchase(
                    number: row.integer(0), transaction: transaction, time: row.integer(3),
                    isCredited: row.integer(2) == 1,
                    isFinished: end?.isFinal ?? false, refusalCode: end?.code))
        }
        return rows
    }

    private func assignments(after: Int64, _ limit: Int) throws -> [AppStoreWork.Assignment] {
        let select = try statement(
            """
            SELECT a.id, a.transaction_id, a.account, p.original_id, a.time
            FROM assignment AS a JOIN purchase AS p ON p.transaction_id = a.transaction_id
            WHERE p.source = 'app_store' AND a.id > ? ORDER BY a.id LIMIT ?
            """, after: after, limit)
        let (names, links) = (try AccountNames(db), try StoredLinks(db))
        var rows: [AppStoreWork.Assignment] = []
        try select.forEach { row in
            let transaction = TransactionID(number: row.integer(1))
            let token = try token(of: row.integer(2), names, links)
            let end = try calls.last(of: transaction, .accountTokenSet, 0)
            rows.append(
                AppStoreWork.Assignment(
                    number: row.integer(0), transaction: transaction,
                    originalTransaction: row.optionalInteger(3).map { TransactionID(number: $0) },
                    time: row.integer(4), token: token,
                    isFinishTold: try calls.last(of: transaction, .finished, 0) != nil, isTold: end?.isFinal ?? false,
                    refusalCode: end?.code))
        }
        return rows
    }

    /// The account's own name, where that is a token; else the token that became its last, and still is.
    private func token(
        of account: PlayerID, _ names: AccountNames, _ links: StoredLinks
    ) throws -> AppAccountToken? {
        let owner = try links.owner(of: account)
        for member in [account] + (try links.members(of: owner).sorted(by: >)) {
            let name = try names.name(of: member)
            if name.isErased { continue }
            let newest = try links.links(of: member).last?.account
            guard newest == nil || newest == owner || member == account else { continue }
            if let token = AppAccountToken(name.text) { return token }
        }
        return nil
    }
}
