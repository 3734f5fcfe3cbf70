import NIOConcurrencyHelpers
import NIOCore

/// The connections that are being served, counted and bounded, so that a shutdown reaches each of them, and so that
/// who has a token finds a place.
///
/// A connection is a *stranger* until it has authenticated. Strangers have few of the places, and the oldest of them
/// goes where a further one comes: those who mean to stay authenticate at once. Without tokens nobody is a stranger.
///
/// Each name has a part of the places for itself: an equal part of some that are kept for this. All others go to who
/// comes first. So a name that has its part already gets no place that another one needs for its own.
final class ConnectionRegistry: Sendable {
    typealias ID = UInt64

    enum Admission {
        case served
        /// Over the limit: to be told so.
        case refused
        /// Over that limit as well, or the server is shutting down.
        case dropped
    }

    private struct Member {
        let handler: ConnectionHandler
        let peer: PeerAddress
        /// The same for the log.
        let peerWords: String
        /// Under which it has authenticated, where it has.
        var name: String?
        /// Whether a standby reads from it.
        var isOfStandby = false
    }

    /// A stranger that must go for another.
    private struct PutOut {
        let member: Member
        /// Whether it is told why.
        let isTold: Bool
    }

    private struct Members {
        var lastID: ID = 0
        var served: [ID: Member] = [:]
        /// Of those that are served, the oldest first: ids are given in that order.
        var strangers: [ID] = []
        /// How many of those that are served have a name.
        var named: [String: Int] = [:]
        /// Refused, or put out, and told so: they are closed soon.
        var leaving: [ID: Member] = [:]
        var isClosed = false
        /// What waits until only standbys' connections are left, or none.
        var waiters: [(includesStandbys: Bool, continuation: CheckedContinuation<Void, Never>)] = []

        func isEmpty(includingStandbys: Bool) -> Bool {
            leaving.isEmpty && (includingStandbys ? served.isEmpty : served.values.allSatisfy(\.isOfStandby))
        }

        mutating func remove(_ id: ID) -> Member? {
            leaving[id] = nil
            guard let member = served.removeValue(forKey: id) else { return nil }
            strangers.removeAll { $0 == id }
            forget(member.name)
            return member
        }

        mutating func forget(_ name: String?) {
            guard let name, let count = named[name] else { return }
            named[name] = count > 1 ? count - 1 : nil
        }

        /// Why a name gets no further place; `nil` where it gets one.
        /// - Parameter names: how many names there are.
        func refusal(of name: String, among names: Int, _ limits: ServerLimits) -> NoticeKind? {
            let own = named[name, default: 0]
            if own >= limits.connectionsPerNameMax { return .everyPlaceOfNameTaken }
            // Where there are more names than places that are kept, one connection is as much as each may count on.
            let part = max(1, limits.connectionsKeptMax / max(1, names))
            if own < part { return nil }
            let taken = named.values.reduce(0, +)
            let lacking = names * part - named.values.reduce(0) { $0 + min($1, part) }
            let kept = min(lacking, limits.connectionsKeptMax)
            return taken + kept < limits.connectionsMax ? nil : .lastPlacesKept
        }
    }

    /// What becomes of who asks for a place under a name.
    private enum Seating {
        case seated
        /// The connection was put out meanwhile, and has no place to keep.
        case gone
        case refused(NoticeKind)
    }

    private let members = NIOLockedValueBox(Members())
    private let limits: ServerLimits
    private let tokens: TokenTable
    /// Whether connections have to authenticate.
    private let hasStrangers: Bool
    private let notices: NoticeLog

    init(_ limits: ServerLimits, tokens: TokenTable, notices: NoticeLog) {
        self.limits = limits
        self.tokens = tokens
        hasStrangers = tokens.holderWithoutToken == nil
        self.notices = notices
    }

    /// How many connections are served.
    var count: Int { members.withLockedValue { $0.served.count } }

    /// The id of the next connection; none is used again.
    func nextID() -> ID {
        members.withLockedValue { members in
            members.lastID += 1
            return members.lastID
        }
    }

    // MARK: Places

    /// Takes a new connection in, until its channel closes.
    func admit(_ handler: ConnectionHandler, _ channel: any Channel) -> Admission {
        let id = handler.id
        let new = Member(
            handler: handler, peer: PeerAddress(channel.remoteAddress), peerWords: channel.peerWords)
        let (admission, putOut) = members.withLockedValue { members -> (Admission?, PutOut?) in
            if members.isClosed { return (nil, nil) }
            let putOut = hasStrangers ? makeRoom(for: new.peer, &members) : nil
            if members.served.count < limits.connectionsMax {
                members.served[id] = new
                if hasStrangers { members.strangers.append(id) }
                return (.served, putOut)
            }
            if members.leaving.count >= limits.refusedConnectionsMax { return (.dropped, nil) }
            members.leaving[id] = new
            return (.refused, nil)
        }
        guard let admission else { return .dropped }
        if admission != .served { notices.note(.everyPlaceTaken, channel.peerWords) }
        if admission != .dropped {
            channel.closeFuture.whenComplete { _ in self.leave { _ = $0.remove(id) } }
        }
        if let putOut {
            notices.note(.strangerPutOut, putOut.member.peerWords)
            let handler = putOut.member.handler
            handler.execute { if putOut.isTold { handler.end(for: .putOut) } else { handler.closeNow() } }
        }
        return admission
    }

    /// Puts out the stranger that is in the way of one more from `peer`, if any: the oldest from there, or of all.
    private func makeRoom(for peer: PeerAddress, _ members: inout Members) -> PutOut? {
        let ofPeer = members.strangers.filter { members.served[$0]?.peer == peer }
        let oldest: ID?
        if ofPeer.count >= limits.unauthenticatedPerAddressMax {
            oldest = ofPeer.first
        } else if members.strangers.count >= limits.unauthenticatedMax
            || members.served.count >= limits.connectionsMax
        {
            oldest = members.strangers.first
        } else {
            return nil
        }
        guard let oldest, let member = members.remove(oldest) else { return nil }
        let isTold = members.leaving.count < limits.refusedConnectionsMax
        if isTold { members.leaving[oldest] = member }
        return PutOut(member: member, isTold: isTold)
    }

    /// A connection has authenticated under this name.
    /// - Returns: whether it may have one of the name's places; where not, it is what it was.
    func seat(_ id: ID, as name: String) -> Bool {
        let names = tokens.nameCount
        let seating = members.withLockedValue { members -> Seating in
            guard let former = members.served[id] else { return .gone }
            if former.name == name { return .seated }
            members.forget(former.name)
            if let refusal = members.refusal(of: name, among: names, limits) {
                if let name = former.name { members.named[name, default: 0] += 1 }
                return .refused(refusal)
            }
            members.named[name, default: 0] += 1
            members.strangers.removeAll { $0 == id }
            members.served[id]?.name = name
            return .seated
        }
        switch seating {
        case .seated: return true
        case .gone: return false
        case .refused(let kind):
            notices.note(kind, name)
            return false
        }
    }

    /// Nobody knows any more who a connection is: it is a stranger again, as old as it is.
    /// - Returns: whether it had a name until now.
    func unseat(_ id: ID) -> Bool {
        members.withLockedValue { members in
            guard let name = members.served[id]?.name else { return false }
            members.forget(name)
            members.served[id]?.name = nil
            members.strangers.insert(id, at: members.strangers.firstIndex { $0 > id } ?? members.strangers.endIndex)
            return true
        }
    }

    /// The tokens were replaced: has every connection look, on its event loop, who its client is now.
    func renewIdentities() {
        ConnectionRegistry.tell(members.withLockedValue { Array($0.served.values) }) { $0.renewIdentity() }
    }

    /// A connection turns out to be a standby's.
    func noteStandby(_ id: ID) {
        leave { $0.served[id]?.isOfStandby = true }
    }

    private func leave(_ change: (inout Members) -> Void) {
        let ended = members.withLockedValue { members in
            change(&members)
            let waiters = members.waiters
            members.waiters = waiters.filter { !members.isEmpty(includingStandbys: $0.includesStandbys) }
            return waiters.filter { members.isEmpty(includingStandbys: $0.includesStandbys) }
        }
        for waiter in ended { waiter.continuation.resume() }
    }

    // MARK: The end

    /// Lets every connection answer what it accepted and close, and closes what is still open after `timeout`. Those of
    /// standbys are the last: answers to the others may wait for what they say.
    /// - Returns: how many were still open then.
    func drain(timeout: TimeAmount, timer: any EventLoop) async -> Int {
        let late = NIOLockedValueBox(0)
        members.withLockedValue { $0.isClosed = true }
        let deadline = timer.scheduleTask(in: timeout) {
            let (open, leaving) = self.members.withLockedValue { (Array($0.served.values), Array($0.leaving.values)) }
            late.withLockedValue { $0 = open.count }
            ConnectionRegistry.tell(open + leaving) { $0.closeNow() }
        }
        for includesStandbys in [false, true] {
            let served = members.withLockedValue { Array($0.served.values) }
            ConnectionRegistry.tell(served.filter { includesStandbys || !$0.isOfStandby }) { $0.beginShutdown() }
            await waitUntilEmpty(includingStandbys: includesStandbys)
        }
        deadline.cancel()
        return late.withLockedValue { $0 }
    }

    private func waitUntilEmpty(includingStandbys: Bool) async {
        await withCheckedContinuation { continuation in
            let isEmpty = members.withLockedValue { members in
                let isEmpty = members.isEmpty(includingStandbys: includingStandbys)
                if !isEmpty { members.waiters.append((includingStandbys, continuation)) }
                return isEmpty
            }
            if isEmpty { continuation.resume() }
        }
    }

    /// Each on its event loop, behind the answers that it was handed before.
    private static func tell(_ members: [Member], _ message: @escaping @Sendable (ConnectionHandler) -> Void) {
        for member in members { member.handler.execute { message(member.handler) } }
    }
}

extension Channel {
    /// Where it comes from, for the log.
    var peerWords: String {
        guard let remoteAddress else { return "unknown" }
        return remoteAddress.ipAddress ?? "unix"
    }
}
