import Ledger

/// What there may be to tell Apple, found by looking at every row.
extension MemoryJournal {
    func appStoreWork(_ query: AppStoreWorkQuery) -> AppStoreWork {
        switch query {
        case .consumptionRequests(let after, let since, let limit):
            .consumptionRequests(
                Array(
                    rows.notifications.compactMap(request).filter { $0.number > after && $0.time >= since }
                        .prefix(limit)))
        case .purchases(let after, let since, let limit):
            .purchases(
                Array(purchases().filter { $0.number > after && $0.time >= since }.prefix(limit)))
        case .assignments(let after, let since, let limit):
            .assignments(
                Array(
                    rows.assignments.compactMap(assignment).filter { $0.number > after && $0.time >= since }
                        .prefix(limit)))
        }
    }

    private func end(
        _ transaction: TransactionID, _ kind: AppStoreCall.Kind, _ notificationUUID: String? = nil
    ) -> AppStoreCall.End? {
        end(
            Books.CallKey(
                AppStoreCall(
                    transaction: transaction, kind: kind, notificationUUID: notificationUUID, end: .expired)))
    }

    private func request(_ row: BlockRows.NotificationRow) -> AppStoreWork.ConsumptionRequest? {
        guard row.type == "CONSUMPTION_REQUEST", let transaction = row.transaction,
            let register = register(transaction)
        else { return nil }
        let owner = register.account.map { self.owner(of: $0) }
        let end = end(transaction, .consumption, row.uuid)
        return AppStoreWork.ConsumptionRequest(
            number: row.id, notificationUUID: row.uuid, transaction: transaction,
            signedDate: row.signedDate, time: row.time,
            consent: owner.flatMap {
                consent(of: $0, through: row.signedDate + Limits.consumptionAnswerMilliseconds)
            },
            isEnded: end?.isFinal ?? false, refusalCode: end?.code)
    }

    /// What a player said last, up to a time.
    func consent(of owner: PlayerID, through time: Timestamp = .max) -> Bool? {
        rows.consents.last { self.owner(of: $0.account) == owner && $0.time <= time }?.consumption
    }

    private func purchases() -> [AppStoreWork.Purchase] {
        let times = Dictionary(uniqueKeysWithValues: rows.evidence.map { ($0.id, $0.time) })
        let assigned = Set(rows.assignments.map(\.transaction))
        return rows.purchases.compactMap { row in
            guard row.facts.source == .appStore, let register = register(row.facts.transaction),
                let time = times[row.evidence]
            else { return nil }
            let end = end(row.facts.transaction, .finish)
            return AppStoreWork.Purchase(
                number: row.evidence, transaction: row.facts.transaction, time: time,
                isCredited: register.account != nil && !assigned.contains(row.facts.transaction),
                isFinished: end?.isFinal ?? false, refusalCode: end?.code)
        }
    }

    private func assignment(_ row: BlockRows.AssignmentRow) -> AppStoreWork.Assignment? {
        guard let register = register(row.transaction), register.facts.source == .appStore else { return nil }
        let end = end(row.transaction, .accountToken)
        let owner = owner(of: row.account)
        // Those that are the account's, the newest first; but the one to which it was credited before them.
        let others = rows.accounts.map(\.id).filter { account in
            self.owner(of: account) == owner && links(of: account).last ?? owner == owner
        }
        let token = ([row.account] + others.reversed()).lazy.map { self.name($0) }
            .compactMap { $0.isErased ? nil : AppAccountToken($0.text) }.first
        return AppStoreWork.Assignment(
            number: row.id, transaction: row.transaction, originalTransaction: register.facts.original, time: row.time,
            token: token, isFinishTold: self.end(row.transaction, .finish) != nil,
            isTold: end?.isFinal ?? false, refusalCode: end?.code)
    }
}
