/// Who says what was bought. Raw values are stored and never change.
public enum PurchaseSource: Int64, CaseIterable, Sendable {
    /// The App Store, which signs it.
    case appStore = 1
    /// Carried over from the books that a game kept before.
    case imported = 2
    /// Another store.
    case external = 3

    /// The name used on the wire and in the database.
    public var name: String {
        switch self {
        case .appStore: "app_store"
        case .imported: "imported"
        case .external: "external"
        }
    }
}

extension PurchaseSource {
    /// `nil` where there is no source of this name.
    public init?(name: String) {
        guard let source = PurchaseSource.allCases.first(where: { $0.name == name }) else { return nil }
        self = source
    }
}

/// Who vouches for the money in a row of a report.
public enum MoneyBasis: String, CaseIterable, Sendable {
    /// The App Store's signature: the price of the JWS, tax included. It is there at once, and indicative: Apple pays
    /// another sum.
    case signed
    /// Who told of another store's purchase.
    case stated
    /// The books from which the purchase was carried over.
    case carried
}

extension PurchaseSource {
    /// Who vouches for the prices of its purchases, and for all money that follows from these.
    public var basis: MoneyBasis {
        switch self {
        case .appStore: .signed
        case .external: .stated
        case .imported: .carried
        }
    }
}

/// What another store calls a purchase: the store's name, and its id there, byte for byte.
public struct ExternalIdentity: Hashable, Sendable {
    /// The store, as the studio calls it: 1 … 64 letters, digits, `_`, `-` and `.`; none of the ledger's own sources.
    public let source: String
    /// The store's own id of the purchase: 1 … 512 bytes of UTF-8 without control characters.
    public let identifier: String

    /// `nil` where a text is not as it must be.
    public init?(source: String, identifier: String) {
        guard ExternalIdentity.isSource(source), ExternalIdentity.isIdentifier(identifier) else { return nil }
        self.source = source
        self.identifier = identifier
    }

    /// As it was stored.
    package init(storedSource source: String, identifier: String) {
        self.source = source
        self.identifier = identifier
    }

    package static func isSource(_ text: String) -> Bool {
        let isLong = text.utf8.count > Limits.sourceBytesMax
        return !isLong && CurrencyCode(text) != nil && !PurchaseSource.allCases.contains { $0.name == text }
    }

    package static func isIdentifier(_ text: String) -> Bool {
        var before: UInt8 = 0
        for byte in text.utf8 {
            // C0 and DEL are one byte; C1, U+0080 … U+009F, is C2 and that byte.
            if byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte <= 0x9F) { return false }
            before = byte
        }
        return (1...Limits.sourceIdentifierBytesMax).contains(text.utf8.count)
    }

    /// Ids are equal byte for byte; Unicode's canonical equivalence would make two purchases one.
    public static func == (left: ExternalIdentity, right: ExternalIdentity) -> Bool {
        left.source == right.source && left.identifier.utf8.elementsEqual(right.identifier.utf8)
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(source)
        for byte in identifier.utf8 { hasher.combine(byte) }
    }
}
