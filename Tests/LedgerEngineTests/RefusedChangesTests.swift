import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// What stands behind a change that a node does not carry out, of a ledger that another may come to lead.
@Suite(.serialized) struct RefusedChangesTests {
    private final class Bench: Sendable {
        let store = FaultyStore()
        let ledger: RunningLedger
        private let outlet = Outlet.queue()
        private let told = Monitor<[[String]]>([])
        private let sessions = Monitor<[LedgerSession]>([])

        init() throws {
            var limits = EngineLimits()
            limits.expirySweepMilliseconds = 3_600_000
            ledger = try RunningLedger(
                store: store, verifier: try SandboxApp().verifier, isShared: true, limits: limits,
                now: { SandboxApp.date + 60_000 }, report: { _ in })
            ledger.start()
        }

        /// A session that notes its answers under its number.
        func session() -> (number: Int, session: LedgerSession) {
            let number = told.withLock { told in
                told.append([])
                return told.count - 1
            }
            let session = ledger.session(outlet: outlet) { [told] answers in
                told.withLock { $0[number] += answers.map(Bench.name) }
            }
            sessions.withLock { $0.append(session) }
            return (number, session)
        }

        func answers(_ number: Int) -> [String] { told.withLock { $0[number] } }

        private static func name(_ answer: Answer) -> String {
            switch answer {
            case .success(.grant(let receipt)): "entry \(receipt.entry)"
            case .success: "outcome"
            case .failure(.store(let error)): "\(error.kind)"
            case .failure(let fault): "\(fault)"
            }
        }

        func stop() async throws {
            for session in sessions.withLock({ $0 }) { session.close() }
            try await ledger.stop()
        }
    }

    private static func grant(_ key: String) -> LedgerOperation {
        .command(
            .grant(
                Grant(
                    key: RequestKey(key)!, account: AccountName("a")!, currency: CurrencyCode("gems")!,
                    amount: Amount(1)!)))
    }

    private static let balance = LedgerOperation.command(.balance(account: AccountName("a")!, currency: nil))

    /// This node leads again when what stands behind a refused change is decided, and its client does not know of the
    /// refusal: it will ask for that again, and what stands behind it must not come before. Another session goes on.
    @Test func noChangeIsCarriedOutBehindARefusedOneBeforeTheSessionGoesOn() async throws {
        let bench = try Bench()
        let (first, session) = bench.session()
        let (second, other) = bench.session()
        bench.store.setFault(StoreError(.notReady, "nobody leads"))
        session.submit([Self.grant("1")], goesOn: true)
        #expect(try eventually { bench.answers(first).count == 1 })
        bench.store.setFault(nil)
        session.submit([Self.grant("2"), Self.balance, Self.grant("3")])
        other.submit([Self.grant("other")], goesOn: true)
        #expect(try eventually { bench.answers(first).count == 4 && bench.answers(second).count == 1 })
        #expect(bench.answers(first) == ["notReady", "notReady", "outcome", "notReady"])
        #expect(bench.answers(second) == ["entry 1"])
        // All of that is told, and there may be more that was sent before.
        session.submit([Self.grant("4")])
        #expect(try eventually { bench.answers(first).count == 5 })
        #expect(bench.answers(first).last == "notReady")
        session.submit([Self.grant("1"), Self.grant("2")], goesOn: true)
        #expect(try eventually { bench.answers(first).count == 7 })
        #expect(bench.answers(first).suffix(2) == ["entry 2", "entry 3"])
        try await bench.stop()
    }

    /// Whoever goes to the leader by itself has to learn where that is.
    @Test func whileAnotherLeadsEachChangeIsToldWhere() async throws {
        let bench = try Bench()
        let (number, session) = bench.session()
        bench.store.setFault(StoreError(.notLeader(address: "b:1"), ""))
        session.submit([Self.grant("1"), Self.grant("2")], goesOn: true)
        session.submit([Self.grant("3")])
        #expect(try eventually { bench.answers(number).count == 3 })
        #expect(bench.answers(number) == Array(repeating: #"notLeader(address: "b:1")"#, count: 3))
        try await bench.stop()
    }

    /// It is in no block: it may be asked again, whatever became of the change before it.
    @Test func aReadIsNeverInDoubt() async throws {
        let bench = try Bench()
        let (number, session) = bench.session()
        bench.store.failCommits(1, with: StoreError(.unknown, "the test's server does not answer"))
        session.submit([Self.balance, Self.grant("1"), Self.balance, .query(.head)], goesOn: true)
        #expect(try eventually { bench.answers(number).count == 4 })
        #expect(bench.answers(number) == ["notReady", "unknown", "notReady", "notReady"])
        // What stands behind what is in doubt was not carried out, for certain.
        session.submit([Self.grant("2")])
        #expect(try eventually { bench.answers(number).last == "notReady" && bench.answers(number).count == 5 })
        try await bench.stop()
    }

    @Test func whatFailedForAnotherReasonThanTheLeadRefusesNothingBehindIt() {
        let refusals = LaneRefusals()
        refusals.note(StoreError(.corrupt, ""))
        #expect(refusals.refusal == nil)
        refusals.note(StoreError(.unavailable, ""))
        #expect(refusals.refusal?.kind == .notReady)
        refusals.goOn()
        #expect(refusals.refusal == nil)
    }

    /// A node passes on what it has not carried out because it does not lead, and nothing else.
    @Test func whatMayBePassedOn() {
        func places(_ kind: StoreError.Kind, isRead: Bool) -> [Bool] {
            let fate = RequestFate(StoreError(kind, ""))
            return [LeadPlace.elsewhere, .here, .unknown].map { fate.mayPassOn(isRead: isRead, to: $0) }
        }
        for isRead in [true, false] {
            #expect(places(.notLeader(address: "b:1"), isRead: isRead) == [true, true, false])
            #expect(places(.notReady, isRead: isRead) == [true, true, false])
            #expect(places(.unavailable, isRead: isRead) == [!isRead, false, false])
            #expect(places(.unknown, isRead: isRead) == [false, false, false])
            #expect(places(.corrupt, isRead: isRead) == [false, false, false])
        }
    }
}
