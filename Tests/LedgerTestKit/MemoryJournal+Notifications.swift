import Ledger

/// Reports of notifications and closings, found by looking at every row.
extension MemoryJournal {
    func notificationsReport(_ query: ReportQuery) -> ReportPage {
        let shown = rows.notifications.filter { $0.time >= query.from ?? 0 && $0.time <= query.asOf }
        return page(query, shown.map { (ReportCursor(query.kind, account: $0.time, item: $0.id), reported($0, query)) })
    }

    func consumptionRequestsReport(_ query: ReportQuery) -> ReportPage {
        let shown = rows.notifications.filter { row in
            guard row.type == "CONSUMPTION_REQUEST", let transaction = row.transaction, row.time <= query.asOf else {
                return false
            }
            if query.scope == .all { return true }
            let end = end(of: row, transaction, query)
            return row.signedDate + 12 * 3_600_000 > query.asOf && end != .accepted && end != .expired
        }
        return page(
            query, shown.map { (ReportCursor(query.kind, account: $0.signedDate, item: $0.id), request($0, query)) })
    }

    func closingsReport(_ query: ReportQuery) -> ReportPage {
        let shown = closings.filter { $0.time <= query.asOf }
        return page(
            query,
            shown.map { (ReportCursor(query.kind, account: $0.through, item: $0.block), ReportRow.closing($0)) })
    }

    private func page(_ query: ReportQuery, _ all: [(cursor: ReportCursor, row: ReportRow)]) -> ReportPage {
        let after = query.after.flatMap { ReportCursor(query.kind, $0) } ?? ReportCursor(query.kind)
        let rest = all.filter { $0.cursor > after }.sorted { $0.cursor < $1.cursor }
        let page = rest.prefix(query.limit)
        return ReportPage(
            kind: query.kind, asOf: query.asOf, rows: page.map(\.row),
            next: page.count < rest.count ? page.last?.cursor.text : nil)
    }

    private func end(
        of row: BlockRows.NotificationRow, _ transaction: TransactionID, _ query: ReportQuery
    ) -> AppStoreCall.End? {
        let call = AppStoreCall(
            transaction: transaction, kind: .consumption, notificationUUID: row.uuid, end: .expired)
        return end(Books.CallKey(call), through: query.asOf)
    }

    /// When a purchase was opened for its account; of one that was used up, when it was carried over.
    private func openedAt(_ transaction: TransactionID) -> Timestamp? {
        guard let register = register(transaction), !register.grants.isEmpty else {
            return rows.statements.first { $0.transaction == transaction }?.time
        }
        return register.lots.first.map { entry(rows.transfers[Int($0) - 1].entry).time }
    }

    private func owner(_ transaction: TransactionID, _ query: ReportQuery) -> PlayerID? {
        guard let time = openedAt(transaction), time <= query.asOf else { return nil }
        return register(transaction)?.account.map { owner(of: $0, asOf: query.asOf) }
    }

    /// What somebody said last at a time who was that owner's then.
    private func consent(of owner: PlayerID, asOf time: Timestamp) -> Bool? {
        rows.consents.last { self.owner(of: $0.account, asOf: time) == owner && $0.time <= time }?.consumption
    }

    private func reported(_ row: BlockRows.NotificationRow, _ query: ReportQuery) -> ReportRow {
        let posted = notifiedEntry(row.id).map { entry($0) }
        var verdict = ReportRow.Notification.Verdict.recorded
        if let transaction = row.transaction {
            switch posted?.kind {
            case .credit: verdict = .credited
            case .refund: verdict = .reversed
            case .reinstatement: verdict = .reinstated
            case _: verdict = openedAt(transaction).map { $0 <= row.time } ?? false ? .unchanged : .unassigned
            }
        }
        var amounts: [PostedAmount] = []
        for transfer in posted.map({ told($0).transfers }) ?? [] {
            var units = [.purchased, .refunded].contains(transfer.debit) ? transfer.amount.units : 0
            if transfer.credit == .refunded { units -= transfer.amount.units }
            if let place = amounts.firstIndex(where: { $0.currency == transfer.currency }) {
                amounts[place].units += units
            } else {
                amounts.append(PostedAmount(currency: transfer.currency, units: units))
            }
        }
        return .notification(
            ReportRow.Notification(
                uuid: row.uuid, type: row.type, subtype: row.subtype, signedDate: row.signedDate, time: row.time,
                transaction: row.transaction ?? row.subject,
                account: row.transaction.flatMap { owner($0, query) }.map { name($0) }, verdict: verdict,
                entry: posted?.id, posted: amounts.filter { $0.units != 0 }))
    }

    private func request(_ row: BlockRows.NotificationRow, _ query: ReportQuery) -> ReportRow {
        guard let transaction = row.transaction, let register = register(transaction) else {
            preconditionFailure("a request about no purchase is listed")
        }
        let owner = owner(transaction, query)
        let end = end(of: row, transaction, query)
        let call = rows.calls.last { $0.notification == row.id && $0.time <= query.asOf }
        let state: ReportRow.ConsumptionRequest.State =
            switch end {
            case .accepted: .answered
            case .expired: .expired
            case .refused: .refused
            case nil: row.signedDate + 12 * 3_600_000 > query.asOf ? .open : .expired
            }
        return .consumptionRequest(
            ReportRow.ConsumptionRequest(
                uuid: row.uuid, transaction: transaction, product: register.facts.product,
                account: owner.map { name($0) }, reason: row.reason, signedDate: row.signedDate, time: row.time,
                consent: owner.flatMap { consent(of: $0, asOf: query.asOf) }.map { $0 ? .given : .withdrawn }
                    ?? .unknown,
                state: state, endedAt: call?.time, code: end?.code))
    }
}
