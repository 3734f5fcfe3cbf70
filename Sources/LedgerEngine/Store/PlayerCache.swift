import Ledger

/// How many players stay in memory, and who goes. A player who came or was changed since the last block that is
/// projected stays.
///
/// A walk over all players looks for those who may go, little by little: nobody's request waits for all of it. It goes
/// on where it was, and passes over whoever takes the place of one who went, for those came last.
struct PlayerCache {
    /// How many players the walk looks at with each batch, beside four for each that came with it. So it finds as many
    /// who may go as come, where the projection keeps up.
    private static let stepsPerBatch = 512

    private let playersMax: Int
    /// How many players there were when it was bounded last.
    private var playersBefore = 0
    /// Lots of all players.
    private var lots = 0
    /// Where the walk goes on.
    private var place = 0

    init(playersMax: Int) { self.playersMax = playersMax }

    /// Notes lots that came into memory.
    mutating func add(lots count: Int) { lots += count }

    /// Notes lots that left it, of players who stay.
    mutating func remove(lots count: Int) { lots -= count }

    /// Forgets some players where more than the bound are kept, each with one lot: a player with many lots counts for
    /// more.
    /// - Parameter stays: whether a player must stay.
    mutating func bound(_ books: inout Books, unless stays: (Player) -> Bool) {
        defer { playersBefore = books.players.count }
        let count = books.players.count
        var steps = min(count, PlayerCache.stepsPerBatch + 4 * max(0, count - playersBefore))
        while steps > 0, books.players.count + lots > 2 * playersMax {
            steps -= 1
            if place >= books.players.count {
                place = 0
                assert(lots == books.players.values.reduce(0) { $0 + $1.lotCount }, "lots were not counted")
                if books.players.isEmpty { return }
            }
            if !stays(books.players[slot: place]) {
                lots -= books.players[slot: place].lotCount
                books.forget(books.players[slot: place].id)
            }
            place += 1
        }
    }
}
