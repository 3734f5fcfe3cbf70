/// All clients that share one share of every queue: those that have authenticated under one name.
package final class Tenant: Sendable {
    /// How much of a queue, and of an event loop's time, they are given together for what others of share 1 are given.
    package let share: Int
    let unverified: TenantQueue
    let postponed: TenantQueue
    let verified: TenantQueue

    /// - Parameter share: at least 1.
    package init(share: Int = 1) {
        self.share = share
        unverified = TenantQueue(share: share)
        postponed = TenantQueue(share: share)
        verified = TenantQueue(share: share)
    }
}
