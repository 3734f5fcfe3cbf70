package import AppStore
package import LedgerMetrics
import Synchronization

/// What is counted of one ledger while it is in operation, for whoever watches it: a few atomic additions a batch, and
/// nothing for a request but where a JWS is refused.
package final class EngineFigures: Sendable {
    /// How many operations the batches had that were decided.
    package let batchOperations = Histogram(.batches)
    /// How long batches took to be decided, what they need loaded with it.
    package let decision = Histogram(.durations)
    /// How long blocks took to be written and synced.
    package let append = Histogram(.durations)
    /// How long it took from taking a batch until its answers were handed out: deciding, appending, and what was
    /// waited for between.
    package let commit = Histogram(.durations)
    /// From how long on a batch is slow; none is, until somebody says so.
    package let slowCommits = SlowNotice()
    /// Bytes of blocks that were appended.
    package let appendedBytes = Counter()
    /// Operations that were answered without being carried out, for they had waited for too long.
    package let lateOperations = Counter()
    /// Players in memory, as of the last batch that was decided.
    package let players = Gauge()
    /// Wallets that batches needed by name, and players that had to be loaded from the tables for them.
    package let walletsNeeded = Counter()
    package let playersLoaded = Counter()
    /// Whether the wall clock is too far ahead to be believed.
    package let isClockHeldBack = Gauge()
    /// For traces; `nil` where nothing is traced.
    let recentAppends: RecentAppends?

    private let refusals = Cells(VerificationFailure.Reason.allCases.count)
    /// Few, and each is said once until it changes.
    private let events = Mutex<[String: UInt64]>([:])

    /// - Parameter tracesCommits: whether sessions are told of the batches that answer them.
    package init(tracesCommits: Bool = false) { recentAppends = tracesCommits ? RecentAppends() : nil }

    /// How many JWS were refused, by reason.
    package var refusedSignatures: [(reason: VerificationFailure.Reason, count: UInt64)] {
        VerificationFailure.Reason.allCases.enumerated().map { ($1, refusals[$0]) }
    }

    /// How often the operator was told something, by what it was.
    package var toldEvents: [(name: String, count: UInt64)] {
        events.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    func note(_ failure: VerificationFailure) {
        guard let place = VerificationFailure.Reason.allCases.firstIndex(of: failure.reason) else { return }
        refusals.add(1, at: place)
    }

    /// What is handed an event, counts it and hands it on.
    package func counting(_ report: @escaping @Sendable (LedgerEvent) -> Void) -> @Sendable (LedgerEvent) -> Void {
        { [self] event in
            note(event)
            report(event)
        }
    }

    private func note(_ event: LedgerEvent) {
        events.withLock { $0[event.name, default: 0] += 1 }
        if case .clockHeldBack = event { isClockHeldBack.set(1) }
        if case .clockReasonable = event { isClockHeldBack.set(0) }
        if case .cameTooLate(let requests) = event { lateOperations.add(requests) }
    }
}
