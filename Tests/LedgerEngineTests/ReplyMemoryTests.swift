import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import LedgerEngine

/// Who gets memory for replies, who waits for it, and who is woken.
@Suite struct ReplyMemoryTests {
    /// What was woken, in order.
    private final class Woken: Sendable {
        private let names = Mutex<[String]>([])
        func add(_ name: String) { names.withLock { $0.append(name) } }
        var all: [String] { names.withLock { $0 } }
    }

    private static let pageBytes = 100

    private func page(
        _ memory: ReplyMemory, _ bytes: Int = pageBytes, of tenant: Tenant = Tenant()
    ) -> ReplyMemory.Page? {
        if case .taken(let page) = memory.takePage(bytes, of: tenant, grant: nil) { page } else { nil }
    }

    /// Pages that were granted to those who waited, by their names, until they are let go of.
    private final class Granted: Sendable {
        private let pages = Mutex<[(name: String, page: ReplyMemory.Page)]>([])
        var names: [String] { pages.withLock { $0.map { $0.name } } }
        func add(_ name: String, _ page: ReplyMemory.Page) { pages.withLock { $0.append((name, page)) } }

        /// A page goes outside of the lock, for whoever has it next is added under it.
        func remove(_ name: String) {
            let page = pages.withLock { pages in
                pages.firstIndex { $0.name == name }.map { pages.remove(at: $0) }
            }
            withExtendedLifetime(page) {}
        }
    }

    /// Asks for a page that it waits for.
    private func wait(
        _ memory: ReplyMemory, _ name: String, of tenant: Tenant, _ granted: Granted, _ bytes: Int = pageBytes
    ) throws -> ReplyMemory.Ticket {
        guard case .waits(let ticket) = memory.takePage(bytes, of: tenant, grant: { granted.add(name, $1) }) else {
            throw StoreError("\(name) does not wait")
        }
        return ticket
    }

    private func share(_ memory: ReplyMemory, _ name: String = "", _ woken: Woken = Woken()) -> ReplyShare {
        let share = ReplyShare(of: memory, stepBytes: 1)
        share.wake = { woken.add(name) }
        return share
    }

    /// Each takes a fourth of what is left, and gives nothing back.
    @Test func aTenantThatNeverReadsLeavesHalfToTheOthers() {
        let memory = ReplyMemory(bytesMax: 1 << 20)
        func takers(_ count: Int, of tenant: Tenant) -> [ReplyShare] {
            (0..<count).map { _ in
                let share = ReplyShare(of: memory, stepBytes: 64)
                share.settle(0, unread: 0, of: tenant)
                var bytes = 1 << 20
                while bytes >= 64 && !share.reserve(bytes, waits: false) { bytes -= 64 }
                share.settle(bytes, unread: bytes, of: tenant)
                return share
            }
        }
        let first = takers(100, of: Tenant())
        #expect((450_000...(1 << 19)).contains(memory.sums.taken), "\(memory.sums)")
        let second = takers(100, of: Tenant())
        #expect((700_000...(3 << 18)).contains(memory.sums.taken), "\(memory.sums)")
        let client = ReplyShare(of: memory, stepBytes: 64)
        #expect(client.reserve(50_000, waits: false))
        withExtendedLifetime((first, second)) { client.end() }
    }

    /// However many connections it opens for that, and whoever they were until then.
    @Test func aTenantTakesNoMoreOnConnectionsThatWereNobodysUntilNow() {
        let memory = ReplyMemory(bytesMax: 1 << 20)
        let tenant = Tenant()
        let shares = (0..<100).map { _ in
            let share = ReplyShare(of: memory, stepBytes: 64)
            share.belong(to: tenant)
            var bytes = 1 << 20
            while bytes >= 64 && !share.reserve(bytes, waits: false) { bytes -= 64 }
            return share
        }
        #expect((450_000...(1 << 19)).contains(memory.sums.taken), "\(memory.sums)")
        withExtendedLifetime(shares) {}
    }

    @Test func whoWaitsAndIsAnotherMeanwhileWaitsOnAsThatOne() {
        let memory = ReplyMemory(bytesMax: 1_000)
        let woken = Woken()
        let (greedy, modest) = (Tenant(), Tenant())
        let holder = share(memory)
        holder.belong(to: greedy)
        #expect(holder.reserve(200, waits: false))
        holder.settle(400, unread: 0, of: greedy)
        let waiter = share(memory, "waiter", woken)
        waiter.belong(to: greedy)
        // A fourth of the 600 that are left; but the tenant would have more than it leaves.
        #expect(!waiter.reserve(140, waits: true) && memory.isShort && woken.all == [])
        waiter.belong(to: modest)
        #expect(woken.all == ["waiter"] && waiter.reserve(140, waits: true) && !memory.isShort)
        for share in [holder, waiter] { share.end() }
        #expect(memory.sums == (0, 0))
    }

    @Test func nobodyHasMoreThanAFourthOfWhatIsFree() {
        let memory = ReplyMemory(bytesMax: 1_000)
        let (first, second) = (share(memory), share(memory))
        #expect(!first.reserve(251, waits: false))
        #expect(first.reserve(200, waits: false))
        #expect(!first.reserve(201, waits: false), "a fourth of 800")
        #expect(!second.reserve(201, waits: false))
        #expect(second.reserve(100, waits: false))
        #expect(memory.sums == (300, 0))
        first.settle(50, unread: 20)
        #expect(memory.sums == (150, 20))
        #expect(second.reserve(200, waits: false))
        first.end()
        second.end()
        #expect(memory.sums == (0, 0) && !memory.isShort)
    }

    @Test func howeverManyTakeWhatTheyCanSomethingIsLeft() {
        let memory = ReplyMemory(bytesMax: 128 << 20)
        let greedy = (0..<1_000).map { _ in share(memory) }
        for _ in 0..<100 {
            for share in greedy {
                var bytes = 0
                while share.reserve(bytes + 16_384, waits: false) { bytes += 16_384 }
            }
        }
        // A step of 16,384 is taken only where there are four of them, so that three are left.
        #expect(share(memory).reserve(12_000, waits: false))
        withExtendedLifetime(greedy) {}
    }

    @Test func whoWaitsIsWokenInOrderWhenThereIsRoom() {
        let memory = ReplyMemory(bytesMax: 1_000)
        let woken = Woken()
        let holder = share(memory)
        holder.settle(900, unread: 900)
        let waiters = (1...3).map { share(memory, "\($0)", woken) }
        #expect(!waiters[0].reserve(100, waits: true))
        #expect(!waiters[1].reserve(200, waits: true))
        #expect(!waiters[2].reserve(30, waits: true))
        // Who asks again keeps its place.
        #expect(!waiters[0].reserve(100, waits: true))
        #expect(memory.isShort && woken.all == [])
        holder.settle(880, unread: 880)
        #expect(woken.all == ["3"], "there is room for the smallest only")
        #expect(waiters[2].reserve(30, waits: true))
        holder.settle(500, unread: 500)
        #expect(woken.all == ["3", "1"], "as if the first had taken its own")
        #expect(waiters[0].reserve(100, waits: true))
        waiters[1].end()
        #expect(!memory.isShort)
        holder.settle(0, unread: 0)
        #expect(woken.all == ["3", "1"], "who went away is not woken")
    }

    /// However many connections the other has.
    @Test func tenantsThatWaitTakeTurns() {
        let memory = ReplyMemory(bytesMax: 1_000)
        let woken = Woken()
        let (many, few) = (Tenant(share: 1), Tenant(share: 1))
        let holder = share(memory)
        holder.settle(1_000, unread: 1_000)
        var waiters: [ReplyShare] = []
        for (name, tenant) in [("m1", many), ("m2", many), ("m3", many), ("f1", few), ("m4", many), ("f2", few)] {
            let waiter = share(memory, name, woken)
            waiter.belong(to: tenant)
            #expect(!waiter.reserve(10, waits: true))
            waiters.append(waiter)
        }
        // One that is another's by now waits behind that one's.
        waiters[1].belong(to: few)
        holder.settle(900, unread: 900)
        #expect(woken.all == ["m1", "f1", "m3", "f2", "m4", "m2"])
    }

    /// It has much itself, and so may have no more before that is given back.
    @Test func whoHasMuchHoldsUpNoOtherOfItsTenant() {
        let memory = ReplyMemory(bytesMax: 1_000)
        let woken = Woken()
        let tenant = Tenant()
        let (much, little, holder) = (share(memory, "much", woken), share(memory, "little", woken), share(memory))
        for waiter in [much, little] { waiter.belong(to: tenant) }
        #expect(much.reserve(150, waits: false))
        holder.settle(840, unread: 0)
        #expect(!much.reserve(160, waits: true) && !little.reserve(10, waits: true))
        holder.settle(600, unread: 0)
        #expect(woken.all == ["little"])
        withExtendedLifetime(much) {}
    }

    @Test func whoWaitsForLittleDoesNotWaitBehindALongLineOfItsTenant() {
        let memory = ReplyMemory(bytesMax: 8 << 20)
        let woken = Woken()
        let tenant = Tenant(share: 1)
        let holder = share(memory)
        holder.settle(8 << 20, unread: 0)
        let (line, reply) = (share(memory, "line", woken), share(memory, "reply", woken))
        for waiter in [line, reply] { waiter.belong(to: tenant) }
        #expect(!line.reserve(1 << 20, waits: true) && !reply.reserve(1_000, waits: true))
        holder.settle(7 << 20, unread: 0)
        #expect(woken.all == ["reply"])
        // What it waits for may come to be little.
        #expect(reply.reserve(1_000, waits: true) && !line.reserve(300_000, waits: true))
        #expect(line.reserve(1_000, waits: true) && !memory.isShort)
        #expect(!line.reserve(1 << 20, waits: true))
        holder.settle(0, unread: 0)
        #expect(woken.all == ["reply", "line"])
    }

    @Test func whoIsWokenAndTakesNothingLetsThoseBehindGoOn() {
        let memory = ReplyMemory(bytesMax: 1_000)
        let woken = Woken()
        let holder = share(memory)
        let first = share(memory, "1", woken)
        let second = share(memory, "2", woken)
        for hasLeft in [false, true] {
            holder.settle(900, unread: 0)
            #expect(!first.reserve(150, waits: true) && !second.reserve(120, waits: true))
            holder.settle(400, unread: 0)
            #expect(woken.all.last == "1", "there is room for one")
            // The end of its turn, or of its connection.
            if hasLeft { first.end() } else { first.settle(0, unread: 0) }
            #expect(woken.all.last == "2")
            #expect(second.reserve(120, waits: true) && !memory.isShort)
            second.settle(0, unread: 0)
        }
        // Nor is it waited for any more who has enough by now.
        first.settle(50, unread: 0)
        holder.settle(900, unread: 0)
        #expect(!first.reserve(100, waits: true) && memory.isShort)
        #expect(first.reserve(50, waits: true) && !memory.isShort)
        for share in [holder, first, second] { share.end() }
        #expect(memory.sums == (0, 0))
    }

    @Test func pagesAskOnlyHowMuchIsUnread() throws {
        let memory = ReplyMemory(bytesMax: 1_000)
        let holder = share(memory)
        holder.settle(5_000, unread: 0)
        let granted = Granted()
        var first = page(memory, 400)
        #expect(first != nil && memory.sums == (5_400, 400))
        #expect(page(memory, 200) == nil)
        _ = try wait(memory, "page", of: Tenant(), granted, 200)
        #expect(memory.isShort)
        first = nil
        #expect(granted.names == ["page"] && !memory.isShort && memory.sums == (5_200, 200))
        granted.remove("page")
        #expect(page(memory, 9_000) != nil, "the largest has room where nothing is unread")
        holder.end()
        #expect(memory.sums == (0, 0))
    }

    // MARK: Pages of tenants

    /// One that asks on very many connections leaves as much as it takes, and another has its pages at once.
    @Test func aTenantHasNoMorePagesThanItLeavesToTheOthers() throws {
        let memory = ReplyMemory(bytesMax: 2_000)
        let (many, few) = (Tenant(), Tenant())
        let granted = Granted()
        var held = (0..<5).compactMap { _ in page(memory, of: many) }
        #expect(held.count == 5, "half of the half")
        for number in 0..<500 { _ = try wait(memory, "many \(number)", of: many, granted) }
        var others = [try #require(page(memory, of: few)), try #require(page(memory, of: few))]
        #expect(page(memory, of: few) == nil, "a third would be more than is left")
        // However little is left, who has nothing may have a page.
        others += [try #require(page(memory, of: Tenant())), try #require(page(memory, of: Tenant()))]
        others.append(try #require(page(memory, of: Tenant())))
        #expect(page(memory, of: Tenant()) == nil && granted.names == [])
        others = []
        #expect(granted.names == [], "it has as much as is left already")
        held.removeLast()
        #expect(granted.names == ["many 0"])
        #expect(memory.waits == 499)
        withExtendedLifetime(held) {}
    }

    /// What was answered, and its clients do not read, counts as much as pages that are being read.
    @Test func whatATenantsClientsDoNotReadCountsAsItsPages() throws {
        let memory = ReplyMemory(bytesMax: 2_000)
        let (slow, other) = (Tenant(), Tenant())
        let connections = (0..<50).map { _ in share(memory) }
        for connection in connections { connection.settle(10, unread: 10, of: slow) }
        #expect(page(memory, of: slow) == nil)
        #expect(page(memory, of: other) != nil)
        // It has authenticated as somebody else.
        for connection in connections { connection.settle(10, unread: 10, of: other) }
        #expect(page(memory, of: slow) != nil)
        #expect(page(memory, of: other) == nil)
        for connection in connections { connection.end() }
        #expect(memory.sums == (0, 0))
        #expect(page(memory, of: other) != nil)
    }

    @Test func tenantsThatWaitForPagesTakeTurns() throws {
        let memory = ReplyMemory(bytesMax: 400)
        let (many, few) = (Tenant(), Tenant())
        let granted = Granted()
        var held = [try #require(page(memory, of: Tenant())), try #require(page(memory, of: Tenant()))]
        for number in 0..<20 { _ = try wait(memory, "many \(number)", of: many, granted) }
        for number in 0..<2 { _ = try wait(memory, "few \(number)", of: few, granted) }
        held = []
        #expect(held.isEmpty && granted.names == ["many 0", "few 0"])
        granted.remove("many 0")
        #expect(granted.names == ["few 0", "many 1"])
        granted.remove("few 0")
        #expect(granted.names == ["many 1", "few 1"])
        for number in 1..<19 {
            granted.remove("many \(number)")
            granted.remove("few 1")
        }
        granted.remove("many 19")
        #expect(!memory.isShort && granted.names == [] && memory.sums == (0, 0))
    }

    @Test func whoWaitsNoMoreIsNotCountedAndHoldsNobodyUp() throws {
        let memory = ReplyMemory(bytesMax: 200)
        let tenant = Tenant()
        let granted = Granted()
        var held = page(memory)
        #expect(held != nil)
        let tickets = try (0..<3).map { try wait(memory, "\($0)", of: tenant, granted) }
        memory.cancel(tickets[0])
        memory.cancel(tickets[0])
        #expect(memory.waits == 2)
        held = nil
        #expect(granted.names == ["1"])
        // It was on its way already, and whoever asked for it is gone.
        memory.cancel(tickets[1])
        granted.remove("1")
        #expect(granted.names == ["2"] && !memory.isShort)
        granted.remove("2")
        #expect(memory.sums == (0, 0))
    }

    // MARK: Standbys

    @Test func whatAStandbyIsToldTakesNothingFromTheOthers() throws {
        let memory = ReplyMemory(bytesMax: 1_000)
        let standby = share(memory)
        var additions: [ReplyMemory.Addition] = []
        for pages in 1...10 {
            additions.append(memory.add(400))
            standby.settle(400 * pages, unread: 400 * pages, of: Tenant())
            let client = share(memory)
            #expect(client.reserve(250, waits: false), "a fourth of all")
            client.end()
            #expect(page(memory, 500) != nil, "all that pages may have")
        }
        #expect(memory.added == 4_000)
        standby.end()
        additions = []
        #expect(additions.isEmpty && memory.added == 0 && memory.sums == (0, 0))
    }

    @Test func manyThreadsGiveBackAllAndNobodyIsForgotten() async {
        let memory = ReplyMemory(bytesMax: 100_000)
        let seed = Seed.drawn()
        await withTaskGroup(of: Void.self) { group in
            for client in 0..<32 {
                group.addTask {
                    var random = SplitMix64(seed: seed &+ UInt64(client))
                    let (wakes, waker) = AsyncStream<Void>.makeStream()
                    let share = ReplyShare(of: memory, stepBytes: 64)
                    share.wake = { waker.yield() }
                    var iterator = wakes.makeAsyncIterator()
                    for _ in 0..<300 {
                        let bytes = Int.random(in: 1...8_000, using: &random)
                        // A wake-up that does not come leaves the test waiting.
                        while !share.reserve(bytes, waits: true) { await iterator.next() }
                        await Task.yield()
                        share.settle(bytes / 2, unread: bytes / 4)
                        await Task.yield()
                        share.settle(0, unread: 0)
                    }
                    share.end()
                }
            }
        }
        #expect(memory.sums == (0, 0) && !memory.isShort)
    }
}
