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

    var isEmpty: Bool { tenants.isEmpty }
    var count: Int { tenants.reduce(0) { $0 + $1.reads.count } }

    mutating func append(_ read: Read, of tenant: Tenant) {
        let id = ObjectIdentifier(tenant)
        let place = tenants.firstIndex { $0.tenant == id } ?? tenants.count
        if place == tenants.count { tenants.append(Waiting(tenant: id)) }
        tenants[place].reads.append(read)
    }

    mutating func popFirst() -> Read? { popFirst { _ in true } }

    /// The next read in turn that is ready. Each tenant is asked for its first read only, and keeps its turn where that
    /// is not ready.
    mutating func popFirst(where isReady: (Read) -> Bool) -> Read? {
        guard let place = tenants.firstIndex(where: { $0.reads.first.map(isReady) == true }) else { return nil }
        var tenant = tenants.remove(at: place)
        let read = tenant.reads.popFirst()
        if !tenant.reads.isEmpty { tenants.append(tenant) }
        return read
    }

    mutating func removeAll(where isGone: (Read) -> Bool) {
        for place in tenants.indices { tenants[place].reads.removeAll(where: isGone) }
        tenants.removeAll { $0.reads.isEmpty }
    }
}
