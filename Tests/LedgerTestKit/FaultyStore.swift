package import Ledger
package import LedgerEngine
import Synchronization

/// A memory store whose commits fail or wait when a test says so.
package final class FaultyStore: Store {
    private struct Plan {
        var failures = 0
        var failure = StoreError("committing a batch: the test's disk is full")
        var isHeld = false
        var commits = 0
        var waiting = 0
        var expiring = 0
        var reads = 0
        var areReadsHeld = false
        var areReportsHeld = false
        var fault: StoreError?
        var journalPages = 0
        var isJournalBroken = false
        var standing = StoreStanding()
    }

    private struct Broken: Error {}

    package let base: MemoryStore
    private let areSweepsMeant: Bool
    private let plan = Mutex(Plan())

    /// - Parameter areSweepsMeant: whether what is said here of commits is said of the service's own sweeps as well.
    ///   They come when they are due, whatever a test does meanwhile.
    package init(_ base: MemoryStore = MemoryStore(), areSweepsMeant: Bool = false) {
        self.base = base
        self.areSweepsMeant = areSweepsMeant
    }

    /// The next `count` commits decide and are then lost.
    /// - Parameter error: what is said of them.
    package func failCommits(_ count: Int, with error: StoreError? = nil) {
        plan.withLock {
            $0.failures = count
            if let error { $0.failure = error }
        }
    }

    /// Commits that begin from now on wait until ``release()``.
    package func hold() { plan.withLock { $0.isHeld = true } }
    package func release() { plan.withLock { $0.isHeld = false } }

    /// How many commits were begun, and how many of them wait.
    package var commits: Int { plan.withLock { $0.commits } }
    package var waiting: Int { plan.withLock { $0.waiting } }

    /// Of how many accounts what has expired was to be posted with commits that were begun.
    package var expiring: Int { plan.withLock { $0.expiring } }

    /// Reports that begin from now on wait for as long as they are wanted.
    package func holdReports() { plan.withLock { $0.areReportsHeld = true } }

    /// Reads of histories that begin from now on wait until ``releaseReads()``, for as long as they are wanted.
    package func holdReads() { plan.withLock { $0.areReadsHeld = true } }
    package func releaseReads() { plan.withLock { $0.areReadsHeld = false } }

    /// Why nothing can be made durable from now on.
    package func setFault(_ fault: StoreError?) { plan.withLock { $0.fault = fault } }

    /// How it says from now on that it is.
    package func setStanding(_ standing: StoreStanding) { plan.withLock { $0.standing = standing } }
    package var standing: StoreStanding { plan.withLock { $0.standing } }

    /// How many pages of the journal were read.
    package var journalPages: Int { plan.withLock { $0.journalPages } }

    /// From now on the journal cannot be read, for a reason that no store has.
    package func breakJournal() { plan.withLock { $0.isJournalBroken = true } }

    /// How many pages were read.
    package var reads: Int { plan.withLock { $0.reads } }

    package var engine: String { base.engine }

    package func time(at clock: Timestamp) -> Timestamp { clock }

    package func fault() -> StoreError? { plan.withLock { $0.fault } }

    package func commit<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        if !areSweepsMeant && needs.isOfASweep {
            return base.commit(needs, each: each, isLast: isLast, decide, done: done)
        }
        plan.withLock {
            $0.commits += 1
            $0.waiting += 1
            $0.expiring += needs.expiring.count
        }
        while plan.withLock({ $0.isHeld }) { pause(milliseconds: 1) }
        let fails = plan.withLock { plan in
            plan.waiting -= 1
            guard plan.failures > 0 else { return false }
            plan.failures -= 1
            return true
        }
        guard fails else { return base.commit(needs, each: each, isLast: isLast, decide, done: done) }
        do throws(StoreError) {
            try base.lose(needs) { decide(&$0, []) }
            done(.failure(plan.withLock { $0.failure }))
        } catch {
            done(.failure(error))
        }
    }

    package func history(_ query: HistoryQuery) throws -> HistoryPage {
        plan.withLock { $0.reads += 1 }
        try wait { $0.areReadsHeld }
        return try base.history(query)
    }

    package func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot> {
        plan.withLock { $0.reads += 1 }
        return try base.lots(query, at: time)
    }

    package func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView> {
        plan.withLock { $0.reads += 1 }
        return try base.holds(query, at: time)
    }

    private func wait(while isHeld: (Plan) -> Bool) throws {
        while plan.withLock({ isHeld($0) }) {
            if !ReadCondition.current.holds { throw ReadEnded() }
            pause(milliseconds: 1)
        }
    }

    package func balances(
        _ account: AccountName, currency: CurrencyCode?, asOf: Timestamp
    ) throws -> [CurrencyBalance] {
        try base.balances(account, currency: currency, asOf: asOf)
    }

    package func report(_ query: ReportQuery) throws -> ReportPage {
        plan.withLock { $0.reads += 1 }
        try wait { $0.areReportsHeld }
        return try base.report(query)
    }

    package func journal(_ query: JournalQuery) throws -> JournalPage {
        let isBroken = plan.withLock { plan in
            plan.reads += 1
            plan.journalPages += 1
            return plan.isJournalBroken
        }
        if isBroken { throw Broken() }
        return try base.journal(query)
    }

    package func purchase(_ query: PurchaseQuery) throws -> PurchaseView {
        plan.withLock { $0.reads += 1 }
        return try base.purchase(query)
    }

    package func find(_ query: FindQuery) throws -> Finding {
        plan.withLock { $0.reads += 1 }
        return try base.find(query)
    }

    package func closing(through time: Timestamp) throws -> PeriodClosing? {
        plan.withLock { $0.reads += 1 }
        return try base.closing(through: time)
    }

    package func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork {
        plan.withLock { $0.reads += 1 }
        return try base.appStoreWork(query)
    }

    package func blocks(_ query: BlocksQuery) throws -> BlocksPage {
        try base.blocks(query)
    }

    package func promote() throws(StoreError) -> Promotion { try base.promote() }
    package func stepDown() throws -> Handover { try base.stepDown() }

    package func projectedState() throws -> ProjectedState {
        plan.withLock { $0.reads += 1 }
        return try base.projectedState()
    }

    package func close() throws { try base.close() }
}

extension Needs {
    /// Whether they are those of a batch that only looks for what has expired.
    fileprivate var isOfASweep: Bool {
        expirations && accounts.isEmpty && wallets.isEmpty && expiring.isEmpty && keys.isEmpty && transactions.isEmpty
            && notifications.isEmpty && spends.isEmpty && holds.isEmpty
    }
}
