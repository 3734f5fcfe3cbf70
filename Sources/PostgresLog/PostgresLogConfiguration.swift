#if Postgres
/// Where a ledger's log is kept in PostgreSQL, and as whom this node comes there.
package struct PostgresLogConfiguration: Hashable, Sendable {
    /// What a node may do.
    package enum Right: Hashable, Sendable {
        /// It leads, or follows until it does.
        case leading
        /// It only reads: its sessions write nothing, and its role needs no right to.
        case reading
    }

    /// A connection URI of PostgreSQL, of one host or of several (docs: PostgresLog.md).
    package var uri: String
    /// The ledger's schema: small letters, digits and underscores.
    package var schema: String
    /// This node's name, which no other node of the ledger has.
    package var node: String
    /// Where clients and other nodes reach this node; `host:port`.
    package var address: String
    package var right: Right
    /// How many ledgers this node is to lead, beside what others are.
    package var weight: Int
    /// How long a leader that is not heard of is waited for. It bounds what a change of leader takes, and how long the
    /// database may not answer before another node takes the lead.
    package var leaseMilliseconds: Int
    /// Whether nobody leads without a synchronous standby that has what is acknowledged.
    package var requireSynchronousStandby: Bool
    /// Whether the log may be used though it says that the ledger was moved elsewhere: by commands, and by no node.
    package var opensMoved = false
    /// How long an append waits for the server, its standby included, before nobody knows its end.
    package var answerMilliseconds: Int
    /// How many blocks go into one partition; fixed when the log is made.
    package var partitionBlocks: Int64

    package init(
        uri: String, schema: String, node: String, address: String = "", right: Right = .leading,
        weight: Int = 1,
        leaseMilliseconds: Int = PostgresLogLimits.leaseMilliseconds, requireSynchronousStandby: Bool = false,
        answerMilliseconds: Int = PostgresLogLimits.answerMilliseconds,
        partitionBlocks: Int64 = PostgresLogLimits.partitionBlocks
    ) {
        precondition(PostgresLogConfiguration.isSchema(schema), "the schema's name is not checked")
        precondition(leaseMilliseconds > 0 && answerMilliseconds > 0 && partitionBlocks > 0)
        self.uri = uri
        self.schema = schema
        self.node = node
        self.address = address
        self.right = right
        self.weight = weight
        self.leaseMilliseconds = leaseMilliseconds
        self.requireSynchronousStandby = requireSynchronousStandby
        self.answerMilliseconds = answerMilliseconds
        self.partitionBlocks = partitionBlocks
    }

    /// Whether a schema can have this name, which statements then say as it is.
    package static func isSchema(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard let first = bytes.first, bytes.count <= PostgresLogLimits.schemaBytesMax else { return false }
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        let isPlain = { letters.contains($0) || $0 == UInt8(ascii: "_") }
        return isPlain(first)
            && bytes.allSatisfy { isPlain($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && !name.hasPrefix("pg_")
    }

    /// Why a log is not used, where the ledger is elsewhere now.
    func refusal(of leader: PostgresLeader) -> String? {
        if leader.movedTo.isEmpty || opensMoved { return nil }
        return "the ledger was moved away from the schema \(schema): it is in \(leader.movedTo) now"
    }

    /// What libpq is told, in its order: what stands before the URI is a default, which the URI may say otherwise; what
    /// stands behind it holds.
    /// - Parameter writing: whether only a server will do that takes writes: of several hosts, the primary. Otherwise
    ///   the URI says which will do (`target_session_attrs`), and the first that can be reached where it says nothing.
    func settings(writing: Bool) -> [(keyword: String, value: String)] {
        [
            ("connect_timeout", "\(PostgresLogLimits.connectSeconds)"),
            ("tcp_user_timeout", "\(PostgresLogLimits.silentMilliseconds)"),
            ("keepalives_idle", "\(PostgresLogLimits.keepaliveSeconds)"),
            ("keepalives_interval", "\(PostgresLogLimits.keepaliveSeconds)"),
            ("keepalives_count", "2"),
            ("application_name", "currency-ledger \(node)"),
            ("dbname", uri),
            ("client_encoding", "UTF8"),
        ] + (writing ? [("target_session_attrs", "read-write")] : [])
    }

    /// What a session begins with.
    func beginning(writing: Bool) -> String {
        """
        SET search_path = pg_catalog; SET client_min_messages = warning; SET statement_timeout = 0;
        SET idle_session_timeout = 0; SET idle_in_transaction_session_timeout = 0;
        SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout';
        SET lock_timeout = \(PostgresLogLimits.lockMilliseconds); SET plan_cache_mode = force_generic_plan;
        SET default_transaction_isolation = 'read committed';
        SET tcp_keepalives_idle = \(PostgresLogLimits.keepaliveSeconds);
        SET tcp_keepalives_interval = \(PostgresLogLimits.keepaliveSeconds); SET tcp_keepalives_count = 2;
        SET tcp_user_timeout = \(PostgresLogLimits.silentMilliseconds);
        """
            + (writing
                ? """
                SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)
                """ : "SET default_transaction_read_only = on")
    }
}

/// The bounds of a log in PostgreSQL, with their reasons.
package enum PostgresLogLimits {
    /// A node that is killed is followed by another within three seconds.
    package static let leaseMilliseconds = 2000

    /// A commit may wait for a standby while the cluster replaces it.
    package static let answerMilliseconds = 30_000

    /// Partitions are few, and the index of each stays small: at a thousand blocks a second one is full in a quarter of
    /// an hour, on a quiet ledger in years.
    package static let partitionBlocks: Int64 = 1 << 20

    /// PostgreSQL's names have up to 63 bytes, and an index's name is made of two of them.
    static let schemaBytesMax = 48

    /// A value of PostgreSQL has less than a gigabyte, and a message with it too; a block has some megabytes.
    static let blockBytesMax = 256 << 20

    /// How long one host may take to answer at the beginning of a session.
    static let connectSeconds = 3

    /// What was sent and is not acknowledged by the other machine for so long ends the session.
    static let silentMilliseconds = 5000

    static let keepaliveSeconds = 2

    /// Nobody holds the leader's row longer than a commit takes, except a leader that stalls.
    static let lockMilliseconds = 3000

    /// How long a lead is confirmed after the lease is over, while the session that renews it waits for the server: a
    /// process that stood still renews it at once when it goes on. Whoever asks is then told that the node does not
    /// lead, and asks another.
    static let confirmMilliseconds = 300

    /// How long a look at the leader's row and the last block waits for its answer, which takes a tenth of a
    /// millisecond: longer than a busy server stalls, and as short as whoever asked can wait for the word who leads.
    static let lookMilliseconds = 2000

    /// How long a commit that has returned may be on no synchronous standby, where one is required: what others commit
    /// at the same time reaches it a moment later, and so does a setting that changes which standby it is.
    static let standbyMilliseconds: UInt64 = 1000

    /// How long the next partition waits for a lock, and all appends with it: much shorter than a lease.
    static let nextPartitionLockMilliseconds = 100

    /// How soon the next partition is tried again. A quarter of a partition lasts longer than that.
    static let nextPartitionMilliseconds: UInt64 = 3000

    /// How long the end of the former leader's session is waited for. Its place in the chain is safe without that.
    static let endingMilliseconds: Int64 = 3000

    /// How often what another transaction was in the way of is tried.
    static let attemptsMax = 10

    /// Of each lease, the part that a leader counts on: two machines' clocks do not go equally fast.
    static let leasePercent: UInt64 = 90

    /// The part of a lease after which a leader renews it.
    static let renewalPercent: UInt64 = 25

    /// How often a challenger looks whether the leader is there still.
    static let watchMilliseconds = 50

    /// How many rows one statement reads.
    static let readRowsMax: Int64 = 1024

    /// What a row of a block is taken to have at least, when the number of rows is chosen that may fit.
    static let readRowBytes = 64
}
#endif
