import LedgerTypes
import StrictJSON

/// The protocol's values. Each reads one value or says what it must be.
extension JSONReader {
    mutating func requestID() throws(JSONError) -> RequestID {
        switch try peek() {
        case .null:
            try null()
            return .null
        case .string:
            return .string(try string())
        case .number:
            let start = self
            do throws(JSONError) {
                return .integer(try integer())
            } catch {
                self = start
                let range = try raw()
                return .number(String(decoding: bytes(range), as: UTF8.self))
            }
        case .object, .array, .bool:
            try skip()
            throw fail("must be a string, a number or null")
        }
    }

    mutating func accountName() throws(JSONError) -> AccountName {
        guard let name = AccountName(try string()) else {
            throw fail("must be 1 to \(Limits.accountBytesMax) bytes of text without control characters")
        }
        return name
    }

    /// A name in a result, where it may have been erased.
    mutating func toldAccountName() throws(JSONError) -> AccountName {
        guard let name = AccountName(told: try string()) else { throw fail("must be an account's name") }
        return name
    }

    mutating func appAccountToken() throws(JSONError) -> AppAccountToken {
        guard let token = AppAccountToken(try string()) else { throw fail("must be a UUID") }
        return token
    }

    mutating func currencyCode() throws(JSONError) -> CurrencyCode {
        guard let code = CurrencyCode(try string()) else {
            throw fail("must be a currency's code: 1 to \(Limits.codeBytesMax) letters, digits, _, - and .")
        }
        return code
    }

    mutating func requestKey() throws(JSONError) -> RequestKey {
        guard let key = RequestKey(try string()) else {
            throw fail("must be 1 to \(Limits.keyBytesMax) printable ASCII characters")
        }
        return key
    }

    mutating func productID() throws(JSONError) -> String {
        let text = try string()
        guard 1...Limits.codeBytesMax ~= text.utf8.count else {
            throw fail("must be a product of the catalog: 1 to \(Limits.codeBytesMax) bytes of text")
        }
        return text
    }

    /// The currency of a price (ISO 4217).
    mutating func priceCurrency() throws(JSONError) -> String {
        let text = try string()
        guard text.utf8.count == 3, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") }) else {
            throw fail("must be the currency of the price: three capital letters, as USD")
        }
        return text
    }

    mutating func transactionID() throws(JSONError) -> TransactionID {
        guard let id = TransactionID(try string()) else {
            throw fail("must be a transaction id: decimal digits, as Apple sends them")
        }
        return id
    }

    mutating func amount() throws(JSONError) -> Amount {
        guard let amount = Amount(try integer()) else {
            throw fail("must be an integer from 1 to \(Limits.amountMax)")
        }
        return amount
    }

    mutating func integer(in range: ClosedRange<Int64>) throws(JSONError) -> Int64 {
        let value = try integer()
        guard range.contains(value) else {
            throw fail("must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    mutating func timestamp() throws(JSONError) -> Timestamp {
        let time = try integer()
        guard 0...Limits.amountMax ~= time else {
            throw fail("must be a time: milliseconds since 1970, from 0 to \(Limits.amountMax)")
        }
        return time
    }

    mutating func note() throws(JSONError) -> String {
        let text = try text()
        guard text.withBytes({ $0.count }) <= Limits.noteBytesMax else {
            throw fail("must be at most \(Limits.noteBytesMax) bytes of text")
        }
        return text.string
    }

    mutating func token() throws(JSONError) -> String {
        let text = try text()
        guard 1...WireLimits.tokenBytesMax ~= text.withBytes({ $0.count }) else {
            throw fail("must be 1 to \(WireLimits.tokenBytesMax) bytes of text")
        }
        return text.string
    }

    /// A JWS, copied once. What it is, verification says.
    mutating func signedObject() throws(JSONError) -> [UInt8] { try text().withBytes { Array($0) } }

    /// A string that is one of an enumeration's.
    mutating func oneOf<Choice: RawRepresentable<String> & CaseIterable>() throws(JSONError) -> Choice {
        guard let choice = Choice(rawValue: try string()) else {
            throw fail("must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    mutating func funds() throws(JSONError) -> Funds {
        switch try text() {
        case "any": return .any
        case "paid": return .paid
        default: throw fail("must be any or paid")
        }
    }

    mutating func debits() throws(JSONError) -> [CurrencyAmount] {
        var debits: [CurrencyAmount] = []
        var count = 0
        try array { (reader, index) throws(JSONError) in
            count = index + 1
            guard count <= WireLimits.debitsMax else { return try reader.skip() }
            debits.append(try reader.debit(differentFrom: debits))
        }
        guard 1...WireLimits.debitsMax ~= count else {
            throw fail("must be 1 to \(WireLimits.debitsMax) debits of different currencies")
        }
        return debits
    }

    private mutating func debit(differentFrom earlier: [CurrencyAmount]) throws(JSONError) -> CurrencyAmount {
        var currency: CurrencyCode?
        var amount: Amount?
        try object { (reader, key) throws(JSONError) in
            switch key {
            case "currency":
                let code = try reader.currencyCode()
                guard !earlier.contains(where: { $0.currency == code }) else {
                    throw reader.fail("must be another currency than those of the debits before it")
                }
                currency = code
            case "amount": amount = try reader.amount()
            default: throw reader.unknownParameter()
            }
        }
        return CurrencyAmount(
            currency: try required(currency, "currency"), amount: try required(amount, "amount"))
    }

    /// For a member that no method has under this name.
    func unknownParameter() -> JSONError { fail("is not a parameter of this method") }

    /// For a member that was read before.
    func invalid(_ path: String, _ rule: String) -> JSONError {
        JSONError(.invalid(rule), offset: offset, path: path)
    }

    /// For an object whose members have all been read.
    func required<Value>(_ value: Value?, _ name: StaticString) throws(JSONError) -> Value {
        guard let value else { throw missing(name) }
        return value
    }
}
