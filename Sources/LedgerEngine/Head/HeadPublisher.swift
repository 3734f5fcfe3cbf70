import HeadSigning
import Ledger

/// Where the signed head goes at an interval.
package struct HeadPublication: Sendable {
    package var intervalMilliseconds: UInt64
    /// Puts a signed head in the place of the one before, durably. May block.
    package var write: @Sendable (String) throws -> Void

    package init(intervalMilliseconds: UInt64, write: @escaping @Sendable (String) throws -> Void) {
        self.intervalMilliseconds = intervalMilliseconds
        self.write = write
    }
}

/// Has the head signed and written at an interval, beginning as soon as the store is open, and a last time at the end.
/// What fails is told once, and tried again; nothing else waits for it.
final class HeadPublisher: Sendable {
    private struct State {
        /// By the monotonic clock, in nanoseconds.
        var due: UInt64 = 0
        var isFailing = false
        var isStopped = false
    }

    private let store: any Store
    private let signer: HeadSigner
    private let publication: HeadPublication
    private let retryMilliseconds: UInt64
    private let report: @Sendable (LedgerEvent) -> Void
    private let state = Monitor(State())
    private let thread = OwnThread()

    /// - Throws: ``StoreError`` where the system has no more threads.
    init(
        store: any Store, signer: HeadSigner, _ publication: HeadPublication, limits: EngineLimits,
        report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        self.store = store
        self.signer = signer
        self.publication = publication
        retryMilliseconds = min(limits.headRetryMilliseconds, publication.intervalMilliseconds)
        self.report = report
        try thread.begin("ledger-head") { [self] in serve() }
    }

    /// Signs and writes the last head. The store is open still, and nothing is committed any more.
    func stop() {
        state.withLock { $0.isStopped = true }
        state.wakeAll()
        thread.join()
        publish()
    }

    private func serve() {
        while true {
            let isDue: Bool = state.waitOrUntil { state in
                if state.isStopped { return .ready(false) }
                return monotonicNanoseconds() >= state.due ? .ready(true) : .waitUntil(state.due)
            }
            guard isDue else { return }
            publish()
        }
    }

    private func publish() {
        var wait = publication.intervalMilliseconds
        do {
            if let signed = try signer.sign(try store.projectedState()) { try publication.write(signed) }
            if state.withLock({ $0.isFailing }) { report(.headWrittenAgain) }
            state.withLock { $0.isFailing = false }
        } catch let error as StoreError where error.kind == .notReady {
            wait = retryMilliseconds
        } catch {
            wait = retryMilliseconds
            if !state.withLock({ $0.isFailing }) { report(.headNotWritten("\(error)")) }
            state.withLock { $0.isFailing = true }
        }
        state.withLock { $0.due = monotonicNanoseconds() + wait * 1_000_000 }
    }
}
