extension KeyedAnswer {
    /// `nil` where the bytes are not a stored answer: they were changed by other hands.
    /// - Parameter name: the name of an account, `nil` where there is no such account.
    package init?(encoded: ArraySlice<UInt8>, name: (PlayerID) -> AccountName?) {
        let answer = encoded.withUnsafeBytes { bytes -> KeyedAnswer? in
            var reader = AnswerReader(fields: BlockReader(bytes))
            guard let answer = reader.answer(name), reader.fields.isAtEnd, reader.fields.fault == nil else {
                return nil
            }
            return answer
        }
        guard let answer else { return nil }
        self = answer
    }
}

extension KeyedAnswer {
    /// Whether a stored answer is that of a consent.
    package static func isConsent(_ encoded: ArraySlice<UInt8>) -> Bool { encoded.first == 9 }
}

/// Reads the form that `AnswerWriter` writes. Never traps, whatever the bytes are: a field that cannot be read is a
/// fault of `fields`, for which ``KeyedAnswer/init(encoded:name:)`` asks at the end.
private struct AnswerReader {
    var fields: BlockReader

    private mutating func integer() -> Int64 { fields.number() }

    /// Stored plus one, so that 0 is none.
    private mutating func transaction() -> TransactionID? {
        let value = fields.varint()
        if value == 0 { return nil }
        guard let number = Int64(exactly: value - 1) else {
            fields.fail(.malformed, "a transaction id is 2^63 or more")
            return nil
        }
        return TransactionID(number: number)
    }

    private mutating func code() -> CurrencyCode? { CurrencyCode(fields.text()) }

    private mutating func list<Element>(_ element: (inout AnswerReader) -> Element?) -> [Element]? {
        let count = integer()
        guard count <= fields.end - fields.place else { return nil }
        var list: [Element] = []
        for _ in 0..<count {
            guard let next = element(&self), fields.fault == nil else { return nil }
            list.append(next)
        }
        return list
    }

    private mutating func trace() -> KeyedAnswer.Trace { KeyedAnswer.Trace(first: integer(), player: integer()) }

    private mutating func balances() -> [CurrencyBalance]? {
        list { reader in
            guard let currency = reader.code() else { return nil }
            return CurrencyBalance(
                currency: currency,
                balance: Balance(
                    available: reader.integer(), held: reader.integer(), debt: reader.integer(),
                    paid: reader.integer(), version: reader.integer()))
        }
    }

    private mutating func drawn() -> [DrawnLot]? {
        list { reader in
            guard let currency = reader.code(), let amount = Amount(reader.integer()) else { return nil }
            return DrawnLot(
                currency: currency, amount: amount, lot: reader.integer(), transaction: reader.transaction())
        }
    }

    mutating func answer(_ name: (PlayerID) -> AccountName?) -> KeyedAnswer? {
        let tag = integer()
        if tag == 8 {
            let operation = integer()
            guard let reason = reason(integer()) else { return nil }
            return .refused(reason, operation: Int(operation))
        }
        if tag == 9 {
            let consumption = integer()
            let time = integer()
            return consumption > 1
                ? nil : .consent(ConsentReceipt(consumption: consumption == 1, time: time, replayed: false))
        }
        if tag >= 16 { return reason(tag).map { .refused($0) } }
        let entry = integer()
        switch tag {
        case 1:
            let trace = trace()
            guard let balances = balances(), let drawn = drawn() else { return nil }
            return .spend(SpendReceipt(entry: entry, replayed: false, drawn: drawn, balances: balances), trace)
        case 2:
            return balances().map { .grant(GrantReceipt(entry: entry, replayed: false, balances: $0)) }
        case 3:
            guard let balances = balances(), let returned = drawn() else { return nil }
            return .reversal(ReversalReceipt(entry: entry, replayed: false, returned: returned, balances: balances))
        case 4:
            let trace = trace()
            let expiresAt = integer()
            return balances().map {
                .hold(HoldReceipt(entry: entry, replayed: false, expiresAt: expiresAt, balances: $0), trace)
            }
        case 5:
            let trace = trace()
            guard let balances = balances(), let drawn = drawn() else { return nil }
            return .capture(CaptureReceipt(entry: entry, replayed: false, drawn: drawn, balances: balances), trace)
        case 6:
            return balances().map { .release(ReleaseReceipt(entry: entry, replayed: false, balances: $0)) }
        case 7: return atomic(entry, name)
        case 10: return balances().map { .adjustment(AdjustmentReceipt(entry: entry, replayed: false, balances: $0)) }
        case 11, 12:
            let entries = integer()
            let usedUp = tag == 12 ? integer() : 0
            return (entry == 0) == (entries == 0) && (tag == 12 ? usedUp > 0 : entries > 0)
                ? .imported(
                    ImportReceipt(
                        entry: entry == 0 ? nil : entry, entries: entries, usedUp: usedUp, replayed: false))
                : nil
        default: return nil
        }
    }

    private mutating func atomic(_ entry: EntryID, _ name: (PlayerID) -> AccountName?) -> KeyedAnswer? {
        guard let results = list({ $0.result() }) else { return nil }
        let balances = list { reader -> (player: PlayerID, balances: AccountBalances)? in
            let player = reader.integer()
            guard let account = name(player), let balances = reader.balances() else { return nil }
            return (player, AccountBalances(account: account, balances: balances))
        }
        return balances.map {
            .atomic(
                AtomicReceipt(
                    entry: entry, replayed: false, results: results.map(\.0), balances: $0.map(\.balances)),
                results.map(\.1), players: $0.map(\.player))
        }
    }

    private mutating func result() -> (AtomicReceipt.Result, KeyedAnswer.Trace?)? {
        switch integer() {
        case 1:
            let trace = trace()
            return drawn().map { (.spend(drawn: $0), trace) }
        case 2: return (.grant, nil)
        case 3: return drawn().map { (.reverse(returned: $0), nil) }
        case 4:
            let trace = trace()
            return (.hold(expiresAt: integer()), trace)
        case 5:
            let trace = trace()
            return drawn().map { (.capture(drawn: $0), trace) }
        case 6: return (.release, nil)
        default: return nil
        }
    }

    private mutating func reason(_ tag: Int64) -> Refusal.Reason? {
        switch tag {
        case 16: return code().map { .insufficientFunds(currency: $0, available: integer()) }
        case 17: return .versionMismatch(version: integer())
        case 18: return .minimumRemaining(available: integer())
        case 19: return code().map { .balanceLimit(currency: $0) }
        case 20: return code().map { .unknownCurrency(currency: $0) }
        case 21: return .unknownSpend
        case 22: return code().map { .alreadyReversed(currency: $0, reversible: integer()) }
        case 23: return .unknownHold
        case 24: return .holdClosed
        case 25: return .holdExpired(expiresAt: integer())
        case 26: return code().map { .grantLimit(currency: $0, grantMax: integer()) }
        default: return nil
        }
    }
}
