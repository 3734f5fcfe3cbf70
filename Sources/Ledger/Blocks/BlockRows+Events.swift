extension BlockRows {
    /// What a block tells of a purchase beside the purchase's first JWS: what the ledger was told, and told Apple.
    package struct PurchaseEvent: Hashable, Sendable {
        package var transaction: TransactionID
        package var kind: PurchaseView.Event.Kind
        /// The number of the JWS, of the assignment, or of the notification; of a statement 0. Of what Apple was told,
        /// the number of the notification that it answers, and 0 where it answers none.
        package var record: Int64
        package var time: Timestamp
        package var signedDate: Timestamp?
        package var revoked: Int64?
        package var entry: EntryID?
        package var reason: String?
        package var end: AppStoreCall.End?
        /// The JSON that was sent.
        package var body: String?
    }

    /// What the block tells of purchases beside their first JWS, by time. A block does not say what came first at one
    /// time: there JWS stand before assignments, these before what notifications told, and that before what Apple was
    /// told.
    package var purchaseEvents: [PurchaseEvent] {
        var events: [PurchaseEvent] = []
        for row in evidence where !row.isFirst {
            events.append(
                PurchaseEvent(
                    transaction: row.transaction, kind: .signed, record: row.id, time: row.time,
                    signedDate: row.signedDate, revoked: row.revoked, entry: row.entry))
        }
        if !statements.isEmpty {
            let first = firstStatements
            for row in statements where first[row.transaction] != row {
                events.append(
                    PurchaseEvent(
                        transaction: row.transaction, kind: .stated, record: 0, time: row.time,
                        signedDate: row.time, revoked: row.revoked, entry: row.entry))
            }
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
        for row in calls {
            events.append(
                PurchaseEvent(
                    transaction: row.transaction, kind: PurchaseView.Event.Kind(row.kind),
                    record: row.notification ?? 0, time: row.time, end: row.end,
                    body: row.body.isEmpty ? nil : String(decoding: row.body, as: UTF8.self)))
        }
        if events.count < 2 { return events }
        // Those of one rank are in their order already.
        return events.enumerated().sorted { left, right in
            (left.element.time, left.element.kind.rank, left.offset)
                < (right.element.time, right.element.kind.rank, right.offset)
        }.map(\.element)
    }
}

extension PurchaseView.Event {
    /// An event as the block tells it.
    package init(number: Int64, _ event: BlockRows.PurchaseEvent) {
        self.init(
            number: number, kind: event.kind, time: event.time,
            signedDate: event.kind == .stated ? nil : event.signedDate, revoked: event.revoked,
            entry: event.entry, reason: event.reason, end: event.end, body: event.body)
    }
}

extension PurchaseView.Event.Kind {
    /// Among events of one time.
    fileprivate var rank: Int {
        switch self {
        case .signed, .stated: 0
        case .assigned: 1
        case .consumptionRequest, .refundDeclined: 2
        case .consumptionSent, .finished, .accountTokenSet: 3
        }
    }

    /// The kind of event that a call is.
    package init(_ kind: AppStoreCall.Kind) {
        switch kind {
        case .consumption: self = .consumptionSent
        case .finish: self = .finished
        case .accountToken: self = .accountTokenSet
        }
    }
}
