import Ledger
import Synchronization

/// Keeps the order of a lane whose ledger another node may come to lead. Once a change is refused because this node
/// does not lead, every change behind it is, until the lane goes on: this node may lead by then, and would carry it out
/// before its client asks again for what stands before it.
///
/// Whoever has the lane says when it goes on: when all is answered that was submitted to it. What was not submitted by
/// then, and was asked before the client could know of the refusal, it has to refuse itself, as the server's
/// connections do. (That a node was to step down changes no ledger: nothing is refused behind it.)
final class LaneRefusals: Sendable {
    private static let refusal = StoreError(
        .notReady, "what was asked before it was not carried out: it may be asked again at once")

    private let refuses = Atomic(false)

    /// Why no change is carried out that comes next; `nil` where it is.
    var refusal: StoreError? { refuses.load(ordering: .acquiring) ? LaneRefusals.refusal : nil }

    /// A change was not carried out. None behind it is, where that may be for want of the lead.
    func note(_ error: StoreError) {
        switch RequestFate(error) {
        case .notHere, .cannot, .inDoubt: refuses.store(true, ordering: .releasing)
        case .told: break
        }
    }

    /// Nothing that was submitted is unanswered: what comes next is carried out.
    func goOn() { refuses.store(false, ordering: .releasing) }
}
