/// Every bound of the server's queues, connections and waits, each with its reason. Tests make them small to reach
/// them.
package struct ServerLimits: Sendable {
    /// Connections served at once; a further one is told `overloaded`. Game servers keep a few connections each; with
    /// the bounds below this also bounds what clients can make the server hold.
    package var connectionsMax = 1_024
    /// Of these, connections that have not authenticated. A further one takes the place of the oldest: an honest client
    /// authenticates within a round trip, so to lock it out strangers must make this many connections in that time.
    package var unauthenticatedMax = 128
    /// Of these, connections from one address (of IPv6: from one network of 64 bits, which is what one customer gets):
    /// half, so that one machine's flood takes places only from itself. All clients behind a load balancer share it.
    package var unauthenticatedPerAddressMax = 64
    /// Milliseconds until a connection must have authenticated, its TLS handshake included: round trips take at most
    /// some hundred, a lost packet is sent again within a few seconds, and no honest client waits before its token.
    package var unauthenticatedMilliseconds: Int64 = 10_000
    /// Connections that have authenticated under one name: half of all, so that one client that does not close what it
    /// opens leaves places for those of other names.
    package var connectionsPerNameMax = 512
    /// Of these, places that are kept for names: each name has an equal part of them for itself, and all others go to
    /// who comes first. A fourth, so that a service's names, of which there are tens, have some connections each
    /// whatever the others do, and a few busy names still find most places.
    package var connectionsKeptMax = 256
    /// Milliseconds after which a connection that has authenticated is closed, if nothing came on it and nothing was
    /// taken from it, and it waits for nothing: longer than pauses between a game server's requests, and soon enough
    /// that forgotten connections do not pile up.
    package var idleMilliseconds: Int64 = 600_000
    /// Milliseconds after which a connection of HTTP is closed that has no request: longer than the 60 seconds for
    /// which load balancers keep theirs, so that none of them sends a request to a connection that is being closed.
    package var keptAliveMilliseconds: Int64 = 75_000
    /// Bytes of the head of a request of HTTP, and lines of it: those of a client, its proxies and a long token.
    package var headBytesMax = 16 << 10
    package var headLinesMax = 64
    /// Bytes that are kept of what is not decoded yet: a reading (64 KiB), and the rest of a line of a head before it.
    package var undecodedBytesMax = 96 << 10
    /// Bytes of HTTP that are decoded at once: few requests have more, but for those with a JWS, which take several
    /// pieces. A chunk of a body has at least six, so what is decoded behind a request that is not answered is at most
    /// some 700 parts (heads, pieces of bodies, ends).
    package var pieceBytesMax = 4 << 10
    /// Those that are decoded before anybody knows whose they are: most heads have fewer, and a hundred chunks that
    /// have as many take a tenth of a millisecond. Of a connection's first line the same: `authenticate` has fewer.
    package var firstPieceBytesMax = 1 << 10
    /// Turns that a connection's first line has without waiting: it mostly comes whole, and may come in two pieces. The
    /// rest of one that comes byte by byte, or of a batch, waits as all that strangers send does.
    package var firstTurnsMax = 3
    /// Bytes behind a request that is not answered yet, from which on no more is read: one more request with a long
    /// head, or some dozens of small ones. With them and one reading (64 KiB) every connection can hold what nobody
    /// counts.
    package var heldInputBytesMax = 16 << 10
    /// Bytes that the kernel takes of what a client sends before it is read; it doubles them (socket(7), SO_RCVBUF).
    /// Left to itself it takes megabytes, which a client that does not read its replies leaves there, and NIO reads
    /// them all when the client closes its side. Over a line with a round trip of 100 ms a connection still sends two
    /// megabytes a second.
    package var receiveBufferBytes = 256 << 10
    /// Milliseconds within which the body of a request of HTTP must have come: the longest one at 300 kbit/s.
    package var requestMilliseconds: Int64 = 30_000
    /// How often it gets that time again where at its end something has come that waits for its sender's turn: beside
    /// whoever keeps the event loops busy a turn comes within some seconds.
    package var requestExtensionsMax = 4
    /// Bytes of a notification that the App Store posts: its JWS has some 20 KiB, and the longest that is verified
    /// 64 KiB.
    package var notificationBytesMax = 128 << 10
    /// Bytes that such a body takes before the rest of it is read, and has until it is accepted: with its values, and
    /// the reply to it.
    package var notificationRoomBytes = 192 << 10
    /// Seconds of silence after which TCP asks whether the peer is still there, and those between further questions:
    /// with the number of these a peer that has vanished is noticed within two minutes, before its place is missed.
    package var keepaliveSeconds = 60
    package var keepaliveIntervalSeconds = 15
    package var keepaliveProbes = 4
    /// Connections over the limit, or put out, that are told so; beyond these one is closed without a word.
    package var refusedConnectionsMax = 64
    /// Descriptors that are kept for all that is no connection: segments of the log, the tables and those that are made
    /// anew beside them, listening sockets, event loops. A service that has just started has some 40 open.
    package var reservedDescriptors = 160
    /// Milliseconds until accepting is tried again where the system has no more descriptors or memory for it.
    package var acceptPauseMilliseconds: Int64 = 100
    /// Milliseconds in which the log gets only so many lines of one kind of notice and one address (of refusals for
    /// security's sake some more), and the addresses that are told apart in it: enough to see what happens to whom, and
    /// a thousandth of what somebody can bring about.
    package var noticeMilliseconds: Int64 = 10_000
    package var noticeLinesMax = 1
    package var refusalLinesMax = 3
    package var noticeSourcesMax = 32
    /// Requests of one connection that are accepted and not yet answered. Two full batches keep the writer busy while
    /// the replies travel.
    package var requestsInFlightMax = 4_096
    /// Bytes of the lines of those requests: some hundred purchases, whose JWS have 7 KiB, and at least a few lines
    /// of the longest kind.
    package var bytesInFlightMax = 4 << 20
    /// Bytes of a line of a client of whom nobody knows who it is: `authenticate` fits with the longest token, however
    /// it is written (6 KiB), and a long `id`. Not of HTTP, where a request shows who sends it before its body.
    package var strangerLineBytesMax = 8 << 10
    /// Bytes of a line that has not ended, or of a body of HTTP, up to which more of it is read without memory being
    /// taken for it: some dozens of requests, or the JWS of a purchase. (Notifications of the App Store are longer.)
    /// With it and one reading (64 KiB) every connection can do what nobody counts.
    package var freeInputBytesMax = 16 << 10
    /// Bytes that a longer line takes before the rest of it is read, and has until it is accepted: the longest line,
    /// the values of the thousand requests of a batch, and the reply to the largest request. (A line of many `atomic`
    /// may need more.)
    package var longLineBytesMax = 2 << 20
    /// Bytes of replies that a client has not read, after which nothing more is read from it, and the mark below which
    /// reading goes on.
    package var unreadReplyBytesMax = 256 << 10
    package var unreadReplyBytesLow = 64 << 10
    /// Bytes of replies that the channel is handed at once, while it takes more: a fourth of what it keeps, so that it
    /// keeps little more, and few calls for a long page.
    package var replyPieceBytesMax = 64 << 10
    /// Bytes that the kernel takes of a connection's replies beside those that are under way to the client (tcp(7),
    /// TCP_NOTSENT_LOWAT): enough that the line is never idle while an event loop writes more, and not the megabytes
    /// that one who never reads would otherwise have answered.
    package var unsentReplyBytesMax = 128 << 10
    /// How long a client may keep memory that it alone can give back, while others wait for memory, before its
    /// connection is closed: that of what was written for it and it has not read, or of a long line that it has not
    /// ended. Over a slow line a page of the largest kind takes less, and so does the longest line.
    package var keptMillisecondsMax: Int64 = 10_000
    /// The stretches of time in which it is counted whether new changes come on a connection on which they are refused
    /// because one before them was: longer than what a client sends is under way. From the third on the connection is
    /// closed for that: its client waits for its answers within a few round trips, or never does.
    package var refusingMillisecondsMax: Int64 = 1_000
    /// Bytes of a batch's replies, which are held until the last is there. What may have no place in them is answered
    /// `overloaded`, and not carried out. A thousand of the largest receipts of spends fit; a thousand long pages are
    /// asked for one by one.
    package var batchReplyBytesMax = 8 << 20
    /// Wrong tokens that a connection may send before it is closed, over HTTP in a row: a client that changes its token
    /// may try both.
    /// Tokens are 32 random bytes, so this is no defence against guessing, which is hopeless; it keeps guesses from
    /// costing anything.
    package var wrongTokensMax = 3
    /// Bytes of one connection: its lines in flight and what their values take, the largest replies to their requests,
    /// replies that it has not read, and a long line that has not ended. As many spends of one currency as may be in
    /// flight fit, and beside a batch's replies and its line the largest `atomic`.
    package var connectionReplyBytesMax = 16 << 20
    /// Bytes of all connections together. A connection has no more than a fourth of what is free
    /// (``LedgerEngine/ReplyMemory``), so some that take most fit beside each other, or some tens of thousands of
    /// requests. Pages may be half of it, and more than it by as much.
    package var replyBytesMax = 128 << 20
    /// Steps in which a connection takes and gives back of these: a few requests.
    package var replyStepBytes = 16 << 10
    /// Milliseconds from one look at the certificate for TLS to the next, and of how many days that it is valid the
    /// operator is told each time: a month, in which a certificate can be had, and once a day.
    package var certificateLookMilliseconds: Int64 = 86_400_000
    package var certificateDaysLow: Int64 = 30
    /// Connections that are accepted before accepting pauses, and for how long: two thousand a second. To set one up
    /// takes an event loop a tenth of a millisecond and more, and anybody can open some.
    package var acceptsAtOnce = 4
    package var acceptPauseMicroseconds: Int64 = 2_000
    /// Nanoseconds for which a tenant may keep an event loop before it has to let others have theirs: some hundred
    /// requests. How long it then waits at the least, so that the loop looks who else has come; and at the most, so
    /// that nobody waits long for what others of a tenant have sent. All who have not authenticated are one, and each
    /// waits so long for each turn of the others that stands before its own: at most a few of each of their connections
    /// (``unauthenticatedMax``), so some seconds, however much of others' is looked at without waiting. And for how
    /// many milliseconds after it was active a tenant counts as one of the others.
    package var loopTurnNanoseconds: Int64 = 500_000
    package var loopPauseNanosecondsMin: Int64 = 20_000
    package var loopPauseNanosecondsMax: Int64 = 20_000_000
    package var loopActiveMilliseconds: Int64 = 100
    /// Nanoseconds for which an event loop does what it is handed before it reads, and for how long it then does
    /// nothing of that (``LoopWork``): longer than NIO takes to see that nothing is left to be done.
    package var loopWorkNanoseconds: Int64 = 500_000
    package var loopReadNanoseconds: Int64 = 10_000
    /// Nanoseconds that reading takes an event loop before it can look at what came, a KiB: the system call, the
    /// channel, the copies, and the search for ends of lines. Measured under a gigabyte a second of lines that are no
    /// requests: a reading of 64 KiB took some 60 microseconds.
    package var readingNanosecondsPerKibibyte: Int64 = 900
    /// How often the time counts that what is sent in vain took (``LoopShares``), where anybody else is active. Nobody
    /// needs many lines that are no requests: those who send them have about a sixteenth of the loop's time, however
    /// little others need, in turns of a millisecond or less; behind a longer one they wait for no more than the
    /// longest pause. What strangers have looked at without waiting (``firstPieceBytesMax``) comes on top:
    /// ``acceptsAtOnce`` bounds that.
    package var loopVainFactor: Int64 = 16
    /// Lines that are accepted in one turn, and requests of a batch's line, which are read and accepted: about half a
    /// millisecond of them. A reading may have tens of thousands of short ones, and a batch has a thousand.
    package var linesPerTurnMax = 128
    /// The same of a client of whom nobody knows who it is. All of these have their turns as one, so each waits for the
    /// lines of the others, but for its first: behind that for one line of each, and not for all that they have sent.
    package var strangerLinesPerTurnMax = 1
    /// Lines that are no requests, and heads of HTTP that are refused, after which who has not authenticated is not
    /// listened to any more.
    package var strangerVainLinesMax = 64
    /// Connections that the kernel completes before they are accepted: what a restart of all game servers brings.
    package var listenBacklog: Int32 = 256
    /// Event loops, where there are as many cores: parsing a request and writing its reply take a few microseconds, so
    /// few of them serve many connections and the cores are left to verification and the writer. (Two that have to
    /// share a core wait for each other's time slices.)
    package var eventLoopThreads = 2
    /// How long after its last reply a connection that the server closes may still send: closed with bytes unread it
    /// would be reset, and the client would lose replies that are on their way.
    package var lingerMilliseconds: Int64 = 1_000
    /// Milliseconds after which a session of the console ends in which nothing was asked, and after which each does: a
    /// pause at work, and a day of it.
    package var consoleIdleMilliseconds: Int64 = 30 * 60_000
    package var consoleSessionMilliseconds: Int64 = 12 * 3_600_000
    /// Sessions of the console that one token has at the same time; a further one ends its oldest. A team that shares a
    /// token signs in from a few browsers each.
    package var consoleSessionsPerTokenMax = 64
    /// Bytes of a form that is sent to the console: the longest token (1 KiB), each byte of it in three,
    /// and the address of the page that is shown behind it.
    package var consoleBodyBytesMax = 8 << 10
    /// Connections that watch the service at the same time, and for how long each may: a few programs do, now and then,
    /// and one asks for metrics again after some seconds. A further one is given the place of one that has not asked
    /// for anything; where there is none, it is closed without a word.
    package var watchersMax = 16
    package var watchMilliseconds: Int64 = 10_000
    /// For how long the same is told of whether the service is ready: anybody may ask.
    package var readinessMilliseconds: Int64 = 250
    /// For how long the same is told of what a ledger's tables hold, and how long they may be read for that: holds and
    /// unclaimed purchases are counted one by one.
    package var tableFiguresMilliseconds: Int64 = 10_000
    package var tableFiguresMillisecondsMax: Int64 = 2_000
    /// How long a standby may have lacked something that its leader had and still count as ready: less than anybody
    /// notices in a report, and more than a large block takes over a slow line.
    package var readyBehindMilliseconds: Int64 = 30_000
    /// Bytes that a disk must have left: one segment of the log, which has 64 MiB.
    package var readyDiskBytes: UInt64 = 64 << 20
    /// How long a shutdown waits for what was accepted to be answered before another node takes the lead: some batches.
    package var handOverMilliseconds: Int64 = 50
    /// For how long a shutdown has what is passed on asked again while no node leads that carries it out: another takes
    /// a lead that is given back within some milliseconds, and where all nodes are ended none does.
    package var relayShutdownMilliseconds: Int64 = 1_000
    /// How long a shutdown waits for replies to be written before it closes connections all the same.
    package var shutdownMilliseconds: Int64 = 10_000

    package init() {}
}
