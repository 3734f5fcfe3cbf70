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
        var isRead: Bool
        var client: String?
    }

    /// What becomes of the next answers.
    struct Outcome {
        var answers: [Answer]
        /// What is to be passed on in the place of answers, and in whose name.
        var relayed: [LedgerRequest] = []
        var client: String?
    }

    private var unanswered = CircularBuffer<Kept>()
    /// The answers from the first on by which another node leads; those behind are waited for.
    private var held: [Answer] = []
    /// Whether nothing more is passed on before all is answered that the ledger here has.
    private var passesNothingOn = false

    /// Whether answers are waited for before anything else begins.
    var isWaiting: Bool { !held.isEmpty }

    /// The ledger is handed a request.
    /// - Parameter request: `nil` for one that is not passed on.
    mutating func append(_ request: LedgerRequest?, isRead: Bool, client: String?) {
        if unanswered.isEmpty { passesNothingOn = false }
        unanswered.append(Kept(request: passesNothingOn ? nil : request, isRead: isRead, client: client))
    }

    /// The ledger's next answers.
    /// - Parameter leadPlace: where the ledger is led.
    mutating func take(_ answers: [Answer], leadPlace: () -> LeadPlace) -> Outcome {
        if held.isEmpty {
            guard answers.contains(where: StrandedRequests.isOfStore) else {
                unanswered.removeFirst(answers.count)
                return Outcome(answers: answers)
            }
            // What is not passed on waits for nothing: a read of pages begins only when the one before it is told.
            let behind = (unanswered.indices.last { unanswered[$0].request == nil }).map { last in
                unanswered.distance(from: unanswered.startIndex, to: last) + 1
            }
            let first = answers.indices.dropFirst(behind ?? 0).first { isStranded($0, answers[$0]) }
            guard let first, StrandedRequests.mayPassOn(answers[first], leadPlace()),
                !refusesChange(answers[..<first])
            else {
                // What stands behind a change that was refused waits for its client to ask for that again.
                if refusesChange(answers[...]) { passNothingOn() }
                unanswered.removeFirst(answers.count)
                return Outcome(answers: answers)
            }
            unanswered.removeFirst(first)
            held = Array(answers[first...])
            return settle(behind: Array(answers[..<first]))
        }
        held += answers
        return settle(behind: [])
    }

    private static func isOfStore(_ answer: Answer) -> Bool {
        if case .failure(.store) = answer { true } else { false }
    }

    /// Whether a change among the next answers was not carried out, for certain, and may be asked for again.
    private func refusesChange(_ answers: ArraySlice<Answer>) -> Bool {
        answers.indices.contains { index in
            guard !kept(index).isRead, case .failure(.store(let error)) = answers[index] else { return false }
            switch error.kind {
            case .notLeader, .notReady, .unavailable: return true
            case .unknown, .corrupt: return false
            }
        }
    }

    private mutating func passNothingOn() {
        passesNothingOn = true
        for index in unanswered.indices { unanswered[index].request = nil }
    }

    /// - Parameter answers: those before.
    private mutating func settle(behind answers: [Answer]) -> Outcome {
        if held.count < unanswered.count { return Outcome(answers: answers) }
        defer { (held, unanswered) = ([], []) }
        // Behind what may have been carried out, unless a change before that was not.
        let first = (held.indices.last { !mayBePassedOn($0, held[$0]) }).map { $0 + 1 } ?? 0
        let isAllTold = held[..<first].indices.contains { !kept($0).isRead && isStranded($0, held[$0]) }
        let last = unanswered.dropFirst(first)
        guard !isAllTold, Set(last.map(\.client)).count == 1 else { return Outcome(answers: answers + held) }
        return Outcome(
            answers: answers + held[..<first], relayed: last.compactMap(\.request), client: last.first?.client)
    }

    /// Whether what this node has not carried out may be passed on. Where it leads by now it is asked itself, as any
    /// node is, but not about what kept it from carrying that out although it led.
    private static func mayPassOn(_ answer: Answer, _ place: LeadPlace) -> Bool {
        switch place {
        case .elsewhere: return true
        case .unknown: return false
        case .here:
            guard case .failure(.store(let error)) = answer else { return false }
            switch error.kind {
            case .notLeader, .notReady: return true
            case .unavailable, .unknown, .corrupt: return false
            }
        }
    }

    private func kept(_ index: Int) -> Kept {
        unanswered[unanswered.index(unanswered.startIndex, offsetBy: index)]
    }

    /// Whether a request changed nothing because this node does not lead, and may be passed on.
    private func isStranded(_ index: Int, _ answer: Answer) -> Bool {
        let kept = kept(index)
        guard kept.request != nil, case .failure(.store(let error)) = answer else { return false }
        switch error.kind {
        case .notLeader, .notReady: return true
        // A read that this node cannot answer at the moment is not the leader's by that.
        case .unavailable: return !kept.isRead
        case .unknown: return kept.isRead
        case .corrupt: return false
        }
    }

    /// Whether it may be passed on with those that are stranded before it.
    private func mayBePassedOn(_ index: Int, _ answer: Answer) -> Bool {
        kept(index).request != nil && kept(index).isRead || isStranded(index, answer)
    }
}
