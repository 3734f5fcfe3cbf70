import AppStore
import Ledger
import LedgerWire
import LineServer

/// A currency that a token names, which the catalog must have: a limit of another one would be none.
struct NamedCurrency: Sendable {
    let code: CurrencyCode
    /// Where it stands, as `file:line:column: path`.
    let place: String
    /// That of the token; `nil` where it opens all.
    var ledger: LedgerName?
}

/// The tokens of a configuration.
struct ReadTokens {
    var tokens: [Token] = []
    var currencies: [NamedCurrency] = []
}

/// Reads the tokens of a configuration: an object with one member for each, by its name.
extension JSONFile {
    /// The members of a token.
    private enum Member: String, CaseIterable {
        case role, sha256, certificate, ledger, readOnly, currencies, requestsPerSecond, grantsPerDay, share
    }

    private static let nameRule = "1 to \(Limits.standbyNameBytesMax) letters, digits, _, -, . and :"
    /// Digests of one token: an old one and a new one, and one to spare.
    private static let digestsMax = 3
    /// Bytes of a client's name in its certificate: twice what a common name may have (RFC 5280, ub-common-name), for
    /// names of hosts are longer.
    private static let certificateNameBytesMax = 128

    /// What is wrong is noted.
    mutating func tokens(_ value: JSONValue) -> ReadTokens {
        var read = ReadTokens()
        guard let members = members(value) else { return read }
        if members.isEmpty { note("must have a token", value) }
        var digests: Set<Digest> = []
        var certificates: Set<String> = []
        for member in members {
            // Any text that is not empty and not long could stand in an entry; this is what people read in a log.
            if StandbyName(member.name) == nil { note("must have a name of \(JSONFile.nameRule)", member) }
            var named: [NamedCurrency] = []
            guard let token = token(member, &named) else { continue }
            read.currencies += named.map { NamedCurrency(code: $0.code, place: $0.place, ledger: token.ledger) }
            for digest in token.digests where !digests.insert(digest).inserted {
                note("has the SHA-256 of a token that is given before", member)
            }
            for name in token.certificates where !certificates.insert(name).inserted {
                note("has the name in a certificate of one that is given before", member)
            }
            read.tokens.append(token)
        }
        return read
    }

    /// - Parameter named: the currencies that tokens name.
    private mutating func token(_ member: JSONValue.Member, _ named: inout [NamedCurrency]) -> Token? {
        let (name, value) = (member.name, member.value)
        guard case .object(let members) = value.content else {
            // What stands there may be a token itself.
            note("must be an object with role and sha256, as \"currency-ledger token new\" prints it", value)
            return nil
        }
        var token = Token(name: name, roles: [], digests: [])
        for member in members {
            switch Member(rawValue: member.name) {
            case .role: token.roles = roles(member.value)
            case .sha256: token.digests = digests(member.value)
            case .certificate: token.certificates = certificates(member.value)
            case .ledger: token.ledger = ledger(member.value)
            case .readOnly: token.limits.isReadOnly = bool(member.value) ?? true
            case .currencies: token.limits.currencies = currencies(member.value, &named)
            case .requestsPerSecond:
                token.limits.requestsPerSecond = integer(member.value, in: 1...1_000_000_000)
            case .grantsPerDay: token.limits.grantsPerDay = grants(member.value, &named)
            case .share: token.limits.share = integer(member.value, in: 1...100).map { Int($0) }
            case nil:
                let names = Member.allCases.map(\.rawValue).joined(separator: ", ")
                note("is not a member of a token; there are \(names)", member)
            }
        }
        let names = Set(members.map(\.name))
        if !names.contains(Member.role.rawValue) { missing(Member.role.rawValue, in: value) }
        if names.isDisjoint(with: [Member.sha256.rawValue, Member.certificate.rawValue]) {
            note("must have sha256, the SHA-256 of a token, or certificate, a name in one", value)
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

    private mutating func ledger(_ value: JSONValue) -> LedgerName? {
        guard let text = string(value) else { return nil }
        if let name = LedgerName(text) { return name }
        note("names no ledger: \(JSONValue.quoted(text))", value)
        return nil
    }

    private mutating func digests(_ value: JSONValue) -> [Digest] {
        let values = texts(value)
        if values.count > JSONFile.digestsMax { note("has more than \(JSONFile.digestsMax) of them", value) }
        return values.compactMap { value in
            if case .string(let text) = value.content, let digest = Digest(hexadecimal: text.lowercased()) {
                return digest
            }
            // It may be a token itself.
            mustBe("a SHA-256: 64 hexadecimal digits", value, isSecret: true)
            return nil
        }
    }

    private mutating func certificates(_ value: JSONValue) -> [String] {
        texts(value).compactMap { value in
            guard let name = string(value) else { return nil }
            let isName = !name.isEmpty && name.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            if isName && name.utf8.count <= JSONFile.certificateNameBytesMax { return name }
            mustBe("a name of 1 to \(JSONFile.certificateNameBytesMax) printable characters of ASCII", value)
            return nil
        }
    }

    private mutating func currencies(_ value: JSONValue, _ named: inout [NamedCurrency]) -> Set<CurrencyCode> {
        var currencies: Set<CurrencyCode> = []
        for value in elements(value) ?? [] {
            guard let text = string(value), let currency = currency(text, value) else { continue }
            currencies.insert(currency)
            named.append(NamedCurrency(code: currency, place: place(of: value)))
        }
        return currencies
    }

    private mutating func grants(_ value: JSONValue, _ named: inout [NamedCurrency]) -> [CurrencyCode: Int64] {
        var grants: [CurrencyCode: Int64] = [:]
        for member in members(value) ?? [] {
            guard let currency = currency(member.name, member.value) else { continue }
            grants[currency] = integer(member.value, in: 0...Int64.max) ?? 0
            named.append(NamedCurrency(code: currency, place: place(of: member)))
        }
        return grants
    }

    private mutating func currency(_ text: String, _ value: JSONValue) -> CurrencyCode? {
        if let currency = CurrencyCode(text) { return currency }
        note("names no currency: \(JSONValue.quoted(text))", value)
        return nil
    }
}
