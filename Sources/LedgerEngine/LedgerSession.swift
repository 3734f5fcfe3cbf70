import Ledger

/// One client of a ledger: its operations take effect, and are answered, in the order in which they were submitted.
///
/// A read is a *barrier*: it begins when everything before it is answered, and what was submitted behind it waits here,
/// undecided, until it is answered itself. So a client sees what it wrote, and nothing that it wrote later.
///
/// A standby's session asks for blocks and for nothing else. Its questions do not go through the sequencer, where
/// everything may be waiting for what this standby is about to say. (Behind anything else they do, to keep the order.)
///
/// A read's page may be long, so none begins without the client's permission, which is for that read alone: it names
/// how many answers of reads the client has taken. So no page is read before the one before it was taken. Nor before
/// there is room for it in the memory that all clients share, which it has until the client has taken the answer.
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
        case reading
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
        /// Whether anything went to the sequencer.
        var hasSubmitted = false
        /// The standby whose session it is, once it has asked for blocks.
        var standby: StandbyName?
        var isClosed = false
    }

    private let state: Monitor<State>
    private let lane: Lane
    private let sequencer: Sequencer
    private let readers: Readers
    private let entries: Feed
    private let standbys: Standbys
    private let memory: ReplyMemory?
    private let waitNanosecondsMax: UInt64

    init(
        _ lane: Lane, of tenant: Tenant, sequencer: Sequencer, readers: Readers, entries: Feed, standbys: Standbys,
        memory: ReplyMemory?, waitMillisecondsMax: UInt64
    ) {
        state = Monitor(State(tenant: tenant))
        waitNanosecondsMax = waitMillisecondsMax * 1_000_000
        self.lane = lane
        self.memory = memory
        self.sequencer = sequencer
        self.readers = readers
        self.entries = entries
        self.standbys = standbys
    }

    /// Takes operations over. Their answers come to the session's outlet, in order. What has waited for too long is
    /// answered ``Fault/overloaded`` and not carried out.
    /// - Parameter tenant: who asks from now on; `nil` where it is the one who did.
    package func submit(_ operations: [LedgerOperation], as tenant: Tenant? = nil) {
        state.withLock { state in
            if state.isClosed { return }
            if let tenant { state.tenant = tenant }
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

    /// Answers at once if it waits for an entry or a block, and lets it wait no more: its client is to be told to go.
    package func endWaits() {
        state.withLock { state in
            state.mayWait = false
            guard case .waiting(let query, let ticket) = state.barrier, !state.isClosed else { return }
            feed(of: query).cancel(ticket)
            end(.nothingNew, of: query, &state)
        }
    }

    /// The client is gone, and nobody takes answers any more: what is not being verified or decided yet is dropped. So
    /// a client that sends much and goes away delays nobody, and a shutdown does not wait for what it sent.
    package func close() {
        let (wait, standby) = state.withLock { state -> ((Query, Feed.Ticket)?, StandbyName?) in
            defer { state.standby = nil }
            state.isClosed = true
            state.behind = []
            if case .waiting(let query, let ticket) = state.barrier { return ((query, ticket), state.standby) }
            return (nil, state.standby)
        }
        if let (query, ticket) = wait { feed(of: query).cancel(ticket) }
        if let standby { standbys.leave(standby) }
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
        case .blocks(let blocks):
            if let own = state.standby, own != blocks.standby {
                return finish(.failure(.otherStandby(own)), &state)
            }
            if state.standby == nil {
                guard standbys.come(blocks.standby) else { return finish(.failure(.overloaded), &state) }
                state.standby = blocks.standby
            }
            // What it says that it has is noted before anything is waited for.
            read(query, &state)
        case .journal, .history, .report, .balances, .purchase, .find, .head: read(query, &state)
        }
    }

    private func read(_ query: Query, _ state: inout State) {
        state.barrier = .reading
        let tenant = state.tenant
        guard let memory else { return read(query, of: tenant, with: nil) }
        if query.isOfBlocks {
            // Writes may wait for what a standby is told, so it waits for no client. Standbys are few.
            return read(query, of: tenant, with: memory.takePageNow(query.resultBytesMax))
        }
        let isPatient =
            switch state.permission.kind {
            case .wait, .read: true
            case .readNow: false
            }
        let wake = { @Sendable in self.readAgain(query) }
        if let page = memory.takePage(query.resultBytesMax, wake: isPatient ? wake : nil) {
            read(query, of: tenant, with: page)
        } else if !isPatient {
            finish(.failure(.overloaded), &state)
        }
    }

    /// There may be room for its page.
    private func readAgain(_ query: Query) {
        state.withLock { state in
            if !state.isClosed { read(query, &state) }
        }
    }

    private func read(_ query: Query, of tenant: Tenant, with page: ReplyMemory.Page?) {
        readers.read(query, of: tenant) {
            self.state.withLock { !$0.isClosed }
        } done: { answer in
            self.state.withLock { self.take(answer, to: query, &$0) }
            // Behind the answer: what the client has of it counts by itself then.
            self.lane.outlet.execute { withExtendedLifetime(page) {} }
        }
    }

    private func take(_ answer: Answer, to query: Query, _ state: inout State) {
        if case .blocks(let blocks) = query, blocks.waitMilliseconds > 0, !state.isClosed,
            case .success(.blocks(let page)) = answer, page.blocks.isEmpty
        {
            wait(for: query, after: blocks.after, milliseconds: blocks.waitMilliseconds, &state)
        } else {
            finish(answer, &state)
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
