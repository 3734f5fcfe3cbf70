import Ledger

/// The tables of one ledger in operation: brought forward behind the log, read, checked, and made anew where they are
/// damaged.
///
/// Used by any thread.
struct LiveTables: Sendable {
    /// The tables in use, whichever these are.
    let projection: any Projection
    let projector: Projector
    let checker: TableChecker
    /// What is known of their damage.
    let damage: TableDamage
    private let renewable: RenewableProjection?

    /// - Parameters:
    ///   - projection: which has every block up to `head`.
    ///   - renewal: how it is made anew while it is in use; `nil` where it cannot be.
    init(
        _ projection: any Projection, through head: BlockNumber, renewal: TableRenewal?, log: any BlockLog,
        limits: EngineLimits, report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        let renewable = try renewal.map {
            try RenewableProjection(projection, $0, log: log, limits: limits, report: report)
        }
        self.renewable = renewable
        let damage = TableDamage(renewable, report: report)
        self.damage = damage
        let projection = renewable ?? projection
        self.projection = projection
        let projector = try Projector(projection, projected: head, limits: limits) {
            report($0.map { .projectionFailed($0) } ?? .projectionWorksAgain)
        }
        self.projector = projector
        let checker = try TableChecker(projection, limits: limits) { error in
            damage.note(error, isOfRequest: false)
        }
        self.checker = checker
        renewable?.whenExchanged { block in
            checker.checkAnew()
            let failures = damage.end()
            projector.retry()
            report(.tablesRenewed(block: block, failures: failures))
        }
    }

    /// Reads when they have everything that was done before.
    func read<Page>(_ body: (any Projection) throws -> Page) throws -> Page {
        try projector.bringToLast()
        return try body(projection)
    }

    /// Ends what goes on with them when the ledger was not opened after all; the checker was stopped.
    func abandon() {
        projector.stop()
        renewable?.stop()
    }
}
