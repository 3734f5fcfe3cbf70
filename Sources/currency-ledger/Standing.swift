import LedgerEngine
import LedgerWire

extension StandbyStanding {
    /// `nil` where it was promoted.
    init?(_ following: Following) { self.init(following.status, of: following.leader) }

    /// That of a node that follows; `nil` where it leads.
    init?(_ node: Node) { self.init(node.status, of: node.leader?.address ?? "") }

    private init?(_ status: StandbyStatus, of leader: @autoclosure () -> String) {
        let standing = status.standing
        let state: State
        var reason: String?
        switch standing.state {
        case .promoted: return nil
        case .following: state = .following
        case .connecting(let why): (state, reason) = (.connecting, why)
        case .stopped(let why): (state, reason) = (.stopped, why)
        }
        self.init(
            leader: leader(), state: state, reason: reason, block: standing.block,
            leaderBlock: standing.leaderBlock, millisecondsBehind: standing.millisecondsBehind)
    }
}

extension ReplicationStanding {
    /// `nil` where nobody follows, and nobody must.
    init?(_ standbys: Standbys, block: Int64) {
        let standing = standbys.standing
        if standing.required == 0 && standing.members.isEmpty { return nil }
        self.init(
            required: standing.required, block: block,
            standbys: standing.members.map { Standby(name: $0.name, block: $0.block, isConnected: $0.isConnected) })
    }
}
