extension BlockRows {
    /// What a block tells of a purchase beside the purchase's first JWS.
    package struct PurchaseEvent: Hashable, Sendable {
        package var transaction: TransactionID
        package var kind: PurchaseView.Event.Kind
        /// The number of the JWS, of the assignment, or of the notification.
        package var record: Int64
        package var time: Timestamp
        package var signedDate: Timestamp?
        package var revoked: Int64?
        package var entry: EntryID?
        package var reason: String?
    }

    /// What the block tells of purchases beside their first JWS, by time. A block does not say what came first at one
    /// time: there JWS stand before assignments, and these before what notifications told.
    package var purchaseEvents: [PurchaseEvent] {
        var events: [PurchaseEvent] = []
        for row in evidence where !row.isFirst {
            events.append(
                PurchaseEvent(
                    transaction: row.transaction, kind: .signed, record: row.id, time: row.time,
                    signedDate: row.signedDate, revoked: row.revoked, entry: row.entry))
        }
        if !assignments.isEmpty {
            // An account that came with a newer JWS is told with that.
            let told = Set(events.compactMap(\.entry))
            for row in assignments where !told.contains(row.entry) {
                events.append(
                    PurchaseEvent(
                        transaction: row.transaction, kind: .assigned, record: row.id, time: row.time,
                        entry: row.entry))
            }
        }
        for row in notifications {
            guard let transaction = row.transaction,
                let kind = PurchaseView.Event.Kind(notificationType: row.type)
            else { continue }
            events.append(
                PurchaseEvent(
                    transaction: transaction, kind: kind, record: row.id, time: row.time, signedDate: row.signedDate,
                    reason: row.reason))
        }
        if events.count > 1 {
            events.sort { ($0.time, $0.kind.rank, $0.record) < ($1.time, $1.kind.rank, $1.record) }
        }
        return events
    }
}

extension PurchaseView.Event {
    /// An event as the block tells it.
    package init(number: Int64, _ event: BlockRows.PurchaseEvent) {
        self.init(
            number: number, kind: event.kind, time: event.time, signedDate: event.signedDate, revoked: event.revoked,
            entry: event.entry, reason: event.reason)
    }
}

extension PurchaseView.Event.Kind {
    fileprivate var rank: Int {
        switch self {
        case .signed: 0
        case .assigned: 1
        case .consumptionRequest, .refundDeclined: 2
        }
    }
}
