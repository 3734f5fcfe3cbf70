/// What went wrong between this client and the server, rather than in the ledger (that is a ``WireError``).
public enum ClientError: Error, Hashable, Sendable {
    /// No connection was made, and why. The request was not sent.
    case cannotConnect(String)
    /// ``LedgerClient/close()`` was called. Whether requests in flight were carried out is not known; a keyed one may
    /// be sent again with the same key.
    case closed
    /// The connection ended, and why, and the request was not answered later either. Whether it was carried out is not
    /// known; a keyed one may be sent again with the same key, and so may a signed transaction or notification.
    case connectionLost(String)
    /// No answer came within the call's timeout. Where it may have been carried out, a keyed request may be sent again
    /// with the same key, and so may a signed transaction or notification; where not, it was never sent, or each time
    /// refused with an error other than `outcome_unknown`.
    case timedOut(mayHaveBeenCarriedOut: Bool)
    /// The request would be longer than a line may be (``WireLimits/lineBytesMax``); nothing was sent.
    case requestTooLong
    /// The parameters given to ``LedgerClient/call(method:params:)`` are no JSON text, and why; nothing was sent.
    case invalidParams(String)
    /// The server sent what is no reply of the protocol, and why; the connection was closed if replies can no longer
    /// be told apart. Whether the request was carried out is not known.
    case unreadableReply(String)
}

extension ClientError: CustomStringConvertible {
    /// What went wrong, in words.
    public var description: String {
        switch self {
        case .cannotConnect(let why): "cannot connect: \(why)"
        case .closed: "the connection was closed by this client"
        case .connectionLost(let why): "the connection was lost: \(why)"
        case .timedOut(true): "no answer came in time; whether the request was carried out is not known"
        case .timedOut(false): "no answer came in time; the request was not carried out"
        case .requestTooLong: "the request is longer than \(WireLimits.lineBytesMax) bytes"
        case .invalidParams(let why): "the parameters cannot be sent: \(why)"
        case .unreadableReply(let why): "the server's reply cannot be read: \(why)"
        }
    }
}
