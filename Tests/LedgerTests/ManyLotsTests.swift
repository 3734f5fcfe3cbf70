import Ledger
import Testing

/// A wallet of very many open lots.
@Suite struct ManyLotsTests {
    private static let count = 20_000

    /// Books with one player who has so many lots of one unit, free and paid ones in turn.
    private func books() -> Books {
        var books = Books(
            catalog: .standard, known: ["gems"], position: LastNumbers(), totals: Totals(currencies: 1),
            hash: testHash)
        var wallet = Wallet(currency: 1)
        let lots = (1...Int64(Self.count)).map { id in
            Lot(
                id: id, lotClass: id.isMultiple(of: 2) ? .free : .paid, transaction: nil, time: 0, price: 0, granted: 1,
                remaining: 1)
        }
        wallet.insert(lots)
        wallet.available = Int64(Self.count)
        wallet.paid = Int64(Self.count / 2)
        var position = books.position
        position.account = 1
        position.transfer = Int64(Self.count)
        books = Books(
            catalog: .standard, known: ["gems"], position: position, totals: books.totals, hash: testHash)
        books.load(Player(id: 1, name: "ann", wallets: [wallet]))
        return books
    }

    private func spend(_ key: RequestKey, _ amount: Amount) -> Command {
        .spend(Spend(key: key, account: "ann", debits: [CurrencyAmount(currency: "gems", amount: amount)]))
    }

    /// Moving or copying the lots for each one would take minutes.
    @Test func spendingAndGivingBackTakesTimeInProportion() {
        var books = books()
        let clock = ContinuousClock()
        let all = Amount(Int64(Self.count))!
        let took = clock.measure {
            _ = books.decide(spend("s", all), at: 1)
            _ = books.decide(.reverse(Reversal(key: "r", spendKey: "s")), at: 2)
            _ = books.decide(
                .hold(Hold(key: "h", account: "ann", currency: "gems", amount: all, timeoutMilliseconds: 10)), at: 3)
            _ = books.decide(.expire, at: 100)
        }
        #expect(took < .seconds(30), "\(took)")
        #expect(books.rows.transfers.count == 4 * Self.count)
        let balance = books.players[1]?.wallets[0].balance
        #expect(balance == Balance(available: all.units, paid: all.units / 2, version: 4))
        // Free lots first, whatever stands between them.
        #expect(books.rows.transfers.prefix(3).map(\.lot) == [2, 4, 6])
        print("\(Self.count) lots spent, given back, held and released in \(took)")
    }
}
