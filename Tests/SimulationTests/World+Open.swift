import Ledger

/// What wallets have open.
extension World {
    func lots(_ query: OpenItemsQuery, at time: Timestamp) -> OpenItemsPage<OpenLot> {
        let account = whose(query.account)
        let open = settled(account, at: time).lots.filter { lot in
            lot.place.account == account && (query.currency == nil || lot.place.currency == query.currency)
                && (lot.remaining > 0 || lot.held > 0 || lot.owed > 0)
        }
        let (page, next) = World.page(open, query) { $0.id }
        return OpenItemsPage(
            entry: entries.last?.id ?? 0,
            items: page.map { lot in
                OpenLot(
                    lot: lot.id, currency: lot.place.currency, lotClass: lot.isPaid ? .paid : .free,
                    time: self.time(of: lot.id), transaction: lot.transaction,
                    product: lot.transaction.flatMap { purchases[$0]?.product }, granted: lot.granted,
                    remaining: lot.remaining, held: lot.held, debt: lot.owed, expiresAt: lot.expiresAt)
            }, next: next)
    }

    func holds(_ query: OpenItemsQuery, at time: Timestamp) -> OpenItemsPage<OpenHoldView> {
        let account = whose(query.account)
        let settled = settled(account, at: time)
        let open = settled.holds.indices.filter { number in
            let hold = settled.holds[number]
            return hold.end == nil && hold.account == account
                && (query.currency == nil || hold.currency == query.currency)
        }
        let (page, next) = World.page(open, query) { holds[$0].first }
        return OpenItemsPage(entry: entries.last?.id ?? 0, items: page.map { view(ofHold: $0) }, next: next)
    }

    /// As it is once what has run out by a time is posted.
    private func settled(_ account: Int?, at time: Timestamp) -> World {
        var world = self
        world.settle(account, at: time)
        return world
    }

    private func view(ofHold number: Int) -> OpenHoldView {
        let hold = holds[number]
        let entry = entries[Int(lines[Int(hold.first) - 1].entry) - 1]
        let key = entry.key!
        let operation = answers[key]!.traces.firstIndex { trace in
            if case .hold(number) = trace { true } else { false }
        }
        return OpenHoldView(
            key: key, operation: entry.kind == .atomic ? operation : nil, entry: entry.id, time: entry.time,
            currency: hold.currency, amount: hold.amount, expiresAt: hold.expiresAt, actor: entry.actor)
    }

    private func time(of transfer: Int64) -> Timestamp {
        entries[Int(lines[Int(transfer) - 1].entry) - 1].time
    }

    /// The newest first.
    private static func page<Item>(
        _ items: [Item], _ query: OpenItemsQuery, _ number: (Item) -> Int64
    ) -> (items: [Item], next: Int64?) {
        let wanted = items.filter { number($0) < query.before ?? .max }.sorted { number($0) > number($1) }
        let page = Array(wanted.prefix(query.limit))
        return (page, page.count < wanted.count ? page.last.map(number) : nil)
    }
}
