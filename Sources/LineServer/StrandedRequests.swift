import Ledger
import LedgerEngine
import LedgerWire
import NIOCore

/// What the ledger here has of one connection and has not answered, of a ledger that another node may come to lead
/// meanwhile: what it does not carry out for that reason is passed on to that node, as if it had led before.
///
/// That is done only with the last requests of the connection, and only with all of them together: once a change
/// behind them was carried out, or may have been, to carry them out would change the order in which they were sent. A
/// balance among them is asked again, whatever was answered, for it is to show what stands before it.
struct StrandedRequests {
    private struct Kept {
        /// `nil` for what is not passed on.
        var request: LedgerRequest?
        /// Whether it changes nothing.
        let isRead: Bool
        let client: String?
    }

    /// What becomes of the next answers.
    struct Outcome {
        var answers: [Answer]
        /// Whether one of these refuses a change that may be asked for again.
        var refusesChange = false
        /// What is to be passed on in the place of answers, and in whose name.
        var relayed: [LedgerRequest] = []
        var client: String?
    }

    private var unanswered = CircularBuffer<Kept>()
    /// The answers from the first on that may be passed on; those behind are waited for.
    private var held: [Answer] = []

    /// How many requests are not answered.
    var count: Int { unanswered.count }

    /// Whether answers are waited for before anything else begins.
    var isWaiting: Bool { !held.isEmpty }

    /// The ledger is handed a request.
    /// - Parameter request: `nil` for one that is not passed on.
    mutating func append(_ request: LedgerRequest?, isRead: Bool, client: String?) {
        unanswered.append(Kept(request: request, isRead: isRead, client: client))
    }

    /// All that is not answered is told what the ledger here answers.
    mutating func passNothingOn() {
        for index in unanswered.indices { unanswered[index].request = nil }
    }

    /// The ledger's next answers.
    /// - Parameter leadPlace: where the ledger is led; *unknown* where nothing is passed on, whatever the answers are.
    mutating func take(_ answers: [Answer], leadPlace: () -> LeadPlace) -> Outcome {
        if !held.isEmpty {
            held += answers
            return settle(leadPlace)
        }
        guard answers.contains(where: { RequestFate($0) != .told }) else {
            unanswered.removeFirst(answers.count)
            return Outcome(answers: answers)
        }
        let place = leadPlace()
        // What is not passed on waits for nothing: a read of pages begins only when the one before it is told.
        let behind = (unanswered.indices.last { unanswered[$0].request == nil }).map { last in
            unanswered.distance(from: unanswered.startIndex, to: last) + 1
        }
        let first = answers.indices.dropFirst(behind ?? 0).first { isStranded($0, answers[$0], place) }
        // What stands behind a change that was refused waits for its client to ask for that again.
        guard let first, !refusesChange(answers[..<first]) else { return tell(answers) }
        var told = tell(Array(answers[..<first]))
        held = Array(answers[first...])
        let settled = settle(leadPlace)
        told.answers += settled.answers
        told.refusesChange = settled.refusesChange
        (told.relayed, told.client) = (settled.relayed, settled.client)
        return told
    }

    /// Tells the answers to the first requests.
    private mutating func tell(_ answers: [Answer]) -> Outcome {
        let refusesChange = refusesChange(answers[...])
        unanswered.removeFirst(answers.count)
        return Outcome(answers: answers, refusesChange: refusesChange)
    }

    /// Passes on, or tells, what was held, once all is answered.
    private mutating func settle(_ leadPlace: () -> LeadPlace) -> Outcome {
        if held.count < unanswered.count { return Outcome(answers: []) }
        defer { held = [] }
        let place = leadPlace()
        // Behind what may have been carried out, unless a change before that was not.
        let first = (held.indices.last { !mayBePassedOn($0, held[$0], place) }).map { $0 + 1 } ?? 0
        let last = unanswered.dropFirst(first)
        guard !refusesChange(held[..<first]), Set(last.map(\.client)).count == 1 else { return tell(held) }
        var outcome = Outcome(answers: Array(held[..<first]))
        (outcome.relayed, outcome.client) = (last.compactMap(\.request), last.first?.client)
        unanswered.removeAll()
        return outcome
    }

    private func kept(_ index: Int) -> Kept {
        unanswered[unanswered.index(unanswered.startIndex, offsetBy: index)]
    }

    /// Whether a change among the next answers was not carried out, for certain, and may be asked for again.
    private func refusesChange(_ answers: ArraySlice<Answer>) -> Bool {
        answers.indices.contains { !kept($0).isRead && RequestFate(answers[$0]).isRefused }
    }

    /// Whether a request was not carried out, and may be passed on.
    private func isStranded(_ index: Int, _ answer: Answer, _ place: LeadPlace) -> Bool {
        let kept = kept(index)
        return kept.request != nil && RequestFate(answer).mayPassOn(isRead: kept.isRead, to: place)
    }

    /// Whether it may be passed on with those that are stranded before it.
    private func mayBePassedOn(_ index: Int, _ answer: Answer, _ place: LeadPlace) -> Bool {
        if case .unknown = place { return false }
        return kept(index).request != nil && kept(index).isRead || isStranded(index, answer, place)
    }
}
