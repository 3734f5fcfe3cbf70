/// What one connection has of a ``ReplyMemory``. It belongs to the thread of the connection.
package final class ReplyShare {
    private let memory: ReplyMemory
    /// Memory is taken and given back in steps, so that most requests change nothing that others see.
    private let stepBytes: Int
    /// Called by another thread when there may be room for what ``reserve(_:waits:)`` refused.
    package var wake: @Sendable () -> Void = {}
    private var taken = 0
    private var unread = 0
    /// Whose that is.
    private var tenant: Tenant?
    private var isWaiting = false

    package init(of memory: ReplyMemory, stepBytes: Int) {
        self.memory = memory
        self.stepBytes = stepBytes
    }

    deinit { end() }

    /// From now on what it has, and what it asks for, is this tenant's; the connection's alone where it has none.
    package func belong(to tenant: Tenant?) {
        if tenant === self.tenant { return }
        let former = owner
        self.tenant = tenant
        memory.move(taken, unread: unread, of: ObjectIdentifier(self), from: former, to: owner)
    }

    /// Has at least so many bytes together.
    /// - Parameter waits: whether it is woken where there is no room.
    /// - Returns: whether there was room.
    package func reserve(_ bytes: Int, waits: Bool) -> Bool {
        if bytes <= taken {
            cancel()
            return true
        }
        let more = rounded(bytes) - taken
        guard
            memory.take(more, beside: taken, for: ObjectIdentifier(self), of: owner, wake: waits ? wake : nil)
        else {
            isWaiting = isWaiting || waits
            return false
        }
        taken += more
        cancel()
        return true
    }

    /// Has so many bytes, which are there.
    /// - Parameters:
    ///   - unread: the part of them that is answered.
    ///   - tenant: whose it is; the connection's alone where it has none.
    package func settle(_ bytes: Int, unread answered: Int, of tenant: Tenant? = nil) {
        // It was woken, and has not asked for what it waited for: that is for those behind it.
        if isWaiting && !memory.isWaiting(ObjectIdentifier(self)) { cancel() }
        let (bytes, answered) = (rounded(bytes), rounded(answered))
        belong(to: tenant)
        if bytes == taken && answered == unread { return }
        memory.change(taken: bytes - taken, unread: answered - unread, of: owner)
        taken = bytes
        unread = answered
    }

    private var owner: ObjectIdentifier { tenant.map { ObjectIdentifier($0) } ?? ObjectIdentifier(self) }

    /// Gives all back, and waits no more.
    package func end() {
        cancel()
        settle(0, unread: 0)
    }

    /// Waits no more.
    package func cancel() {
        if isWaiting { memory.cancel(ObjectIdentifier(self)) }
        isWaiting = false
    }

    private func rounded(_ bytes: Int) -> Int { (bytes + stepBytes - 1) / stepBytes * stepBytes }
}
