import NIOCore

/// How one attempt at a request ended. `wasSent` tells whether it was given to a connection: if not, it cannot have
/// been carried out.
enum AttemptEnd: Sendable {
    /// The result as JSON, or the server's error.
    case answered(Result<[UInt8], WireError>)
    /// There was no connection, or it ended before the answer.
    case disconnected(any Error, wasSent: Bool)
    case timedOut(wasSent: Bool)
    case cancelled
}

/// One request that waits for its reply, or for room to be sent. It may be given up at any time, from any thread; once
/// it is on the wire, its place in the order of replies stays.
///
/// `wasSent` is touched only under the lock of `end`, `sentAt` only on the connection's event loop.
final class PendingCall: @unchecked Sendable {
    let id: Int64
    /// Ends with `\n`.
    let line: [UInt8]
    let deadline: NIODeadline
    var sentAt = NIODeadline.distantPast
    private let end = OneShot<AttemptEnd>()
    private var wasSent = false

    init(id: Int64, line: [UInt8], deadline: NIODeadline) {
        self.id = id
        self.line = line
        self.deadline = deadline
    }

    var hasEnded: Bool { end.isGiven }

    /// Whether it may be sent: from here on it counts as sent, unless its connection ends before it is written
    /// (``disconnectUnwritten(_:)``).
    func beginSending() -> Bool { end.whileOpen { wasSent = true } }

    func answer(_ reply: Result<[UInt8], WireError>) { end.give(.answered(reply)) }

    func disconnect(_ error: any Error) { end.give(.disconnected(error, wasSent: wasSent)) }

    /// The same of one that was not written, though it was about to be.
    func disconnectUnwritten(_ error: any Error) { end.give(.disconnected(error, wasSent: false)) }

    @discardableResult
    func timeOut() -> Bool { end.give(.timedOut(wasSent: wasSent)) }

    /// `abandoned` runs where the call is given up because its task is cancelled.
    func outcome(abandoned: @escaping @Sendable () -> Void) async -> AttemptEnd {
        await end.value { [end] in
            if end.give(.cancelled) { abandoned() }
        }
    }
}
