/// The players in memory, side by side, so that one is read and changed where it stands; a dictionary's values are
/// copied to be read.
package struct PlayerTable: Sendable {
    /// In no order.
    package private(set) var values: ContiguousArray<Player> = []
    private var slots = DividedDictionary<PlayerID, Int>()

    package var count: Int { values.count }
    package var isEmpty: Bool { values.isEmpty }

    /// Where a player stands; good until one is forgotten.
    package func slot(of id: PlayerID) -> Int? { slots[id] }

    package subscript(id: PlayerID) -> Player? { slots[id].map { values[$0] } }

    /// The player at a slot, in place.
    package subscript(slot slot: Int) -> Player {
        _read { yield values[slot] }
        _modify { yield &values[slot] }
    }

    /// Has place for so many: what nobody uses of it takes no memory, and none of them is moved as more come.
    mutating func reserve(_ count: Int) { values.reserveCapacity(count) }

    /// Adds a player, or puts them in place of what was known of them.
    mutating func insert(_ player: Player) {
        if let slot = slots[player.id] {
            values[slot] = player
        } else {
            slots[player.id] = values.count
            values.append(player)
        }
    }

    /// Forgets a player; the last one takes their slot.
    mutating func remove(_ id: PlayerID) {
        guard let slot = slots.removeValue(forKey: id) else { return }
        let last = values.removeLast()
        if slot < values.count {
            values[slot] = last
            slots[last.id] = slot
        }
    }
}
