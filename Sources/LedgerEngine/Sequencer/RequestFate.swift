package import Ledger

/// What an answer says of its request, of a ledger that another node may come to lead: whether it was carried out, and
/// who else may.
package enum RequestFate: Sendable {
    /// It was decided, or nobody carries it out.
    case told
    /// It was not carried out, because this node does not lead, or for another reason was not to try.
    case notHere
    /// It was not carried out, because this node could not, perhaps although it leads.
    case cannot
    /// Nobody knows whether it was carried out.
    case inDoubt

    package init(_ answer: Answer) {
        if case .failure(.store(let error)) = answer { self.init(error) } else { self = .told }
    }

    package init(_ error: StoreError) {
        switch error.kind {
        case .notLeader, .notReady: self = .notHere
        case .unavailable: self = .cannot
        case .unknown: self = .inDoubt
        case .corrupt: self = .told
        }
    }

    /// Whether it was not carried out, and may be asked for again: where that is a change, its client is to know before
    /// any behind it is carried out.
    package var isRefused: Bool {
        switch self {
        case .notHere, .cannot: true
        case .told, .inDoubt: false
        }
    }

    /// Whether the request may be passed on to the node that leads.
    /// - Parameters:
    ///   - isRead: whether it changes nothing.
    ///   - place: where the ledger is led by now. Where that is here this node is asked itself, as any node is, but not
    ///     about what kept it from carrying a request out although it led.
    package func mayPassOn(isRead: Bool, to place: LeadPlace) -> Bool {
        switch (self, place) {
        case (.told, _), (.inDoubt, _), (_, .unknown): false
        case (.notHere, .here), (.notHere, .elsewhere): true
        // A read that this node cannot answer at the moment is not the leader's by that.
        case (.cannot, .elsewhere): !isRead
        case (.cannot, .here): false
        }
    }
}
