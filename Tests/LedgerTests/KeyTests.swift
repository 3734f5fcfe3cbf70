import Ledger
import Testing

/// One key, one answer, for ever.
@Suite struct KeyTests {
    private func spend(
        _ debits: [CurrencyCode: Amount] = ["gems": 5], key: RequestKey = "k", account: AccountName = "ann",
        note: String? = nil, funds: Funds = .any, version: Int64? = nil, minimum: Int64? = nil
    ) -> Spend {
        Spend(
            key: key, account: account, debits: debits.map { CurrencyAmount(currency: $0.key, amount: $0.value) },
            note: note, funds: funds, expectedVersion: version, minimumRemaining: minimum)
    }

    @Test func aRepetitionGetsTheFirstAnswerAndDoesNothing() throws {
        var store = AuditedStore()
        let granted = try store.grant("g", "ann", 10, note: "welcome")
        let spent = try store.spend(spend())
        #expect(!granted.replayed && !spent.replayed)
        try store.spend("other", "ann", 5)
        for restarts in [false, true] {
            if restarts { store.restart() }
            let again = try store.spend(spend())
            #expect(again.replayed && again.entry == spent.entry && again.drawn == spent.drawn)
            #expect(again.balances == spent.balances && again.balances.map(\.balance.available) == [5])
            let grantedAgain = try store.grant("g", "ann", 10, note: "welcome")
            #expect(grantedAgain.replayed && grantedAgain.entry == granted.entry)
            #expect(grantedAgain.balances == granted.balances)
        }
        #expect(try store.standing("ann") == [0, 0])
        #expect(store.index.rows.requests.count == 3)
    }

    @Test func aRefusalByStateIsTheAnswerThoughTheStateHasChanged() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10)
        let refused: [(Spend, Refusal.Reason)] = [
            (spend(["gems": 11], key: "funds"), .insufficientFunds(currency: "gems", available: 10)),
            (spend(key: "version", version: 7), .versionMismatch(version: 1)),
            (spend(key: "minimum", minimum: 6), .minimumRemaining(available: 10)),
            (spend(["stars": 1], key: "currency"), .unknownCurrency(currency: "stars")),
        ]
        for (request, reason) in refused { #expect(throws: Refusal(reason)) { try store.spend(request) } }
        let limit = Refusal.Reason.balanceLimit(currency: "gems")
        #expect(throws: Refusal(limit)) { try store.grant("limit", "ann", Amount(Limits.amountMax)!) }

        try store.grant("h", "ann", 1_000)
        for _ in 0..<6 { try store.grant(RequestKey("v\(store.index.rows.entries.count)")!, "ann", 1) }
        try store.spend("rest", "ann", 1_000)
        store.restart(
            Catalog(currencies: ["gems": CurrencySettings(), "stars": CurrencySettings()], products: [:]))
        try store.grant("stars", "ann", 5, of: "stars")
        for (request, reason) in refused {
            #expect(throws: Refusal(reason, replayed: true)) { try store.spend(request) }
        }
        #expect(throws: Refusal(limit, replayed: true)) { try store.grant("limit", "ann", Amount(Limits.amountMax)!) }
    }

    @Test func anotherRequestUnderAUsedKeyIsRefusedAndTheFirstAnswerStays() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 100)
        let first = try store.spend(spend(key: "k"))
        let others = [
            spend(account: "bob"), spend(["gems": 6]), spend(["tickets": 5]), spend(["gems": 5, "tickets": 1]),
            spend(note: ""), spend(funds: .paid), spend(version: 1), spend(minimum: 0),
        ]
        for other in others { #expect(throws: Refusal(.keyReused)) { try store.spend(other) } }
        #expect(throws: Refusal(.keyReused)) { try store.grant("k", "ann", 5) }
        #expect(throws: Refusal(.keyReused)) { try store.spend("g", "ann", 100) }
        #expect(try store.spend(spend(key: "k")).entry == first.entry)
        #expect(store.index.rows.requests.count == 2)
    }

    /// A used key is looked at before anything else.
    @Test func keyReusedStandsBeforeTheRequestsOwnRefusals() throws {
        var store = AuditedStore()
        try store.grant("k", "ann", 1)
        #expect(throws: Refusal(.keyReused)) { try store.grant("k", "ann", 1, of: "stars") }
        #expect(throws: Refusal(.keyReused)) { try store.spend("k", "ann", 1_000) }
    }

    @Test func theOrderOfDebitsIsNoDifference() throws {
        let debits = (["coins", "gems", "tickets"] as [CurrencyCode]).map { CurrencyAmount(currency: $0, amount: 1) }
        let first = Spend(key: "a", account: "ann", debits: debits)
        let second = Spend(key: "b", account: "ann", debits: debits.reversed())
        #expect(
            KeyedOperation.spend(first).fingerprint(of: 1, testHash)
                == KeyedOperation.spend(second).fingerprint(of: 1, testHash))
        var store = AuditedStore()
        try store.credit(jws(1, "starter"), "ann")
        try store.spend(Spend(key: "k", account: "ann", debits: debits))
        #expect(try store.spend(Spend(key: "k", account: "ann", debits: debits.reversed())).replayed)
    }

    /// No two of these are the same request, though their texts and numbers are when written one after the other.
    @Test func differentRequestsHaveDifferentFingerprints() {
        let spends = [
            spend(), spend(["gems": 6]), spend(["gem": 5]), spend(["gems": 5, "tickets": 5]),
            spend(["gems": 5, "tickets": 6]), spend(["gems": 6, "tickets": 5]), spend(note: ""), spend(note: "any"),
            spend(note: "a"), spend(funds: .paid), spend(version: 0), spend(version: 1), spend(minimum: 0),
            spend(minimum: 1), spend(version: 1, minimum: 1),
        ]
        let grants = [
            Grant(key: "k", account: "ann", currency: "gems", amount: 5),
            Grant(key: "k", account: "ann", currency: "gems", amount: 5, note: ""),
            Grant(key: "k", account: "ann", currency: "gems", amount: 5, note: "a"),
            Grant(key: "k", account: "ann", currency: "gems", amount: 6),
        ]
        let fingerprints = ([1, 2] as [PlayerID]).flatMap { account in
            (spends.map { KeyedOperation.spend($0) } + grants.map { KeyedOperation.grant($0) })
                .map { $0.fingerprint(of: account, testHash) }
        }
        #expect(Set(fingerprints).count == 2 * (spends.count + grants.count))
        #expect(
            KeyedOperation.spend(spend(key: "a")).fingerprint(of: 1, testHash)
                == KeyedOperation.spend(spend(key: "b")).fingerprint(of: 1, testHash))
    }

    @Test func theSameKeyTwiceInABatchIsOneRequest() {
        var store = AuditedStore()
        let grant = Command.grant(Grant(key: "k", account: "ann", currency: "gems", amount: 5))
        let outcomes = store.commit([grant, grant, .spend(spend(key: "k"))])
        #expect(store.index.rows.requests.count == 1 && store.index.rows.entries.count == 1)
        guard case .grant(let second) = outcomes[1], case .refused(let third) = outcomes[2] else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(second.replayed && third == Refusal(.keyReused))
    }
}
