/// The memory that all connections of a server share for what clients ask and are answered: long lines that have not
/// ended, lines in flight with what their requests may be answered, the largest reply of each, and what is answered and
/// not read by its client.
///
/// Whoever wants to have more than it has asks for it first. It gets it where it has no more than a fourth of what is
/// free afterwards. So the few who need much can have it, and where all give back what they have taken, something is
/// always left for those who have little: with k who take what they can each has 1/(k + 4) of all, and as much is free
/// four times. (A. Choudhury, E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
/// Transactions on Networking, 1998.)
///
/// Who never reads gives nothing back, and the next one takes a fourth of what is left. So a tenant takes no more, over
/// all its connections, than is left for the others: the first has half of the memory at most, the second a fourth, and
/// so on.
///
/// A page is large, and what stands behind its read in the session waits for it with all that was reserved for that. So
/// pages ask only how much is *unread* (answered, or being read), of which half of the memory may be taken. Of that
/// half a tenant has no more than is left for the others, over all its connections: with k of them that take what they
/// can, each has 1/(k + 1). Only a tenant that has less than a page unread may have one wherever there is room. Tenants
/// whose reads wait for room take turns.
///
/// What a standby is told comes on top of this memory (``Addition``): writes may wait for that standby, so it waits for
/// no client, and no client waits for it. ``Standbys`` bounds how many pages of blocks there are.
///
/// Nobody waits for ever, because what is waited for always ends by itself:
/// 1. A request in flight is answered by the ledger, where it waits for nobody's memory, but for reads.
/// 2. A read waits for what is unread, and no longer than a read may take. What is unread is read by its client, or the
///    connection is closed after a time (``isShort``); or it belongs to a batch that is not whole.
/// 3. A batch that has begun waits for its own requests only: a further one is refused where there is no room for it,
///    and so is a read within it. No request of a batch waits for anything new.
/// 4. A long line takes all that it may need before the rest of it is read. So it never waits with this memory in its
///    hands: it ends, or its connection is closed after a time (``isShort``). Once it has ended it is accepted as soon
///    as its client has read enough (as in 2), for from its beginning no other request of its connection was accepted.
///    Where it takes more yet, and there is no room, it is refused.
/// 5. Whoever waits for memory, with a line that has ended or has not, has no other memory than that of requests in
///    flight and of unread replies, which end by 1 to 3.
///
/// Who waits is served when there is room, as many as there is room for. A read is given its page then; if it is gone
/// meanwhile, the page is given back, and the next one has it. Shares of one tenant are woken in the order in which
/// they came, and tenants take turns; those that wait for much (long lines) are apart from those that wait for little,
/// so that nobody waits for little behind them. One that is woken and does not take what it waited for, or takes less,
/// lets those behind go on. Whatever is given back, only the first few of each tenant are looked at: a thousand
/// connections of one that wait cost no more than a few, and one that has much already, and so may have no more, holds
/// up nobody.
package final class ReplyMemory: Sendable {
    /// Names one wait for a page; never given twice.
    typealias Ticket = UInt64

    /// What becomes of who asks for a page.
    enum Taking {
        case taken(Page)
        case waits(Ticket)
        /// There is no room, and it does not wait.
        case refused
    }

    /// A read that waits for room for its page.
    private struct PageWaiter {
        let ticket: Ticket
        let tenant: Tenant
        let bytes: Int
        /// Called once, without the lock, by whoever gave memory back.
        let grant: @Sendable (Ticket, Page) -> Void
    }

    /// Bytes, and whose they are: a tenant's, or those of a share that has none.
    private struct Sums {
        private(set) var bytes = 0
        private var byOwner: [ObjectIdentifier: Int] = [:]

        func bytes(of owner: ObjectIdentifier) -> Int { byOwner[owner] ?? 0 }

        mutating func add(_ more: Int, of owner: ObjectIdentifier) {
            if more == 0 { return }
            bytes += more
            let sum = bytes(of: owner) + more
            precondition(sum >= 0, "more is given back than was taken")
            byOwner[owner] = sum == 0 ? nil : sum
        }
    }

    private struct State {
        var taken = Sums()
        /// The part of `taken` that is answered, or is being read.
        var unread = Sums()
        /// What there is on top of `bytesMax`, for pages of blocks.
        var added = 0
        var lastTicket: Ticket = 0
        var shares = WaitingShares()
        var pages = TenantTurns<PageWaiter>()
    }

    /// Memory that a page has, until nobody holds this any more.
    final class Page: Sendable {
        private let memory: ReplyMemory
        private let tenant: Tenant
        private let bytes: Int

        fileprivate init(_ memory: ReplyMemory, _ bytes: Int, of tenant: Tenant) {
            self.memory = memory
            self.tenant = tenant
            self.bytes = bytes
        }

        deinit { memory.change(taken: -bytes, unread: -bytes, of: ObjectIdentifier(tenant)) }
    }

    /// What there is more of the memory, until nobody holds this any more: as much as a page of blocks takes that a
    /// standby is told and that its connection counts as any other reply.
    final class Addition: Sendable {
        private let memory: ReplyMemory
        private let bytes: Int

        fileprivate init(_ memory: ReplyMemory, _ bytes: Int) {
            self.memory = memory
            self.bytes = bytes
        }

        deinit { memory.state.withLock { $0.added -= bytes } }
    }

    let bytesMax: Int
    private let state = Monitor(State())

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// How many bytes are taken, and how many of them are unread.
    package var sums: (taken: Int, unread: Int) { state.withLock { ($0.taken.bytes, $0.unread.bytes) } }

    /// How many bytes there are on top of ``bytesMax``.
    package var added: Int { state.withLock { $0.added } }

    /// How many wait for memory.
    var waits: Int { state.withLock { $0.shares.count + $0.pages.count } }

    /// Whether somebody waits for memory.
    package var isShort: Bool { state.withLock { $0.shares.count > 0 || !$0.pages.isEmpty } }

    // MARK: Shares (called by ``ReplyShare`` alone)

    /// Takes more for a share.
    /// - Parameters:
    ///   - own: what it has already.
    ///   - owner: whose it is.
    ///   - wake: called when there may be room; `nil` where nobody waits for it.
    /// - Returns: whether it was taken.
    func take(
        _ more: Int, beside own: Int, for share: ObjectIdentifier, of owner: ObjectIdentifier,
        wake: (@Sendable () -> Void)?
    ) -> Bool {
        state.withLock { state in
            if hasRoom(more, beside: own, of: owner, taken: state.taken, all: bytesMax + state.added) {
                state.taken.add(more, of: owner)
                return true
            }
            guard let wake else { return false }
            state.shares.append(share, WaitingShares.Waiter(owner: owner, own: own, more: more, wake: wake))
            return false
        }
    }

    /// Notes what is taken already, or given back, and serves those who wait and for whom there is room then.
    /// - Parameter owner: whose it is.
    func change(taken: Int, unread: Int, of owner: ObjectIdentifier) {
        serve { state in
            state.taken.add(taken, of: owner)
            state.unread.add(unread, of: owner)
        }
    }

    /// What a share has is another owner's from now on, and so is what it waits for.
    func move(
        _ taken: Int, unread: Int, of share: ObjectIdentifier, from former: ObjectIdentifier, to owner: ObjectIdentifier
    ) {
        serve { state in
            state.shares.move(share, to: owner)
            state.taken.add(-taken, of: former)
            state.unread.add(-unread, of: former)
            state.taken.add(taken, of: owner)
            state.unread.add(unread, of: owner)
        }
    }

    /// The share waits no more. There may be room for those behind it, if it was woken and took less.
    func cancel(_ share: ObjectIdentifier) {
        serve { state in state.shares.remove(share) }
    }

    func isWaiting(_ share: ObjectIdentifier) -> Bool {
        state.withLock { $0.shares.contains(share) }
    }

    private func hasRoom(_ more: Int, beside own: Int, of owner: ObjectIdentifier, taken: Sums, all: Int) -> Bool {
        let left = all - taken.bytes
        return own + more <= left / 4 && taken.bytes(of: owner) + more <= left - more
    }

    // MARK: Pages

    /// Takes memory for a page.
    /// - Parameters:
    ///   - bytes: the largest that it can be. Of one that is larger than all that pages may have, so much counts: where
    ///     nothing is unread there is room for any page.
    ///   - tenant: for whom it is read.
    ///   - grant: called with the page, on any thread, when there is room; `nil` where nobody waits for it. Whoever
    ///     gives memory back calls it, whatever locks they hold: so it hands the page on, and takes none of these
    ///     locks.
    func takePage(_ bytes: Int, of tenant: Tenant, grant: (@Sendable (Ticket, Page) -> Void)?) -> Taking {
        let bytes = min(bytes, bytesMax / 2)
        return state.withLock { state in
            if hasPageRoom(bytes, of: tenant, unread: state.unread, added: state.added) {
                return .taken(page(bytes, of: tenant, &state))
            }
            guard let grant else { return .refused }
            state.lastTicket += 1
            state.pages.append(
                PageWaiter(ticket: state.lastTicket, tenant: tenant, bytes: bytes, grant: grant), of: tenant)
            return .waits(state.lastTicket)
        }
    }

    /// Takes a wait for a page back. Its page may be on its way already, and is to be let go of then.
    func cancel(_ ticket: Ticket) {
        serve { state in state.pages.removeAll { $0.ticket == ticket } }
    }

    /// Adds memory for a page of blocks, which is about to count as unread.
    func add(_ bytes: Int) -> Addition {
        state.withLock { $0.added += bytes }
        return Addition(self, bytes)
    }

    private func hasPageRoom(_ bytes: Int, of tenant: Tenant, unread: Sums, added: Int) -> Bool {
        let own = unread.bytes(of: ObjectIdentifier(tenant))
        let left = bytesMax / 2 + added - unread.bytes - bytes
        return left >= 0 && (own < bytes || own + bytes <= left)
    }

    private func page(_ bytes: Int, of tenant: Tenant, _ state: inout State) -> Page {
        state.taken.add(bytes, of: ObjectIdentifier(tenant))
        state.unread.add(bytes, of: ObjectIdentifier(tenant))
        return Page(self, bytes, of: tenant)
    }

    // MARK: Who waits

    /// Changes something, and serves those for whom there is room then.
    private func serve(_ change: (inout State) -> Void) {
        let served = state.withLock { state in
            change(&state)
            return removeServed(&state)
        }
        for serve in served { serve() }
    }

    /// Those for whom there is room: reads with their pages, and shares as if those before them had taken theirs, for
    /// each of them asks again when it is awake.
    private func removeServed(_ state: inout State) -> [@Sendable () -> Void] {
        var served: [@Sendable () -> Void] = []
        while !state.pages.isEmpty {
            let (unread, added) = (state.unread, state.added)
            let next = state.pages.popFirst { hasPageRoom($0.bytes, of: $0.tenant, unread: unread, added: added) }
            guard let next else { break }
            let page = page(next.bytes, of: next.tenant, &state)
            served.append { next.grant(next.ticket, page) }
        }
        if state.shares.count == 0 { return served }
        let all = bytesMax + state.added
        var taken = state.taken
        while let waiter = state.shares.popFirst(where: {
            hasRoom($0.more, beside: $0.own, of: $0.owner, taken: taken, all: all)
        }) {
            taken.add(waiter.more, of: waiter.owner)
            served.append(waiter.wake)
        }
        return served
    }
}
