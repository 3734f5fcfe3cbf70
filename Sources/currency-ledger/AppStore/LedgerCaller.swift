import Dispatch
import LedgerEngine
import NIOConcurrencyHelpers

/// Asks a ledger from within its own process, and awaits the answers: what the service does by itself goes the same way
/// as what clients ask, in turns of its own.
final class LedgerCaller: Sendable {
    private struct Call {
        let count: Int
        var answers: [Answer] = []
        let end: CheckedContinuation<[Answer], Never>
    }

    private let calls = NIOLockedValueBox<[Call]>([])
    private let session: LedgerSession

    init(_ ledger: RunningLedger) {
        let queue = DispatchQueue(label: "ledger-app-store")
        session = ledger.session(
            outlet: Outlet(id: ObjectIdentifier(queue)) { work in queue.async(execute: work) }
        ) { [calls] answers in
            for answer in answers {
                let ended = calls.withLockedValue { calls -> Call? in
                    calls[0].answers.append(answer)
                    return calls[0].answers.count == calls[0].count ? calls.removeFirst() : nil
                }
                if let ended { ended.end.resume(returning: ended.answers) }
            }
        }
    }

    /// The ledger's answers, in the order of the operations.
    /// - Parameter operations: none of them reads.
    func answers(to operations: [LedgerOperation]) async -> [Answer] {
        if operations.isEmpty { return [] }
        return await withCheckedContinuation { end in
            calls.withLockedValue { calls in
                calls.append(Call(count: operations.count, end: end))
                session.submit(operations)
            }
        }
    }

    /// Everything that was asked has its answer by then.
    func close() { session.close() }
}
