import NIOConcurrencyHelpers
import NIOCore

/// The connections that are being served, counted and bounded, so that a shutdown reaches each of them.
final class ConnectionRegistry: Sendable {
    enum Admission {
        case served
        /// Over the limit: to be told so.
        case refused
        /// Over that limit as well, or the server is shutting down.
        case dropped
    }

    private struct Member {
        let handler: ConnectionHandler
        let eventLoop: any EventLoop
        /// Whether a standby reads from it.
        var isOfStandby = false
    }

    private struct Members {
        var served: [ObjectIdentifier: Member] = [:]
        var refused = 0
        var isClosed = false
        /// What waits until only standbys' connections are left, or none.
        var waiters: [(includesStandbys: Bool, continuation: CheckedContinuation<Void, Never>)] = []

        func isEmpty(includingStandbys: Bool) -> Bool {
            refused == 0 && (includingStandbys ? served.isEmpty : served.values.allSatisfy(\.isOfStandby))
        }
    }

    private let members = NIOLockedValueBox(Members())
    private let servedMax: Int
    private let refusedMax: Int

    init(_ limits: ServerLimits) {
        servedMax = limits.connectionsMax
        refusedMax = limits.refusedConnectionsMax
    }

    /// How many connections are served.
    var count: Int { members.withLockedValue { $0.served.count } }

    /// Takes a new connection in, until its channel closes.
    func admit(_ handler: ConnectionHandler, _ channel: any Channel) -> Admission {
        let id = ObjectIdentifier(handler)
        let admission = members.withLockedValue { members in
            if members.isClosed { return Admission.dropped }
            if members.served.count < servedMax {
                members.served[id] = Member(handler: handler, eventLoop: channel.eventLoop)
                return .served
            }
            if members.refused == refusedMax { return .dropped }
            members.refused += 1
            return .refused
        }
        switch admission {
        case .served: channel.closeFuture.whenComplete { _ in self.leave { $0.served[id] = nil } }
        case .refused: channel.closeFuture.whenComplete { _ in self.leave { $0.refused -= 1 } }
        case .dropped: break
        }
        return admission
    }

    /// A connection turns out to be a standby's.
    func noteStandby(_ handler: ConnectionHandler) {
        leave { $0.served[ObjectIdentifier(handler)]?.isOfStandby = true }
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

    /// Lets every connection answer what it accepted and close, and closes what is still open after `timeout`. Those of
    /// standbys are the last: answers to the others may wait for what they say.
    /// - Returns: how many were still open then.
    func drain(timeout: TimeAmount, timer: any EventLoop) async -> Int {
        let late = NIOLockedValueBox(0)
        members.withLockedValue { $0.isClosed = true }
        let deadline = timer.scheduleTask(in: timeout) {
            let open = self.members.withLockedValue { Array($0.served.values) }
            late.withLockedValue { $0 = open.count }
            ConnectionRegistry.tell(open) { $0.closeNow() }
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

    /// One hop an event loop.
    private static func tell(_ members: [Member], _ message: @escaping @Sendable (ConnectionHandler) -> Void) {
        var rest = members
        while let eventLoop = rest.first?.eventLoop {
            let own = rest.filter { $0.eventLoop === eventLoop }
            rest.removeAll { $0.eventLoop === eventLoop }
            eventLoop.execute {
                for member in own { message(member.handler) }
            }
        }
    }
}
