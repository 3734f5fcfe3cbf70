/// The client's own bounds, each with its reason. Those that a game may need otherwise are the defaults of
/// ``ClientConfiguration`` and ``RetryPolicy``.
enum ClientLimits {
    /// Milliseconds until an attempt to connect is given up, the token's answer included: a host that drops packets
    /// never answers. TCP sends a lost SYN again after one second and after three (RFC 6298 §2).
    static let connectTimeoutMilliseconds: Int64 = 4_000
    /// Milliseconds that a call may take with everything in it: a player waits for it, and it leaves time for a
    /// service that is started again (two seconds) and for some attempts after that.
    static let requestTimeoutMilliseconds: Int64 = 10_000
    /// A connection on which nothing comes for this part of a call's timeout, and on which that call then times out,
    /// is given up: TCP itself notices a peer that has vanished only after many minutes.
    static let silentPartOfTimeout: Int64 = 2
    /// How long a node's machine may acknowledge nothing until a connection to it is lost (tcp(7), TCP_USER_TIMEOUT):
    /// another node leads after as long, and there is time left of the timeout to ask that one.
    static let silentMachineMilliseconds = 3_000
    /// How long nothing may come from it until it is asked whether it is there, and how often it is asked: a machine
    /// that had acknowledged all requests when it was lost is noticed in the same time.
    static let keepaliveSeconds = 1
    /// How long a leader that leads no more may say nothing until it is taken to stand still: one that handed the lead
    /// over has answered by then, and what waits for one that stands still is to be asked of another node soon.
    static let formerLeaderMilliseconds: Int64 = 500
    /// Requests of one connection without an answer: as many as the server takes from one before it stops reading.
    static let requestsInFlightMax = 4_096
    /// Bytes of the lines of those requests: as many as the server takes. A single longer line goes alone.
    static let bytesInFlightMax = 4 << 20
    /// Bytes of the reply buffer kept between reads: a larger one, grown by a long page, is given back.
    static let keptBufferBytesMax = 1 << 20
    /// Milliseconds up to which the first repetition waits: some round trips within a data centre.
    static let retryBaseMilliseconds: Int64 = 50
    /// Milliseconds up to which any repetition waits: longer, and a service that is back would stand idle.
    static let retryCapMilliseconds: Int64 = 2_000
    /// The same, where there are several nodes: one that takes the lead serves at once, and is to be found soon.
    static let nodesRetryCapMilliseconds: Int64 = 200
    /// Times that one request is sent, or a connection for it attempted: with the waits above some seven seconds, on
    /// average, of a service that is away.
    static let attemptsMax = 10
}
