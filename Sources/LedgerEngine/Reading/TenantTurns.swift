import DequeModule

/// What waits, of whom: of one first come, first served; all of them in turn, one item each, so that nobody waits
/// behind all that another has asked for, on however many connections it did.
struct TenantTurns<Item> {
    private struct Waiting {
        let owner: ObjectIdentifier
        var items = Deque<Item>()
    }

    /// Those of whom something waits; the first one's turn it is. There are some hundred at the most: tokens, and
    /// connections that nobody knows yet.
    private var owners = Deque<Waiting>()

    var isEmpty: Bool { owners.isEmpty }
    var count: Int { owners.reduce(0) { $0 + $1.items.count } }

    mutating func append(_ item: Item, of tenant: Tenant) { append(item, of: ObjectIdentifier(tenant)) }

    /// - Parameter owner: a tenant, or who has none.
    mutating func append(_ item: Item, of owner: ObjectIdentifier) {
        let place = owners.firstIndex { $0.owner == owner } ?? owners.count
        if place == owners.count { owners.append(Waiting(owner: owner)) }
        owners[place].items.append(item)
    }

    mutating func popFirst() -> Item? { popFirst { _ in true } }

    /// The next item in turn that is ready. Of each owner only the first items are looked at, and the turn is kept
    /// where none of them is ready.
    /// - Parameter count: how many of each.
    mutating func popFirst(among count: Int = 1, where isReady: (Item) -> Bool) -> Item? {
        for place in owners.indices {
            guard let index = owners[place].items.prefix(count).firstIndex(where: isReady) else { continue }
            var owner = owners.remove(at: place)
            let item = owner.items.remove(at: index)
            if !owner.items.isEmpty { owners.append(owner) }
            return item
        }
        return nil
    }

    mutating func removeAll(where isGone: (Item) -> Bool) {
        for place in owners.indices { owners[place].items.removeAll(where: isGone) }
        owners.removeAll { $0.items.isEmpty }
    }
}
