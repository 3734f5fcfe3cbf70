/// Where a lot came from: bought, or given. Raw values are stored and never change.
public enum LotClass: Int64, CaseIterable, Sendable {
    /// It was bought.
    case paid = 1
    /// It was given, or bought at the price 0.
    case free = 2

    /// The name used on the wire and in the database.
    public var name: String {
        switch self {
        case .paid: "paid"
        case .free: "free"
        }
    }
}
