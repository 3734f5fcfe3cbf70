/// What a connection may do. Which role may call which method is in the protocol's table of methods.
public enum Role: String, CaseIterable, Sendable {
    /// The purchase pipeline: posts what the App Store signed.
    case purchases
    /// Game servers: spend, hold and grant.
    case game
    /// Finance: reads reports and the journal.
    case finance
    /// A standby: reads the blocks themselves.
    case replica
    /// All of them.
    case admin
}

/// Several roles: those that a token has, or those that may call a method.
package struct Roles: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package init(_ role: Role) {
        switch role {
        case .purchases: rawValue = 1
        case .game: rawValue = 2
        case .finance: rawValue = 4
        case .replica: rawValue = 8
        case .admin: rawValue = 16
        }
    }

    package static let purchases = Roles(Role.purchases)
    package static let game = Roles(Role.game)
    package static let finance = Roles(Role.finance)
    package static let replica = Roles(Role.replica)
    package static let admin = Roles(Role.admin)

    /// One by one, in the order of ``Role``.
    package var all: [Role] { Role.allCases.filter { contains(Roles($0)) } }
}
