/// What an entry did. Raw values are stored and never change.
public enum EntryKind: Int64, CaseIterable, Sendable {
    /// A purchase was credited.
    case credit = 1
    /// A purchase was revoked, wholly or in part.
    case refund = 2
    /// A refund was reversed, wholly or in part.
    case reinstatement = 3
    /// Currency was spent.
    case spend = 4
    /// Free currency was given.
    case grant = 5
    /// A spend was given back, wholly or in part.
    case reversal = 6
    /// Currency was set aside.
    case hold = 7
    /// A hold was spent, wholly or in part.
    case capture = 8
    /// A hold was given back.
    case release = 9
    /// A hold's time was over.
    case holdExpiry = 10
    /// Free currency's time was over.
    case expiry = 11
    /// Several operations happened together.
    case atomic = 12
    /// A token was linked to an account, and what it had moved there.
    case link = 13
    /// A correction by hand, which two people asked for.
    case adjustment = 14
    /// A purchase, or what was given, was carried over from the books that a game kept before.
    case imported = 15

    /// The name used on the wire and in the database's views.
    public var name: String {
        switch self {
        case .credit: "credit"
        case .refund: "refund"
        case .reinstatement: "reinstatement"
        case .spend: "spend"
        case .grant: "grant"
        case .reversal: "reversal"
        case .hold: "hold"
        case .capture: "capture"
        case .release: "release"
        case .holdExpiry: "hold_expiry"
        case .expiry: "expiry"
        case .atomic: "atomic"
        case .link: "link"
        case .adjustment: "adjustment"
        case .imported: "imported"
        }
    }
}
