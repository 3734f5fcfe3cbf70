import Ledger

/// One client of a ledger: its operations take effect, and are answered, in the order in which they were submitted.
///
/// A read is a *barrier*: it begins when everything before it is answered, and what was submitted behind it waits here,
/// undecided, until it is answered itself. So a client sees what it wrote, and nothing that it wrote later.
///
/// A read's page may be long, so none begins without the client's permission, which is for that read alone: it names
/// how many answers of reads the client has taken. So no page is read before the one before it was taken.
package final class LedgerSession: Sendable {
    /// What becomes of the read that is next.
    package enum ReadPermission: Sendable {
        /// It waits until the client can take more.
        case wait
        /// One may begin.
        case read
        /// Each is answered ``Fault/overloaded``.
        case refuse
    }

    private enum Barrier {
        case none
        /// The sequencer fixes what the read sees.
        case preparing
        /// It waits for permission.
        case ready(Query)
        /// It waits for a first new entry of the journal.
        case waiting(JournalQuery, JournalFeed.Ticket)
        case reading
    }

    private struct State {
        var barrier = Barrier.none
        /// Of the read before which so many answers of reads were taken.
        var permission = (kind: ReadPermission.wait, taken: 0)
        /// Reads that have their answer.
        var endedReads = 0
        /// What stands behind the barrier.
        var behind: [LedgerOperation] = []
        /// Whether it may wait for a first new entry of the journal.
        var mayWait = true
        var isClosed = false
    }

    private let state = Monitor(State())
    private let lane: Lane
    private let sequencer: Sequencer
    private let readers: Readers
    private let feed: JournalFeed

    init(_ lane: Lane, sequencer: Sequencer, readers: Readers, feed: JournalFeed) {
        self.lane = lane
        self.sequencer = sequencer
        self.readers = readers
        self.feed = feed
    }

    /// Takes operations over. Their answers come to the session's outlet, in order.
    package func submit(_ operations: [LedgerOperation]) {
        state.withLock { state in
            if state.isClosed { return }
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

    /// Answers at once if it waits for the journal, and lets it wait no more: its client is to be told to go.
    package func endWaits() {
        state.withLock { state in
            state.mayWait = false
            guard case .waiting(let journal, let ticket) = state.barrier, !state.isClosed else { return }
            feed.cancel(ticket)
            finish(LedgerSession.nothingNew(journal), &state)
        }
    }

    /// The client is gone, and nobody takes answers any more: what is not being verified or decided yet is dropped. So
    /// a client that sends much and goes away delays nobody, and a shutdown does not wait for what it sent.
    package func close() {
        let ticket = state.withLock { state -> JournalFeed.Ticket? in
            state.isClosed = true
            state.behind = []
            if case .waiting(_, let ticket) = state.barrier { return ticket }
            return nil
        }
        if let ticket { feed.cancel(ticket) }
        sequencer.drop(lane)
    }

    // MARK: The barrier

    /// Hands operations on, up to the first read and with it.
    private func send(_ operations: [LedgerOperation], _ state: inout State) {
        guard let place = operations.firstIndex(where: \.isQuery) else {
            if !operations.isEmpty { sequencer.submit(operations, from: lane) }
            return
        }
        state.barrier = .preparing
        state.behind = Array(operations[(place + 1)...])
        sequencer.submit(Array(operations[...place]), from: lane) { self.end($0) }
    }

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
        case .refuse: finish(.failure(.overloaded), &state)
        case .read:
            if case .journal(let journal) = query, journal.waitMilliseconds > 0, state.mayWait {
                let waiting = feed.wait(for: journal.after, milliseconds: journal.waitMilliseconds) {
                    self.wake($0, $1)
                }
                switch waiting {
                case .waits(let ticket):
                    state.barrier = .waiting(journal, ticket)
                    return
                case .ended(.nothingNew): return finish(LedgerSession.nothingNew(journal), &state)
                case .ended(.newEntry): break
                }
            }
            read(query, &state)
        }
    }

    private func read(_ query: Query, _ state: inout State) {
        state.barrier = .reading
        readers.read(query) {
            self.state.withLock { !$0.isClosed }
        } done: { answer in
            self.state.withLock { self.finish(answer, &$0) }
        }
    }

    /// A wait has ended. One that was taken back meanwhile is nobody's.
    private func wake(_ ticket: JournalFeed.Ticket, _ ending: JournalFeed.Ending) {
        state.withLock { state in
            guard case .waiting(let journal, let own) = state.barrier, own == ticket, !state.isClosed else { return }
            switch ending {
            case .newEntry: read(.journal(journal), &state)
            case .nothingNew: finish(LedgerSession.nothingNew(journal), &state)
            }
        }
    }

    private static func nothingNew(_ query: JournalQuery) -> Answer {
        .success(.journal(JournalPage(entries: [], next: query.after)))
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
