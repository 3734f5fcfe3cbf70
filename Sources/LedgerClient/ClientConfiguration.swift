public import LedgerWire

/// How a client waits, repeats and bounds itself.
public struct ClientConfiguration: Sendable {
    /// Milliseconds that one call may take, with waiting for room, reconnecting and every repetition; at least 1.
    /// After them it throws ``ClientError/timedOut(mayHaveBeenCarriedOut:)``.
    public var requestTimeoutMilliseconds: Int64
    /// Milliseconds that making a connection may take, the token's answer included; at least 1.
    public var connectTimeoutMilliseconds: Int64
    /// Requests that wait for their answers on the connection, at least 1; a further call waits for room.
    public var requestsInFlightMax: Int
    /// TLS, on every connection over TCP; `nil` for none.
    public var tls: ClientTLS?
    /// Which of the server's ledgers is asked, where it has several; `nil` for the token's.
    public var ledger: LedgerName?
    /// What the client repeats by itself.
    public var retryPolicy: RetryPolicy
    /// Gives the TLS of each connection that is made, in place of ``tls``, where certificates are renewed while the
    /// client is used. What it throws keeps the client from connecting.
    package var renewedTLS: (@Sendable () throws -> ClientTLS)?
    /// Bytes of one line of the server.
    package var replyBytesMax = WireLimits.replyBytesMax
    /// Of a node that passes on what a client asked: that client's name (``Authentication/client``).
    package var client: String?
    var pacing = Pacing.system
    /// Milliseconds after which a leader that leads no more is silent (``LedgerClient/turn(to:)``).
    var formerLeaderMilliseconds = ClientLimits.formerLeaderMilliseconds

    /// A configuration; each default is explained where it is named.
    /// - Parameters:
    ///   - requestTimeoutMilliseconds: 10 seconds by default: a player waits for the answer.
    ///   - connectTimeoutMilliseconds: 4 seconds by default.
    ///   - requestsInFlightMax: 4,096 by default, as many as the server takes from one connection.
    ///   - retryPolicy: ``RetryPolicy/standard`` by default.
    ///   - tls: none by default.
    ///   - ledger: none by default: the server has one, or the token opens one.
    public init(
        requestTimeoutMilliseconds: Int64? = nil, connectTimeoutMilliseconds: Int64? = nil,
        requestsInFlightMax: Int? = nil, retryPolicy: RetryPolicy = .standard, tls: ClientTLS? = nil,
        ledger: LedgerName? = nil
    ) {
        self.requestTimeoutMilliseconds = requestTimeoutMilliseconds ?? ClientLimits.requestTimeoutMilliseconds
        self.connectTimeoutMilliseconds = connectTimeoutMilliseconds ?? ClientLimits.connectTimeoutMilliseconds
        self.requestsInFlightMax = requestsInFlightMax ?? ClientLimits.requestsInFlightMax
        self.retryPolicy = retryPolicy
        self.tls = tls
        self.ledger = ledger
        precondition(self.requestTimeoutMilliseconds >= 1 && self.connectTimeoutMilliseconds >= 1)
        precondition(self.requestsInFlightMax >= 1)
    }
}
