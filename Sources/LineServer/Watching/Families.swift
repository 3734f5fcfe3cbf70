package import LedgerMetrics

/// Every metric of the service; each stands on the page Metrics, which a test compares with these.
extension Family {
    // MARK: The process

    static let build = Family("ledger_build_info", .gauge, "1, with the version of the service.")
    static let start = Family(
        "process_start_time_seconds", .gauge, "When the process began, in seconds since the UNIX epoch.")
    static let memory = Family("process_resident_memory_bytes", .gauge, "Memory that the process has in use.")
    static let processor = Family(
        "process_cpu_seconds_total", .counter, "Processor time that the process has taken, of all cores.")

    // MARK: Requests and connections

    static let requests = Family(
        "ledger_requests_total", .counter, "Requests that were answered, by method and by what became of them.")
    static let requestSeconds = Family(
        "ledger_request_seconds", .histogram, "Seconds from a request's acceptance to its reply.")
    static let connections = Family("ledger_connections", .gauge, "Connections that are served.")
    static let connectionsMax = Family("ledger_connections_max", .gauge, "Connections that are served at the most.")
    static let received = Family(
        "ledger_received_bytes_total", .counter, "Bytes that clients have sent, after TLS.")
    static let sent = Family(
        "ledger_sent_bytes_total", .counter, "Bytes of replies, before TLS and without the heads of HTTP.")
    static let notices = Family(
        "ledger_notices_total", .counter, "What clients brought about that the log tells of, by what it was.")
    static let certificate = Family(
        "ledger_tls_certificate_remaining_seconds", .gauge,
        "Seconds until the first certificate that the server shows runs out.")

    package static let spans = Family(
        "ledger_spans_total", .counter, "Spans of traced requests, by what became of them.")

    // MARK: Each ledger

    static let ready = Family("ledger_ready", .gauge, "1 where the ledger can do all that is asked of it.")
    static let unready = Family("ledger_not_ready", .gauge, "1 for each reason for which the ledger is not ready.")
    static let leads = Family(
        "ledger_leads", .gauge, "1 where the ledger is written here: not on a standby, nor on a node that follows.")
    static let events = Family(
        "ledger_events_total", .counter, "What the operator was told of the ledger by the log, by what it was.")
    static let clock = Family(
        "ledger_clock_held_back", .gauge, "1 while the wall clock is too far ahead to be believed.")
    static let waiting = Family("ledger_waiting_operations", .gauge, "Operations that wait for a batch.")
    static let late = Family(
        "ledger_late_operations_total", .counter,
        "Operations that had waited for too long, and were answered overloaded without being carried out.")
    static let batch = Family("ledger_batch_operations", .histogram, "Operations of a batch.")
    static let decision = Family(
        "ledger_decision_seconds", .histogram, "Seconds in which a batch was decided, with what was loaded for it.")
    static let append = Family(
        "ledger_append_seconds", .histogram, "Seconds in which a block was written and synced.")
    static let commit = Family(
        "ledger_commit_seconds", .histogram, "Seconds from taking a batch until its answers were handed out.")
    static let appended = Family("ledger_appended_bytes_total", .counter, "Bytes of blocks that were appended.")
    static let block = Family("ledger_block", .gauge, "The last block that is durable here.")

    static let signatures = Family(
        "ledger_signatures_total", .counter,
        "Signatures that were judged: by the table of their key, which only accepts, or by OpenSSL.")
    static let refusedSignatures = Family(
        "ledger_refused_signatures_total", .counter, "Signed objects that were refused, by reason.")

    static let players = Family("ledger_players", .gauge, "Players in memory.")
    static let walletsNeeded = Family(
        "ledger_wallets_needed_total", .counter, "Wallets that batches needed, each as often as it was named.")
    static let playersLoaded = Family(
        "ledger_players_loaded_total", .counter, "Players that were not in memory and came from the tables.")

    // MARK: Tables

    static let unprojectedBlocks = Family(
        "ledger_unprojected_blocks", .gauge, "Blocks that are durable and not in the tables yet.")
    static let unprojectedBytes = Family(
        "ledger_unprojected_bytes", .gauge, "Bytes of blocks that wait to be brought into the tables.")
    static let walPages = Family("ledger_wal_pages", .gauge, "Pages in the tables' write-ahead log.")
    static let checkpoints = Family(
        "ledger_checkpoints_total", .counter, "How often the write-ahead log was copied into the tables.")
    static let units = Family(
        "ledger_units", .gauge, "Currency that players have available (wallet), set aside (held), or owe (receivable).")
    static let accounts = Family("ledger_accounts", .gauge, "Accounts that the ledger knows.")
    static let entries = Family("ledger_entries", .gauge, "Entries that the ledger has.")
    static let openHolds = Family("ledger_open_holds", .gauge, "Holds that are open, counted up to 100,000.")
    static let unassigned = Family(
        "ledger_unassigned_purchases", .gauge, "Purchases that no account has claimed, counted up to 100,000.")
    static let expiryLag = Family(
        "ledger_expiry_lag_seconds", .gauge, "Seconds since something ran out that is not posted yet; 0 where nothing.")
    static let notificationAge = Family(
        "ledger_newest_notification_age_seconds", .gauge, "Seconds since a notification of the App Store was recorded.")

    // MARK: Standbys and nodes

    static let follows = Family("ledger_follows", .gauge, "1 where this standby or node gets what its leader appends.")
    static let behindBlocks = Family(
        "ledger_behind_blocks", .gauge, "Blocks that this standby or node lacks, as of its leader's last word.")
    static let behindSeconds = Family(
        "ledger_behind_seconds", .gauge, "Seconds since this standby or node had all that its leader had.")
    static let standbysRequired = Family(
        "ledger_standbys_required", .gauge, "Standbys that must have a block before it is answered.")
    static let standbyConnected = Family("ledger_standby_connected", .gauge, "1 where the standby has a connection.")
    static let standbyBehind = Family("ledger_standby_behind_blocks", .gauge, "Blocks that the standby lacks.")

    // MARK: The disk

    static let diskFree = Family("ledger_disk_free_bytes", .gauge, "What the disk of the ledger's folder has left.")
    static let diskSize = Family("ledger_disk_size_bytes", .gauge, "What that disk holds.")

    // MARK: The App Store

    package static let historyAge = Family(
        "ledger_app_store_history_age_seconds", .gauge,
        "Seconds since the time up to which Apple's notification history is carried out.")
    package static let postponedNotifications = Family(
        "ledger_app_store_postponed_notifications", .gauge,
        "Notifications of Apple's history that wait, as for a product that the catalog lacks.")
    package static let refusedNotifications = Family(
        "ledger_app_store_refused_notifications", .gauge,
        "Notifications that the last reading of Apple's history met and that are refused for good.")
}
