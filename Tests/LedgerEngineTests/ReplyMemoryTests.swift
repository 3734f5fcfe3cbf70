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

    private func share(_ memory: ReplyMemory, _ name: String = "", _ woken: Woken = Woken()) -> ReplyShare {
        let share = ReplyShare(of: memory, stepBytes: 1)
        share.wake = { woken.add(name) }
        return share
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
        #expect(share(memory).reserve(100_000, waits: false))
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

    @Test func pagesAskOnlyHowMuchIsUnread() {
        let memory = ReplyMemory(bytesMax: 1_000)
        let holder = share(memory)
        holder.settle(5_000, unread: 0)
        let woken = Woken()
        var first = memory.takePage(400, wake: nil)
        #expect(first != nil && memory.sums == (5_400, 400))
        #expect(memory.takePage(200, wake: nil) == nil)
        #expect(memory.takePage(200, wake: { woken.add("page") }) == nil)
        #expect(memory.isShort)
        #expect(memory.takePageNow(9_000).self !== first, "waits for nobody")
        first = nil
        #expect(woken.all == ["page"] && !memory.isShort)
        #expect(memory.takePage(9_000, wake: nil) != nil, "the largest has room where nothing is unread")
        holder.end()
        #expect(memory.sums == (0, 0))
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
