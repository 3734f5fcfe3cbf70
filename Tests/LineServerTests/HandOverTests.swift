import Dispatch
import LedgerTestKit
import NIOConcurrencyHelpers
import Testing

/// What a node that is ended does with the leads of its ledgers.
@Suite struct HandOverTests {
    /// Where threads wait for each other.
    private final class Meeting: Sendable {
        private let arrived = NIOLockedValueBox(0)
        private let areAllThere = DispatchSemaphore(value: 0)
        private let size: Int

        init(of size: Int) { self.size = size }

        var count: Int { arrived.withLockedValue { $0 } }

        /// Blocks until all are there, or for twenty seconds, after which nobody waits any more.
        func join() -> Bool {
            let isLast = arrived.withLockedValue { arrived in
                arrived += 1
                return arrived == size
            }
            let isMet = isLast || areAllThere.wait(timeout: .now() + 20) == .success
            if isLast || !isMet { for _ in 0..<size { areAllThere.signal() } }
            return isMet
        }
    }

    /// Each may wait long for its database, and blocks its thread meanwhile: more of them than there are threads of
    /// Swift's own, on a small machine.
    @Test func theLeadsOfAllLedgersAreHandedOverAtOnce() async throws {
        let others = try (1...7).map { number in
            TestServer.Other(name: "l\(number)", app: try SandboxApp(bundleID: "com.example.game\(number)"))
        }
        let meeting = Meeting(of: others.count + 1)
        let alone = NIOLockedValueBox(0)
        try await TestServer.run(
            beside: others, handOver: { if !meeting.join() { alone.withLockedValue { $0 += 1 } } }
        ) { _ in }
        #expect(meeting.count == others.count + 1)
        #expect(alone.withLockedValue { $0 } == 0, "none of them waits for another to be done")
    }
}
