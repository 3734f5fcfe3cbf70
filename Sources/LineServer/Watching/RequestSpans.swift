import LedgerEngine
import LedgerWire
import NIOCore
import NIOHTTP1
import Tracing

/// Spans of requests, for whoever traces them. Attributes are named as OpenTelemetry's conventions for RPC name them,
/// and have nothing of what a client sent or is told but the method, and the reason of an error.
///
/// A span is made when its request is answered, of the times that were taken for the figures in any case: so a request
/// that nobody traces costs the look whether there is one of these.
struct RequestSpans: Sendable {
    /// Of which trace a request is, as its sender says.
    typealias Parent = ServiceContext

    /// What was asked, and when by the monotonic clock in nanoseconds.
    struct Asked {
        /// `nil` of what is no request.
        var method: Method?
        /// Of the ledger; `nil` where the server answered by itself.
        var place: Int?
        var begin: UInt64
    }

    private let tracer: any Tracer
    private let directory: LedgerDirectory

    init(_ tracer: any Tracer, _ directory: LedgerDirectory) {
        self.tracer = tracer
        self.directory = directory
    }

    /// What the head of an HTTP request says of its trace.
    func parent(in headers: HTTPHeaders) -> Parent {
        var parent = ServiceContext.topLevel
        tracer.extract(headers, into: &parent, using: HeaderReader())
        return parent
    }

    /// A request was answered.
    /// - Parameters:
    ///   - end: by the monotonic clock, in nanoseconds.
    ///   - commit: the batch that it was in; `nil` where it was in none, or nobody knows.
    func record(
        _ asked: Asked, _ reply: Reply, until end: UInt64, under parent: Parent?, _ commit: CommitTrace?
    ) {
        let clock = WallClock()
        let span = tracer.startSpan(
            asked.method?.description ?? "invalid", context: parent ?? .topLevel, ofKind: .server,
            at: clock.instant(asked.begin))
        guard span.isRecording else { return }
        let outcome = RequestFigures.Outcome(reply)
        span.updateAttributes { attributes in
            attributes["rpc.system"] = "jsonrpc"
            attributes["ledger.outcome"] = outcome.name
            if let method = asked.method { attributes["rpc.method"] = method.description }
            if let name = asked.place.flatMap(directory.name(at:)) { attributes["ledger.name"] = name.text }
            if let error = reply.error {
                attributes["rpc.jsonrpc.error_code"] = error.code
                attributes["ledger.reason"] = error.reason
            }
        }
        // OpenTelemetry: a server's span has an error where that is the server's.
        if outcome == .failed { span.setStatus(SpanStatus(code: .error)) }
        if let commit { record(commit, under: span.context, clock) }
        span.end(at: clock.instant(end))
    }

    private func record(_ commit: CommitTrace, under parent: ServiceContext, _ clock: WallClock) {
        let span = tracer.startSpan("commit", context: parent, at: clock.instant(commit.begin))
        span.updateAttributes { $0["ledger.commit.requests"] = commit.requests }
        if !commit.isDone { span.setStatus(SpanStatus(code: .error)) }
        tracer.startSpan("decide", context: span.context, at: clock.instant(commit.begin))
            .end(at: clock.instant(commit.decided))
        if let append = commit.append {
            let own = tracer.startSpan("append", context: span.context, at: clock.instant(append.begin))
            own.updateAttributes { attributes in
                attributes["ledger.block.number"] = append.block
                attributes["ledger.block.bytes"] = append.bytes
                attributes["ledger.block.entries"] = append.entries
                attributes["ledger.block.transfers"] = append.transfers
            }
            own.end(at: clock.instant(append.end))
        }
        span.end(at: clock.instant(commit.end))
    }

    /// What the monotonic clock's times are by the wall clock of now.
    private struct WallClock {
        private let offset = DefaultTracerClock.now.nanosecondsSinceEpoch &- NIODeadline.now().uptimeNanoseconds

        func instant(_ time: UInt64) -> DefaultTracerClock.Timestamp {
            DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: time &+ offset)
        }
    }

    /// A header that comes twice says nothing.
    private struct HeaderReader: Extractor {
        func extract(key: String, from headers: HTTPHeaders) -> String? {
            let values = headers[key]
            return values.count == 1 ? values[0] : nil
        }
    }
}
