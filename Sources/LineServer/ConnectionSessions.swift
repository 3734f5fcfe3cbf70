import LedgerEngine
import LedgerWire

/// The sessions of one connection: one with each ledger that it has asked. Only one of them has anything to answer at a
/// time, for ``RequestRoute`` lets no request for another begin before. So it is with those of nodes that lead
/// ledgers of this service's.
struct ConnectionSessions {
    private struct Opened {
        let session: LedgerSession
        /// Answers of reads that were taken from it, until it was left.
        var readsTaken = 0
    }

    /// With a node that leads, in one client's name.
    private struct Relayed {
        let client: String?
        let session: any LeaderRelaySession
        /// Whether it asks for nothing again that no node has carried out.
        var isGivenUp = false
    }

    private var opened: [Int: Opened] = [:]
    private var relayed: [Int: Relayed] = [:]
    private var current: Int?
    /// Answers of reads that were taken from others, before the current one was turned to.
    private var readsTakenElsewhere = 0
    /// Whether nothing may wait for what is new any more.
    private var isEnding = false
    /// For how many milliseconds a node that leads is still sought; `nil` while the service is not being ended.
    private var relayMilliseconds: Int64?

    /// Whether anything that was submitted stands behind a read, and can still be dropped.
    var holdsBack: Bool { opened.values.contains { $0.session.holdsBack } }

    /// - Parameters:
    ///   - goesOn: whether the ledger has answered all that it was handed before.
    ///   - readsTaken: how many answers of reads the connection has taken.
    ///   - open: opens a session with the ledger at a place.
    mutating func submit(
        _ operations: [LedgerOperation], to place: Int, as tenant: Tenant?, goesOn: Bool, readsTaken: Int,
        open: (Int) -> LedgerSession
    ) {
        if place != current { turn(to: place, readsTaken: readsTaken, open) }
        opened[place]?.session.submit(operations, as: tenant, goesOn: goesOn)
    }

    /// Has the node that leads a ledger carry out what one client asks.
    /// - Parameter open: opens a session with that node.
    mutating func relay(
        _ requests: [LedgerRequest], to place: Int, for client: String?, open: () -> any LeaderRelaySession
    ) {
        if let known = relayed[place], known.client == client, !known.isGivenUp {
            return known.session.submit(requests)
        }
        // All that was asked before on this connection is answered.
        relayed[place]?.session.close()
        let session = open()
        if let relayMilliseconds { session.giveUp(afterMilliseconds: relayMilliseconds) }
        relayed[place] = Relayed(client: client, session: session)
        session.submit(requests)
    }

    private mutating func turn(to place: Int, readsTaken: Int, _ open: (Int) -> LedgerSession) {
        if let current { opened[current]?.readsTaken = readsTaken - readsTakenElsewhere }
        if opened[place] == nil {
            let session = open(place)
            if isEnding { session.endWaits() }
            opened[place] = Opened(session: session)
        }
        readsTakenElsewhere = readsTaken - (opened[place]?.readsTaken ?? 0)
        current = place
    }

    /// What becomes of the next read (``LedgerSession/allowRead(_:taken:)``).
    func allowRead(_ permission: LedgerSession.ReadPermission, readsTaken: Int) {
        guard let current else { return }
        opened[current]?.session.allowRead(permission, taken: readsTaken - readsTakenElsewhere)
    }

    /// See ``LedgerSession/endWaits(forGood:)``.
    mutating func endWaits(forGood: Bool = true) {
        if forGood { isEnding = true }
        for opened in opened.values { opened.session.endWaits(forGood: forGood) }
    }

    /// What was passed on is answered, and not asked again of another node: who asked may not any more.
    mutating func giveUpRelays() {
        for place in relayed.keys {
            relayed[place]?.session.giveUp(afterMilliseconds: 0)
            relayed[place]?.isGivenUp = true
        }
    }

    /// The service is being ended: nothing waits for what is new any more, nor long for a node that leads.
    mutating func beginShutdown(relayMilliseconds: Int64) {
        endWaits()
        self.relayMilliseconds = relayMilliseconds
        for relayed in relayed.values where !relayed.isGivenUp {
            relayed.session.giveUp(afterMilliseconds: relayMilliseconds)
        }
    }

    mutating func close() {
        for opened in opened.values { opened.session.close() }
        for relayed in relayed.values { relayed.session.close() }
        (opened, relayed) = ([:], [:])
        current = nil
    }
}
