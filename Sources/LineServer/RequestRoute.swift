import LedgerEngine
import LedgerWire

/// To whom the accepted requests of one connection go, and what is to be handed on.
///
/// One destination has requests at a time: those for another begin when all are answered that were sent before. So all
/// take effect in the order sent, whichever ledger they are for. What another node has to carry out, which leads the
/// ledger, is as if it were for another.
///
/// Once its client is told that a change was not carried out for want of the lead, ``ChangeRefusals`` begin, and those
/// that wait here are refused too.
struct RequestRoute {
    /// Who carries requests out.
    enum Destination: Equatable {
        /// The service itself.
        case service
        case ledger(at: Int)
        /// The node that leads that ledger, in the name of a client (``Authentication/client``).
        case leader(at: Int, client: String?)
    }

    /// Answers that the ledger here gave, and that are told.
    struct Answers {
        var list: [Answer]
        /// Whether some of them waited for the others, so that they may be of several batches.
        var haveWaited = false
    }

    /// Who has what is not answered yet, or had it last.
    private(set) var destination = Destination.ledger(at: 0)
    /// Where the ledger at a place is led, to which requests are passed on; `nil` where no other node ever leads one.
    private let leadPlace: (@Sendable (Int) -> LeadPlace)?
    /// What the ledger here has; empty where no other node ever leads it.
    private var stranded = StrandedRequests()
    /// Whether what is next is for another destination, and waits until all before it is answered.
    private var awaitsOther = false
    private var operations: [LedgerOperation] = []
    /// What is to be passed on, once all is answered that was.
    private var relayed: [LedgerRequest] = []
    /// What was passed on and is not answered.
    private var underWay: [LedgerRequest] = []
    /// The first of those that are to be passed on are not, and why.
    private var withdrawn: [WireError] = []
    /// How often the service is to read its configuration again.
    private var reloads = 0

    init(leadPlace: (@Sendable (Int) -> LeadPlace)?) { self.leadPlace = leadPlace }

    /// The place of the ledger that requests go to, here or at the node that leads it; `nil` where the service has
    /// them.
    var place: Int? {
        switch destination {
        case .service: nil
        case .ledger(let place), .leader(let place, _): place
        }
    }

    /// Who asked may not any more. What waits to be passed on is answered with an error in its turn, and what the
    /// ledger here has is not passed on, whatever it answers.
    mutating func withdraw(_ error: WireError) {
        stranded.passNothingOn()
        withdrawn += Array(repeating: error, count: relayed.count - withdrawn.count)
    }

    /// Whether requests are passed on to the node that leads.
    var isRelaying: Bool {
        if case .leader = destination { true } else { false }
    }

    /// Whether what is next waits for answers. It is not read again at each of them.
    /// - Parameter unanswered: how many requests are.
    mutating func isWaiting(for unanswered: Int) -> Bool {
        if awaitsOther && unanswered > 0 || stranded.isWaiting { return true }
        awaitsOther = false
        return false
    }

    /// Turns to the destination of the next request.
    /// - Parameter unanswered: how many requests are.
    /// - Returns: whether it may begin; otherwise all before it has to be answered first.
    mutating func turn(to destination: Destination, unanswered: Int) -> Bool {
        if destination == self.destination { return true }
        if unanswered > 0 {
            awaitsOther = true
            return false
        }
        self.destination = destination
        return true
    }

    /// Who carries out a request for the ledger at a place: this node, or the one that leads the ledger.
    /// - Parameters:
    ///   - mayRelay: whether another node may carry it out.
    ///   - holder: who asks; `nil` where nobody knows.
    func destination(at place: Int, mayRelay: Bool, for holder: TokenHolder?) -> Destination {
        guard mayRelay, let leadPlace, let holder, leadPlace(place) == .elsewhere else { return .ledger(at: place) }
        return .leader(at: place, client: holder.relayedName)
    }

    /// The node that leads is to carry it out.
    mutating func relay(_ request: LedgerRequest) { relayed.append(request) }

    /// The ledger here is to carry it out.
    /// - Parameters:
    ///   - operation: what that is for the ledger.
    ///   - mayRelay: whether another node may, where this one does not because it does not lead.
    mutating func submit(
        _ request: LedgerRequest, as operation: LedgerOperation, mayRelay: Bool, for holder: TokenHolder?
    ) {
        operations.append(operation)
        if leadPlace == nil { return }
        // Of reads only those are passed on whose answers are small: memory for pages is taken where they are read.
        stranded.append(
            mayRelay && !request.readsPage ? request : nil, isRead: !request.changes, client: holder?.relayedName)
    }

    /// The service is to read its configuration again.
    mutating func reload() { reloads += 1 }

    /// What is to be handed on now; `nil` where nothing is.
    mutating func next() -> ConnectionState.Action? {
        switch destination {
        case .ledger(let place) where !operations.isEmpty:
            defer { operations = [] }
            return .submit(operations, to: place, goesOn: stranded.count == operations.count)
        case .leader(let place, let client) where !relayed.isEmpty && underWay.isEmpty:
            (underWay, relayed) = (relayed, [])
            return .relay(underWay, to: place, for: client)
        case .service where reloads > 0:
            reloads -= 1
            return .reload
        case .service, .ledger, .leader: return nil
        }
    }

    /// The ledger's next answers. Passes on in the place of an answer what this node did not carry out because it did
    /// not lead.
    /// - Returns: the answers to all else.
    mutating func answered(_ answers: [Answer], _ refusals: inout ChangeRefusals) -> Answers {
        guard let leadPlace, case .ledger(let place) = destination else { return Answers(list: answers) }
        let haveWaited = stranded.isWaiting
        let passesOn = !refusals.isActive
        let outcome = stranded.take(answers) { passesOn ? leadPlace(place) : .unknown }
        if outcome.refusesChange { refuseChanges(&refusals) }
        if !outcome.relayed.isEmpty {
            (relayed, destination) = (outcome.relayed, .leader(at: place, client: outcome.client))
        }
        return Answers(list: outcome.answers, haveWaited: haveWaited)
    }

    /// The next replies of the node that leads.
    /// - Returns: these, and those to what is not passed on any more.
    mutating func replied(_ replies: [Reply], _ refusals: inout ChangeRefusals) -> [Reply] {
        let isRefused = zip(underWay, replies).contains { $0.changes && $1.refusesForWantOfLead }
        if isRefused { refuseChanges(&refusals) }
        underWay.removeFirst(min(replies.count, underWay.count))
        guard underWay.isEmpty else { return replies }
        var all = replies
        all += withdrawn.map { .error($0) }
        relayed.removeFirst(withdrawn.count)
        withdrawn = []
        if refusals.isActive {
            all += relayed.map { _ in .error(.refusedBehind) }
            relayed = []
        }
        return all
    }

    /// The client is told that a change was not carried out.
    private mutating func refuseChanges(_ refusals: inout ChangeRefusals) {
        if refusals.isActive { return }
        refusals.begin()
        // What is next may be refused now, and wait for nothing.
        awaitsOther = false
    }
}

extension Reply {
    /// Whether a request was not carried out because no node led that could be asked.
    fileprivate var refusesForWantOfLead: Bool {
        let reasons: [WireReason] = [.storageUnavailable, .notLeader, .shuttingDown]
        return reasons.contains { $0.rawValue == self.error?.reason }
    }
}
