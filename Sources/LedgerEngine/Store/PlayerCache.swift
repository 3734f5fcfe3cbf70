import Ledger

/// How many players stay in memory, and who goes. A player who came or was changed since the last block that is
/// projected stays.
///
/// A walk over all players looks for those who may go, little by little: nobody's request waits for all of it. It ends
/// nowhere, so that players who come by turns are found here as often as others.
struct PlayerCache {
    /// How many players the walk looks at with each batch, beside four for each that came with it. So it finds as many
    /// who may go as come, where the projection keeps up.
    private static let stepsPerBatch = 512

    private let playersMax: Int
    /// How many players there were when it was bounded last.
    private var playersBefore = 0
    /// Lots of all players, at the most: those that are used up and forgotten are noticed with the next round.
    private var lots = 0
    /// Where the walk goes on.
    private var place = 0
    /// Lots of those whom this round has come by, and that came since it began.
    private var lotsOfRound = 0

    init(playersMax: Int) { self.playersMax = playersMax }

    /// Notes lots that came into memory.
    mutating func add(lots count: Int) {
        lots += count
        lotsOfRound += count
    }

    /// Forgets some players where more than about the bound are kept, each with one lot: a player with many lots counts
    /// for more.
    /// - Parameter stays: whether a player must stay.
    mutating func bound(_ books: inout Books, unless stays: (Player) -> Bool) {
        defer { playersBefore = books.players.count }
        let count = books.players.count
        var steps = min(count, PlayerCache.stepsPerBatch + 4 * max(0, count - playersBefore))
        while steps > 0, books.players.count + lots > 2 * playersMax {
            steps -= 1
            if place >= books.players.count {
                (place, lots, lotsOfRound) = (0, min(lots, lotsOfRound), 0)
            }
            let (id, own) = (books.players[slot: place].id, books.players[slot: place].lotCount)
            if stays(books.players[slot: place]) {
                lotsOfRound += own
                place += 1
            } else {
                // The last one takes their slot, and is next.
                books.forget(id)
                lots -= own
            }
        }
    }
}
