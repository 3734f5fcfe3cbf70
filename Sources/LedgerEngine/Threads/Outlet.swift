/// Where a lane's answers are delivered: an event loop, or whatever else carries out one thing after the other in the
/// order in which it was handed them.
package struct Outlet: Sendable {
    /// Carries something out on the loop. Called from any thread, and for a session under its lock: there it must not
    /// be carried out before this returns.
    package let execute: @Sendable (@escaping @Sendable () -> Void) -> Void

    package init(execute: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) { self.execute = execute }
}
