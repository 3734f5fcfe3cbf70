import LedgerEngine
import LedgerWire
import StrictJSON

/// Whether the service can do what it is asked, and what keeps it from that. Nobody has to show anything to be told, so
/// nothing is said that names a ledger or a machine.
struct Readiness: Hashable, Sendable {
    /// In the order in which they are told.
    enum Reason: String, CaseIterable, Sendable {
        /// The service is being stopped.
        case shuttingDown = "shutting_down"
        /// The ledger is being opened, or its tables made.
        case opening
        /// The ledger cannot be opened.
        case failed
        /// Nothing can be made durable.
        case logFailing = "log_failing"
        /// The tables cannot be written.
        case tablesFailing = "tables_failing"
        /// Too few standbys have what is durable here.
        case standbysLacking = "standbys_lacking"
        /// It is a standby, or a node that follows, and gets no blocks.
        case notFollowing = "not_following"
        /// It follows, and has not had all that its leader has for some time.
        case behind
        /// The disk has hardly any room.
        case diskFull = "disk_full"
    }

    let isReady: Bool
    /// Of all ledgers: the service may be ready though one of several is not.
    let reasons: [Reason]

    /// The service is ready where each ledger is open, and at least one lacks nothing: a balancer that took the others
    /// away with a ledger whose disk is full would do more harm than that does.
    /// - Parameter ledgers: for each the reasons for which it is not ready.
    init(ledgers: [[Reason]], isShuttingDown: Bool) {
        let all = Set(ledgers.joined()).union(isShuttingDown ? [.shuttingDown] : [])
        reasons = Reason.allCases.filter { all.contains($0) }
        isReady = !isShuttingDown && !all.contains(.opening) && ledgers.contains { $0.isEmpty }
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("ready")
        writer.bool(isReady)
        writer.key("reasons")
        writer.beginArray()
        for reason in reasons { writer.string(reason.rawValue) }
        writer.endArray()
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}

extension ServedLedgers.Member {
    /// Why it cannot do all that is asked of it.
    /// - Parameter disk: what is left of it; `nil` where nobody knows.
    func reasons(_ limits: ServerLimits, disk: DiskRoom?) -> [Readiness.Reason] {
        let standing = ledger.standing
        switch standing.state {
        case .opening: return [.opening]
        case .failed: return [.failed]
        case .open: break
        }
        var reasons: [Readiness.Reason] = []
        if standing.logFailure != nil { reasons.append(.logFailing) }
        if standing.projectionFailure != nil { reasons.append(.tablesFailing) }
        if standing.lacksStandbys { reasons.append(.standbysLacking) }
        switch info().standby {
        case nil: break
        case let following? where following.state == .following:
            if following.millisecondsBehind ?? .max > limits.readyBehindMilliseconds { reasons.append(.behind) }
        case _?: reasons.append(.notFollowing)
        }
        if let disk, disk.free < limits.readyDiskBytes { reasons.append(.diskFull) }
        return reasons
    }
}
