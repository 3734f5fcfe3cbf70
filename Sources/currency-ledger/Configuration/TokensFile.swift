import AppStore
import Ledger
import LedgerWire
import LineServer

/// Reads the tokens of a configuration: an object with one member for each, by its name.
extension JSONFile {
    /// The members of a token.
    private enum Member: String, CaseIterable {
        case role, sha256, readOnly, currencies, requestsPerSecond, grantsPerDay
    }

    private static let nameRule = "1 to \(Limits.standbyNameBytesMax) letters, digits, _, -, . and :"
    /// Digests of one token: an old one and a new one, and one to spare.
    private static let digestsMax = 3

    /// What is wrong is noted.
    mutating func tokens(_ value: JSONValue) -> [Token] {
        guard let members = members(value) else { return [] }
        if members.isEmpty { note("must have a token", value) }
        var tokens: [Token] = []
        var digests: Set<Digest> = []
        for member in members {
            // Any text that is not empty and not long could stand in an entry; this is what people read in a log.
            if StandbyName(member.name) == nil { note("must have a name of \(JSONFile.nameRule)", member) }
            guard let token = token(member) else { continue }
            for digest in token.digests where !digests.insert(digest).inserted {
                note("has the SHA-256 of a token that is given before", member)
            }
            tokens.append(token)
        }
        return tokens
    }

    private mutating func token(_ named: JSONValue.Member) -> Token? {
        guard case .object(let members) = named.value.content else {
            // What stands there may be a token itself.
            note("must be an object with role and sha256, as \"currency-ledger token new\" prints it", named.value)
            return nil
        }
        var token = Token(name: named.name, roles: [], digests: [])
        for member in members {
            switch Member(rawValue: member.name) {
            case .role: token.roles = roles(member.value)
            case .sha256: token.digests = digests(member.value)
            case .readOnly: token.limits.isReadOnly = boolean(member.value) ?? true
            case .currencies: token.limits.currencies = currencies(member.value)
            case .requestsPerSecond:
                token.limits.requestsPerSecond = integer(member.value, in: 1...1_000_000_000)
            case .grantsPerDay: token.limits.grantsPerDay = grants(member.value)
            case nil:
                let names = Member.allCases.map(\.rawValue).joined(separator: ", ")
                note("is not a member of a token; there are \(names)", member)
            }
        }
        for required in [Member.role, .sha256] where !members.contains(where: { $0.name == required.rawValue }) {
            missing(required.rawValue, in: named.value)
        }
        return token
    }

    /// One text, or several in an array that is not empty.
    private mutating func texts(_ value: JSONValue, isSecret: Bool = false) -> [JSONValue] {
        guard case .array(let elements) = value.content else { return [value] }
        if elements.isEmpty { note("must not be empty", value) }
        return elements
    }

    private mutating func roles(_ value: JSONValue) -> Roles {
        var roles: Roles = []
        for value in texts(value) {
            if let role: Role = choice(value) { roles.insert(Roles(role)) }
        }
        return roles
    }

    private mutating func digests(_ value: JSONValue) -> [Digest] {
        let values = texts(value)
        if values.count > JSONFile.digestsMax { note("has more than \(JSONFile.digestsMax) of them", value) }
        return values.compactMap { value in
            if case .string(let text) = value.content, let digest = Digest(hexadecimal: text) { return digest }
            // It may be a token itself.
            mustBe("a SHA-256: 64 hexadecimal digits", value, isSecret: true)
            return nil
        }
    }

    private mutating func currencies(_ value: JSONValue) -> Set<CurrencyCode> {
        Set((elements(value) ?? []).compactMap { value in string(value).flatMap { currency($0, value) } })
    }

    private mutating func grants(_ value: JSONValue) -> [CurrencyCode: Int64] {
        var grants: [CurrencyCode: Int64] = [:]
        for member in members(value) ?? [] {
            guard let currency = currency(member.name, member.value) else { continue }
            grants[currency] = integer(member.value, in: 0...Int64.max) ?? 0
        }
        return grants
    }

    private mutating func currency(_ text: String, _ value: JSONValue) -> CurrencyCode? {
        if let currency = CurrencyCode(text) { return currency }
        note("names no currency: \(JSONValue.quoted(text))", value)
        return nil
    }
}
