import Dispatch
import LedgerEngine
import NIOConcurrencyHelpers

/// Asks a ledger from within its own process, and awaits the answers: what the service does by itself goes the same way
/// as what clients ask, with its own share of the sequencer.
final class LedgerCaller: Sendable {
    private struct Call {
        let count: Int
        var answers: [Answer] = []
        let end: CheckedContinuation<[Answer], Never>
    }

    private struct State {
        var calls: [Call] = []
        var readsTaken = 0
    }

    private let state = NIOLockedValueBox(State())
    private let session: LedgerSession

    init(_ ledger: RunningLedger) {
        let queue = DispatchQueue(label: "ledger-app-store")
        session = ledger.session(
            outlet: Outlet { work in queue.async(execute: work) }
        ) { [state] answers in
            for answer in answers {
                let ended = state.withLockedValue { state -> Call? in
                    state.calls[0].answers.append(answer)
                    return state.calls[0].answers.count == state.calls[0].count ? state.calls.removeFirst() : nil
                }
                if let ended { ended.end.resume(returning: ended.answers) }
            }
        }
        session.allowRead(.read, taken: 0)
    }

    /// The ledger's answers, in the order of the operations.
    /// - Parameter operations: none of them reads.
    func answers(to operations: [LedgerOperation]) async -> [Answer] {
        if operations.isEmpty { return [] }
        return await withCheckedContinuation { end in
            state.withLockedValue { state in
                let goesOn = state.calls.isEmpty
                state.calls.append(Call(count: operations.count, end: end))
                session.submit(operations, goesOn: goesOn)
            }
        }
    }

    /// The ledger's answer.
    func answer(to operation: LedgerOperation) async -> Answer {
        let answer = await answers(to: [operation])[0]
        if operation.isQuery {
            // Told in the order in which they are counted.
            state.withLockedValue { state in
                state.readsTaken += 1
                session.allowRead(.read, taken: state.readsTaken)
            }
        }
        return answer
    }

    /// Everything that was asked has its answer by then.
    func close() { session.close() }
}
