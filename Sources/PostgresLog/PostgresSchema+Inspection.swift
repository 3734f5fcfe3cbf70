#if Postgres
/// What an inspection asks of the tables, and what it must find.
extension PostgresSchema {
    /// Each table of the ledger, partitions included: what it is like, and where blocks of a partition begin and end.
    var tables: Statement {
        Statement(
            name: "tables",
            text: """
                SELECT c.relname,
                    coalesce((
                        SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', '
                            ORDER BY a.attnum)
                        FROM pg_attribute a
                        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull), ''),
                    (SELECT count(*) FROM pg_index i
                        WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisunique AND i.indisvalid
                            AND i.indnatts = 1 AND i.indkey[0] = 1),
                    c.relpersistence = 'p',
                    c.relrowsecurity OR c.relforcerowsecurity,
                    (SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
                        + (SELECT count(*) FROM pg_rewrite r WHERE r.ev_class = c.oid),
                    coalesce(pg_get_expr(c.relpartbound, c.oid), '')
                FROM pg_class c
                WHERE c.relnamespace = '\(sql)'::regnamespace AND (
                    c.relname IN ('ledger', 'leader', 'block')
                    OR EXISTS (SELECT FROM pg_inherits h
                        WHERE h.inhrelid = c.oid AND h.inhparent = '\(sql).block'::regclass))
                ORDER BY c.relname
                """)
    }

    /// The columns of a table with their types, none of which may be absent.
    static func columns(of table: String) -> String {
        switch table {
        case "ledger": "one boolean, format bigint, identity bytea, partition_blocks bigint"
        case "leader":
            """
            one boolean, term bigint, node text, address text, backend_pid integer, \
            backend_start timestamp with time zone, lease_ms bigint, renewals bigint, \
            renewed timestamp with time zone, weight bigint, wanted_by text, moved_to text
            """
        default:
            """
            id bigint, term bigint, time timestamp with time zone, previous bytea, hash bytea, body bytea, \
            redactable bytea
            """
        }
    }

    /// What PostgreSQL says of a partition's blocks.
    static func bound(of partition: Int64, blocks: Int64) -> String {
        "FOR VALUES FROM ('\(partition * blocks + 1)') TO ('\((partition + 1) * blocks + 1)')"
    }

    /// The sizes of the first rows after $1 up to $2, whatever numbers they have.
    var sizesFound: Statement {
        Statement(
            name: "sizes_found",
            text: """
                SELECT id, octet_length(body)::bigint + octet_length(redactable) FROM \(sql).block
                WHERE id > $1::bigint AND id <= $2::bigint ORDER BY id LIMIT \(PostgresLogLimits.readRowsMax)
                """)
    }
}
#endif
