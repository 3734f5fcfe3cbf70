import Ledger

/// Batches of a ledger that follows, a standby or a node of a shared log: they only read.
///
/// The log, the tables and the books are in the state in which they are after a failure of the log: the appender adds
/// nothing, and the books know what is durable. Only that what is durable grows meanwhile. So the books are read anew
/// whenever it has, and the tables stay as they are while a batch is decided.
///
/// Used by the committing thread.
struct FollowingBatches: Sendable {
    private let tables: LiveTables
    private let appender: Appender

    init(_ tables: LiveTables, _ appender: Appender) {
        self.tables = tables
        self.appender = appender
    }

    /// Decides a batch on books of the last block that the tables have.
    /// - Parameter fault: why it cannot be decided; `nil` where it can.
    func commit<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, on decider: inout Decider, fault: StoreError? = nil,
        _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        var outcome: Swift.Result<Result, StoreError>
        do throws(StoreError) {
            if let fault { throw fault }
            try storeFaults { try tables.projector.bringToLast() }
            tables.projector.hold()
            defer { tables.projector.release() }
            try readBooks(&decider)
            let (result, block, _) = try decider.decide(
                needs, each: each, term: 0, projected: decider.decided, failure: appender.failure,
                damaged: noteDamage, decide)
            precondition(block == nil, "who follows made a block")
            outcome = .success(result)
        } catch {
            noteDamage(error)
            outcome = .failure(error)
        }
        appender.submit(
            Appender.Batch(block: nil) { [outcome] failure in done(failure.map { .failure($0) } ?? outcome) },
            isLast: isLast)
    }

    /// Has books of the block that the tables have, while these stay as they are.
    private func readBooks(_ decider: inout Decider) throws(StoreError) {
        if tables.damage.takeRenewal() { decider.lose() }
        let state = try storeFaults { try tables.projection.state() }
        let head = state.head ?? .empty
        if !decider.isCurrent(at: head.number) { try decider.read(state, of: head, mayAdd: false) }
    }

    private func noteDamage(_ error: StoreError) { tables.damage.note(error, isOfRequest: true) }
}
