import Ledger
import Testing

/// A store restarts by applying the journal's transfers; that gives the books that deciding gave.
@Suite struct ReplayTests {
    /// A life with debts, write-offs, recoveries and reinstatements.
    private func lived() throws -> AuditedStore {
        var store = AuditedStore()
        try store.credit(jws(1, "starter", quantity: 3, price: 9_990), "ann")
        try store.spend("a", "ann", 2_500)
        try store.spend("b", "ann", 80, of: "coins")
        try store.notify("n", jws(2))
        try store.credit(jws(1, "starter", quantity: 3, signed: 2, revoked: 100_000, price: 9_990), "ann")
        try store.credit(jws(2), "ann")
        try store.grant("c", "ann", 250)
        try store.credit(jws(3, "coins100", signed: 4, revoked: 25_000), "bob")
        try store.credit(jws(1, "starter", quantity: 3, signed: 5, revoked: 33_333, price: 9_990), "ann")
        try store.grant("d", "ann", 5, of: "tickets")
        return store
    }

    @Test func theJournalAppliedToEmptyBooksGivesTheSameBooks() throws {
        let store = try lived()
        var books = Books(
            catalog: .standard, known: store.index.rows.currencies.map(\.code), position: store.books.position,
            totals: Totals(currencies: store.books.currencies.count), hash: testHash)
        for row in store.index.rows.accounts { books.load(Player(id: row.id, name: store.index.name(row.id))) }
        for transfer in store.index.rows.transfers {
            let owner = try #require(store.index.owners[transfer.lot])
            #expect(transfer.player == owner.player)
            let previous = books.apply(
                transfer, opening: store.index.opening(transfer), hold: store.index.hold(transfer))
            #expect(previous == transfer.previous)
        }
        #expect(books.totals == store.books.totals)
        #expect(books.players.count == store.books.players.count)
        for player in books.players.values {
            let decided = try #require(store.books.players[player.id])
            #expect(player.name == decided.name && player.wallets.count == decided.wallets.count)
            for (wallet, other) in zip(player.wallets, decided.wallets) {
                #expect(wallet.currency == other.currency && wallet.balance == other.balance)
                #expect(wallet.lastEntry == other.lastEntry && wallet.lastTransfer == other.lastTransfer)
                #expect(wallet.open == other.open)
                #expect(Set(wallet.closed) == Set(other.closed))
            }
        }
    }

    /// From the projection as of a watermark, and the journal after it.
    @Test(arguments: 0...10)
    func anyWatermarkGivesTheSameBooks(entries: Int) throws {
        var store = try lived()
        let before = store.snapshot()
        var partial = AuditedStore()
        try partial.credit(jws(1, "starter", quantity: 3, price: 9_990), "ann")
        for step in 0..<entries {
            if step == entries / 2 { partial.checkpoint() }
            try partial.grant(RequestKey("k\(step)")!, "ann", 1)
            if step.isMultiple(of: 3) {
                try partial.credit(jws(1, "starter", quantity: 3, signed: 2, revoked: 100_000, price: 9_990), "ann")
            }
        }
        let whole = partial.snapshot()
        partial.restart()
        #expect(partial.snapshot() == whole)
        partial.restart(fromGenesis: true)
        #expect(partial.snapshot() == whole)
        store.restart(fromGenesis: true)
        #expect(store.snapshot() == before)
    }

    @Test func whatWasForgottenIsLoadedAgain() throws {
        var store = try lived()
        let views = try [1, 2, 3].map { try store.view(TransactionID(number: $0)) }
        store.checkpoint()
        store.forget()
        #expect(store.books.players.isEmpty)
        #expect(try [1, 2, 3].map { try store.view(TransactionID(number: $0)) } == views)
        #expect(store.books.players.count == 2)
        // A view borrows closed lots; the commit after it gives them back.
        #expect(store.books.players.values.flatMap(\.wallets).allSatisfy { $0.closed.isEmpty })
    }

    @Test func aPlayerWhoIsNotWrittenIsNotForgotten() throws {
        var store = try lived()
        let before = store.snapshot()
        store.forget()
        #expect(store.books.players.count == 2)
        #expect(store.snapshot() == before)
        store.checkpoint()
        try store.grant("z", "bob", 1)
        store.forget()
        #expect(store.books.players.values.map(\.name) == ["bob"])
        #expect(try store.standing("bob") == [1, 0])
    }

    /// Every transfer names its player, so that whoever keeps the books knows who was changed.
    @Test func transfersNameThePlayersThatTheyChange() throws {
        var store = try lived()
        #expect(store.dirtyPlayers == [1, 2])
        store.checkpoint()
        #expect(store.dirtyPlayers.isEmpty)
        try store.grant("y", "bob", 1)
        try store.grant("z", "bob", 1, of: "tickets")
        #expect(store.dirtyPlayers == [2])
    }
}
