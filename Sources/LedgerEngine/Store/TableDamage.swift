import Ledger

/// What is known of damage of the tables: it is said once, and has them made anew where they can be.
final class TableDamage: Sendable {
    private struct State {
        var isSaid = false
        /// Requests that met it since it was said.
        var failures = 0
        /// Whether the tables were made anew, and the books may have what the others made believe.
        var isRenewed = false
    }

    private let renewable: RenewableProjection?
    private let report: @Sendable (LedgerEvent) -> Void
    private let state = Monitor(State())

    /// - Parameter renewable: the tables, where they can be made anew.
    init(_ renewable: RenewableProjection?, report: @escaping @Sendable (LedgerEvent) -> Void) {
        self.renewable = renewable
        self.report = report
    }

    /// - Parameters:
    ///   - error: of any kind; only damage counts.
    ///   - isOfRequest: whether a request has met it.
    func note(_ error: StoreError, isOfRequest: Bool) {
        guard error.kind == .corrupt, !error.isOfLog else { return }
        let isFirst = state.withLock { state in
            defer { state.isSaid = true }
            if isOfRequest { state.failures += 1 }
            return !state.isSaid
        }
        guard isFirst else { return }
        report(.tablesDamaged(error))
        renewable?.renew(because: "\(error)")
    }

    /// Other tables have taken the place of the damaged ones.
    /// - Returns: how many requests had met the damage.
    func end() -> Int {
        state.withLock { state in
            defer { state = State(isRenewed: true) }
            return state.failures
        }
    }

    /// Whether the tables were made anew since ``takeRenewal()``.
    var isRenewed: Bool { state.withLock { $0.isRenewed } }

    /// - Returns: whether they were, which is then known.
    func takeRenewal() -> Bool {
        state.withLock { state in
            defer { state.isRenewed = false }
            return state.isRenewed
        }
    }
}
