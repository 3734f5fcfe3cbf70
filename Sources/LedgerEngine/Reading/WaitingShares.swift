/// The shares of a ``ReplyMemory`` that wait for room: tenants take turns, and those that wait for much are apart from
/// those that wait for little.
struct WaitingShares {
    /// A share that waits for room for more than it has; it waits once only.
    struct Waiter {
        var owner: ObjectIdentifier
        var own: Int
        var more: Int
        /// Called without the lock, by whoever gave memory back.
        let wake: @Sendable () -> Void
    }

    /// Bytes from which on a share waits for much: replies have less, long lines more.
    private static let muchBytesMin = 256 << 10
    /// How many of each tenant are looked at.
    private static let lookedAtMax = 8

    private var waiters: [ObjectIdentifier: Waiter] = [:]
    private var forLittle = TenantTurns<ObjectIdentifier>()
    private var forMuch = TenantTurns<ObjectIdentifier>()

    var count: Int { waiters.count }

    func contains(_ share: ObjectIdentifier) -> Bool { waiters[share] != nil }

    /// One that waits already keeps its place, unless it waits for much now, or for little.
    mutating func append(_ share: ObjectIdentifier, _ waiter: Waiter) {
        if let known = waiters[share] {
            if known.owner == waiter.owner, isForMuch(known) == isForMuch(waiter) {
                waiters[share] = waiter
                return
            }
            remove(share)
        }
        waiters[share] = waiter
        if isForMuch(waiter) {
            forMuch.append(share, of: waiter.owner)
        } else {
            forLittle.append(share, of: waiter.owner)
        }
    }

    private func isForMuch(_ waiter: Waiter) -> Bool { waiter.more >= WaitingShares.muchBytesMin }

    mutating func remove(_ share: ObjectIdentifier) {
        guard let waiter = waiters.removeValue(forKey: share) else { return }
        if isForMuch(waiter) {
            forMuch.removeAll { $0 == share }
        } else {
            forLittle.removeAll { $0 == share }
        }
    }

    /// It is another owner's from now on, behind what waits of that one.
    mutating func move(_ share: ObjectIdentifier, to owner: ObjectIdentifier) {
        guard var waiter = waiters[share], waiter.owner != owner else { return }
        waiter.owner = owner
        append(share, waiter)
    }

    /// The next in turn for which there is room. First those that wait for much: it is there seldom.
    mutating func popFirst(where hasRoom: (Waiter) -> Bool) -> Waiter? {
        let share =
            WaitingShares.popFirst(of: &forMuch, waiters, hasRoom)
            ?? WaitingShares.popFirst(of: &forLittle, waiters, hasRoom)
        return share.flatMap { waiters.removeValue(forKey: $0) }
    }

    private static func popFirst(
        of turns: inout TenantTurns<ObjectIdentifier>, _ waiters: [ObjectIdentifier: Waiter],
        _ hasRoom: (Waiter) -> Bool
    ) -> ObjectIdentifier? {
        turns.popFirst(among: lookedAtMax) { waiters[$0].map(hasRoom) ?? false }
    }
}
