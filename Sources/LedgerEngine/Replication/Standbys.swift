import DequeModule
package import Ledger

/// The standbys of this ledger: up to which block each has the chain, and what waits here until enough of them have a
/// block.
///
/// A block that is durable here is *safe* once as many standbys as are required have it too. Until then nothing that
/// saw it is answered, and the tables do not get it: so what was answered, or read, is not lost with this machine.
///
/// States: *enough* (the last block is safe, or will be in time); *lacking* (a block was not safe in time: what waits
/// is answered, and until the last block is safe nothing is decided and nothing is read).
///
/// Invariants:
/// 1. What is held is ended in the order in which it came, by one thread at a time.
/// 2. Once safe a block stays safe, whatever a standby says later.
/// 3. A block that was not safe in time is still here, and is handed on when it is safe.
package final class Standbys: Sendable {
    /// How many must have a block, and for how long it is waited for.
    package struct Requirement: Hashable, Sendable {
        package var count: Int
        package var timeoutMilliseconds: UInt64

        package init(count: Int = 0, timeoutMilliseconds: UInt64 = 5_000) {
            self.count = count
            self.timeoutMilliseconds = timeoutMilliseconds
        }
    }

    private struct Member {
        var block: BlockNumber
        var sessions: Int
    }

    /// What waits for a block to be safe.
    private struct Held {
        var number: BlockNumber
        /// Called when it is, before `done`.
        var safe: @Sendable () -> Void
        /// Called when it is, or when its time is over; `nil` once it was.
        var done: (@Sendable (StoreError?) -> Void)?
        /// What `done` is told when its time is over.
        var failure: StoreError
        var deadline: UInt64
    }

    private struct State {
        var members: [StandbyName: Member] = [:]
        /// How many are required: none until the ledger leads.
        var required = 0
        var safe: BlockNumber = 0
        var held = Deque<Held>()
        /// The last block for which anything has waited.
        var wanted: BlockNumber = 0
        var isLacking = false
        var isStopped = false
    }

    /// Told the number of each block that is durable here.
    let feed: Feed
    private let requirement: Requirement
    private let state = Monitor(State())
    private let thread = OwnThread()
    private let report: @Sendable (LedgerEvent) -> Void

    /// - Throws: ``StoreError`` where the system has no more threads.
    package init(
        _ requirement: Requirement = Requirement(), report: @escaping @Sendable (LedgerEvent) -> Void = { _ in }
    ) throws {
        self.requirement = requirement
        self.report = report
        feed = try Feed()
        if requirement.count > 0 { try thread.begin("ledger-standbys") { [self] in serve() } }
    }

    /// Who has asked for blocks, by name, with the last block that each has, and whether it has a connection; and how
    /// many are required.
    package var standing: (required: Int, members: [(name: StandbyName, block: BlockNumber, isConnected: Bool)]) {
        state.withLock { state in
            let names = state.members.keys.sorted()
            return (
                requirement.count,
                names.map { ($0, state.members[$0]?.block ?? 0, (state.members[$0]?.sessions ?? 0) > 0) }
            )
        }
    }

    // MARK: Who follows

    /// A session of a standby's begins.
    /// - Returns: `false` where there are as many standbys as may be.
    func come(_ name: StandbyName) -> Bool {
        let (isAdmitted, isNew) = state.withLock { state -> (Bool, Bool) in
            if state.members[name] == nil, state.members.count == EngineLimits.standbysMax {
                guard let gone = state.members.first(where: { $0.value.sessions == 0 }) else { return (false, false) }
                state.members[gone.key] = nil
            }
            var member = state.members[name] ?? Member(block: 0, sessions: 0)
            member.sessions += 1
            state.members[name] = member
            return (true, member.sessions == 1)
        }
        if isNew { report(.standbyCame(name)) }
        return isAdmitted
    }

    /// A session of a standby's has ended.
    func leave(_ name: StandbyName) {
        let isLast = state.withLock { state in
            state.members[name]?.sessions -= 1
            return state.members[name]?.sessions == 0
        }
        if isLast { report(.standbyLeft(name)) }
    }

    /// A standby says that it has the chain durably up to a block, which is one of this ledger's.
    func note(_ name: StandbyName, durable block: BlockNumber) {
        let isRisen = state.withLock { state in
            state.members[name]?.block = block
            return Standbys.raiseSafe(&state)
        }
        if isRisen { state.wakeAll() }
    }

    /// Answers a standby's question, and notes what it says of itself with that.
    /// - Parameter log: this ledger's.
    /// - Throws: ``StoreError``; ``Fault/chainMismatch(head:)`` where the block after which it asks is not the log's.
    func blocks(_ query: BlocksQuery, of log: any BlockLog) throws -> BlocksPage {
        let head = log.head ?? .empty
        guard let hash = Digest(query.hash), query.after <= head.number else {
            throw Fault.chainMismatch(head: head.number)
        }
        var blocks: [SealedBlock] = []
        if query.after < head.number {
            do throws(LogError) {
                blocks = try log.read(after: query.after, bytesMax: query.bytesMax)
            } catch {
                throw StoreError(error)
            }
        }
        guard hash == blocks.first?.previous ?? head.hash else { throw Fault.chainMismatch(head: head.number) }
        note(query.standby, durable: query.durable)
        return BlocksPage(
            blocks: blocks.map {
                BlocksPage.Block(hash: $0.hash.bytes, body: $0.body, redactable: $0.redactable)
                // Not the head of before: what erased a name that is not there is in the log by now.
            }, head: (log.head ?? head).number)
    }

    private static func raiseSafe(_ state: inout State) -> Bool {
        let blocks = state.members.values.map(\.block).sorted(by: >)
        guard state.required > 0, blocks.count >= state.required, blocks[state.required - 1] > state.safe else {
            return false
        }
        state.safe = blocks[state.required - 1]
        return true
    }

    // MARK: What waits for them

    /// The ledger leads: from now on what is required holds.
    func begin() {
        state.withLock { state in
            precondition(state.held.isEmpty, "something waits already")
            state.required = requirement.count
            _ = Standbys.raiseSafe(&state)
        }
    }

    /// Why nothing may be decided or read at this moment.
    func fault() -> StoreError? { state.withLock { $0.isLacking ? lack(of: $0) : nil } }

    private func lack(of state: State) -> StoreError {
        StoreError(
            .notReady,
            "fewer than \(state.required) standbys have the last blocks: nothing is answered before they have them")
    }

    /// - Throws: ``StoreError`` where fewer standbys than are required have a block.
    func checkIsSafe(_ number: BlockNumber) throws(StoreError) {
        let failure: StoreError? = state.withLock { state in
            state.required == 0 || number <= state.safe ? nil : lack(of: state)
        }
        if let failure { throw failure }
    }

    /// Calls `safe`, and then `done`, once a block is safe; where it is not in time, `done` with the failure then, and
    /// `safe` once it is.
    /// - Parameters:
    ///   - number: the block; 0 for what waits only for what came before it.
    ///   - adds: whether the block is that batch's own: then nobody knows yet what becomes of it.
    func hold(
        until number: BlockNumber, adds: Bool, safe: @escaping @Sendable () -> Void = {},
        done: (@Sendable (StoreError?) -> Void)?
    ) {
        let mustWait = state.withLock { state in
            if state.required == 0 { return false }
            let failure =
                adds
                ? StoreError(
                    .unknown, "block \(number) is durable here, but fewer than \(state.required) standbys have it")
                : lack(of: state)
            state.wanted = max(state.wanted, number)
            state.held.append(
                Held(
                    number: number, safe: safe, done: done, failure: failure,
                    deadline: monotonicNanoseconds() + requirement.timeoutMilliseconds * 1_000_000))
            return true
        }
        if mustWait { return state.wakeAll() }
        safe()
        done?(nil)
    }

    /// Waits until a block is safe, and everything before it was handed on.
    /// - Throws: ``StoreError`` where it is not in time.
    func await(_ number: BlockNumber) throws(StoreError) {
        let failure = Monitor<StoreError??>(nil)
        hold(until: number, adds: false) { error in
            failure.withLock { $0 = .some(error) }
            failure.wakeAll()
        }
        if let failure = failure.wait({ $0 }) { throw failure }
    }

    /// Ends what waits, and its thread. What is not safe by now is not handed on: the next start does it.
    func stop() {
        feed.stop()
        state.withLock { $0.isStopped = true }
        state.wakeAll()
        thread.join()
    }

    // MARK: The thread

    private enum Step {
        case hand(Held)
        case fail(@Sendable (StoreError?) -> Void, StoreError)
        case say(LedgerEvent)
        case end
    }

    private func serve() {
        while true {
            switch state.waitOrUntil({ next(&$0) }) {
            case .hand(let held):
                held.safe()
                held.done?(nil)
            case .fail(let done, let failure): done(failure)
            case .say(let event): report(event)
            case .end: return
            }
        }
    }

    private func next(_ state: inout State) -> Monitor<State>.Next<Step> {
        if let first = state.held.first, first.number <= state.safe || state.required == 0 {
            state.held.removeFirst()
            return .ready(.hand(first))
        }
        if state.isLacking, state.safe >= state.wanted {
            state.isLacking = false
            return .ready(.say(.standbysEnough(safe: state.safe)))
        }
        guard let place = state.held.firstIndex(where: { $0.done != nil }), let done = state.held[place].done else {
            return state.isStopped ? .ready(.end) : .wait
        }
        let now = monotonicNanoseconds()
        if now >= state.held[place].deadline, !state.isLacking {
            state.isLacking = true
            return .ready(
                .say(
                    .standbysLacking(
                        required: state.required, block: state.held[place].number,
                        connected: state.members.values.filter { $0.sessions > 0 }.count)))
        }
        guard state.isLacking || state.isStopped else { return .waitUntil(state.held[place].deadline) }
        let failure = state.held[place].failure
        // What adds nothing has nothing to hand on either.
        if failure.kind == .unknown { state.held[place].done = nil } else { state.held.remove(at: place) }
        return .ready(.fail(done, failure))
    }
}
