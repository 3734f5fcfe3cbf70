/// All clients that share one share of every queue: those that have authenticated under one name.
package final class Tenant: Sendable {
    /// How much of a queue, and of an event loop's time, they are given together for what others of share 1 are given.
    package let share: Int
    /// What it has in the queues of each ledger, by the ledger's place.
    let queues: [Queues]

    struct Queues {
        let unverified: TenantQueue
        let postponed: TenantQueue
        let verified: TenantQueue
    }

    /// - Parameters:
    ///   - share: at least 1.
    ///   - ledgers: how many ledgers it may ask (``RunningLedger``).
    package init(share: Int = 1, ledgers: Int = 1) {
        self.share = share
        queues = (0..<ledgers).map { _ in
            Queues(
                unverified: TenantQueue(share: share), postponed: TenantQueue(share: share),
                verified: TenantQueue(share: share))
        }
    }
}
