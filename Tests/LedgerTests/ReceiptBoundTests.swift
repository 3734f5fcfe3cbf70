import Ledger
import Testing

/// A receipt names a bounded number of lots; the key keeps all of them.
@Suite struct ReceiptBoundTests {
    /// A wallet of so many lots of one unit.
    private func wallet(of lots: Int) throws -> AuditedStore {
        var store = AuditedStore()
        for lot in 1...lots { try store.grant(RequestKey("g\(lot)")!, "ann", 1) }
        return store
    }

    @Test func aSpendNamesTheFirstLotsAndSaysHowManyMore() throws {
        var store = try wallet(of: 40)
        let first = try store.spend("s", "ann", 20)
        #expect(first.drawn.map(\.lot) == (1...16).map { LotID($0) } && first.drawnMore == 4)
        var again = try store.spend("s", "ann", 20)
        #expect(again.replayed)
        again.replayed = false
        #expect(again == first)
        let exact = try store.spend("t", "ann", 16)
        #expect(exact.drawn.count == Limits.lotsPerReceiptMax && exact.drawnMore == 0)
    }

    @Test func whatAReceiptDoesNotNameGoesBackAllTheSame() throws {
        var store = try wallet(of: 20)
        try store.spend("s", "ann", 20)
        let part = try store.reverse("r1", "s", [CurrencyAmount(currency: "gems", amount: 2)])
        #expect(part.returned.map(\.lot) == [20, 19] && part.returnedMore == 0)
        let rest = try store.reverse("r2", "s")
        #expect(rest.returned.map(\.lot) == (3...18).reversed().map { LotID($0) })
        #expect(rest.returnedMore == 2)
        #expect(try store.balance("ann").available == 20)
        #expect(try store.reverse("r2", "s").returnedMore == 2)
        #expect(throws: Refusal(.alreadyReversed(currency: "gems", reversible: 0))) { try store.reverse("r3", "s") }
    }

    @Test func aCaptureNamesTheFirstLotsAndSaysHowManyMore() throws {
        var store = try wallet(of: 30)
        try store.hold("h", "ann", 30)
        let receipt = try store.capture("c", "h", 25)
        #expect(receipt.drawn.map(\.lot) == (1...16).map { LotID($0) } && receipt.drawnMore == 9)
        #expect(try store.reverse("r", "c").returnedMore == 9)
        #expect(try store.balance("ann").available == 30)
    }

    @Test func eachOperationOfAnAtomicNamesItsFirstLots() throws {
        var store = try wallet(of: 40)
        func spend(_ amount: Amount) -> KeyedOperation {
            .spend(Spend(key: "a", account: "ann", debits: [CurrencyAmount(currency: "gems", amount: amount)]))
        }
        for replayed in [false, true] {
            let outcome = store.ask(.atomic(Atomic(key: "a", operations: [spend(18), spend(2), spend(17)])))
            guard case .atomic(let receipt) = outcome else { return _ = Issue.record("\(outcome)") }
            #expect(receipt.replayed == replayed)
            let sizes = receipt.results.map { result -> [Int] in
                if case .spend(let drawn, let more) = result { [drawn.count, more] } else { [] }
            }
            #expect(sizes == [[16, 2], [2, 0], [16, 1]])
        }
        #expect(try store.reverse("r", "a", operation: 0).returnedMore == 2)
    }
}
