import Logging

/// What the operator is told of clients, by kinds that are counted apart; see ``NoticeLog``.
struct NoticeKind: Hashable, Sendable {
    let level: Logger.Level
    /// What is said of one, and of those of which no line was written.
    let message: String
    let more: String
    /// What is told apart within the kind: the address from which somebody comes, or what else the line names.
    let source: String
    /// What is refused, where it is a refusal for security's sake.
    let refusal: SecurityRefusal.Kind?
    /// That of the response, where a request of HTTP is refused.
    let status: UInt?

    /// By which kinds are put in order.
    var name: String { refusal?.rawValue ?? status.map { "\(message) \($0)" } ?? message }

    // MARK: Connections that get no place, or lose it

    static let everyPlaceTaken = warning(
        "connections are refused: each place has a connection that authenticated")
    static let strangerPutOut = warning(
        "connections that had not authenticated were closed, to let others come")
    static let neverAuthenticated = notice("connections were closed that did not authenticate in time")
    static let everyPlaceOfNameTaken = warning(
        "a client is refused that has as many connections as one name may have", of: "name")
    static let lastPlacesKept = warning(
        "a client is refused, for the places that are left are kept for other names", of: "name")
    static let cannotAccept = error("connections cannot be accepted; it is tried again", of: "error")
    static let plaintextOnTLS = warning("connections were closed that do not speak TLS")
    static let handshakeFailed = warning("connections were closed that did not come to terms with TLS")
    static let repliesUnread = notice(
        "a client does not read its replies, and others wait for the memory: its connection is closed")
    static let lineUnfinished = notice(
        "a client does not end its line, and others wait for the memory: its connection is closed")
    static let changesRefused = notice(
        """
        changes kept coming on a connection while they were refused, for one before them was not carried out for want \
        of a leader: it is closed
        """)

    // MARK: Requests that are refused

    static func refused(_ refusal: SecurityRefusal.Kind) -> NoticeKind {
        warning("refused", more: "refused more of a kind", refusal: refusal)
    }

    /// - Parameter status: of the response (RFC 9110 §15).
    static func refusedByHTTP(_ status: UInt) -> NoticeKind {
        warning(
            "a request of HTTP is refused, whatever it asks", more: "more requests of HTTP are refused", status: status)
    }

    // MARK: Requests that take long

    static let slowRequest = warning("a request took long", more: "more requests took long", of: "method")

    // MARK: Notifications of the App Store

    static let notificationRefused = warning(
        "a notification posted by HTTP is refused for good", more: "more notifications are refused for good")
    static let notificationPutOff = warning(
        "a notification posted by HTTP cannot be taken now, and its sender is told to send it again",
        more: "more notifications cannot be taken now")

    // MARK: Levels

    private static func notice(_ message: String) -> NoticeKind { NoticeKind(.notice, message) }

    private static func warning(
        _ message: String, more: String? = nil, of source: String = "peer", refusal: SecurityRefusal.Kind? = nil,
        status: UInt? = nil
    ) -> NoticeKind {
        NoticeKind(.warning, message, more: more, of: source, refusal: refusal, status: status)
    }

    private static func error(_ message: String, of source: String) -> NoticeKind {
        NoticeKind(.error, message, of: source)
    }

    private init(
        _ level: Logger.Level, _ message: String, more: String? = nil, of source: String = "peer",
        refusal: SecurityRefusal.Kind? = nil, status: UInt? = nil
    ) {
        self.level = level
        self.message = message
        self.more = more ?? message
        self.source = source
        self.refusal = refusal
        self.status = status
    }
}
