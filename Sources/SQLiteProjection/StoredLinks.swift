import GRDB
import Ledger

/// Reads who is linked to whom, and what players said of consumption, of one state of the tables: as it is, or as it
/// was at a time.
final class StoredLinks {
    /// What was there at a time of the past.
    private struct Past {
        var entry: EntryID
        var time: Timestamp
    }

    private let selectAny: PreparedStatement
    private let selectLinks: PreparedStatement
    private let selectTokens: PreparedStatement
    private let selectConsent: PreparedStatement
    /// `nil` where all counts.
    private let past: Past?
    /// Most ledgers have no links; then no lookup is made.
    private var hasLinks = true
    private var hasConsents = true
    /// Whom some were linked to first, and ``owners(of:)`` of some: what is read next asks for the same again.
    private var firstLinks: [PlayerID: PlayerID?] = [:]
    private var chains: [PlayerID: [PlayerID]] = [:]
    private var chained = 0

    /// Accounts that ``chains`` have in all.
    private static let chainedMax = 1_000_000

    /// As it is.
    convenience init(_ db: Database) throws { try self.init(db, past: nil) }

    /// As it was at a time that is closed: links of which the entry is later were not there yet.
    convenience init(_ db: Database, asOf time: Timestamp, _ clock: JournalClock) throws {
        try self.init(db, past: Past(entry: try clock.lastEntry(time), time: time))
    }

    private init(_ db: Database, past: Past?) throws {
        self.past = past
        selectAny = try PreparedStatement(
            db, "SELECT EXISTS (SELECT 1 FROM link), EXISTS (SELECT 1 FROM consent)")
        selectLinks = try PreparedStatement(
            db, "SELECT account, entry, number, time FROM link WHERE token = ? ORDER BY number")
        // With the index's own condition, so that it is used.
        selectTokens = try PreparedStatement(db, "SELECT token, entry, time FROM link WHERE account = ? AND number = 1")
        selectConsent = try PreparedStatement(
            db, "SELECT id, consumption FROM consent WHERE account = ? AND time <= ? ORDER BY id DESC LIMIT 1")
    }

    /// Finds out, for what is read next, whether there are any.
    func begin() throws {
        firstLinks.removeAll(keepingCapacity: true)
        forgetChains()
        try selectAny.first { row in
            hasLinks = row.integer(0) != 0
            hasConsents = row.integer(1) != 0
        }
    }

    /// The links of a token, the first one first.
    func links(of token: PlayerID) throws -> [AccountLink] {
        if !hasLinks { return [] }
        var links: [AccountLink] = []
        var number = 0
        selectLinks.bind(1, token)
        try selectLinks.forEach { row in
            let (account, entry) = (row.integer(0), row.optionalInteger(1))
            guard account > 0, account <= Plausible.accountMax, account != token, entry ?? 1 > 0,
                row.integer(2) == number + 1, entry == nil || number == 0
            else { throw StoreError.corrupt("a link of account \(token) has values that cannot be") }
            number += 1
            if isThere(entry, row.integer(3)) { links.append(AccountLink(account: account, entry: entry)) }
        }
        return links
    }

    /// - Parameters:
    ///   - entry: of a link that moved something.
    ///   - time: the link's own.
    private func isThere(_ entry: EntryID?, _ time: Timestamp) -> Bool {
        guard let past else { return true }
        return entry.map { $0 <= past.entry } ?? (time <= past.time)
    }

    /// Whose everything is that an account ever had, and on the way to them all who had it.
    func owners(of account: PlayerID) throws -> [PlayerID] {
        if !hasLinks { return [account] }
        if let chain = chains[account] { return chain }
        var owners = [account]
        var seen: Set = [account]
        while let next = try firstLink(of: owners[owners.count - 1]) {
            guard seen.insert(next).inserted else {
                throw StoreError.corrupt("account \(account) is linked to itself")
            }
            owners.append(next)
        }
        chained += owners.count
        if chained > StoredLinks.chainedMax { forgetChains() }
        chains[account] = owners
        return owners
    }

    private func firstLink(of account: PlayerID) throws -> PlayerID? {
        if let known = firstLinks[account] { return known }
        let first = try links(of: account).first?.account
        firstLinks[account] = first
        return first
    }

    private func forgetChains() {
        chains.removeAll(keepingCapacity: true)
        chained = 0
    }

    func owner(of account: PlayerID) throws -> PlayerID { try owners(of: account).last ?? account }

    /// The accounts whose lots, holds and consents are an account's: its own and those of the tokens that were linked
    /// to it first, and to these; none where it is itself linked.
    func members(of account: PlayerID) throws -> [PlayerID] {
        if !hasLinks { return [account] }
        if try !links(of: account).isEmpty { return [] }
        var members = [account]
        var known: Set = [account]
        var next = 0
        while next < members.count {
            selectTokens.bind(1, members[next])
            var tokens: [PlayerID] = []
            try selectTokens.forEach { row in
                if isThere(row.optionalInteger(1), row.integer(2)) { tokens.append(row.integer(0)) }
            }
            for token in tokens where !known.insert(token).inserted {
                throw StoreError.corrupt("account \(token) is linked to itself")
            }
            members += tokens
            next += 1
        }
        return members
    }

    /// The newest consent of some accounts, of those up to a time.
    func consent(of members: [PlayerID], through time: Timestamp = .max) throws -> ConsentRecord? {
        if !hasConsents { return nil }
        var newest: ConsentRecord?
        for account in members {
            selectConsent.bind(1, account)
            selectConsent.bind(2, time)
            let found = try selectConsent.first { row in
                guard row.integer(0) > 0, row.integer(1) == 0 || row.integer(1) == 1 else {
                    throw StoreError.corrupt("a consent of account \(account) has values that cannot be")
                }
                return ConsentRecord(request: row.integer(0), consumption: row.integer(1) == 1)
            }
            if let found, found.request > newest?.request ?? 0 { newest = found }
        }
        return newest
    }
}
