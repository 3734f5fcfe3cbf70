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
/// Of each standby few sessions are told blocks, so few pages of blocks are in memory. Where a further one comes the
/// oldest *gives way*: a standby connects again when its connection was lost, which the leader may learn minutes later,
/// and writes may wait for it. So the newest session is the one at whose end the standby is. One that gave way is told
/// nothing more; while the page that it was told last may be in memory it counts, and where too many of these count a
/// further session is refused.
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

    /// A session's place among those of its standby.
    struct Place: Hashable, Sendable {
        let name: StandbyName
        fileprivate let number: UInt64
    }

    private struct Session {
        let place: Place
        /// Whether its client may not have taken the last page of blocks yet.
        var holdsPage = false
        let giveWay: @Sendable () -> Void
    }

    private struct Member {
        var block: BlockNumber = 0
        /// Those that are told blocks, the oldest first.
        var sessions: [Session] = []
        /// Those that gave way and hold a page.
        var former: [Place] = []

        /// Whether none of its sessions holds anything.
        var isGone: Bool { sessions.isEmpty && former.isEmpty }

        /// Takes the place from the oldest session that may give way. One that holds a page may where few such have.
        /// - Returns: it; `nil` where none may.
        mutating func removeOldest() -> Session? {
            let hasRoom = former.count < EngineLimits.formerStandbySessionsMax
            guard let oldest = sessions.firstIndex(where: { hasRoom || !$0.holdsPage }) else { return nil }
            let session = sessions.remove(at: oldest)
            if session.holdsPage { former.append(session.place) }
            return session
        }
    }

    /// A block was not safe in time: what those are told who wait for it.
    struct Lack {
        /// Of what the block adds: nobody knows yet what becomes of it.
        let ofAdded: StoreError
        /// Of what only saw the block.
        let ofSeen: StoreError
    }

    /// What waits for a block to be safe.
    private struct Held {
        var number: BlockNumber
        /// Called when it is, before `done`.
        var safe: (@Sendable () -> Void)?
        /// Called when it is, or when its time is over; `nil` once it was.
        var done: (@Sendable (Lack?) -> Void)?
        var deadline: UInt64
    }

    private struct State {
        var members: [StandbyName: Member] = [:]
        var lastPlace: UInt64 = 0
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
                names.map { ($0, state.members[$0]?.block ?? 0, state.members[$0]?.sessions.isEmpty == false) }
            )
        }
    }

    /// Whether fewer than are required have the last block in time.
    var isLacking: Bool { state.withLock { $0.isLacking } }

    // MARK: Who follows

    /// A session of a standby's begins.
    /// - Parameter giveWay: called once, when a later session takes its place, on any thread and whatever locks are
    ///   held.
    /// - Returns: `nil` where there are as many standbys as may be, or too many sessions of this one hold pages.
    func come(_ name: StandbyName, giveWay: @escaping @Sendable () -> Void) -> Place? {
        typealias Came = (place: Place, isFirst: Bool, former: Session?)
        let came = state.withLock { state -> Came? in
            if state.members[name] == nil, state.members.count == EngineLimits.standbysMax {
                guard let gone = state.members.first(where: { $0.value.isGone }) else { return nil }
                state.members[gone.key] = nil
            }
            var member = state.members[name] ?? Member()
            var former: Session?
            if member.sessions.count == EngineLimits.standbySessionsMax {
                former = member.removeOldest()
                if former == nil { return nil }
            }
            state.lastPlace += 1
            let place = Place(name: name, number: state.lastPlace)
            member.sessions.append(Session(place: place, giveWay: giveWay))
            state.members[name] = member
            return (place, member.sessions.count == 1, former)
        }
        guard let came else { return nil }
        if came.isFirst { report(.standbyCame(name)) }
        came.former?.giveWay()
        return came.place
    }

    /// A session asks for blocks, or is to be told some.
    /// - Parameter holdsPage: whether its client may not have taken them from now on; where not, it has taken those
    ///   that it was told before.
    /// - Returns: whether the place is its own still; where not it is told nothing.
    func goesOn(_ place: Place, holdsPage: Bool) -> Bool {
        state.withLock { state in
            let sessions = state.members[place.name]?.sessions ?? []
            guard let session = sessions.firstIndex(where: { $0.place == place }) else {
                state.members[place.name]?.former.removeAll { $0 == place }
                return false
            }
            state.members[place.name]?.sessions[session].holdsPage = holdsPage
            return true
        }
    }

    /// A session of a standby's has ended.
    func leave(_ place: Place) {
        let isLast = state.withLock { state in
            guard var member = state.members[place.name] else { return false }
            let count = member.sessions.count
            member.sessions.removeAll { $0.place == place }
            member.former.removeAll { $0 == place }
            state.members[place.name] = member
            return member.sessions.isEmpty && count > 0
        }
        if isLast { report(.standbyLeft(place.name)) }
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

    /// Calls `safe`, and then `done`, once a block is safe; where it is not in time, `done` with that then, and `safe`
    /// once it is.
    /// - Parameter number: the block; 0 for what waits only for what came before it.
    func hold(
        until number: BlockNumber, safe: (@Sendable () -> Void)? = nil, done: (@Sendable (Lack?) -> Void)? = nil
    ) {
        let mustWait = state.withLock { state in
            if state.required == 0 { return false }
            state.wanted = max(state.wanted, number)
            state.held.append(
                Held(
                    number: number, safe: safe, done: done,
                    deadline: monotonicNanoseconds() + requirement.timeoutMilliseconds * 1_000_000))
            return true
        }
        if mustWait { return state.wakeAll() }
        safe?()
        done?(nil)
    }

    /// Waits until a block is safe, and everything before it was handed on.
    /// - Throws: ``StoreError`` where it is not in time.
    func await(_ number: BlockNumber) throws(StoreError) {
        let failure = Monitor<StoreError??>(nil)
        hold(
            until: number,
            done: { lack in
                failure.withLock { $0 = .some(lack?.ofSeen) }
                failure.wakeAll()
            })
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
        case fail(@Sendable (Lack?) -> Void, Lack)
        case say(LedgerEvent)
        case end
    }

    private func serve() {
        while true {
            switch state.waitOrUntil({ next(&$0) }) {
            case .hand(let held):
                held.safe?()
                held.done?(nil)
            case .fail(let done, let lack): done(lack)
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
                        connected: state.members.values.filter { !$0.sessions.isEmpty }.count)))
        }
        guard state.isLacking || state.isStopped else { return .waitUntil(state.held[place].deadline) }
        let number = state.held[place].number
        let lack = Lack(
            ofAdded: StoreError(
                .unknown, "block \(number) is durable here, but fewer than \(state.required) standbys have it"),
            ofSeen: lack(of: state))
        if state.held[place].safe != nil { state.held[place].done = nil } else { state.held.remove(at: place) }
        return .ready(.fail(done, lack))
    }
}
