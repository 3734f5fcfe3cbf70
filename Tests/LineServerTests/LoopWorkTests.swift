import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import LineServer

/// How much is done on an event loop before it reads.
@Suite struct LoopWorkTests {
    /// An event loop without I/O, by a clock of the test's own.
    private final class Bench: @unchecked Sendable {
        private(set) var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
        private var scheduled: [(time: NIODeadline, work: () -> Void)] = []
        private(set) var wakes = 0
        private(set) var done: [String] = []
        /// Microseconds of each moment in which the loop had nothing to do.
        private(set) var pauses: [Int64] = []
        lazy var work = LoopWork(limits: ServerLimits(), now: { self.now }) {
            self.scheduled.append(($0, $1))
        } wake: {
            self.wakes += 1
            self.scheduled.append((self.now, $0))
        }

        func hand(_ name: String, microseconds: Int64) { work.execute { self.take(name, microseconds) } }

        func hand(_ name: String, microseconds: Int64, in time: TimeAmount) {
            work.execute(at: now + time) { self.take(name, microseconds) }
        }

        private func take(_ name: String, _ microseconds: Int64) {
            done.append(name)
            now = now + .microseconds(microseconds)
        }

        func run() {
            while let next = scheduled.indices.min(by: { scheduled[$0].time < scheduled[$1].time }) {
                let (time, work) = scheduled.remove(at: next)
                if time > now { pauses.append((time - now).nanoseconds / 1_000) }
                now = max(now, time)
                work()
            }
        }
    }

    @Test func whatIsHandedOverIsDoneInOrderWithAPauseBehindEachTurn() {
        let bench = Bench()
        for number in 1...12 { bench.hand("\(number)", microseconds: 100) }
        bench.run()
        #expect(bench.done == (1...12).map { "\($0)" })
        #expect(bench.pauses == [10, 10] && bench.wakes == 1, "five take a turn's time")
        bench.hand("again", microseconds: 1)
        bench.run()
        #expect(bench.done.last == "again" && bench.wakes == 2)
    }

    @Test func whatWaitedForItsTimeIsDoneBehindThePauseByTurnsWithWhatWasHandedOver() {
        let bench = Bench()
        for number in 1...100 { bench.hand("\(number)", microseconds: 300) }
        bench.hand("a", microseconds: 300, in: .microseconds(5))
        bench.hand("b", microseconds: 300, in: .microseconds(6))
        bench.run()
        #expect(bench.done.prefix(6) == ["1", "2", "a", "3", "b", "4"])
        #expect(bench.done.count == 102 && bench.done.last == "100")
    }

    @Test func whatIsDoneNowAndThenNeedsNoPause() {
        let bench = Bench()
        for step in 0..<12 { bench.hand("\(step)", microseconds: 100, in: .milliseconds(Int64(step))) }
        // Together with some of those before these would take longer than a turn.
        for step in 0..<4 { bench.hand("together \(step)", microseconds: 100, in: .milliseconds(12)) }
        bench.run()
        #expect(bench.pauses == Array(repeating: 900, count: 12))
    }

    /// Answers for one client that never cease: NIO by itself would read nothing more.
    @Test func theLoopReadsWhileItIsHandedWorkWithoutEnd() async throws {
        final class Echo: ChannelInboundHandler, Sendable {
            typealias InboundIn = ByteBuffer
            func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.writeAndFlush(data, promise: nil) }
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let channel = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(channel.localAddress?.port)
        let client = try await RawClient(.tcp(host: "127.0.0.1", port: port))
        let work = LoopWork(limits: ServerLimits(), on: loop)
        let (isOver, done) = (NIOLockedValueBox(false), NIOLockedValueBox(0))
        @Sendable func goOn() {
            let end = NIODeadline.now() + .microseconds(50)
            while NIODeadline.now() < end {}
            done.withLockedValue { $0 += 1 }
            if !isOver.withLockedValue({ $0 }) { work.execute(goOn) }
        }
        defer { isOver.withLockedValue { $0 = true } }
        work.execute(goOn)
        #expect(try await eventually { done.withLockedValue { $0 } > 100 })
        try await client.send("heard\n")
        #expect(try await client.line() == "heard")
        isOver.withLockedValue { $0 = true }
        try await channel.close()
        try await group.shutdownGracefully()
    }
}
