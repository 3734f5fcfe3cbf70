/// The kinds of account, per currency, seen from the operator. Raw values are stored and never change.
public enum AccountKind: Int64, CaseIterable, Sendable {
    /// A player's spendable currency (liability).
    case wallet = 1
    /// A player's currency set aside by holds (liability).
    case held = 2
    /// What a player owes after a refund of currency that was already spent (asset).
    case receivable = 3
    /// Currency sold.
    case purchased = 4
    /// Currency taken back by refunds and revocations.
    case refunded = 5
    /// Currency given free of charge.
    case granted = 6
    /// Currency spent in the game.
    case spent = 7
    /// Free currency whose time ran out.
    case expired = 8
    /// Refunded currency that could not be taken back and is not claimed.
    case writtenOff = 9
    /// Currency on its way from a linked token's wallet to the account's: what goes in goes out in the same entry.
    case moved = 10
    /// Currency that corrections by hand added, less what they took.
    case adjusted = 11
    /// Currency that players brought along from the books that a game kept before.
    case imported = 12

    /// The name used on the wire, in exports and in the database's views.
    public var name: String {
        switch self {
        case .wallet: "wallet"
        case .held: "held"
        case .receivable: "receivable"
        case .purchased: "purchased"
        case .refunded: "refunded"
        case .granted: "granted"
        case .spent: "spent"
        case .expired: "expired"
        case .writtenOff: "written_off"
        case .moved: "moved"
        case .adjusted: "adjusted"
        case .imported: "imported"
        }
    }

    /// Whether lists of all accounts leave it out while it has no turnover: so the reports and the signed heads of
    /// ledgers that never needed it stay what they were.
    package var isListedOnceUsed: Bool {
        switch self {
        case .moved, .adjusted, .imported: true
        case .wallet, .held, .receivable, .purchased, .refunded, .granted, .spent, .expired, .writtenOff: false
        }
    }

    /// Whether each player has an account of this kind (the others exist once per currency).
    package var isPersonal: Bool {
        switch self {
        case .wallet, .held, .receivable: true
        case .purchased, .refunded, .granted, .spent, .expired, .writtenOff, .moved, .adjusted, .imported: false
        }
    }
}
