import Ledger
import Synchronization

/// Keeps the order of a lane whose ledger another node may come to lead. Once a change is refused because this node
/// does not lead, every change is refused that was submitted behind it before its client could know: this node may lead
/// by then, and would carry it out before its client asks again for what stands before it.
///
/// So a client that waits for all its answers before it asks again keeps its order. Of one that asks on meanwhile, what
/// it asks for until all of these are answered is refused too, wherever it stands.
final class LaneRefusals: Sendable {
    private struct State {
        /// Operations that were submitted, and those of them that are answered.
        var submitted = 0
        var answered = 0
        /// How many had been submitted when the first change was not carried out, which is one of them; `nil` where
        /// nothing is refused.
        var noted: Int?
        /// How many had been submitted when its client was told of that, at the latest: those are refused.
        var last: Int?
    }

    private static let refusal = StoreError(
        .notReady, "what was asked before it was not carried out: it may be asked again at once")

    private let state = Mutex(State())

    /// Why no change is carried out that comes next; `nil` where it is.
    var refusal: StoreError? { state.withLock { $0.noted == nil ? nil : LaneRefusals.refusal } }

    /// Counts operations that its client asks for.
    func submitted(_ count: Int) { state.withLock { $0.submitted += count } }

    /// A change was not carried out. None behind it is, where that may be for want of the lead.
    func note(_ error: StoreError) {
        switch error.kind {
        case .notLeader, .notReady, .unavailable, .unknown: break
        case .corrupt: return
        }
        state.withLock { if $0.noted == nil { $0.noted = $0.submitted } }
    }

    /// Its client is told answers now. Once all are told that stood behind the first refusal, the lane goes on.
    func answered(_ count: Int) {
        state.withLock { state in
            state.answered += count
            guard let noted = state.noted, state.answered >= noted else { return }
            let last = state.last ?? state.submitted
            state.last = last
            if state.answered >= last { (state.noted, state.last) = (nil, nil) }
        }
    }
}
