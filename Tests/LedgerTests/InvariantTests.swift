import Ledger
import Testing

/// What must never be ends the process before anything of it is durable.
@Suite struct InvariantTests {
    private static func credited() -> Books {
        var books = Books(
            catalog: .standard, known: [], position: LastNumbers(), totals: Totals(currencies: 0), hash: testHash)
        _ = books.decide(.credit(jws(1), account: "ann"), at: 1)
        return books
    }

    @Test func aPurchaseThatPostedWhatItsNewestJWSSaysGoesOn() async {
        await #expect(processExitsWith: .success) {
            var books = InvariantTests.credited()
            _ = books.decide(.credit(jws(1, signed: 5, revoked: 50_000), account: "ann"), at: 2)
            _ = books.decide(.credit(jws(1, signed: 6, revoked: 100_000), account: "ann"), at: 3)
            _ = books.takeRows()
        }
    }

    @Test func aPurchaseThatPostedSomethingElseEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            var books = InvariantTests.credited()
            // As if half of it had been revoked, and nothing posted.
            var register = books.purchases[1]!
            register.revoked = 50_000
            books.load(register)
            _ = books.decide(.credit(jws(1, signed: 5, revoked: 100_000), account: "ann"), at: 2)
        }
    }

    @Test func aPurchaseWithLotsAndNoAccountEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            var books = InvariantTests.credited()
            var register = books.purchases[1]!
            register.account = nil
            books.load(register)
            _ = books.decide(.credit(jws(1, signed: 5), account: "ann"), at: 2)
        }
    }

    @Test func aPurchaseWhoseLotIsNotInMemoryEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            var books = InvariantTests.credited()
            var register = books.purchases[1]!
            register.lots = [77]
            books.load(register)
            _ = books.decide(.credit(jws(1, signed: 5), account: "ann"), at: 2)
        }
    }
}
