import Ledger

/// How many players stay in memory, and who goes. A player who came or was changed since the last block that is
/// projected stays.
struct PlayerCache {
    private let playersMax: Int
    /// Lots of all players, about: counted anew whenever some are forgotten.
    private var lots = 0

    init(playersMax: Int) { self.playersMax = playersMax }

    /// Notes lots that came into memory.
    mutating func add(lots count: Int) { lots += count }

    /// Forgets players until about the bound are kept, each with one lot: a player with many lots counts for more.
    /// - Parameters:
    ///   - projected: the last numbers that the projection has.
    ///   - kept: players of whom it lacks what no number tells.
    mutating func bound(
        _ books: inout Books, projected: LastNumbers, keeping kept: @autoclosure () -> Set<PlayerID>
    ) {
        let count = books.players.count
        // A tenth over the bound before anything is done, so that the walk over all players is rare.
        guard count + lots > 2 * (playersMax + playersMax / 10) else { return }
        var excess = count + lots - 2 * playersMax
        var forgotten: [PlayerID] = []
        lots = 0
        let kept = kept()
        // From anywhere on: were those forgotten first who came first, players who come by turns would never be found
        // here.
        let start = Int((UInt64(bitPattern: books.position.transfer) &* 0x9E37_79B9_7F4A_7C15) >> 32) % max(count, 1)
        for step in 0..<count {
            let slot = (start + step) % count
            let own = books.players[slot: slot].lotCount
            if excess > 0 && books.players[slot: slot].lastTransfer <= projected.transfer
                && books.players[slot: slot].id <= projected.account
                && (kept.isEmpty || !kept.contains(books.players[slot: slot].id))
            {
                forgotten.append(books.players[slot: slot].id)
                excess -= 1 + own
            } else {
                lots += own
            }
        }
        for player in forgotten { books.forget(player) }
    }
}
