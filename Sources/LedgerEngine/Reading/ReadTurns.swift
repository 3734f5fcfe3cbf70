import DequeModule

/// Reads that wait: of a tenant first come, first served; the tenants in turn, one read each, so that nobody waits
/// behind all that another has asked for, on however many connections it did.
struct ReadTurns<Read> {
    private struct Waiting {
        let tenant: ObjectIdentifier
        var reads = Deque<Read>()
    }

    /// Those of whom something waits; the first one's turn it is. There are few: no more than tokens.
    private var tenants = Deque<Waiting>()

    mutating func append(_ read: Read, of tenant: Tenant) {
        let id = ObjectIdentifier(tenant)
        let place = tenants.firstIndex { $0.tenant == id } ?? tenants.count
        if place == tenants.count { tenants.append(Waiting(tenant: id)) }
        tenants[place].reads.append(read)
    }

    mutating func popFirst() -> Read? {
        guard var first = tenants.popFirst() else { return nil }
        let read = first.reads.popFirst()
        if !first.reads.isEmpty { tenants.append(first) }
        return read
    }
}
