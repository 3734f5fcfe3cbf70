package import Ledger

/// Where a ledger is led, as far as a node knows.
package enum LeadPlace: Sendable {
    case here
    /// By another node, or by none.
    case elsewhere
    /// The log is of another past than what was read from it, or corrupt: who leads that log would answer of another
    /// ledger. Or nothing is passed on, wherever it is led.
    case unknown
}

/// A node of a shared log, as whoever is not its engine knows it: whether it leads, who does, and how far it is.
package final class Node: Sendable {
    package let log: any SharedLog
    /// How far it is while it follows; *promoted* while it leads.
    package let status: StandbyStatus

    private struct Known {
        var leads = false
        var leader: LogLeader?
        var fault: StoreError?
        /// How often a node, this one or another, was seen to take the lead.
        var leadsSeen = 0
        /// Told of each node that begins to lead.
        var tell: (@Sendable (LogLeader?) -> Void)?
    }

    private let known = Monitor(Known())

    /// How the leads of this service's ledgers are spread, and the place of this one; `nil` where it is the only one.
    private let shares: (all: LeadShares, place: Int)?

    /// What keeps other processes from this node's folder, as long as it is held.
    private let lock: (any Sendable)?

    package init(_ log: any SharedLog, shares: (all: LeadShares, place: Int)? = nil, lock: (any Sendable)? = nil) {
        self.log = log
        self.lock = lock
        self.shares = shares
        status = StandbyStatus(silenceMilliseconds: EngineLimits.leaderSilenceMilliseconds)
    }

    /// Whether this node leads, as far as it knows.
    package var leads: Bool { known.withLock { $0.leads } }

    /// The other node that leads; `nil` where this one does, or none.
    package var leader: LogLeader? { known.withLock { $0.leader } }

    /// Where the log is led that this node has read: what it does not carry out may be passed on there.
    package var place: LeadPlace { known.withLock { $0.fault != nil ? .unknown : $0.leads ? .here : .elsewhere } }

    /// The log was read as it was before, or why this node answers nothing of it.
    func note(fault: LogError?) { known.withLock { $0.fault = fault.map { StoreError(behind: $0) } } }

    /// A number that stays the same as long as this node sees nobody lead; `nil` where somebody does.
    package var leaderless: Int? { known.withLock { $0.leads || $0.leader != nil ? nil : $0.leadsSeen } }

    /// - Parameter tell: told of each node that begins to lead, as far as this one knows: another, or with `nil` this
    ///   one. The taking of the lead waits for it, so it must not block.
    package func whenLedAnew(_ tell: @escaping @Sendable (LogLeader?) -> Void) { known.withLock { $0.tell = tell } }

    /// Another node leads, or none.
    func follow(_ leader: LogLeader?) {
        let tell = known.withLock { known in
            defer { (known.leads, known.leader) = (false, leader) }
            if leader != nil, leader != known.leader { known.leadsSeen += 1 }
            return leader == known.leader ? nil : known.tell
        }
        if let shares { shares.all.note(leader, at: shares.place) }
        status.enter(leader == nil ? .connecting(Node.nobody) : .following)
        if let leader { tell?(leader) }
    }

    /// What it was to append, or to confirm, was refused: it is about to follow, and what is refused from now on is for
    /// whoever leads then.
    func endLeading() { known.withLock { $0.leads = false } }

    func lead() {
        let tell = known.withLock { known in
            (known.leads, known.leader, known.fault) = (true, nil, nil)
            known.leadsSeen += 1
            return known.tell
        }
        if let shares { shares.all.noteOwn(at: shares.place) }
        status.enter(.promoted)
        tell?(nil)
    }

    /// Whether this node, which follows, is to ask for the lead.
    var wantsLead: Bool { shares.map { $0.all.isWanted(at: $0.place) } ?? false }

    /// What whoever asks it to write is answered while it follows.
    var refusal: StoreError {
        if let fault = known.withLock({ $0.fault }) { return fault }
        guard let leader else { return StoreError(.notReady, "\(Node.nobody): it may be asked again at once") }
        return StoreError(.notLeader(address: leader.address), "node \(leader.node) leads, at \(leader.address)")
    }

    private static let nobody = "no node leads at this moment"
}
