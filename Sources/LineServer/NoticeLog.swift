import Logging
import NIOConcurrencyHelpers
import NIOCore

/// Tells the operator what clients do, and what becomes of them; never a token or a JWS. Of each kind a few lines in a
/// time are written for each address; of the rest how many there were, and from where, when the time is over. So a
/// flood does not fill the log. What a client wrote, as a name in a reason, stands in a line as ``LogValue`` has it: so
/// nobody writes lines of their own.
final class NoticeLog: Sendable {
    /// What there was of one kind since the time began.
    private struct Counts {
        var total = 0
        var lines = 0
        /// By what is told apart; only so many are.
        var sources: [String: Int] = [:]

        /// Counts one more.
        /// - Returns: whether it has a line of its own.
        mutating func count(_ source: String, linesMax: Int, sourcesMax: Int) -> Bool {
            total += 1
            let key = sources[source] != nil || sources.count < sourcesMax ? source : "others"
            sources[key, default: 0] += 1
            guard sources[key, default: 0] <= linesMax else { return false }
            lines += 1
            return true
        }
    }

    private struct Window {
        var kinds: [NoticeKind: Counts] = [:]
        /// What there was in all times before.
        var before: [NoticeKind: Int] = [:]
        /// Whether the end of the time is waited for.
        var isOpen = false
    }

    private let window = NIOLockedValueBox(Window())
    private let logger: Logger
    private let limits: ServerLimits
    private let timer: any EventLoop

    /// - Parameter timer: waits for the end of the time.
    init(_ logger: Logger, limits: ServerLimits, timer: any EventLoop) {
        self.logger = logger
        self.limits = limits
        self.timer = timer
    }

    /// - Parameters:
    ///   - source: the address, or what else is told apart within the kind.
    ///   - details: what the line says besides.
    func note(_ kind: NoticeKind, _ source: String, _ details: @autoclosure () -> Logger.Metadata = [:]) {
        let linesMax = kind.refusal == nil ? limits.noticeLinesMax : limits.refusalLinesMax
        let (isWritten, opens) = window.withLockedValue { window in
            defer { window.isOpen = true }
            let isWritten = window.kinds[kind, default: Counts()]
                .count(source, linesMax: linesMax, sourcesMax: limits.noticeSourcesMax)
            return (isWritten, !window.isOpen)
        }
        if opens { timer.scheduleTask(in: .milliseconds(limits.noticeMilliseconds)) { self.close() } }
        if isWritten { log(kind, kind.message, details().merging([kind.source: "\(source)"]) { own, _ in own }) }
    }

    /// The time is over: says how many there were of which no line was written.
    func close() {
        let kinds = window.withLockedValue { window in
            defer {
                let totals = window.before.merging(window.kinds.mapValues(\.total)) { $0 + $1 }
                window = Window(before: totals)
            }
            return window.kinds.sorted { $0.key.name < $1.key.name }
        }
        for (kind, counts) in kinds where counts.total > counts.lines {
            let sources = counts.sources.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            log(
                kind, kind.more,
                [
                    "more": "\(counts.total - counts.lines)",
                    "\(kind.source)s": "\(sources.map { "\($0.key): \($0.value)" }.joined(separator: ", "))",
                    "milliseconds": "\(limits.noticeMilliseconds)",
                ])
        }
    }

    /// How many there were of each kind since the start, by its name.
    var totals: [(name: String, count: Int)] {
        window.withLockedValue { window in
            window.before.merging(window.kinds.mapValues(\.total)) { $0 + $1 }
        }.map { ($0.key.name, $0.value) }.sorted { $0.name < $1.name }
    }

    private func log(_ kind: NoticeKind, _ message: String, _ details: Logger.Metadata) {
        var metadata = details.mapValues { Logger.MetadataValue.stringConvertible(LogText("\($0)")) }
        if let refusal = kind.refusal { metadata["kind"] = "\(refusal.rawValue)" }
        if let status = kind.status { metadata["status"] = "\(status)" }
        logger.log(level: kind.level, "\(message)", metadata: metadata)
    }
}

extension NoticeLog {
    /// Says what was refused for security's sake: who, and why.
    /// - Parameters:
    ///   - peer: the client's address; `nil` where it has none any more.
    ///   - name: that of its token, where it has one.
    func note(_ refusal: SecurityRefusal, peer: SocketAddress?, name: String?) {
        note(.refused(refusal.kind), peer?.ipAddress ?? "unix", NoticeLog.details(refusal, peer?.port, name))
    }

    private static func details(_ refusal: SecurityRefusal, _ port: Int?, _ name: String?) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["reason": "\(refusal.error.message)"]
        if let port { metadata["port"] = "\(port)" }
        if let name { metadata["token"] = "\(name)" }
        if let detail = refusal.detail { metadata["detail"] = "\(detail)" }
        return metadata
    }
}
