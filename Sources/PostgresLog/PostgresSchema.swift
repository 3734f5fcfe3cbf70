#if Postgres
/// The tables of one ledger, and all statements about them.
///
/// `block` is the chain. Its primary key is the fence: whoever inserts a number that is there is refused. `leader` has
/// one row, which says who leads and how often the lease was renewed: it spares nodes fruitless appends, and says how
/// long a leader may answer reads; the chain does not depend on it. `ledger` has one row, which says whose the ledger
/// is.
struct PostgresSchema {
    typealias Statement = PostgresConnection.Statement

    /// The tables' form.
    static let format: Int64 = 1

    let name: String

    /// As statements say it: names that are allowed may mean something in SQL.
    var sql: String { PostgresSchema.quoted(name) }

    static func quoted(_ name: String) -> String { "\"\(name)\"" }

    // MARK: - Making

    /// - Parameter compression: for bodies, where the server has it.
    func making(identity: String, partitionBlocks: Int64, compression: String?) -> String {
        """
        CREATE SCHEMA \(sql);
        CREATE TABLE \(sql).ledger (
            one boolean PRIMARY KEY DEFAULT true CHECK (one),
            format bigint NOT NULL,
            identity bytea NOT NULL,
            partition_blocks bigint NOT NULL);
        CREATE TABLE \(sql).leader (
            one boolean PRIMARY KEY DEFAULT true CHECK (one),
            term bigint NOT NULL,
            node text NOT NULL,
            address text NOT NULL,
            backend_pid integer NOT NULL,
            backend_start timestamptz NOT NULL,
            lease_ms bigint NOT NULL,
            renewals bigint NOT NULL,
            renewed timestamptz NOT NULL,
            weight bigint NOT NULL,
            wanted_by text NOT NULL,
            moved_to text NOT NULL) WITH (fillfactor = 10);
        CREATE TABLE \(sql).block (
            id bigint PRIMARY KEY,
            term bigint NOT NULL,
            time timestamptz NOT NULL,
            previous bytea NOT NULL,
            hash bytea NOT NULL,
            body bytea \(compression.map { "COMPRESSION \($0) " } ?? "")NOT NULL,
            redactable bytea NOT NULL) PARTITION BY RANGE (id);
        INSERT INTO \(sql).ledger (format, identity, partition_blocks)
            VALUES (\(PostgresSchema.format), decode('\(identity)', 'hex'), \(partitionBlocks));
        INSERT INTO \(sql).leader (
                term, node, address, backend_pid, backend_start, lease_ms, renewals, renewed, weight, wanted_by,
                moved_to)
            VALUES (0, '', '', 0, 'epoch', 0, 0, 'epoch', 1, '', '');
        \(makingPartition(0, blocks: partitionBlocks))
        """
    }

    /// Partition n has the blocks from n × blocks + 1 on. It is made beside the table and then attached, which keeps
    /// nobody from reading or appending. Rows of up to a page stay in it: those that are larger go to its TOAST table.
    func makingPartition(_ partition: Int64, blocks: Int64) -> String {
        """
        CREATE TABLE \(sql).block_\(partition) (LIKE \(sql).block INCLUDING ALL) WITH (toast_tuple_target = 8160);
        ALTER TABLE \(sql).block ATTACH PARTITION \(sql).block_\(partition)
            FOR VALUES FROM (\(partition * blocks + 1)) TO (\((partition + 1) * blocks + 1));
        """
    }

    var compressions: Statement {
        Statement(
            name: "compressions",
            text: "SELECT enumvals @> '{lz4}' FROM pg_settings WHERE name = 'default_toast_compression'")
    }

    /// Whether the ledger has the partition.
    var partitionIsThere: Statement {
        Statement(name: "partition", text: "SELECT to_regclass('\(sql).block_' || $1::bigint) IS NOT NULL")
    }

    /// Whether there is a ledger.
    var isThere: Statement {
        Statement(name: "is_there", text: "SELECT to_regclass('\(sql).ledger') IS NOT NULL")
    }

    // MARK: - Leading

    var ledger: Statement {
        Statement(name: "ledger", text: "SELECT format, identity, partition_blocks FROM \(sql).ledger")
    }

    var leader: Statement {
        Statement(
            name: "leader",
            text: """
                SELECT term, node, address, lease_ms, renewals, backend_pid, backend_start, moved_to
                FROM \(sql).leader
                """)
    }

    /// The same, the number of the last block, the leader's weight, and who has asked for the lead.
    var standing: Statement {
        Statement(
            name: "standing",
            text: """
                SELECT term, node, address, lease_ms, renewals, backend_pid, backend_start, moved_to,
                    coalesce((SELECT b.id FROM \(sql).block b ORDER BY b.id DESC LIMIT 1), 0), weight, wanted_by
                FROM \(sql).leader
                """)
    }

    /// Ends a session, where the row is still as it was seen, its session is still that one, and this role may see and
    /// end it.
    var end: Statement {
        Statement(
            name: "end",
            text: """
                SELECT pg_terminate_backend(pid, $3::bigint) FROM pg_stat_activity
                WHERE pid = $1::bigint AND backend_start = $2::timestamptz AND pid <> pg_backend_pid()
                    AND EXISTS (SELECT FROM \(sql).leader WHERE term = $4::bigint AND renewals = $5::bigint)
                """)
    }

    /// Takes the lead, if the row is still as it was seen.
    var take: Statement {
        Statement(
            name: "take",
            text: """
                UPDATE \(sql).leader SET
                    term = \(highestTerm) + 1, node = $3::text, address = $4::text, backend_pid = pg_backend_pid(),
                    backend_start = (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()),
                    lease_ms = $5::bigint, weight = $6::bigint, wanted_by = '',
                    \(PostgresSchema.oneMoreRenewal)
                WHERE term = $1::bigint AND renewals = $2::bigint RETURNING term, backend_pid, backend_start
                """)
    }

    /// Whether the row is of this session's taking, of which `term` is the term. The term alone does not say so: where
    /// the database lost the commit of another's taking, or that of this one, the next has the same.
    private static func isOwn(_ term: String) -> String {
        "term = \(term)::bigint AND backend_pid = pg_backend_pid()"
    }

    /// One more renewal. Where somebody wrote a number that is out of range (``PostgresRanges/renewals``), it counts
    /// from 0 again: others only look whether it is another number than before.
    private static let oneMoreRenewal = """
        renewals = CASE
            WHEN renewals BETWEEN 0 AND \(PostgresRanges.renewals.upperBound - 1) THEN renewals + 1 ELSE 0 END,
        renewed = clock_timestamp()
        """

    /// It says again who leads, and how: a leader of whom the row came to say something else would not be found, or not
    /// be believed.
    /// - Parameter first: the number of the first of its four parameters.
    private static func renewal(_ first: Int) -> String {
        """
        node = $\(first)::text, address = $\(first + 1)::text, lease_ms = $\(first + 2)::bigint,
        weight = $\(first + 3)::bigint, \(oneMoreRenewal)
        """
    }

    /// Renews the lease. Its commit waits for the standbys as every commit does: a former primary that is cut off from
    /// them must not go on renewing while a leader of the new one leads.
    var renew: Statement {
        Statement(
            name: "renew",
            text: """
                UPDATE \(sql).leader SET \(PostgresSchema.renewal(2))
                WHERE \(PostgresSchema.isOwn("$1"))
                """)
    }

    /// Asks who leads for the lead, where nobody else has.
    var askForLead: Statement {
        Statement(
            name: "ask_for_lead",
            text: "UPDATE \(sql).leader SET wanted_by = $2::text WHERE term = $1::bigint AND wanted_by = ''")
    }

    /// No less than the term of any block: blocks that were copied here have the terms of their first log.
    private var highestTerm: String {
        "greatest(term, coalesce((SELECT b.term FROM \(sql).block b ORDER BY b.id DESC LIMIT 1), 0))"
    }

    /// Gives the lead back, so that the next leader does not wait.
    var release: Statement {
        Statement(
            name: "release",
            text: """
                UPDATE \(sql).leader SET
                    term = \(highestTerm), lease_ms = 0, \(PostgresSchema.oneMoreRenewal)
                WHERE \(PostgresSchema.isOwn("$1"))
                """)
    }

    /// The same, and says where the ledger is from now on; nowhere else where $2 is empty.
    var move: Statement {
        Statement(
            name: "move",
            text: """
                UPDATE \(sql).leader SET
                    term = \(highestTerm), lease_ms = 0, moved_to = $2::text,
                    \(PostgresSchema.oneMoreRenewal)
                WHERE \(PostgresSchema.isOwn("$1"))
                """)
    }

    /// Whether commits wait for a synchronous standby, and whether one is there; and whether this role is shown that.
    var standbys: Statement {
        Statement(
            name: "standbys",
            text: """
                SELECT current_setting('synchronous_standby_names') <> '',
                    EXISTS (SELECT FROM pg_stat_replication
                        WHERE sync_state IN ('sync', 'quorum') AND state = 'streaming'),
                    pg_has_role('pg_read_all_stats', 'USAGE')
                """)
    }

    /// Up to where the server has made its write-ahead log durable, which is behind every commit that has returned, and
    /// up to where a synchronous standby has. 0 where there is none, or this role is not shown one.
    var replication: Statement {
        Statement(
            name: "replication",
            text: """
                SELECT pg_current_wal_flush_lsn(),
                    coalesce(max(flush_lsn) FILTER (WHERE sync_state IN ('sync', 'quorum')), '0/0')
                FROM pg_stat_replication
                """)
    }

    /// Waits until a synchronous standby has all that was durable at the server when ``replication`` was first asked.
    /// - Parameter again: asks it again.
    /// - Returns: whether one has it in time.
    func awaitStandby(
        _ replication: PostgresRows, again: () throws(PostgresFault) -> PostgresRows
    ) throws(PostgresFault) -> Bool {
        let durable = replication.number(0, 0)
        var replication = replication
        let end = boottimeNanoseconds() + PostgresLogLimits.standbyMilliseconds * 1_000_000
        while replication.number(0, 1) < durable {
            if boottimeNanoseconds() >= end { return false }
            pause(milliseconds: 1)
            replication = try again()
        }
        return true
    }

    // MARK: - Blocks

    var head: Statement {
        Statement(name: "head", text: "SELECT id, term, hash FROM \(sql).block ORDER BY id DESC LIMIT 1")
    }

    private static let columns = "id, term, time, previous, hash, body, redactable"
    private static let values =
        "$1::bigint, $2::bigint, clock_timestamp(), $3::bytea, $4::bytea, $5::bytea, $6::bytea"

    /// The block before it must be there, and commits must wait for a standby where that is required ($7).
    private var conditions: String {
        """
        ($1 = 1 OR EXISTS (SELECT FROM \(sql).block WHERE id = $1 - 1 AND hash = $3))
        AND (NOT $7::boolean OR current_setting('synchronous_standby_names') <> '')
        """
    }

    /// Appends a block. That its number is absent is what the primary key says.
    var append: Statement {
        Statement(
            name: "append",
            text: """
                INSERT INTO \(sql).block (\(PostgresSchema.columns))
                SELECT \(PostgresSchema.values) WHERE \(conditions)
                """)
    }

    /// Appends a block and renews the lease. Where another leads it does neither; where the block is not appended for
    /// another reason, the lease is renewed all the same.
    var appendRenewing: Statement {
        Statement(
            name: "append_renewing",
            text: """
                WITH renewal AS (
                    UPDATE \(sql).leader SET \(PostgresSchema.renewal(9))
                    WHERE \(PostgresSchema.isOwn("$8")) RETURNING term)
                INSERT INTO \(sql).block (\(PostgresSchema.columns))
                SELECT \(PostgresSchema.values) FROM renewal WHERE \(conditions)
                """)
    }

    /// Why a block was not appended: whether this session leads, who does, and the hash of the block before it.
    var refusal: Statement {
        Statement(
            name: "refusal",
            text: """
                SELECT \(PostgresSchema.isOwn("$2")), node, address,
                    (SELECT hash FROM \(sql).block WHERE id = $1::bigint - 1)
                FROM \(sql).leader
                """)
    }

    /// Overwrites a block's redactable part, where this node leads still. It locks the leader's row: who takes the lead
    /// waits for the end of it, and what a former leader asked before does nothing afterwards. Otherwise that could put
    /// names back which the new leader has erased in the same block.
    var redact: Statement {
        Statement(
            name: "redact",
            text: """
                WITH own AS (SELECT term FROM \(sql).leader WHERE \(PostgresSchema.isOwn("$3")) FOR SHARE)
                UPDATE \(sql).block SET redactable = $2::bytea FROM own
                WHERE id = $1::bigint AND octet_length(redactable) = octet_length($2::bytea)
                """)
    }

    // MARK: - Names that are owed

    /// Made with the first of them.
    var makingOwed: String { "CREATE TABLE IF NOT EXISTS \(sql).owed (account bigint PRIMARY KEY)" }

    var owedIsThere: Statement {
        Statement(name: "owed_is_there", text: "SELECT to_regclass('\(sql).owed') IS NOT NULL")
    }

    var owe: Statement {
        Statement(
            name: "owe", text: "INSERT INTO \(sql).owed (account) VALUES ($1::bigint) ON CONFLICT DO NOTHING")
    }

    var owed: Statement { Statement(name: "owed", text: "SELECT account FROM \(sql).owed ORDER BY account") }

    var paid: Statement { Statement(name: "paid", text: "DELETE FROM \(sql).owed WHERE account = $1::bigint") }

    // MARK: - What is read of blocks

    var redactableBytes: Statement {
        Statement(
            name: "redactable_bytes", text: "SELECT octet_length(redactable) FROM \(sql).block WHERE id = $1::bigint")
    }

    /// The sizes of the blocks after $1 up to $2. Those that are kept in pieces are not put together for it.
    var sizes: Statement {
        Statement(
            name: "sizes",
            text: """
                SELECT id, octet_length(body)::bigint + octet_length(redactable) FROM \(sql).block
                WHERE id > $1::bigint AND id <= $2::bigint ORDER BY id
                """)
    }

    /// The blocks after $1 up to $2.
    var read: Statement {
        Statement(
            name: "read",
            text: """
                SELECT id, term, previous, hash, body, redactable FROM \(sql).block
                WHERE id > $1::bigint AND id <= $2::bigint ORDER BY id
                """)
    }
}
#endif
