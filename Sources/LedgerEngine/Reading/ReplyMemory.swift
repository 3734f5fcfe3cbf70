/// The memory that all connections of a server share for what clients ask and are answered: long lines that have not
/// ended, lines in flight with what their requests may be answered, the largest reply of each, and what is answered and
/// not read by its client.
///
/// Whoever wants to have more than it has asks for it first. It gets it where it has no more than a fourth of what is
/// free afterwards. So the few who need much can have it, and however many take what they can, something is always left
/// for those who have little: with k of them each has 1/(k + 4) of all, and as much is free four times.
/// (A. Choudhury, E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions
/// on Networking, 1998.)
///
/// A page is large, and what stands behind its read in the session waits for it with all that was reserved for that. So
/// pages ask only how much is *unread* (answered, or being read), of which half of the memory may be taken.
///
/// Nobody waits for ever, because what is waited for always ends by itself:
/// 1. A request in flight is answered by the ledger, where it waits for nobody's memory, but for reads.
/// 2. A read waits for what is unread. That is read by its client, or the connection is closed after a time
///    (``isShort``); or it belongs to a batch that is not whole.
/// 3. A batch that has begun waits for its own requests only: a further one is refused where there is no room for it,
///    and so is a read within it. No request of a batch waits for anything new.
/// 4. A long line takes all that it may need before the rest of it is read. So it never waits with this memory in its
///    hands: it ends, or its connection is closed after a time (``isShort``). Once it has ended it is accepted as soon
///    as its client has read enough (as in 2), for from its beginning no other request of its connection was accepted.
///    Where it takes more yet, and there is no room, it is refused.
/// 5. Whoever waits for memory, with a line that has ended or has not, has no other memory than that of requests in
///    flight and of unread replies, which end by 1 to 3.
///
/// Who waits is woken when there is room for it, in the order in which they came, as many as there is room for. Who is
/// woken and does not take it, or takes less, lets those behind go on.
package final class ReplyMemory: Sendable {
    private struct Waiter {
        /// Who waits for room for more than it has, and waits once only; `nil` for a read.
        let share: ObjectIdentifier?
        var own: Int
        var more: Int
        /// Called without the lock, by whoever gave memory back.
        let wake: @Sendable () -> Void
    }

    private struct State {
        var taken = 0
        /// The part of `taken` that is answered, or is being read.
        var unread = 0
        var waiters: [Waiter] = []
    }

    /// Memory that a page has, until nobody holds this any more.
    final class Page: Sendable {
        private let memory: ReplyMemory
        private let bytes: Int

        fileprivate init(_ memory: ReplyMemory, _ bytes: Int) {
            self.memory = memory
            self.bytes = bytes
        }

        deinit { memory.change(taken: -bytes, unread: -bytes) }
    }

    let bytesMax: Int
    private let state = Monitor(State())

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// How many bytes are taken, and how many of them are unread.
    package var sums: (taken: Int, unread: Int) { state.withLock { ($0.taken, $0.unread) } }

    /// Whether somebody waits for memory.
    package var isShort: Bool { state.withLock { !$0.waiters.isEmpty } }

    // MARK: Shares

    /// Takes more for a share.
    /// - Parameters:
    ///   - own: what it has already.
    ///   - wake: called when there may be room; `nil` where nobody waits for it.
    /// - Returns: whether it was taken.
    fileprivate func take(
        _ more: Int, beside own: Int, for share: ObjectIdentifier, wake: (@Sendable () -> Void)?
    ) -> Bool {
        state.withLock { state in
            if hasRoom(more, beside: own, taken: state.taken) {
                state.taken += more
                return true
            }
            guard let wake else { return false }
            // Who asks again keeps its place.
            if let place = state.waiters.firstIndex(where: { $0.share == share }) {
                state.waiters[place].own = own
                state.waiters[place].more = more
            } else {
                state.waiters.append(Waiter(share: share, own: own, more: more, wake: wake))
            }
            return false
        }
    }

    /// Takes what is there already, or gives it back, and wakes those for whom there is room then.
    fileprivate func change(taken: Int, unread: Int) {
        let woken = state.withLock { state in
            state.taken += taken
            state.unread += unread
            precondition(state.taken >= 0 && state.unread >= 0, "more memory is given back than was taken")
            return state.waiters.isEmpty ? [] : removeReady(&state)
        }
        for waiter in woken { waiter.wake() }
    }

    /// The share waits no more. There may be room for those behind it, if it was woken and took less.
    fileprivate func cancel(_ share: ObjectIdentifier) {
        let woken = state.withLock { state in
            state.waiters.removeAll { $0.share == share }
            return state.waiters.isEmpty ? [] : removeReady(&state)
        }
        for waiter in woken { waiter.wake() }
    }

    fileprivate func isWaiting(_ share: ObjectIdentifier) -> Bool {
        state.withLock { $0.waiters.contains { $0.share == share } }
    }

    private func hasRoom(_ more: Int, beside own: Int, taken: Int) -> Bool { own + more <= (bytesMax - taken) / 4 }

    private func hasPageRoom(_ bytes: Int, unread: Int) -> Bool { unread + bytes <= bytesMax / 2 }

    /// Those for whom there is room, as if those before them had taken theirs: each asks again when it is awake.
    private func removeReady(_ state: inout State) -> [Waiter] {
        var (taken, unread) = (state.taken, state.unread)
        var ready: [Waiter] = []
        var waiting: [Waiter] = []
        for waiter in state.waiters {
            let isPage = waiter.share == nil
            let isReady =
                isPage
                ? hasPageRoom(waiter.more, unread: unread) : hasRoom(waiter.more, beside: waiter.own, taken: taken)
            guard isReady else {
                waiting.append(waiter)
                continue
            }
            taken += waiter.more
            if isPage { unread += waiter.more }
            ready.append(waiter)
        }
        state.waiters = waiting
        return ready
    }

    // MARK: Pages

    /// Takes memory for a page; where there is no room, tells when to ask again.
    /// - Parameters:
    ///   - bytes: the largest that it can be.
    ///   - wake: called when there may be room; `nil` where nobody waits for it.
    func takePage(_ bytes: Int, wake: (@Sendable () -> Void)?) -> Page? {
        // Where nothing is taken, there is room for any page.
        let bytes = min(bytes, bytesMax / 2)
        return state.withLock { state in
            guard hasPageRoom(bytes, unread: state.unread) else {
                if let wake { state.waiters.append(Waiter(share: nil, own: 0, more: bytes, wake: wake)) }
                return nil
            }
            return page(bytes, &state)
        }
    }

    /// Takes memory for a page that waits for nobody.
    func takePageNow(_ bytes: Int) -> Page { state.withLock { page(min(bytes, bytesMax / 2), &$0) } }

    private func page(_ bytes: Int, _ state: inout State) -> Page {
        state.taken += bytes
        state.unread += bytes
        return Page(self, bytes)
    }
}

/// What one connection has of a ``ReplyMemory``. It belongs to the thread of the connection.
package final class ReplyShare {
    private let memory: ReplyMemory
    /// Memory is taken and given back in steps, so that most requests change nothing that others see.
    private let stepBytes: Int
    /// Called by another thread when there may be room for what ``reserve(_:waits:)`` refused.
    package var wake: @Sendable () -> Void = {}
    private var taken = 0
    private var unread = 0
    private var isWaiting = false

    package init(of memory: ReplyMemory, stepBytes: Int) {
        self.memory = memory
        self.stepBytes = stepBytes
    }

    deinit { end() }

    /// Has at least so many bytes together.
    /// - Parameter waits: whether it is woken where there is no room.
    /// - Returns: whether there was room.
    package func reserve(_ bytes: Int, waits: Bool) -> Bool {
        if bytes <= taken {
            cancel()
            return true
        }
        let more = rounded(bytes) - taken
        guard memory.take(more, beside: taken, for: ObjectIdentifier(self), wake: waits ? wake : nil) else {
            isWaiting = isWaiting || waits
            return false
        }
        taken += more
        cancel()
        return true
    }

    /// Has so many bytes, which are there.
    /// - Parameter unread: the part of them that is answered.
    package func settle(_ bytes: Int, unread answered: Int) {
        // It was woken, and has not asked for what it waited for: that is for those behind it.
        if isWaiting && !memory.isWaiting(ObjectIdentifier(self)) { cancel() }
        let (bytes, answered) = (rounded(bytes), rounded(answered))
        if bytes == taken && answered == unread { return }
        memory.change(taken: bytes - taken, unread: answered - unread)
        taken = bytes
        unread = answered
    }

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
