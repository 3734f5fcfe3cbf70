/// How often, and after which waits, a call is made again by the client itself.
///
/// Before repetition `n` the client waits a random time between nothing and `min(capMilliseconds, baseMilliseconds ×
/// 2^(n − 1))` ("full jitter"), so that clients that lost their server at the same moment do not come back at the same
/// moment. Whatever the policy, a call ends with its timeout (``ClientConfiguration/requestTimeoutMilliseconds``).
public struct RetryPolicy: Hashable, Sendable {
    /// Times that one request is sent, or a connection for it attempted; at least 1. With 1 a connection that is lost
    /// stays lost, and every call after it fails for the same reason.
    public var attemptsMax: Int
    /// Milliseconds up to which the first repetition waits.
    public var baseMilliseconds: Int64
    /// Milliseconds up to which any repetition waits.
    public var capMilliseconds: Int64

    /// A policy of its own.
    public init(attemptsMax: Int, baseMilliseconds: Int64, capMilliseconds: Int64) {
        precondition(attemptsMax >= 1, "a request is sent at least once")
        precondition(0 <= baseMilliseconds && baseMilliseconds <= capMilliseconds, "0 ≤ base ≤ cap")
        self.attemptsMax = attemptsMax
        self.baseMilliseconds = baseMilliseconds
        self.capMilliseconds = capMilliseconds
    }

    /// Ten attempts, with waits of up to 50 milliseconds, doubled each time, 2 seconds at most: a restart of the
    /// service passes unnoticed.
    public static let standard = RetryPolicy(
        attemptsMax: ClientLimits.attemptsMax, baseMilliseconds: ClientLimits.retryBaseMilliseconds,
        capMilliseconds: ClientLimits.retryCapMilliseconds)

    /// One connection and one attempt: every failure is the caller's to see.
    public static let none = RetryPolicy(attemptsMax: 1, baseMilliseconds: 0, capMilliseconds: 0)

    /// The same for a client of several nodes. Any of them may lead at any moment, so they are asked more often; and as
    /// often each, so that one that cannot be reached takes no attempt from the others.
    func among(nodes count: Int) -> RetryPolicy {
        guard reconnects else { return self }
        let cap = min(capMilliseconds, ClientLimits.nodesRetryCapMilliseconds)
        let more = cap > 0 ? Int(capMilliseconds / cap) : 1
        let (attempts, isTooMany) = attemptsMax.multipliedReportingOverflow(by: count * more)
        return RetryPolicy(
            attemptsMax: isTooMany ? .max : attempts, baseMilliseconds: min(baseMilliseconds, cap), capMilliseconds: cap
        )
    }

    /// Whether a lost connection is made anew.
    var reconnects: Bool { attemptsMax > 1 }

    /// Milliseconds up to which repetition `number`, from 1, waits.
    func waitMaxMilliseconds(repetition number: Int) -> Int64 {
        precondition(number >= 1, "repetitions count from 1")
        // A shift of 62 keeps the sign; the cap is reached long before.
        let (product, overflow) = baseMilliseconds.multipliedReportingOverflow(by: 1 << Int64(min(number - 1, 62)))
        return overflow ? capMilliseconds : min(capMilliseconds, product)
    }
}
