import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// What sessions of standbys are told, and what of it is in memory.
@Suite(.serialized) struct StandbySessionTests {
    /// A ledger with blocks, and connections of standbys.
    private final class Leader: Sendable {
        let bench: Bench
        let memory: ReplyMemory
        let standbys: Standbys
        private let ledger: RunningLedger

        init(memoryBytes: Int = 100_000) throws {
            standbys = try Standbys()
            bench = try Bench(standbys: standbys)
            memory = ReplyMemory(bytesMax: memoryBytes)
            var limits = EngineLimits()
            limits.expirySweepMilliseconds = 3_600_000
            ledger = try RunningLedger(
                store: bench.engine, verifier: try SandboxApp().verifier, standbys: standbys, limits: limits,
                now: { Bench.now }, report: { _ in })
        }

        /// Adds so many blocks of some 300 grants each: about 100 KiB.
        func add(blocks: Int, of name: String) throws {
            for block in 0..<blocks {
                let grants = (0..<300).map { number in
                    Command.grant(
                        Grant(
                            key: RequestKey("\(name)-\(block)-\(number)")!, account: AccountName("ann")!,
                            currency: Bench.gems, amount: Amount(1)!,
                            note: String(repeating: "n", count: Limits.noteBytesMax)))
                }
                _ = try bench.ask(grants)
            }
        }

        func connect() -> Connection { Connection(ledger, memory, bench) }

        func stop() async throws { try await ledger.stop() }
    }

    /// A connection as a server has it: what it is told counts as unread until its client reads it.
    private final class Connection: Sendable {
        struct Told: Sendable {
            var answers: [String] = []
            var blocks: [[BlocksPage.Block]] = []
            /// Bytes of the pages that its client has not read.
            var unread = 0
            var isDisplaced = false
        }

        let session: LedgerSession
        private let bench: Bench
        private let told = Monitor(Told())
        private let share: Share

        /// Used by one thread at a time: by the outlet, and by the test when that has nothing to do.
        private final class Share: @unchecked Sendable {
            let share: ReplyShare
            init(_ memory: ReplyMemory) { share = ReplyShare(of: memory, stepBytes: 1) }
        }

        init(_ ledger: RunningLedger, _ memory: ReplyMemory, _ bench: Bench) {
            let share = Share(memory)
            self.share = share
            self.bench = bench
            session = ledger.session(
                memory: memory, outlet: .queue(), displaced: { [told] in told.withLock { $0.isDisplaced = true } }
            ) { [told] answers in
                let unread = told.withLock { told in
                    told.unread += answers.reduce(0) { $0 + Connection.bytes($1) }
                    return told.unread
                }
                share.share.settle(unread, unread: unread)
                // Whoever sees the answers sees that they count, too.
                told.withLock { told in
                    for answer in answers { Connection.note(answer, &told) }
                }
            }
        }

        private static func bytes(_ answer: Answer) -> Int {
            guard case .success(.blocks(let page)) = answer else { return 0 }
            return page.blocks.reduce(0) { $0 + ($1.body.count + $1.redactable.count) / 3 * 4 + 100 }
        }

        private static func note(_ answer: Answer, _ told: inout Told) {
            switch answer {
            case .success(.blocks(let page)):
                told.answers.append(page.blocks.isEmpty ? "nothing" : "blocks")
                told.blocks.append(page.blocks)
            case .success: told.answers.append("outcome")
            case .failure(let fault): told.answers.append("\(fault)")
            }
        }

        var answers: [String] { told.withLock { $0.answers } }
        var pages: [[BlocksPage.Block]] { told.withLock { $0.blocks } }
        var unread: Int { told.withLock { $0.unread } }
        /// Whether it was told that it is to be closed.
        var isDisplaced: Bool { told.withLock { $0.isDisplaced } }

        /// Asks for what is behind the first block, or behind the last one, in the name of a standby.
        func ask(
            behindLast: Bool = false, wait: Int64 = 0, bytesMax: Int = Limits.blocksPageBytesDefault,
            as name: String = "b", _ permission: LedgerSession.ReadPermission = .read
        ) throws {
            let block = try #require(behindLast ? bench.log.blocks.last : bench.log.blocks.first)
            let query = BlocksQuery(
                standby: try #require(StandbyName(name)), after: block.number, hash: block.hash.bytes,
                durable: block.number, waitMilliseconds: wait, bytesMax: bytesMax)
            session.allowRead(permission, taken: answers.count)
            session.submit([.query(.blocks(query))])
        }

        /// Its client reads everything.
        func read() {
            told.withLock { $0.unread = 0 }
            share.share.settle(0, unread: 0)
        }

        func close() {
            share.share.end()
            session.close()
        }
    }

    /// A connection that was lost holds nobody up: the standby comes again, and is told blocks at once.
    @Test func aStandbyThatComesAgainIsToldBlocksAndTheOldestSessionIsTurnedAway() async throws {
        let leader = try Leader()
        let connections = (0..<3).map { _ in leader.connect() }
        for (number, connection) in connections[..<2].enumerated() {
            try connection.ask(behindLast: true, wait: 30_000)
            #expect(try eventually { leader.standbys.feed.count == number + 1 })
        }
        try connections[2].ask(behindLast: true, wait: 30_000)
        #expect(try eventually { connections[0].answers == ["overloaded"] }, "it waits no more")
        #expect(try eventually { leader.standbys.feed.count == 2 })
        try connections[0].ask()
        #expect(try eventually { connections[0].answers == ["overloaded", "overloaded"] })
        _ = try leader.bench.ask(.grant("g", "ann", 1))
        #expect(try eventually { connections[1].answers == ["blocks"] && connections[2].answers == ["blocks"] })
        // Whoever gave way leaves the others as they are.
        connections[0].close()
        try connections[2].ask()
        #expect(try eventually { connections[2].answers == ["blocks", "blocks"] })
        for connection in connections[1...] { connection.close() }
        try await leader.stop()
    }

    /// A network that loses packets leaves connections behind of which the leader knows nothing for long.
    @Test func aStandbyThatLosesOneConnectionAfterAnotherIsToldBlocksOnEach() async throws {
        let leader = try Leader()
        try leader.add(blocks: 1, of: "a")
        var connections: [Connection] = []
        for number in 0..<12 {
            let connection = leader.connect()
            connections.append(connection)
            try connection.ask()
            #expect(try eventually { connection.answers == ["blocks"] }, "\(number): \(connection.answers)")
            // As a server does, which closes what gave way.
            if number >= EngineLimits.standbySessionsMax {
                let former = connections[number - EngineLimits.standbySessionsMax]
                #expect(try eventually { former.isDisplaced })
                former.close()
            }
        }
        #expect(connections.count { $0.isDisplaced } == 10)
        for connection in connections { connection.close() }
        try await leader.stop()
    }

    /// One token of a standby's, on any number of connections that read nothing.
    @Test func pagesThatStandbysDoNotReadAreFewAndTakeNothingFromClients() async throws {
        let leader = try Leader(memoryBytes: 400_000)
        try leader.add(blocks: 2, of: "a")
        let connections = (0..<40).map { _ in leader.connect() }
        for connection in connections {
            try connection.ask(bytesMax: Limits.blocksPageBytesMax)
            #expect(try eventually { connection.answers.count == 1 })
        }
        let told = connections.filter { $0.answers == ["blocks"] }
        #expect(told.count == EngineLimits.standbySessionsMax + EngineLimits.formerStandbySessionsMax)
        #expect(connections.filter { $0.answers == ["overloaded"] }.count == 36)
        let pageBytes = try #require(told.first).unread
        #expect(leader.memory.sums.unread == 4 * pageBytes && pageBytes > 100_000, "more than clients may have")
        #expect(leader.memory.added >= 4 * pageBytes && leader.memory.added < 4 * pageBytes + 1_000)
        let client = ReplyShare(of: leader.memory, stepBytes: 1)
        #expect(client.reserve(100_000, waits: true) && !leader.memory.isShort, "a fourth of all")
        client.end()
        guard case .taken = leader.memory.takePage(200_000, of: Tenant(), grant: nil) else {
            Issue.record("a client's read waits for a standby")
            return
        }
        // When one of them has ended, another one has its place.
        told[0].close()
        let next = leader.connect()
        try next.ask()
        #expect(try eventually { next.answers == ["blocks"] })
        for connection in connections + [next] { connection.close() }
        #expect(leader.memory.sums == (0, 0) && leader.memory.added == 0)
        try await leader.stop()
    }

    @Test func aPageHasNoMoreThanIsSensibleWhateverIsAsked() async throws {
        let leader = try Leader()
        try leader.add(blocks: 16, of: "a")
        let all = leader.bench.log.blocks[1...].reduce(0) { $0 + $1.body.count + $1.redactable.count }
        #expect(all > EngineLimits.blocksPageBytesMax + 200_000)
        let connection = leader.connect()
        try connection.ask(bytesMax: Limits.blocksPageBytesMax)
        #expect(try eventually { connection.pages.count == 1 })
        let page = connection.pages[0].reduce(0) { $0 + $1.body.count + $1.redactable.count }
        #expect(page <= EngineLimits.blocksPageBytesMax && page > EngineLimits.blocksPageBytesMax / 2)
        connection.close()
        try await leader.stop()
    }

    @Test func aSessionHasOnePageInMemoryAtATime() async throws {
        let leader = try Leader()
        try leader.add(blocks: 1, of: "a")
        let connection = leader.connect()
        try connection.ask()
        #expect(try eventually { connection.answers == ["blocks"] })
        let added = leader.memory.added
        // As in a batch, whose client takes nothing before its end.
        try connection.ask(.readNow)
        #expect(try eventually { connection.answers == ["blocks", "overloaded"] })
        #expect(leader.memory.added == added)
        connection.read()
        try connection.ask()
        #expect(try eventually { connection.answers.last == "blocks" && connection.answers.count == 3 })
        #expect(leader.memory.added == added)
        connection.read()
        try connection.ask(behindLast: true)
        #expect(try eventually { connection.answers.last == "nothing" })
        #expect(leader.memory.added == 0)
        connection.close()
        try await leader.stop()
    }
}
