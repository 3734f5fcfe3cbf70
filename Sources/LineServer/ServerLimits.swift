/// Every bound of the server's queues, connections and waits, each with its reason. Tests make them small to reach
/// them.
package struct ServerLimits: Sendable {
    /// Connections served at once; a further one is told `overloaded`. Game servers keep a few connections each; with
    /// the bounds below this also bounds what clients can make the server hold.
    package var connectionsMax = 1_024
    /// Connections over the limit that are told so at once; beyond these one is closed without a word.
    package var refusedConnectionsMax = 64
    /// Requests of one connection that are accepted and not yet answered. A batch is accepted whole, so there can be
    /// `WireLimits.batchRequestsMax` more. Two full batches keep the writer busy while the replies travel.
    package var requestsInFlightMax = 4_096
    /// Bytes of the lines of those requests: some hundred purchases, whose JWS have 7 KiB, and at least a few lines
    /// of the longest kind.
    package var bytesInFlightMax = 4 << 20
    /// Bytes of replies that a client has not read, after which nothing more is read from it, and the mark below which
    /// reading goes on.
    package var unreadReplyBytesMax = 256 << 10
    package var unreadReplyBytesLow = 64 << 10
    /// Bytes of a batch's replies, which are held until the last is there, after which its further reads are answered
    /// `overloaded`: a thousand balances fit well, a thousand long pages are asked for one by one.
    package var batchReplyBytesMax = 8 << 20
    /// Connections that the kernel completes before they are accepted: what a restart of all game servers brings.
    package var listenBacklog: Int32 = 256
    /// Event loops: parsing a request and writing its reply take a few microseconds, so few of them serve many
    /// connections and the cores are left to verification and the writer.
    package var eventLoopThreads = 2
    /// How long after its last reply a connection that the server closes may still send: closed with bytes unread it
    /// would be reset, and the client would lose replies that are on their way.
    package var lingerMilliseconds: Int64 = 1_000
    /// How long a shutdown waits for replies to be written before it closes connections all the same.
    package var shutdownMilliseconds: Int64 = 10_000

    package init() {}
}
