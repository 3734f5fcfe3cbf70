package import StrictJSON

/// The methods of the protocol that this version answers.
package enum Method: String, CaseIterable, Sendable {
    case ping, authenticate, info
    case credit, notify, purchase, consumption
    case spend, reverse, hold, capture, release, grant, atomic
    case balance, history, report, journal
    case forget

    /// Who may call a method.
    package enum Access: Equatable, Sendable {
        case everyone
        case anyRole
        /// These, and `admin`.
        case roles([Role])
    }

    /// `nil` where there is no such method.
    package init?(_ name: JSONText) {
        switch name {
        case "spend": self = .spend
        case "credit": self = .credit
        case "balance": self = .balance
        case "notify": self = .notify
        case "grant": self = .grant
        case "purchase": self = .purchase
        case "consumption": self = .consumption
        case "history": self = .history
        case "report": self = .report
        case "reverse": self = .reverse
        case "hold": self = .hold
        case "capture": self = .capture
        case "release": self = .release
        case "atomic": self = .atomic
        case "journal": self = .journal
        case "info": self = .info
        case "ping": self = .ping
        case "authenticate": self = .authenticate
        case "forget": self = .forget
        default: return nil
        }
    }

    /// The protocol's table of roles.
    package var access: Access {
        switch self {
        case .ping, .authenticate: .everyone
        case .info: .anyRole
        case .credit, .notify, .consumption: .roles([.purchases])
        case .purchase: .roles([.purchases, .finance])
        case .spend, .reverse, .hold, .capture, .release, .grant, .atomic: .roles([.game])
        case .balance, .history: .roles([.game, .purchases, .finance])
        case .report, .journal: .roles([.finance])
        case .forget: .roles([.admin])
        }
    }

    /// Why a connection of this role (`nil`: not authenticated) may not call the method; `nil` where it may.
    package func denial(to role: Role?) -> WireError? {
        switch access {
        case .everyone: return nil
        case .anyRole: return role == nil ? .unauthenticated : nil
        case .roles(let roles):
            guard let role else { return .unauthenticated }
            return role == .admin || roles.contains(role) ? nil : .forbidden(self, role)
        }
    }
}
