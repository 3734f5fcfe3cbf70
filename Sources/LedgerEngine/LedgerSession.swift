import Ledger

/// One client of a ledger: its operations take effect, and are answered, in the order in which they were submitted.
///
/// A read is a *barrier*: it begins when everything before it is answered, and what was submitted behind it waits here,
/// undecided, until it is answered itself. So a client sees what it wrote, and nothing that it wrote later.
///
/// A standby's session asks for blocks and for nothing else. Its questions do not go through the sequencer, where
/// everything may be waiting for what this standby is about to say. (Behind anything else they do, to keep the order.)
/// Nor do they wait for memory: ``Standbys`` bounds the sessions that are told blocks, and each has one page at a time.
/// One that has given way to a later session of its standby's is answered ``Fault/overloaded``.
///
/// A read's page may be long, so none begins without the client's permission, which is for that read alone: it names
/// how many answers of reads the client has taken. So no page is read before the one before it was taken. Nor before
/// there is room for it in the memory that all clients share, which it has until the client has taken the answer. A
/// read that waits for room for longer than it may take is answered ``Fault/overloaded``.
package final class LedgerSession: Sendable {
    /// What becomes of the read that is next.
    package enum ReadPermission: Sendable {
        /// It waits until the client can take more.
        case wait
        /// One may begin, as soon as there is room for its page.
        case read
        /// One may begin where there is room for its page now, and is answered ``Fault/overloaded`` otherwise: the
        /// client holds memory that it gives back only behind this read.
        case readNow
    }

    private enum Barrier {
        case none
        /// The sequencer fixes what the read sees.
        case preparing
        /// It waits for permission.
        case ready(Query)
        /// It waits for a first new entry of the journal, or a first new block.
        case waiting(Query, Feed.Ticket)
        case waitingForRoom(RoomWait)
        case reading
    }

    /// A read's wait for memory for its page, until its time is over.
    private struct RoomWait {
        let query: Query
        /// By the monotonic clock, in nanoseconds.
        let deadline: UInt64
        let room: ReplyMemory.Ticket
        let time: Feed.Ticket
    }

    private struct State {
        /// Who asks.
        var tenant: Tenant
        var barrier = Barrier.none
        /// Of the read before which so many answers of reads were taken.
        var permission = (kind: ReadPermission.wait, taken: 0)
        /// Reads that have their answer.
        var endedReads = 0
        /// What stands behind the barrier.
        var behind: [LedgerOperation] = []
        /// Whether it may wait for a first new entry or block.
        var mayWait = true
        /// Whether it may never again.
        var isEnding = false
        /// Whether anything went to the sequencer.
        var hasSubmitted = false
        /// Its place among those of its standby, once it has asked for blocks.
        var place: Standbys.Place?
        /// Of the page of blocks that its client may not have taken yet.
        var addition: ReplyMemory.Addition?
        var isClosed = false
    }

    private let state: Monitor<State>
    private let lane: Lane
    private let sequencer: Sequencer
    private let readers: Readers
    private let entries: Feed
    private let standbys: Standbys
    private let memory: ReplyMemory?
    private let prepare: @Sendable (Outcome) -> Outcome
    private let displaced: @Sendable () -> Void
    private let waitNanosecondsMax: UInt64

    init(
        _ lane: Lane, of tenant: Tenant, sequencer: Sequencer, readers: Readers, entries: Feed, standbys: Standbys,
        memory: ReplyMemory?, waitMillisecondsMax: UInt64, prepare: @escaping @Sendable (Outcome) -> Outcome,
        displaced: @escaping @Sendable () -> Void
    ) {
        state = Monitor(State(tenant: tenant))
        waitNanosecondsMax = waitMillisecondsMax * 1_000_000
        self.lane = lane
        self.memory = memory
        self.prepare = prepare
        self.displaced = displaced
        self.sequencer = sequencer
        self.readers = readers
        self.entries = entries
        self.standbys = standbys
    }

    /// Takes operations over. Their answers come to the session's outlet, in order. What has waited for too long is
    /// answered ``Fault/overloaded`` and not carried out.
    /// - Parameters:
    ///   - tenant: who asks from now on; `nil` where it is the one who did.
    ///   - goesOn: whether all that was submitted before is answered. Only then a change is carried out again, where
    ///     one before it was refused because another node may lead.
    package func submit(_ operations: [LedgerOperation], as tenant: Tenant? = nil, goesOn: Bool = false) {
        state.withLock { state in
            if state.isClosed { return }
            if let tenant { state.tenant = tenant }
            state.mayWait = !state.isEnding
            if goesOn { lane.refusals?.goOn() }
            if case .none = state.barrier { send(operations, &state) } else { state.behind += operations }
        }
    }

    /// Says what becomes of the next read. Said ahead, or anew, as often as the client likes.
    /// - Parameter taken: how many answers of reads the client has taken since the beginning. Where there are more of
    ///   them, this is void: the client will say it again when it has taken those.
    package func allowRead(_ permission: ReadPermission, taken: Int) {
        state.withLock { state in
            // An answer may be taken before this session has noted that the read has ended.
            if state.isClosed || taken < state.endedReads { return }
            state.permission = (permission, taken)
            if case .ready(let query) = state.barrier { beginIfAllowed(query, &state) }
        }
    }

    /// Whether a read is to begin that waits for nothing new, or anything stands behind a read: that can still be
    /// dropped.
    package var holdsBack: Bool {
        state.withLock { state in
            switch state.barrier {
            case .preparing, .ready, .waitingForRoom: true
            case .none, .waiting, .reading: !state.behind.isEmpty
            }
        }
    }

    /// Answers at once if it waits for an entry or a block, and lets nothing wait before more is submitted.
    /// - Parameter forGood: whether nothing may wait that is submitted later either: its client is to be told to go.
    package func endWaits(forGood: Bool = true) {
        state.withLock { state in
            state.mayWait = false
            if forGood { state.isEnding = true }
            guard case .waiting(let query, let ticket) = state.barrier, !state.isClosed else { return }
            feed(of: query).cancel(ticket)
            end(.nothingNew, of: query, &state)
        }
    }

    /// The client is gone, and nobody takes answers any more: what is in no batch yet is dropped, all of it. So
    /// a client that sends much and goes away delays nobody, and a shutdown does not wait for what it sent.
    package func close() {
        let (barrier, place) = state.withLock { state in
            defer { state.place = nil }
            state.isClosed = true
            state.behind = []
            state.addition = nil
            return (state.barrier, state.place)
        }
        switch barrier {
        case .waiting(let query, let ticket): feed(of: query).cancel(ticket)
        case .waitingForRoom(let wait):
            memory?.cancel(wait.room)
            entries.cancel(wait.time)
        case .none, .preparing, .ready, .reading: break
        }
        if let place { standbys.leave(place) }
        sequencer.drop(lane)
    }

    // MARK: The barrier

    /// Hands operations on, up to the first read and with it.
    private func send(_ operations: [LedgerOperation], _ state: inout State) {
        guard let place = operations.firstIndex(where: \.isQuery) else {
            if !operations.isEmpty {
                state.hasSubmitted = true
                sequencer.submit(operations, from: lane, of: state.tenant, deadline: deadline)
            }
            return
        }
        if place == 0, !state.hasSubmitted, case .query(let query) = operations[0], query.isOfBlocks {
            state.barrier = .ready(query)
            state.behind = Array(operations[1...])
            return beginIfAllowed(query, &state)
        }
        state.hasSubmitted = true
        state.barrier = .preparing
        state.behind = Array(operations[(place + 1)...])
        sequencer.submit(Array(operations[...place]), from: lane, of: state.tenant, deadline: deadline) {
            self.end($0)
        }
    }

    /// When it is too late for what is handed on now.
    private var deadline: UInt64 { monotonicNanoseconds() + waitNanosecondsMax }

    /// The read at the end of what was handed on may begin, or has its answer already.
    private func end(_ read: Query?) {
        state.withLock { state in
            guard case .preparing = state.barrier else { preconditionFailure("a read was prepared that nobody asked") }
            guard let read, !state.isClosed else { return pass(&state) }
            state.barrier = .ready(read)
            beginIfAllowed(read, &state)
        }
    }

    private func beginIfAllowed(_ query: Query, _ state: inout State) {
        guard state.permission.taken == state.endedReads else { return }
        switch state.permission.kind {
        case .wait: return
        case .read, .readNow: begin(query, &state)
        }
    }

    private func begin(_ query: Query, _ state: inout State) {
        switch query {
        case .journal(let journal) where journal.waitMilliseconds > 0:
            wait(for: query, after: journal.after, milliseconds: journal.waitMilliseconds, &state)
        case .blocks(let blocks): begin(blocks, &state)
        case .journal, .history, .lots, .holds, .report, .balances, .purchase, .find, .appStoreWork, .head, .closing,
            .stepDown:
            read(query, &state)
        }
    }

    /// Whether the permission lets the next read wait.
    private static func isPatient(_ state: State) -> Bool {
        switch state.permission.kind {
        case .wait, .read: true
        case .readNow: false
        }
    }

    private func read(_ query: Query, _ state: inout State) {
        let deadline = readers.deadline
        guard let memory, !query.isOfBlocks else { return start(query, until: deadline, with: nil, &state) }
        let grant = { @Sendable (ticket: ReplyMemory.Ticket, page: ReplyMemory.Page) in
            self.lane.outlet.execute { self.goOn(with: page, for: ticket) }
        }
        let isPatient = LedgerSession.isPatient(state)
        switch memory.takePage(query.resultBytesMax, of: state.tenant, grant: isPatient ? grant : nil) {
        case .taken(let page): start(query, until: deadline, with: page, &state)
        case .refused: finish(.failure(.noRoom), &state)
        case .waits(let room):
            guard let time = entries.wait(until: deadline, { self.endRoomWait($0) }) else {
                memory.cancel(room)
                return finish(.failure(.overloaded), &state)
            }
            state.barrier = .waitingForRoom(RoomWait(query: query, deadline: deadline, room: room, time: time))
        }
    }

    private func start(_ query: Query, until deadline: UInt64, with page: ReplyMemory.Page?, _ state: inout State) {
        state.barrier = .reading
        readers.read(query, of: state.tenant, until: deadline) {
            self.state.withLock { !$0.isClosed }
        } done: { answer in
            let prepared = answer.map(self.prepare)
            self.state.withLock { self.take(answer, prepared, to: query, &$0) }
            // Behind the answer: what the client has of it counts by itself then.
            self.lane.outlet.execute { withExtendedLifetime(page) {} }
        }
    }

    private func take(_ answer: Answer, _ prepared: Answer, to query: Query, _ state: inout State) {
        if case .blocks(let blocks) = query, case .success(.blocks(let page)) = answer, let place = state.place {
            tell(page, prepared, to: blocks, at: place, &state)
        } else {
            finish(prepared, &state)
        }
    }

    // MARK: Waiting for room

    /// There is room for a page: its read goes on with it, where it waits still; where not, the page is given back.
    private func goOn(with page: ReplyMemory.Page, for ticket: ReplyMemory.Ticket) {
        state.withLock { state in
            guard case .waitingForRoom(let wait) = state.barrier, wait.room == ticket, !state.isClosed else { return }
            entries.cancel(wait.time)
            start(wait.query, until: wait.deadline, with: page, &state)
        }
    }

    /// The time is over of the read that waits, or the ledger is to be stopped.
    private func endRoomWait(_ ticket: Feed.Ticket) {
        state.withLock { state in
            guard case .waitingForRoom(let wait) = state.barrier, wait.time == ticket, !state.isClosed else { return }
            memory?.cancel(wait.room)
            finish(.failure(.overloaded), &state)
        }
    }

    // MARK: Blocks

    private func begin(_ query: BlocksQuery, _ state: inout State) {
        if let place = state.place {
            if place.name != query.standby { return finish(.failure(.otherStandby(place.name)), &state) }
            // A batch holds the page before: its client takes it only behind this read.
            if state.addition != nil, !LedgerSession.isPatient(state) {
                return finish(.failure(.overloaded), &state)
            }
            state.addition = nil
            guard standbys.goesOn(place, holdsPage: false) else { return finish(.failure(.overloaded), &state) }
        } else {
            let place = standbys.come(query.standby) { self.lane.outlet.execute { self.giveWay() } }
            guard let place else { return finish(.failure(.overloaded), &state) }
            state.place = place
        }
        var query = query
        query.bytesMax = min(query.bytesMax, EngineLimits.blocksPageBytesMax)
        // What it says that it has is noted before anything is waited for.
        read(.blocks(query), &state)
    }

    private func tell(
        _ page: BlocksPage, _ prepared: Answer, to query: BlocksQuery, at place: Standbys.Place, _ state: inout State
    ) {
        guard standbys.goesOn(place, holdsPage: !page.blocks.isEmpty) else {
            return finish(.failure(.overloaded), &state)
        }
        if page.blocks.isEmpty, query.waitMilliseconds > 0 {
            return wait(for: .blocks(query), after: query.after, milliseconds: query.waitMilliseconds, &state)
        }
        if !page.blocks.isEmpty { state.addition = memory?.add(page.resultBytes) }
        finish(prepared, &state)
    }

    /// Its place is a later session's of its standby. What it waits for is answered so, and then it is to be closed:
    /// mostly its client is gone, and does not know the connection any more.
    private func giveWay() {
        state.withLock { state in
            if state.isClosed { return }
            if case .waiting(.blocks, let ticket) = state.barrier {
                standbys.feed.cancel(ticket)
                finish(.failure(.overloaded), &state)
            }
            lane.outlet.execute(displaced)
        }
    }

    // MARK: Waiting for what is new

    private func feed(of query: Query) -> Feed { query.isOfBlocks ? standbys.feed : entries }

    private func wait(for query: Query, after: Int64, milliseconds: Int64, _ state: inout State) {
        guard state.mayWait else { return read(query.withoutWait, &state) }
        switch feed(of: query).wait(for: after, milliseconds: milliseconds, { self.wake($0, $1) }) {
        case .waits(let ticket): state.barrier = .waiting(query, ticket)
        case .ended(let ending): end(ending, of: query, &state)
        }
    }

    /// A wait has ended. One that was taken back meanwhile is nobody's.
    private func wake(_ ticket: Feed.Ticket, _ ending: Feed.Ending) {
        state.withLock { state in
            guard case .waiting(let query, let own) = state.barrier, own == ticket, !state.isClosed else { return }
            end(ending, of: query, &state)
        }
    }

    private func end(_ ending: Feed.Ending, of query: Query, _ state: inout State) {
        if case .nothingNew = ending, case .journal(let journal) = query {
            return finish(.success(.journal(JournalPage(entries: [], next: journal.after))), &state)
        }
        read(query.withoutWait, &state)
    }

    private func finish(_ answer: Answer, _ state: inout State) {
        lane.outlet.execute { [lane] in lane.deliver([answer]) }
        pass(&state)
    }

    /// Lets what stands behind go on.
    private func pass(_ state: inout State) {
        state.barrier = .none
        state.endedReads += 1
        let operations = state.behind
        state.behind = []
        send(operations, &state)
    }
}

extension BlocksPage {
    /// How many bytes it has in a reply: in base 64, with a hash and the names of three members for each block.
    fileprivate var resultBytes: Int {
        blocks.reduce(0) { $0 + ($1.body.count + $1.redactable.count) / 3 * 4 + 120 }
    }
}
