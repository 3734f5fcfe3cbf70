import LedgerEngine

/// The memory that one connection takes for what it accepts, out of that of all (``ReplyMemory``).
struct ConnectionRoom {
    private let share: ReplyShare
    /// How much it may have: no more than it always gets where nobody else has anything.
    let bytesMax: Int

    init(_ share: ReplyShare, _ limits: ServerLimits) {
        self.share = share
        bytesMax = min(limits.connectionReplyBytesMax, limits.replyBytesMax / 8)
    }

    /// Takes more, where the connection and all together may have it.
    /// - Parameters:
    ///   - own: what is kept of what it has.
    ///   - tenant: whose it is from now on, for that may have changed with the request before; the connection's alone
    ///     where it has none.
    ///   - waits: whether the connection is woken when there is room.
    /// - Returns: whether it was taken.
    func take(_ bytes: Int, beside own: Int, of tenant: Tenant?, waits: Bool) -> Bool {
        share.belong(to: tenant)
        // What is larger than may be is taken alone. It waits for its own then, and for nobody else.
        if own > 0 && own + bytes > bytesMax {
            share.cancel()
            return false
        }
        return share.reserve(min(own + bytes, bytesMax), waits: waits)
    }

    /// See ``ReplyShare/settle(_:unread:of:)``.
    func settle(_ bytes: Int, unread: Int, of tenant: Tenant?) { share.settle(bytes, unread: unread, of: tenant) }

    /// Waits no more.
    func cancel() { share.cancel() }

    /// Gives all back, and waits no more.
    func end() { share.end() }
}
