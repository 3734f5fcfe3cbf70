import Ledger

/// How the leads of a service's ledgers are spread over the nodes that all serve them: by the nodes' weights.
///
/// Nodes do not confer. Each sees who leads which ledger, and with which weight; one that would have less to do with
/// one more lead than that ledger's leader has, asks that one for it. So each change makes the leads more even, and
/// they come to rest. (What a node has to do is the sum of 1 / weight over the ledgers that it leads.)
package final class LeadShares: Sendable {
    private enum Lead: Equatable {
        case unknown
        case own
        case other(LogLeader)
    }

    private struct State {
        var leads: [Lead]
        /// Since when nothing has changed, and nothing was asked for.
        var steadySince: UInt64
        /// Before when each lead is not asked for again: a node that cannot take it is not given it time and again.
        var notBefore: [UInt64]
    }

    /// This node's weight for each ledger, by place.
    private let weights: [Int]
    private let steadyNanoseconds: UInt64
    private let state: Monitor<State>

    /// - Parameters:
    ///   - weights: this node's for each ledger, by place; at least 1.
    ///   - steadyMilliseconds: for how long the leads must have been steady before one is asked for.
    package init(weights: [Int], steadyMilliseconds: UInt64 = EngineLimits.leadsSteadyMilliseconds) {
        precondition(weights.allSatisfy { $0 >= 1 }, "a node without weight does not lead")
        self.weights = weights
        steadyNanoseconds = steadyMilliseconds * 1_000_000
        state = Monitor(
            State(
                leads: weights.map { _ in .unknown }, steadySince: monotonicNanoseconds(),
                notBefore: weights.map { _ in 0 }))
    }

    /// Another node leads the ledger at a place, or none that is known.
    func note(_ leader: LogLeader?, at place: Int) { note(leader.map { .other($0) } ?? .unknown, place) }

    /// This node leads it.
    func noteOwn(at place: Int) { note(.own, place) }

    private func note(_ lead: Lead, _ place: Int) {
        state.withLock { state in
            if state.leads[place] == lead { return }
            state.leads[place] = lead
            state.steadySince = monotonicNanoseconds()
        }
    }

    /// Whether this node is to ask for the lead of the ledger at a place; then it is taken to have asked.
    func isWanted(at place: Int, now: UInt64 = monotonicNanoseconds()) -> Bool {
        state.withLock { state in
            guard now >= max(state.steadySince + steadyNanoseconds, state.notBefore[place]),
                !state.leads.contains(.unknown),
                case .other(let leader) = state.leads[place]
            else { return false }
            var (own, others) = (1 / Double(weights[place]), 0.0)
            for (index, lead) in state.leads.enumerated() {
                switch lead {
                case .own: own += 1 / Double(weights[index])
                case .other(let other) where other.node == leader.node: others += 1 / Double(max(1, other.weight))
                case .other, .unknown: break
                }
            }
            // Sums of fractions that are equal may differ in the last bit.
            guard own < others - 1e-9 else { return false }
            state.steadySince = now
            state.notBefore[place] = now + 12 * steadyNanoseconds
            return true
        }
    }
}
