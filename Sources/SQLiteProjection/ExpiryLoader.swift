import GRDB
import Ledger

/// Finds of whom something has expired that is not posted yet, and brings them into the books.
final class ExpiryLoader {
    /// A player who cannot be read, and of whom something has expired. Nobody asks for them by name, and the others are
    /// not to wait for them.
    struct Unreadable: Error {
        let player: PlayerID
        let error: StoreError
    }

    private let selectDue: PreparedStatement
    private let selectExpiries: PreparedStatement
    private let players: PlayerLoader
    private let suspects: SuspectTables
    /// Players whose rows do not fit.
    private var unreadable: Set<PlayerID> = []

    init(_ db: Database, _ players: PlayerLoader, _ suspects: SuspectTables) throws {
        self.players = players
        self.suspects = suspects
        selectDue = try PreparedStatement(
            db,
            """
            SELECT 1 FROM wallet AS w WHERE w.account = ?1 AND EXISTS (
                SELECT 1 FROM lot AS l WHERE l.account = ?2 AND l.currency = w.currency AND l.expires_at <= ?3
                    AND l.is_open AND l.remaining > 0
            )
            UNION ALL
            SELECT 1 FROM hold WHERE account = ?2 AND state = 'open' AND expires_at <= ?3
            LIMIT 1
            """)
        selectExpiries = try PreparedStatement(
            db,
            """
            SELECT expires_at, account FROM lot WHERE is_open AND expires_at IS NOT NULL AND remaining > 0
            UNION ALL
            SELECT expires_at, account FROM hold WHERE state = 'open'
            ORDER BY 1, 2
            """)
    }

    /// Whether something of an account has expired, and is not posted yet. What others have does not count, and neither
    /// do lots of which everything is held.
    /// - Parameter name: the account's, or that of a token that is linked to it.
    func hasDue(_ name: AccountName, by time: Timestamp, _ books: borrowing Books) throws -> Bool {
        var account = books.playerIDs[name]
        if account == nil { account = try players.findAccount(name, books) }
        guard var owner = account else { return false }
        try suspects.check(.link)
        // As in the books: what comes under a name goes over its last link.
        if let link = try players.allLinks(of: owner, books).last { owner = try players.owner(of: link.account, books) }
        if let slot = books.players.slot(of: owner) { return books.players[slot: slot].deadline <= time }
        try suspects.check(.wallet, .lot, .hold)
        for member in try players.members(of: owner) {
            selectDue.bind(1, owner)
            selectDue.bind(2, member)
            selectDue.bind(3, time)
            if try selectDue.first({ _ in true }) ?? false { return true }
        }
        return false
    }

    /// The players of whom something has expired by `time`, those of whom it did first, and as many as one batch posts.
    /// Those whom memory knows better (what was due of them was posted, and the tables do not say so yet) do not count,
    /// and neither do those who cannot be read.
    /// - Throws: ``Unreadable`` for one of whom a row does not fit.
    func load(by time: Timestamp, into books: inout Books) throws {
        try suspects.check(.lot, .hold)
        var due: [PlayerID] = []
        var seen: Set<PlayerID> = []
        defer { selectExpiries.reset() }
        while due.count < Limits.expirationsPerBatchMax, try selectExpiries.next(), selectExpiries.integer(0) <= time {
            let id = try players.owner(of: selectExpiries.integer(1), books)
            if let slot = books.players.slot(of: id),
                books.players[slot: slot].deadline != selectExpiries.integer(0)
            {
                continue
            }
            if !unreadable.contains(id), seen.insert(id).inserted { due.append(id) }
        }
        for id in due {
            do {
                try players.load(player: id, into: &books)
            } catch let error as StoreError where error.kind == .corrupt {
                throw Unreadable(player: id, error: error)
            } catch let error as DatabaseError where error.isDamage {
                throw Unreadable(player: id, error: .corrupt("loading account \(id): \(error.sentence)"))
            }
        }
    }

    /// From now on what expires of a player waits for tables that are made anew.
    func leaveOut(_ player: PlayerID) { unreadable.insert(player) }
}
