/// What a keyed request was answered, as it is stored with its key and given again for ever.
///
/// Stored form: a tag byte, then fields. An integer is a LEB128 varint of 64 bits (all are ≥ 0; a transaction id is
/// stored plus one, 0 for none), a currency code is its length and its bytes. Shipped forms never change; a new form is a new tag.
package enum Answer: Hashable, Sendable {
    case spend(SpendReceipt)
    case grant(GrantReceipt)
    case refused(Refusal.Reason)

    package var entry: EntryID? {
        switch self {
        case .spend(let receipt): receipt.entry
        case .grant(let receipt): receipt.entry
        case .refused: nil
        }
    }

    package func outcome(replayed: Bool) -> Outcome {
        switch self {
        case .spend(var receipt):
            receipt.replayed = replayed
            return .spend(receipt)
        case .grant(var receipt):
            receipt.replayed = replayed
            return .grant(receipt)
        case .refused(let reason):
            return .refused(Refusal(reason, replayed: replayed))
        }
    }

    package var encoded: [UInt8] {
        var writer = AnswerWriter()
        switch self {
        case .spend(let receipt):
            writer.integer(1)
            writer.integer(receipt.entry)
            writer.balances(receipt.balances)
            writer.integer(Int64(receipt.drawn.count))
            for part in receipt.drawn {
                writer.code(part.currency)
                writer.integer(part.amount.units)
                writer.integer(part.lot)
                writer.transaction(part.transaction)
            }
        case .grant(let receipt):
            writer.integer(2)
            writer.integer(receipt.entry)
            writer.balances(receipt.balances)
        case .refused(let reason):
            writer.reason(reason)
        }
        return writer.bytes
    }

    /// `nil` where the bytes are not a stored answer: the file was changed by other hands.
    package init?(encoded: [UInt8]) {
        var reader = AnswerReader(bytes: encoded[...])
        guard let answer = reader.answer(), reader.bytes.isEmpty else { return nil }
        self = answer
    }
}

private struct AnswerWriter {
    var bytes: [UInt8] = []

    mutating func integer(_ value: Int64) {
        precondition(value >= 0, "a stored answer holds no negative number")
        unsigned(UInt64(value))
    }

    /// The largest transaction id plus one is no longer an `Int64`.
    mutating func transaction(_ transaction: TransactionID?) {
        unsigned(transaction.map { UInt64($0.number) + 1 } ?? 0)
    }

    private mutating func unsigned(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func code(_ code: CurrencyCode) {
        integer(Int64(code.text.utf8.count))
        bytes.append(contentsOf: code.text.utf8)
    }

    mutating func balances(_ balances: [CurrencyBalance]) {
        integer(Int64(balances.count))
        for item in balances {
            code(item.currency)
            integer(item.balance.available)
            integer(item.balance.held)
            integer(item.balance.debt)
            integer(item.balance.paid)
            integer(item.balance.version)
        }
    }

    mutating func reason(_ reason: Refusal.Reason) {
        switch reason {
        case .insufficientFunds(let currency, let available):
            integer(16)
            code(currency)
            integer(available)
        case .versionMismatch(let version):
            integer(17)
            integer(version)
        case .minimumRemaining(let available):
            integer(18)
            integer(available)
        case .balanceLimit(let currency):
            integer(19)
            code(currency)
        case .unknownCurrency(let currency):
            integer(20)
            code(currency)
        case .unknownProduct, .accountRequired, .accountMismatch, .purchaseConflict, .keyReused, .unknownPurchase,
            .proratedPreference:
            preconditionFailure("a refusal that no key records")
        }
    }
}

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

    mutating func code() -> CurrencyCode? {
        guard let count = integer(), count <= bytes.count else { return nil }
        let text = String(decoding: bytes.prefix(Int(count)), as: UTF8.self)
        bytes.removeFirst(Int(count))
        return CurrencyCode(text)
    }

    mutating func list<Element>(_ element: (inout AnswerReader) -> Element?) -> [Element]? {
        guard let count = integer(), count <= bytes.count else { return nil }
        var list: [Element] = []
        for _ in 0..<count {
            guard let next = element(&self) else { return nil }
            list.append(next)
        }
        return list
    }

    mutating func balances() -> [CurrencyBalance]? {
        list { reader in
            guard let currency = reader.code(), let available = reader.integer(), let held = reader.integer(),
                let debt = reader.integer(), let paid = reader.integer(), let version = reader.integer()
            else { return nil }
            return CurrencyBalance(
                currency: currency,
                balance: Balance(available: available, held: held, debt: debt, paid: paid, version: version))
        }
    }

    mutating func drawn() -> [DrawnLot]? {
        list { reader in
            guard let currency = reader.code(), let units = reader.integer(), let amount = Amount(units),
                let lot = reader.integer(), let transaction = reader.transaction()
            else { return nil }
            return DrawnLot(currency: currency, amount: amount, lot: lot, transaction: transaction)
        }
    }

    mutating func answer() -> Answer? {
        switch integer() {
        case 1:
            guard let entry = integer(), let balances = balances(), let drawn = drawn() else { return nil }
            return .spend(SpendReceipt(entry: entry, replayed: false, drawn: drawn, balances: balances))
        case 2:
            guard let entry = integer(), let balances = balances() else { return nil }
            return .grant(GrantReceipt(entry: entry, replayed: false, balances: balances))
        case 16:
            guard let currency = code(), let available = integer() else { return nil }
            return .refused(.insufficientFunds(currency: currency, available: available))
        case 17: return integer().map { .refused(.versionMismatch(version: $0)) }
        case 18: return integer().map { .refused(.minimumRemaining(available: $0)) }
        case 19: return code().map { .refused(.balanceLimit(currency: $0)) }
        case 20: return code().map { .refused(.unknownCurrency(currency: $0)) }
        default: return nil
        }
    }
}
