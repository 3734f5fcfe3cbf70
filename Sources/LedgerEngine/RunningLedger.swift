package import AppStore
package import HeadSigning
package import Ledger

/// One ledger in operation: whatever speaks to clients opens a session for each and submits what they ask.
///
/// ```
/// sessions → Sequencer (verify, decide) → Store (append, project) → sessions
///     └───────── Readers, Feed of entries, Standbys ─────────┘
/// ```
///
/// Several run in one process, each at a place of its own; they share nothing but their tenants.
package final class RunningLedger: Sendable {
    private let place: Int
    private let store: any Store
    private let entries: Feed
    private let standbys: Standbys
    private let verifier: Verifier
    private let verifiers: WorkerPool
    private let sequencer: Sequencer
    /// Whose what the ledger asks itself is, and where answers go that only it waits for.
    private let itself: Tenant
    private let nowhere: Outlet
    private let readers: Readers
    private let sweeper: ExpirySweeper
    private let publisher: HeadPublisher?
    private let limits: EngineLimits
    private let isShared: Bool
    /// What is counted of it.
    package let figures: EngineFigures

    /// - Parameters:
    ///   - place: its own among the ledgers that its tenants may ask, from 0.
    ///   - store: closed by ``stop()``.
    ///   - signer: signs heads; `nil` where the operator has no key.
    ///   - publication: where signed heads go at an interval; only with a signer.
    ///   - entries: whom the store tells of entries that another ledger has decided; a new one by default.
    ///   - standbys: those of the store; none by default.
    ///   - isShared: whether another node may come to lead it.
    ///   - figures: where it counts, and its store; new ones by default.
    ///   - now: the clock, in milliseconds since the UNIX epoch.
    /// - Throws: ``StoreError`` where the system has no more threads.
    package init(
        place: Int = 0, store: any Store, verifier: Verifier, signer: HeadSigner? = nil,
        publication: HeadPublication? = nil, entries: Feed? = nil, standbys: Standbys? = nil,
        isShared: Bool = false, limits: EngineLimits = EngineLimits(), figures: EngineFigures = EngineFigures(),
        now: @escaping @Sendable () -> Timestamp, report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        self.place = place
        self.store = store
        self.limits = limits
        self.isShared = isShared
        self.figures = figures
        self.verifier = verifier
        let entries = try entries ?? Feed()
        self.entries = entries
        self.standbys = try standbys ?? Standbys()
        verifiers = try Sequencer.verifiers(limits)
        readers = try Readers(store: store, signer: signer, limits: limits, report: report)
        let sequencer = try Sequencer(
            place: place, store: store, verifier: verifier, feed: entries, verifiers: verifiers, limits: limits,
            figures: figures, now: now, report: report)
        self.sequencer = sequencer
        let nowhere = Outlet { $0() }
        let itself = Tenant(ledgers: place + 1)
        self.nowhere = nowhere
        self.itself = itself
        sweeper = try ExpirySweeper(intervalMilliseconds: limits.expirySweepMilliseconds) { operations, swept in
            // Whoever leads posts what has expired.
            guard store.standing.leads else { return swept([]) }
            sequencer.submit(operations, from: Lane(outlet: nowhere, deliver: swept), of: itself)
        }
        if let signer, let publication {
            publisher = try HeadPublisher(store: store, signer: signer, publication, limits: limits, report: report)
        } else {
            publisher = nil
        }
    }

    /// The engines' names and versions.
    package var engine: String { store.engine }

    /// How it is at this moment. Nothing is waited for.
    package var standing: StoreStanding { store.standing }

    /// How many signatures were accepted by the table of their key, and how many OpenSSL has judged.
    package var signatureCounts: (byTable: UInt64, byOpenSSL: UInt64) { verifier.signatureCounts }

    /// Operations that wait for a batch.
    package var waitingOperations: Int { sequencer.waitingCount }

    /// What an operator watches of what the tables hold; `nil` where nobody counts it. Blocks.
    /// - Throws: ``StoreError``
    package func projectedFigures() throws -> ProjectedFigures? { try store.projectedFigures() }

    /// What the tables hold, with all that was committed before. Blocks.
    /// - Throws: ``StoreError``
    package func projectedState() throws -> ProjectedState { try store.projectedState() }

    /// Begins to post what expires. What ran out while the ledger was down is posted before anything that is submitted
    /// after this; where the store is being opened still, soon after it is open.
    package func start() { sweeper.start() }

    /// Has the ledger show that its one order moves: something that changes nothing takes a turn in it, behind what is
    /// being committed. Not after ``stop()``.
    /// - Parameter answered: called on one of the ledger's threads. It must not wait for anything.
    package func probe(_ answered: @escaping @Sendable () -> Void) {
        sequencer.submit([.refused(.overloaded)], from: Lane(outlet: nowhere) { _ in answered() }, of: itself)
    }

    /// Opens a session: a client whose requests keep an order of their own.
    /// - Parameters:
    ///   - tenant: whose turns it has, until it says otherwise; by default one of its own.
    ///   - memory: what it shares with others for the pages of its reads; without it they take what they take.
    ///   - outlet: where answers are delivered.
    ///   - prepare: called on a reader's thread with what was read, which is delivered as it makes it.
    ///   - displaced: called on the outlet when a later session of its standby has taken its place: it is to be closed.
    ///   - noteCommit: called on the outlet before `deliver`, with the batch whose answers these are, where batches are
    ///     traced (``EngineFigures``). What was read behind a batch has none.
    ///   - deliver: called on the outlet, with answers in the order in which the operations were submitted.
    package func session(
        of tenant: Tenant? = nil, memory: ReplyMemory? = nil, outlet: Outlet,
        prepare: @escaping @Sendable (Outcome) -> Outcome = { $0 }, displaced: @escaping @Sendable () -> Void = {},
        noteCommit: (@Sendable (CommitTrace) -> Void)? = nil, deliver: @escaping @Sendable ([Answer]) -> Void
    ) -> LedgerSession {
        LedgerSession(
            Lane(
                outlet: outlet, refusals: isShared ? LaneRefusals() : nil, noteCommit: noteCommit, deliver: deliver),
            of: tenant ?? Tenant(ledgers: place + 1), sequencer: sequencer, readers: readers, entries: entries,
            standbys: standbys, memory: memory, waitMillisecondsMax: limits.waitMillisecondsMax,
            prepare: prepare, displaced: displaced)
    }

    /// Answers everything that was submitted, and closes the store. Every session is closed by then.
    /// - Throws: ``StoreError`` where the store cannot be closed.
    package func stop() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                let thread = try EngineThread("ledger-stop") {
                    continuation.resume(with: Result(catching: self.stopNow))
                }
                thread.detach()
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Blocks.
    func stopNow() throws {
        sweeper.stop()
        entries.stop()
        standbys.feed.stop()
        sequencer.stop()
        readers.stop()
        verifiers.stop()
        publisher?.stop()
        defer { standbys.stop() }
        try store.close()
    }
}
