import GRDB
import Ledger

/// Says what a name, a key or a transaction id is, and whose, in one snapshot. Whatever it reads it finds by an index,
/// so that it costs the same in a ledger of any size.
struct Finder {
    private let db: Database

    init(_ db: Database) { self.db = db }

    func find(_ query: FindQuery) throws -> Finding {
        switch query {
        case .account(let name): try account(name)
        case .token(let token): try account(token.account)
        case .key(let key): try request(key)
        case .transaction(let id): try purchase(id)
        }
    }

    private func account(_ name: AccountName) throws -> Finding {
        let select = try PreparedStatement(db, "SELECT id FROM account WHERE name = ?")
        select.bind(1, name.text)
        guard let id = try select.first({ $0.integer(0) }) else { return .unknown }
        // The index and the account's own row must agree.
        guard try AccountNames(db).name(of: id) == name else {
            throw StoreError.corrupt("account \(id) is found by a name that it does not have")
        }
        let links = try StoredLinks(db)
        let owner = try links.links(of: id).last.map { try links.owner(of: $0.account) } ?? id
        return .account(
            Finding.Account(
                name: try AccountNames(db).name(of: owner), isLinked: owner != id,
                consent: try consent(of: owner, links))
        )
    }

    private func consent(of account: PlayerID, _ links: StoredLinks) throws -> Finding.Account.Consent? {
        guard let record = try links.consent(of: try links.members(of: account)) else { return nil }
        let select = try PreparedStatement(
            db,
            """
            SELECT consent.consumption, consent.time, actor.name, consent.actor IS NOT NULL AND actor.name IS NULL
            FROM consent LEFT JOIN actor ON actor.id = consent.actor WHERE consent.id = ?
            """)
        select.bind(1, record.request)
        return try select.first { row in
            guard Plausible.isTime(row.integer(1)), row.integer(3) == 0 else {
                throw StoreError.corrupt("consent \(record.request) names a time or a token that cannot be")
            }
            return Finding.Account.Consent(
                consumption: row.integer(0) == 1, time: row.integer(1), actor: row.optionalText(2))
        }
    }

    private func request(_ key: RequestKey) throws -> Finding {
        let select = try PreparedStatement(db, "SELECT entry, answer FROM request WHERE key = ?")
        select.bind(1, key.text)
        let row = try select.first { (entry: $0.optionalInteger(0), answer: $0.blob(1)) }
        guard let row else { return .unknown }
        // The entry itself tells whose it is, so the answer needs no names.
        let answer = KeyedAnswer(encoded: row.answer[...]) { AccountName.erased($0) }
        guard let answer, answer.entry == row.entry else {
            throw StoreError.corrupt("the answer of request \(key) cannot be read")
        }
        if case .refused(let reason, let operation) = answer {
            return .request(Finding.Request(key: key, answer: .refused(Refusal(reason, operation: operation))))
        }
        if case .consent(let receipt) = answer {
            return .request(Finding.Request(key: key, answer: .recorded(receipt)))
        }
        if case .imported(let receipt) = answer, receipt.entry == nil {
            return .request(Finding.Request(key: key, answer: .usedUp(receipt.usedUp)))
        }
        let entry = try row.entry.map { try JournalReader(db).entry($0) }
        guard let entry, entry.key == key else {
            throw StoreError.corrupt("request \(key) names an entry that it did not post")
        }
        return .request(Finding.Request(key: key, answer: .posted(entry)))
    }

    private func purchase(_ id: TransactionID) throws -> Finding {
        let select = try PreparedStatement(
            db, "SELECT account, entry, product, grants = '' FROM purchase WHERE transaction_id = ?")
        select.bind(1, id.number)
        let row = try select.first { row in
            (
                account: row.optionalInteger(0), entry: row.optionalInteger(1), product: row.text(2),
                isUsedUp: row.integer(3) != 0
            )
        }
        guard let row else { return .unknown }
        let account = try row.account.map { account in
            try AccountNames(db).name(of: try StoredLinks(db).owner(of: account))
        }
        let entry = try row.entry.map { try JournalReader(db).entry($0) }
        guard row.isUsedUp ? entry == nil : (account == nil) == (entry == nil),
            entry == nil || entry?.transaction == id
        else {
            throw StoreError.corrupt("purchase \(id) has an account without the entry that opened its lots")
        }
        return .purchase(Finding.Purchase(transaction: id, product: row.product, account: account, entry: entry))
    }
}
