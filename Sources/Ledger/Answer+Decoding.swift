extension Answer {
    /// `nil` where the bytes are not a stored answer: they were changed by other hands.
    /// - Parameter name: the name of an account, `nil` where there is no such account.
    package init?(encoded: ArraySlice<UInt8>, name: (PlayerID) -> AccountName?) {
        var reader = AnswerReader(bytes: encoded)
        guard let answer = reader.answer(name), reader.bytes.isEmpty else { return nil }
        self = answer
    }
}

/// Reads the form that `AnswerWriter` writes. Never traps, whatever the bytes are.
private struct AnswerReader {
    var bytes: ArraySlice<UInt8>

    mutating func integer() -> Int64? { unsigned().flatMap { Int64(exactly: $0) } }

    private mutating func unsigned() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            guard let byte = bytes.popFirst(), shift < 63 || byte <= 1 else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }

    /// `nil` where the bytes end, or hold no such number; `.some(nil)` for none.
    private mutating func transaction() -> TransactionID?? {
        guard let value = unsigned() else { return nil }
        if value == 0 { return .some(nil) }
        return Int64(exactly: value - 1).map { TransactionID(number: $0) }
    }

    private mutating func text() -> String? {
        guard let count = integer(), count <= bytes.count else { return nil }
        let text = String(decoding: bytes.prefix(Int(count)), as: UTF8.self)
        bytes.removeFirst(Int(count))
        return text
    }

    private mutating func code() -> CurrencyCode? { text().flatMap { CurrencyCode($0) } }

    private mutating func list<Element>(_ element: (inout AnswerReader) -> Element?) -> [Element]? {
        guard let count = integer(), count <= bytes.count else { return nil }
        var list: [Element] = []
        for _ in 0..<count {
            guard let next = element(&self) else { return nil }
            list.append(next)
        }
        return list
    }

    private mutating func trace() -> Answer.Trace? {
        guard let first = integer(), let player = integer() else { return nil }
        return Answer.Trace(first: first, player: player)
    }

    private mutating func balances() -> [CurrencyBalance]? {
        list { reader in
            guard let currency = reader.code(), let available = reader.integer(), let held = reader.integer(),
                let debt = reader.integer(), let paid = reader.integer(), let version = reader.integer()
            else { return nil }
            return CurrencyBalance(
                currency: currency,
                balance: Balance(available: available, held: held, debt: debt, paid: paid, version: version))
        }
    }

    private mutating func drawn() -> [DrawnLot]? {
        list { reader in
            guard let currency = reader.code(), let units = reader.integer(), let amount = Amount(units),
                let lot = reader.integer(), let transaction = reader.transaction()
            else { return nil }
            return DrawnLot(currency: currency, amount: amount, lot: lot, transaction: transaction)
        }
    }

    mutating func answer(_ name: (PlayerID) -> AccountName?) -> Answer? {
        guard let tag = integer() else { return nil }
        if tag == 8 {
            guard let operation = integer(), let tag = integer(), let reason = reason(tag) else { return nil }
            return Int(exactly: operation).map { .refused(reason, operation: $0) }
        }
        if tag >= 16 { return reason(tag).map { .refused($0) } }
        guard let entry = integer() else { return nil }
        switch tag {
        case 1:
            guard let trace = trace(), let balances = balances(), let drawn = drawn() else { return nil }
            return .spend(SpendReceipt(entry: entry, replayed: false, drawn: drawn, balances: balances), trace)
        case 2:
            return balances().map { .grant(GrantReceipt(entry: entry, replayed: false, balances: $0)) }
        case 3:
            guard let balances = balances(), let returned = drawn() else { return nil }
            return .reversal(ReversalReceipt(entry: entry, replayed: false, returned: returned, balances: balances))
        case 4:
            guard let trace = trace(), let expiresAt = integer(), let balances = balances() else { return nil }
            return .hold(HoldReceipt(entry: entry, replayed: false, expiresAt: expiresAt, balances: balances), trace)
        case 5:
            guard let trace = trace(), let balances = balances(), let drawn = drawn() else { return nil }
            return .capture(CaptureReceipt(entry: entry, replayed: false, drawn: drawn, balances: balances), trace)
        case 6:
            return balances().map { .release(ReleaseReceipt(entry: entry, replayed: false, balances: $0)) }
        case 7: return atomic(entry, name)
        default: return nil
        }
    }

    private mutating func atomic(_ entry: EntryID, _ name: (PlayerID) -> AccountName?) -> Answer? {
        guard let results = list({ $0.result() }) else { return nil }
        let balances = list { reader -> (player: PlayerID, balances: AccountBalances)? in
            guard let player = reader.integer(), let account = name(player), let balances = reader.balances() else {
                return nil
            }
            return (player, AccountBalances(account: account, balances: balances))
        }
        return balances.map {
            .atomic(
                AtomicReceipt(
                    entry: entry, replayed: false, results: results.map(\.0), balances: $0.map(\.balances)),
                results.map(\.1), players: $0.map(\.player))
        }
    }

    private mutating func result() -> (AtomicReceipt.Result, Answer.Trace?)? {
        switch integer() {
        case 1:
            guard let trace = trace(), let drawn = drawn() else { return nil }
            return (.spend(drawn: drawn), trace)
        case 2: return (.grant, nil)
        case 3: return drawn().map { (.reverse(returned: $0), nil) }
        case 4:
            guard let trace = trace(), let expiresAt = integer() else { return nil }
            return (.hold(expiresAt: expiresAt), trace)
        case 5:
            guard let trace = trace(), let drawn = drawn() else { return nil }
            return (.capture(drawn: drawn), trace)
        case 6: return (.release, nil)
        default: return nil
        }
    }

    private mutating func reason(_ tag: Int64) -> Refusal.Reason? {
        switch tag {
        case 16:
            guard let currency = code(), let available = integer() else { return nil }
            return .insufficientFunds(currency: currency, available: available)
        case 17: return integer().map { .versionMismatch(version: $0) }
        case 18: return integer().map { .minimumRemaining(available: $0) }
        case 19: return code().map { .balanceLimit(currency: $0) }
        case 20: return code().map { .unknownCurrency(currency: $0) }
        case 21: return .unknownSpend
        case 22:
            guard let currency = code(), let reversible = integer() else { return nil }
            return .alreadyReversed(currency: currency, reversible: reversible)
        case 23: return .unknownHold
        case 24: return .holdClosed
        case 25: return integer().map { .holdExpired(expiresAt: $0) }
        default: return nil
        }
    }
}
