package import Ledger

/// A node of a shared log, as whoever is not its engine knows it: whether it leads, who does, and how far it is.
package final class Node: Sendable {
    package let log: any SharedLog
    /// How far it is while it follows; *promoted* while it leads.
    package let status: StandbyStatus

    private struct Known {
        var leads = false
        var leader: LogLeader?
    }

    private let known = Monitor(Known())

    package init(_ log: any SharedLog) {
        self.log = log
        status = StandbyStatus(silenceMilliseconds: EngineLimits.leaderSilenceMilliseconds)
    }

    /// Whether this node leads, as far as it knows.
    package var leads: Bool { known.withLock { $0.leads } }

    /// The other node that leads; `nil` where this one does, or none.
    package var leader: LogLeader? { known.withLock { $0.leader } }

    /// Another node leads, or none.
    func follow(_ leader: LogLeader?) {
        known.withLock { $0 = Known(leads: false, leader: leader) }
        status.enter(leader == nil ? .connecting(Node.nobody) : .following)
    }

    func lead() {
        known.withLock { $0 = Known(leads: true, leader: nil) }
        status.enter(.promoted)
    }

    /// What whoever asks it to write is answered while it follows.
    var refusal: StoreError {
        guard let leader else { return StoreError(.notReady, "\(Node.nobody): it may be asked again at once") }
        return StoreError(.notLeader(address: leader.address), "node \(leader.node) leads, at \(leader.address)")
    }

    private static let nobody = "no node leads at this moment"
}
