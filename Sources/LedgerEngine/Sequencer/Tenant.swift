/// All clients that share one share of every queue: those that have authenticated under one name.
package final class Tenant: Sendable {
    let unverified: TenantQueue
    let postponed: TenantQueue
    let verified: TenantQueue

    /// - Parameter share: how much of a queue they are given together for what others of share 1 are given; at least 1.
    package init(share: Int = 1) {
        unverified = TenantQueue(share: share)
        postponed = TenantQueue(share: share)
        verified = TenantQueue(share: share)
    }
}
