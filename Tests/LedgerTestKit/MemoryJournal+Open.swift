import Ledger

/// What an account's wallets have open, as the books in memory have it.
extension MemoryJournal {
    func lots(_ query: OpenItemsQuery, at time: Timestamp) -> OpenItemsPage<OpenLot> {
        let open = (player(of: query.account, at: time)?.wallets ?? []).flatMap { wallet in
            wallet.open.map { (code: books.code(wallet.currency), lot: $0) }
        }
        let views = open.filter { query.currency == nil || $0.code == query.currency }
            .sorted { $0.lot.id > $1.lot.id }
            .map { code, lot in
                OpenLot(
                    lot: lot.id, currency: code, lotClass: lot.lotClass, time: lot.time, transaction: lot.transaction,
                    product: lot.transaction.flatMap { id in
                        rows.purchases.first { $0.facts.transaction == id }?.facts.product
                    }, granted: lot.granted, remaining: lot.remaining, held: lot.held, debt: lot.owed,
                    expiresAt: lot.expiresAt)
            }
        let (page, next) = MemoryJournal.page(views, query, number: \.lot, bytes: \.resultBytes)
        return OpenItemsPage(entry: lastEntry, items: page, next: next)
    }

    func holds(_ query: OpenItemsQuery, at time: Timestamp) -> OpenItemsPage<OpenHoldView> {
        let open = (player(of: query.account, at: time)?.holds ?? []).map { hold in
            (id: hold.id, view: view(of: hold))
        }
        let views = open.filter { query.currency == nil || $0.view.currency == query.currency }
            .sorted { $0.id > $1.id }
        let (page, next) = MemoryJournal.page(views, query, number: \.id, bytes: \.view.resultBytes)
        return OpenItemsPage(entry: lastEntry, items: page.map(\.view), next: next)
    }

    private var lastEntry: EntryID { rows.entries.last?.id ?? 0 }

    private func player(of name: AccountName, at time: Timestamp) -> Player? {
        var books = books
        books.settle(name, at: time)
        guard var current = player(name) else { return nil }
        while let next = links(of: current).last { current = next }
        return books.players[current]
    }

    private func view(of hold: OpenHold) -> OpenHoldView {
        guard let entry = rows.entries.last(where: { $0.firstTransfer <= hold.id }), let key = entry.key else {
            preconditionFailure("hold \(hold.id) is of no request")
        }
        let answer = rows.requests.first { $0.key == key }.flatMap { row in
            KeyedAnswer(encoded: row.answer, name: { name($0) })
        }
        let place = answer?.holds.first { $0.hold.trace.first == hold.id }?.operation
        return OpenHoldView(
            key: key, operation: entry.kind == .atomic ? place : nil, entry: entry.id, time: entry.time,
            currency: books.code(hold.currency), amount: hold.amount, expiresAt: hold.expiresAt,
            actor: entry.actor.flatMap { id in rows.actors.first { $0.id == id }?.name })
    }

    private static func page<Row>(
        _ rows: [Row], _ query: OpenItemsQuery, number: (Row) -> Int64, bytes: (Row) -> Int
    ) -> (rows: [Row], next: Int64?) {
        let wanted = rows.filter { number($0) < query.before ?? Int64.max }
        var page = Array(wanted.prefix(query.limit))
        page.cut(bytes)
        return (page, page.count < wanted.count ? page.last.map(number) : nil)
    }
}
