import GRDB
import Ledger

/// Brings what a batch needs from the tables into the books, within a read transaction of its caller. What is in the
/// books already is newer and stays.
///
/// Every row is checked before anything of it is in the books: a load that fails leaves them without that player or
/// purchase.
///
/// ``PlayerLoader`` loads players, and ``ExpiryLoader`` those of whom something has expired; keys, notifications and
/// purchases are loaded here.
final class BooksLoader {
    let players: PlayerLoader
    private let expiries: ExpiryLoader
    let selectState: PreparedStatement
    let purchases: StoredPurchases
    let selectRequest: PreparedStatement
    let selectNotification: PreparedStatement
    let calls: StoredCalls
    let selectReturned: PreparedStatement
    let selectHoldState: PreparedStatement
    private let usedKeys: UsedKeys
    let suspects: SuspectTables

    init(_ db: Database, _ usedKeys: UsedKeys, _ suspects: SuspectTables) throws {
        self.usedKeys = usedKeys
        self.suspects = suspects
        players = try PlayerLoader(db, suspects)
        expiries = try ExpiryLoader(db, players, suspects)
        selectState = try PreparedStatement(db, "SELECT 1 FROM projection")
        purchases = try StoredPurchases(db)
        selectRequest = try PreparedStatement(db, "SELECT fingerprint, answer FROM request WHERE key = ?")
        selectNotification = try PreparedStatement(
            db, "SELECT number, type, transaction_id FROM notification WHERE uuid = ?")
        calls = try StoredCalls(db)
        selectReturned = try PreparedStatement(
            db, "SELECT lot, sum(amount) FROM transfer WHERE reference = ? AND debit = 'spent' GROUP BY lot")
        selectHoldState = try PreparedStatement(db, "SELECT state FROM hold WHERE id = ?")
    }

    /// - Throws: ``ExpiryLoader/Unreadable``, or what keeps anything else from being loaded.
    func load(_ needs: Needs, into books: inout Books) throws {
        // The first read says what this transaction sees; what `usedKeys` says must not be older.
        _ = try selectState.first { _ in }
        try players.begin()
        for name in needs.accounts { try players.load(name, withLots: true, into: &books) }
        for name in needs.wallets { try players.load(name, withLots: false, into: &books) }
        for name in needs.expiring {
            let time = books.entryTime(needs.time)
            if try expiries.hasDue(name, by: time, books) { try players.load(name, withLots: false, into: &books) }
        }
        // What of suspect tables seems never to have been used may have been.
        let lastKey = suspects.isEmpty ? usedKeys.last : nil
        for key in needs.keys where books.answers[key] == nil {
            if let lastKey, key.text > lastKey { continue }
            try load(key, into: &books)
        }
        for key in needs.spends { try loadSpends(key, into: &books) }
        for key in needs.holds { try loadHolds(key, into: &books) }
        if needs.expirations { try expiries.load(by: books.entryTime(needs.time), into: &books) }
        for transaction in needs.transactions { try load(transaction, into: &books) }
        for uuid in needs.notifications where books.notifications[uuid] == nil { try load(uuid, into: &books) }
        for call in needs.calls where books.calls[call] == nil { try load(call, into: &books) }
    }

    /// See ``ExpiryLoader/leaveOut(_:)``.
    func leaveOut(_ player: PlayerID) { expiries.leaveOut(player) }

    private func load(_ uuid: String, into books: inout Books) throws {
        try suspects.check(.notification)
        selectNotification.bind(1, uuid)
        let recorded = try selectNotification.first { row in
            Books.RecordedNotification(
                number: row.integer(0), type: row.text(1),
                transaction: row.optionalInteger(2).map { TransactionID(number: $0) })
        }
        guard let recorded else { return }
        guard recorded.number > 0, recorded.number <= books.position.notification else {
            throw StoreError.corrupt("notification \(uuid) has a number that was never given")
        }
        books.load(notification: uuid, recorded)
    }

    /// The notification that it answers is in the books, where there is one.
    private func load(_ call: Books.CallKey, into books: inout Books) throws {
        try suspects.check(.event)
        var record: Int64 = 0
        if let uuid = call.notificationUUID {
            guard let recorded = books.notifications[uuid] else { return }
            record = recorded.number
        }
        let kind = PurchaseView.Event.Kind(call.kind)
        if let end = try calls.last(of: call.transaction, kind, record) { books.load(end, of: call) }
    }

    // MARK: Keys

    func load(_ key: RequestKey, into books: inout Books) throws {
        try suspects.check(.request)
        selectRequest.bind(1, key.text)
        let row = try selectRequest.first { (fingerprint: Digest($0.blob(0)), answer: $0.blob(1)) }
        guard let row else { return }
        var missing: (any Error)?
        let answer = KeyedAnswer(encoded: row.answer[...]) { player in
            do {
                return try players.findName(of: player)
            } catch {
                missing = error
                return nil
            }
        }
        if let missing { throw missing }
        guard let fingerprint = row.fingerprint, let answer else {
            throw StoreError.corrupt("the answer of request \(key) cannot be read")
        }
        books.load(key, Books.Answered(fingerprint: fingerprint, answer: answer))
    }
}
