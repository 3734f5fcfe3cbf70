import Ledger

/// One client of a ledger: its operations take effect, and are answered, in the order in which they were submitted.
///
/// A read is a *barrier*: it begins when everything before it is answered, and what was submitted behind it waits here,
/// undecided, until it is answered itself. So a client sees what it wrote, and nothing that it wrote later.
///
/// A read's page may be long, so none begins without the client's permission, and each permission serves one read: it
/// is given anew when the answer of the one before was taken.
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
        var permission = ReadPermission.read
        /// What stands behind the barrier.
        var behind: [Operation] = []
        var isClosed = false
    }

    private let state = Monitor(State())
    private let lane: Lane
    private let sequencer: Sequencer
    private let readers: Readers

    init(_ lane: Lane, sequencer: Sequencer, readers: Readers) {
        self.lane = lane
        self.sequencer = sequencer
        self.readers = readers
    }

    /// Takes operations over. Their answers come to the session's outlet, in order.
    package func submit(_ operations: [Operation]) {
        state.withLock { state in
            if state.isClosed { return }
            if case .none = state.barrier { send(operations, &state) } else { state.behind += operations }
        }
    }

    /// Says what becomes of the read that is next. Void while one goes on.
    package func allowReads(_ permission: ReadPermission) {
        state.withLock { state in
            if state.isClosed { return }
            switch state.barrier {
            case .waiting, .reading: return
            case .none, .preparing: state.permission = permission
            case .ready(let query):
                state.permission = permission
                beginIfAllowed(query, &state)
            }
        }
    }

    /// Nobody takes answers any more: drops what stands behind a read. What was handed on before is carried out.
    package func close() {
        let ticket = state.withLock { state -> JournalFeed.Ticket? in
            state.isClosed = true
            state.behind = []
            if case .waiting(_, let ticket) = state.barrier { return ticket }
            return nil
        }
        if let ticket { readers.feed.cancel(ticket) }
    }

    // MARK: The barrier

    /// Hands operations on, up to the first read and with it.
    private func send(_ operations: [Operation], _ state: inout State) {
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
        switch state.permission {
        case .wait: return
        case .refuse: finish(.failure(.overloaded), &state)
        case .read:
            state.permission = .wait
            if case .journal(let journal) = query, journal.waitMilliseconds > 0 {
                let waiting = readers.feed.wait(for: journal.after, milliseconds: journal.waitMilliseconds) {
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
        readers.read(query) { answer in
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
        let operations = state.behind
        state.behind = []
        send(operations, &state)
    }
}
