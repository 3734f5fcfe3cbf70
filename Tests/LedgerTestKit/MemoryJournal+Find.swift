import Ledger

/// What something is and whose, found by looking at every row.
extension MemoryJournal {
    func find(_ query: FindQuery) -> Finding {
        switch query {
        case .account(let name): return find(name)
        case .token(let token): return find(token.account)
        case .key(let key): return find(key)
        case .transaction(let id): return find(id)
        }
    }

    private func find(_ name: AccountName) -> Finding {
        guard let row = rows.accounts.first(where: { $0.name == name }) else { return .unknown }
        var current = row.id
        while let next = links(of: current).last { current = next }
        let consents = zip(rows.consents, rows.requests.filter { KeyedAnswer.isConsent($0.answer) })
        let consent = consents.map(\.0).last { owner(of: $0.account) == current }
        return .account(
            Finding.Account(
                name: self.name(current), isLinked: current != row.id,
                consent: consent.map { row in
                    Finding.Account.Consent(
                        consumption: row.consumption, time: row.time,
                        actor: row.actor.flatMap { id in rows.actors.first { $0.id == id }?.name })
                }))
    }

    /// A request that was carried out is told by its entry alone.
    private func find(_ key: RequestKey) -> Finding {
        if let entry = rows.entries.first(where: { $0.key == key }) {
            return .request(Finding.Request(key: key, answer: .posted(told(entry))))
        }
        guard let row = rows.requests.first(where: { $0.key == key }) else { return .unknown }
        let answer = KeyedAnswer(encoded: row.answer, name: { name($0) })
        if case .consent(let receipt) = answer {
            return .request(Finding.Request(key: key, answer: .recorded(receipt)))
        }
        if case .imported(let receipt) = answer {
            return .request(Finding.Request(key: key, answer: .usedUp(receipt.usedUp)))
        }
        guard case .refused(let reason, let operation) = answer else {
            preconditionFailure("a request without an entry was refused, or recorded a consent")
        }
        return .request(Finding.Request(key: key, answer: .refused(Refusal(reason, operation: operation))))
    }

    /// The first entry about a purchase is the one that opened its lots, and tells whose it is. One that was used up
    /// has an account from the beginning, and no entry.
    private func find(_ id: TransactionID) -> Finding {
        guard let row = rows.purchases.first(where: { $0.facts.transaction == id }) else { return .unknown }
        if row.grants.isEmpty {
            return .purchase(
                Finding.Purchase(
                    transaction: id, product: row.facts.product, account: row.account.map { name(owner(of: $0)) },
                    entry: nil))
        }
        let opening = rows.entries.first { $0.transaction == id }.map { told($0) }
        return .purchase(
            Finding.Purchase(
                transaction: id, product: row.facts.product,
                account: opening?.transfers.first.flatMap { rows.transfers[Int($0.transfer) - 1].player }
                    .map { name(owner(of: $0)) },
                entry: opening))
    }
}
