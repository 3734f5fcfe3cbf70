import Logging
import NIOConcurrencyHelpers
import NIOCore

/// Says in the log what was refused for security's sake: who, why, and never a token or a JWS. Of each kind a few lines
/// in a time are written for each address; of the rest how many there were, and from where, when the time is over.
final class SecurityLog: Sendable {
    /// What was refused of one kind since the time began.
    fileprivate struct Counts {
        var total = 0
        var lines = 0
        /// By address; only so many addresses are kept apart.
        var peers: [String: Int] = [:]
    }

    private struct Window {
        var kinds: [SecurityRefusal.Kind: Counts] = [:]
        /// Whether the end of the time is waited for.
        var isOpen = false
    }

    private let window = NIOLockedValueBox(Window())
    private let logger: Logger
    private let limits: ServerLimits

    init(_ logger: Logger, limits: ServerLimits) {
        self.logger = logger
        self.limits = limits
    }

    /// - Parameters:
    ///   - peer: the client's address; `nil` where it has none any more.
    ///   - name: that of its token, where it has one.
    ///   - eventLoop: waits for the end of the time.
    func note(_ refusal: SecurityRefusal, peer: SocketAddress?, name: String?, on eventLoop: any EventLoop) {
        let host = peer?.ipAddress ?? "unix"
        let (isWritten, opens) = window.withLockedValue { window in
            defer { window.isOpen = true }
            return (window.kinds[refusal.kind, default: Counts()].count(host, limits), !window.isOpen)
        }
        if opens {
            eventLoop.scheduleTask(in: .milliseconds(limits.securityLinesMilliseconds)) { self.close() }
        }
        guard isWritten else { return }
        var metadata: Logger.Metadata = [
            "kind": "\(refusal.kind.rawValue)", "peer": "\(host)", "reason": "\(refusal.error.message)",
        ]
        if let port = peer?.port { metadata["port"] = "\(port)" }
        if let name { metadata["token"] = "\(name)" }
        if let detail = refusal.detail { metadata["detail"] = "\(detail)" }
        logger.warning("refused", metadata: metadata)
    }

    /// The time is over: says how many there were of which no line was written.
    func close() {
        let kinds = window.withLockedValue { window in
            defer { window = Window() }
            return window.kinds
        }
        for kind in SecurityRefusal.Kind.allCases {
            guard let counts = kinds[kind], counts.total > counts.lines else { continue }
            let peers = counts.peers.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            logger.warning(
                "refused more of a kind",
                metadata: [
                    "kind": "\(kind.rawValue)", "more": "\(counts.total - counts.lines)",
                    "peers": "\(peers.map { "\($0.key): \($0.value)" }.joined(separator: ", "))",
                    "milliseconds": "\(limits.securityLinesMilliseconds)",
                ])
        }
    }
}

extension SecurityLog.Counts {
    /// Counts one more from an address.
    /// - Returns: whether it has a line of its own.
    fileprivate mutating func count(_ host: String, _ limits: ServerLimits) -> Bool {
        total += 1
        let others = "others"
        let key = peers[host] != nil || peers.count < limits.securityPeersMax ? host : others
        peers[key, default: 0] += 1
        guard peers[key, default: 0] <= limits.securityLinesMax else { return false }
        lines += 1
        return true
    }
}
