import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// The sequencer's queues under every order in which threads may come to run: who is woken must suffice.
@Suite struct SequencerScheduleTests {
    /// Threads that take one step at a time, in an order that a generator chooses.
    private struct Simulation {
        enum Writer {
            case asleep
            case woken
            case committing([Submission])
            case verifying(SequencerQueues.Chunk)
        }

        var queues: SequencerQueues
        var random: SplitMix64
        let threads: Int
        private(set) var lanes = (0..<3).map { _ in Lane(outlet: .queue()) { _ in } }
        let tenants = [Tenant(), Tenant(share: 3)]
        /// Verifying threads that were woken and have not run since.
        var wokenVerifiers = 0
        var chunks: [SequencerQueues.Chunk] = []
        var writer = Writer.asleep
        var added = 0
        /// The numbers that went into each lane, and those that came out.
        var submitted: [[Int]] = [[], [], []]
        var committed: [[Int]] = [[], [], []]
        /// Of lanes whose client has gone.
        private(set) var dropped: [(lane: Lane, submitted: [Int], committed: [Int])] = []
        /// How often certificates had a turn, and whether one was for more than one submission.
        var pathTurns = 0
        var isPathTurnLong = false
        /// How often a thread was woken for nothing.
        var vainWakes = 0

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
            threads = Int.random(in: 1...3, using: &random)
            var limits = EngineLimits()
            limits.verifierThreads = threads
            limits.verificationsPerThreadMin = Int.random(in: 1...4, using: &random)
            limits.verificationBatchMax = Int.random(in: 1...5, using: &random)
            limits.verificationsPerPostponedTurn = Int.random(in: 1...20, using: &random)
            limits.operationsPerCommitMin = Int.random(in: 1...6, using: &random)
            limits.operationsPerCommitWorthwhile = Int.random(in: 1...8, using: &random)
            queues = SequencerQueues(limits: limits)
        }

        var isSomebodyUp: Bool {
            if case .asleep = writer { return wokenVerifiers > 0 || !chunks.isEmpty }
            return true
        }

        /// As the sequencer changes them.
        private mutating func update<Result>(_ body: (inout SequencerQueues) -> Result) throws -> Result {
            let result = body(&queues)
            let wakes = queues.wakes()
            if wakes.verifier { wokenVerifiers += 1 }
            if wakes.writer {
                guard case .asleep = writer else { throw Problem("the writer was woken while up") }
                writer = .woken
            }
            guard wokenVerifiers + chunks.count <= threads else { throw Problem("too many threads verify") }
            guard chunks.count(where: \.isPostponed) <= 1, !isPathTurnLong else {
                throw Problem("too many certificates are verified at a time")
            }
            return result
        }

        /// One to three submissions of a lane, some with a JWS.
        mutating func add() throws {
            let lane = Int.random(in: 0..<lanes.count, using: &random)
            if random.chance(10) {
                var verdicts = Submission.Verdicts()
                if random.chance(50) { verdicts.forged = 20 } else { verdicts.good = 20 }
                lanes[lane].doubt.note(verdicts, EngineLimits())
            }
            var submissions: [Submission] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let operation: LedgerOperation =
                    random.chance(60)
                    ? .signed(.transaction(Array(String(added).utf8)), account: nil)
                    : .command(.balance(account: AccountName("\(added)")!, currency: nil))
                submissions.append(
                    Submission(lane: lanes[lane], tenant: tenants[lane % 2], operations: [operation]))
                submitted[lane].append(added)
                added += 1
            }
            let lanes = lanes
            try update { $0.add(submissions) }
        }

        /// A client goes away, and another comes; what the writer has of it already is carried out.
        mutating func drop() throws {
            let lane = Int.random(in: 0..<lanes.count, using: &random)
            let gone = lanes[lane]
            try update { $0.drop(gone) }
            dropped.append((gone, submitted[lane], committed[lane]))
            (submitted[lane], committed[lane]) = ([], [])
            lanes[lane] = Lane(outlet: .queue()) { _ in }
        }

        mutating func runVerifier() throws {
            if wokenVerifiers > 0 && (chunks.isEmpty || random.chance(50)) {
                wokenVerifiers -= 1
                if let chunk = try update({ $0.nextChunk() }) { chunks.append(chunk) } else { vainWakes += 1 }
            } else if let place = chunks.indices.randomElement(using: &random) {
                var done = chunks.remove(at: place)
                postpone(of: &done)
                let next = try update { queues in
                    queues.finish(done)
                    return queues.nextChunk()
                }
                if let next { chunks.append(next) }
            }
        }

        /// As the sequencer does with certificates that it does not know.
        private mutating func postpone(of chunk: inout SequencerQueues.Chunk) {
            if chunk.isPostponed {
                pathTurns += 1
                if chunk.submissions.count > EngineLimits().doubtfulPerTurnMax { isPathTurnLong = true }
            }
            for place in chunk.submissions.indices where chunk.submissions[place].signedCount > 0 {
                chunk.submissions[place].isPostponed = random.chance(30)
            }
        }

        mutating func runWriter() throws {
            switch writer {
            case .asleep: return
            case .woken: break
            case .committing(var batch):
                // A batch may be cut anywhere.
                let rest = random.chance(20) ? Array(batch.dropFirst(Int.random(in: 1...3, using: &random))) : []
                batch.removeLast(rest.count)
                for submission in batch {
                    let numbers = submission.operations.map(Self.number)
                    if let lane = lanes.firstIndex(where: { $0 === submission.lane }) {
                        committed[lane] += numbers
                    } else if let gone = dropped.firstIndex(where: { $0.lane === submission.lane }) {
                        dropped[gone].committed += numbers
                    }
                }
                try update { $0.delivered(SequencerQueues.CommitWork()) }
                if !rest.isEmpty { try update { $0.putBack(rest) } }
            case .verifying(var chunk):
                postpone(of: &chunk)
                try update { [chunk] in $0.finish(chunk) }
            }
            switch try update({ $0.nextForWriter() }) {
            case .commit(let batch, _): writer = .committing(batch)
            case .verify(let chunk): writer = .verifying(chunk)
            case nil: writer = .asleep
            }
        }

        private static func number(_ operation: LedgerOperation) -> Int {
            switch operation {
            case .signed(.transaction(let text), _, _): Int(String(decoding: text, as: UTF8.self)) ?? -1
            case .command(.balance(let account, _), _): Int(account.text) ?? -1
            case .signed, .command, .granting, .query, .promote, .refused: -1
            }
        }
    }

    private struct Problem: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    @Test func nothingIsLeftLyingAndEveryLaneKeepsItsOrder() throws {
        let seed = Seed.drawn()
        var vainWakes = 0
        var pathTurns = 0
        for number in 0..<3_000 {
            var simulation = Simulation(seed: seed &+ UInt64(number))
            let place: Comment = "seed \(seed &+ UInt64(number))"
            let count = 40
            while simulation.added < count || simulation.isSomebodyUp {
                // Now and then nobody comes until all is done.
                if simulation.added < count, !simulation.isSomebodyUp || simulation.random.chance(35) {
                    try simulation.add()
                } else if simulation.random.chance(2) {
                    try simulation.drop()
                } else if simulation.random.chance(50) {
                    try simulation.runVerifier()
                } else {
                    try simulation.runWriter()
                }
                if !simulation.isSomebodyUp {
                    try #require(simulation.queues.isIdle && simulation.queues.waitingCount == 0, place)
                    try #require(simulation.committed == simulation.submitted, place)
                }
            }
            // Of a client that went away nothing is carried out without what stood before it.
            for lane in simulation.dropped {
                try #require(lane.committed.elementsEqual(lane.submitted.prefix(lane.committed.count)), place)
            }
            vainWakes += simulation.vainWakes
            pathTurns += simulation.pathTurns
        }
        #expect(pathTurns > 1_000)
        // The writer took what a thread was woken for.
        #expect(vainWakes > 0)
    }
}
