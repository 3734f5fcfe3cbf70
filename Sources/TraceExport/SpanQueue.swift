import LedgerMetrics
import Synchronization

/// Spans that have ended, until they are sent: a bounded number.
final class SpanQueue: Sendable {
    /// What became of a span.
    enum Fate: Int, CaseIterable {
        case sent
        /// The collector did not want it.
        case refused
        /// There was no room for it, or no time at the end.
        case dropped

        var name: String { "\(self)" }
    }

    private let spans = Mutex<[SpanRecord]>([])
    private let fates = Cells(Fate.allCases.count)
    private let spansMax: Int
    private let batchMax: Int
    /// Comes when there may be something to send, until ``finish()``.
    let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    init(_ limits: TraceExportLimits) {
        spansMax = limits.spansMax
        batchMax = limits.batchMax
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Never waits.
    func add(_ span: SpanRecord) {
        let count = spans.withLock { spans -> Int? in
            if spans.count >= spansMax { return nil }
            spans.append(span)
            return spans.count
        }
        guard let count else { return note(.dropped, 1) }
        if count == batchMax { wake() }
    }

    /// The next batch, oldest first; empty where there is nothing.
    func takeBatch() -> [SpanRecord] {
        spans.withLock { spans in
            let batch = Array(spans.prefix(batchMax))
            spans.removeFirst(batch.count)
            return batch
        }
    }

    func wake() { waker.yield() }

    /// Nobody is woken any more.
    func finish() { waker.finish() }

    func note(_ fate: Fate, _ count: Int) { fates.add(UInt64(count), at: fate.rawValue) }

    func count(_ fate: Fate) -> UInt64 { fates[fate.rawValue] }
}
