import Logging
import NIOConcurrencyHelpers
import NIOCore

/// Tells the operator what is done about connections that get no place, or lose it. Each kind of notice is logged once
/// within a time, with how often there was reason for it, so that a flood does not fill the log.
final class ConnectionNotices: Sendable {
    enum Kind: Hashable, Sendable {
        case everyPlaceTaken
        case strangerPutOut
        case neverAuthenticated
        case everyPlaceOfNameTaken
        case cannotAccept
        case plaintextOnTLS
        case handshakeFailed
    }

    private struct Said {
        var next = NIODeadline.distantPast
        var count = 0
    }

    private let logger: Logger
    private let interval: TimeAmount
    private let said = NIOLockedValueBox([Kind: Said]())

    init(_ logger: Logger, limits: ServerLimits) {
        self.logger = logger
        interval = .milliseconds(limits.noticeMilliseconds)
    }

    /// - Parameter details: of this one; of the others only the number is told.
    func note(_ kind: Kind, _ details: @autoclosure () -> Logger.Metadata) {
        let now = NIODeadline.now()
        let count = said.withLockedValue { said -> Int? in
            var entry = said[kind, default: Said()]
            defer { said[kind] = entry }
            entry.count += 1
            guard now >= entry.next else { return nil }
            defer { entry = Said(next: now + interval, count: 0) }
            return entry.count
        }
        guard let count else { return }
        log(kind, details().merging(["count": "\(count)"]) { own, _ in own })
    }

    private func log(_ kind: Kind, _ metadata: Logger.Metadata) {
        switch kind {
        case .everyPlaceTaken:
            logger.warning(
                "connections are refused: each place has a connection that authenticated", metadata: metadata)
        case .strangerPutOut:
            logger.warning(
                "connections that had not authenticated were closed, to let others come", metadata: metadata)
        case .neverAuthenticated:
            logger.notice("connections were closed that did not authenticate in time", metadata: metadata)
        case .everyPlaceOfNameTaken:
            logger.warning(
                "a client is refused that has as many connections as one name may have", metadata: metadata)
        case .plaintextOnTLS:
            logger.warning("connections were closed that do not speak TLS", metadata: metadata)
        case .handshakeFailed:
            logger.warning("connections were closed that did not come to terms with TLS", metadata: metadata)
        case .cannotAccept:
            logger.error("connections cannot be accepted; it is tried again", metadata: metadata)
        }
    }
}
