import Ledger

/// The books in memory: decides batches on them, and makes a block of what each batch adds, which may become part of
/// the one before.
///
/// They know the head of the chain: what the projection does not have yet is here (``Unprojected``), the rest is loaded
/// when a batch needs it, and players stay in memory up to a bound (``PlayerCache``).
///
/// States: *current* (there are books); *lost* (none: they were never read, or something was decided on them that will
/// never be durable; ``read(_:of:)`` makes them anew).
///
/// Used by the committing thread.
struct Decider {
    /// Of so many place is had beforehand at the most: of more the system may not give the memory at once.
    private static let reservedPlayersMax = 1_000_000

    private let log: any BlockLog
    private let projection: any Projection
    private let catalogs: CatalogInForce
    private let limits: EngineLimits
    private let figures: EngineFigures
    private let hash: HashFunction
    private let now: @Sendable () -> Timestamp
    private let report: @Sendable (LedgerEvent) -> Void

    private var books: Books?
    /// The catalog that the books follow, and how often others had taken its place before.
    private var edition: CatalogInForce.Edition
    private var editionNumber: Int
    private var unprojected = Unprojected(projected: LastNumbers())
    private var cache: PlayerCache
    /// The last block of which anything was decided, and its time.
    private(set) var decided: BlockNumber = 0
    private var time: Timestamp = 0

    init(
        _ log: any BlockLog, _ projection: any Projection, _ configuration: Engine.Configuration,
        figures: EngineFigures, hash: @escaping HashFunction, now: @escaping @Sendable () -> Timestamp,
        report: @escaping @Sendable (LedgerEvent) -> Void
    ) {
        self.log = log
        self.report = report
        self.projection = projection
        catalogs = configuration.catalog
        editionNumber = configuration.catalog.changeCount
        edition = configuration.catalog.current
        self.limits = configuration.limits
        self.figures = figures
        self.hash = hash
        self.now = now
        cache = PlayerCache(playersMax: configuration.limits.cachedPlayersMax)
    }

    /// Whether there are books, and of which block.
    func isCurrent(at head: BlockNumber) -> Bool { books != nil && decided == head }

    var isLost: Bool { books == nil }

    /// Drops the books.
    mutating func lose() { books = nil }

    /// Reads the books anew from a projection that is exact as of the head. They know nothing but what is durable.
    /// - Parameter mayAdd: whether something can be appended: only then the catalog's new currencies are there.
    /// - Throws: ``StoreError``: `corrupt` where the projection is of another block; `unavailable` where the ledger
    ///   would have too many currencies.
    mutating func read(
        _ state: ProjectedState, of head: LogHead, mayAdd: Bool
    ) throws(StoreError) {
        books = nil
        let projected = state.head ?? .empty
        guard projected.number == head.number, projected.hash == head.hash else {
            throw StoreError(
                .corrupt, "the projection is of block \(state.head?.number ?? 0), the log's is \(head.number)")
        }
        takeEdition()
        let catalog = mayAdd ? edition.catalog : edition.catalog.limited(to: state.currencies)
        if let excess = catalog.excess(beside: state.currencies) { throw StoreError("the catalog: \(excess)") }
        decided = head.number
        time = max(time, state.time)
        unprojected = Unprojected(projected: state.position)
        cache = PlayerCache(playersMax: limits.cachedPlayersMax)
        books = Books(
            catalog: catalog, known: state.currencies,
            position: state.position, totals: state.totals, closedThrough: state.closedThrough,
            periods: state.periods, headers: state.headers, actors: state.actors,
            recordedCatalog: state.catalog, hash: hash)
        // Who follows reads them anew again and again, and adds nobody.
        if mayAdd { books?.reserve(players: min(limits.cachedPlayersMax, Decider.reservedPlayersMax)) }
    }

    /// Decides one batch.
    /// - Parameters:
    ///   - term: the term of the block that it becomes.
    ///   - projected: the last block that is projected.
    ///   - failure: why nothing can be appended, if nothing can. Then what a batch adds is dropped, and the books with
    ///     it, and the batch fails; but one that only found something due is answered: that stays due.
    ///   - damaged: told what of the projection does not fit.
    /// - Returns: what `decide` gave; the block that it would be alone, `nil` where the batch adds nothing; and where
    ///   the names stand that it erases. Which block it became part of, ``note(decidedOf:)`` is told.
    /// - Throws: ``StoreError``: nothing was decided.
    mutating func decide<Result>(
        _ needs: Needs, each: () -> [Needs], term: Term, projected: BlockNumber, failure: LogError?,
        damaged: (StoreError) -> Void, _ decide: (inout Books, [StoreError?]) -> Result
    ) throws(StoreError) -> (Result, Block?, NamePlaces) {
        guard var books = books.take() else { throw StoreError("the ledger is closed") }
        // Who follows has no term, and adds nothing.
        if failure == nil && term > 0 {
            do throws(StoreError) {
                try followCatalog(&books)
            } catch {
                self.books = consume books
                throw error
            }
        }
        cache.remove(lots: unprojected.release(through: projected, of: decided, from: &books))
        let known = books.players.count
        var faults: [StoreError?]
        var places = NamePlaces()
        do throws(StoreError) {
            faults = try load(needs, each: each, into: &books, damaged: damaged)
            figures.walletsNeeded.add(needs.accounts.count + needs.wallets.count)
            figures.playersLoaded.add(max(0, books.players.count - known))
            if !needs.erasures.isEmpty { places = try checkErasures(needs, each: each, in: books, &faults) }
        } catch {
            forgetLoaded(&books)
            self.books = consume books
            throw error
        }
        let result = decide(&books, faults)
        let rows = books.takeRows()
        guard !rows.isEmpty else {
            forgetLoaded(&books, rows)
            self.books = consume books
            return (result, nil, places)
        }
        if let failure {
            if rows.isOnlyWhatFellDue { return (result, nil, places) }
            throw StoreError(behind: failure)
        }
        time = max(time, books.latestTime(now()))
        let block = Block(
            number: decided + 1, term: term, time: time, previous: .zero, position: books.position, rows: rows)
        unprojected.add(closers: books.takeClosers())
        unprojected.add(changed: books.takeChangedAccounts())
        cache.add(lots: rows.lots.count)
        forgetLoaded(&books, rows)
        self.books = consume books
        return (result, block, places)
    }

    /// All that was decided is of blocks up to this one.
    mutating func note(decidedOf block: BlockNumber) {
        guard var books = books.take() else { return }
        decided = block
        unprojected.turn(after: block, of: &books)
        self.books = consume books
    }

    /// - Returns: whether it is another than before.
    @discardableResult
    private mutating func takeEdition() -> Bool {
        // The number first: what is replaced between is taken once more.
        let number = catalogs.changeCount
        if number == editionNumber { return false }
        (edition, editionNumber) = (catalogs.current, number)
        return true
    }

    /// Has the books follow the catalog of now, and the next block say which that is.
    /// - Throws: ``StoreError`` where the ledger would have too many currencies: the books are as they were.
    private mutating func followCatalog(_ books: inout Books) throws(StoreError) {
        if takeEdition() {
            if let excess = edition.catalog.excess(beside: books.currencies.map(\.code)) {
                // Taken again by the next batch.
                editionNumber = -1
                throw StoreError("the catalog: \(excess)")
            }
            books.follow(edition.catalog)
        }
        if let digest = edition.digest, books.recordedCatalog?.digest != digest {
            books.record(catalog: digest, at: now())
        }
    }

    /// Has in the books what a batch needs; where something of it is damaged, what those parts need that can be had.
    /// - Returns: for each part why it cannot be decided; nothing where all can.
    private func load(
        _ needs: Needs, each: () -> [Needs], into books: inout Books, damaged: (StoreError) -> Void
    ) throws(StoreError) -> [StoreError?] {
        do throws(StoreError) {
            if let leftOut = try storeFaults({ try load(needs, into: &books) }) { damaged(leftOut) }
            return []
        } catch {
            guard error.kind == .corrupt else { throw error }
            damaged(error)
            let parts = each()
            if parts.isEmpty { throw error }
            var faults: [StoreError?] = []
            for part in parts {
                do throws(StoreError) {
                    try storeFaults { _ = try load(part, into: &books) }
                    faults.append(nil)
                } catch {
                    guard error.kind == .corrupt else { throw error }
                    faults.append(error)
                }
            }
            return faults
        }
    }

    /// Finds out, before a block says that names are erased, whether the log can be rid of them.
    /// - Parameter faults: for each part why it cannot be decided; nothing where all can.
    /// - Returns: where they stand.
    private func checkErasures(
        _ needs: Needs, each: () -> [Needs], in books: Books, _ faults: inout [StoreError?]
    ) throws(StoreError) -> NamePlaces {
        var places = NamePlaces(searched: log.head?.number ?? 0)
        let parts = each()
        if parts.isEmpty, let fault = erasureFault(needs, in: books, &places) { throw fault }
        for (index, part) in parts.enumerated() where !part.erasures.isEmpty {
            guard let fault = erasureFault(part, in: books, &places) else { continue }
            if faults.isEmpty { faults = Array(repeating: nil, count: parts.count) }
            if faults[index] == nil { faults[index] = fault }
        }
        return places
    }

    private func erasureFault(_ needs: Needs, in books: Books, _ places: inout NamePlaces) -> StoreError? {
        for name in needs.erasures {
            guard let account = books.playerIDs[name] else { continue }
            do throws(LogError) {
                try log.checkErasable(account, &places)
            } catch {
                let fault = StoreError(behind: error)
                if fault.kind == .corrupt { report(.erasureRefused(fault)) }
                return fault
            }
        }
        return nil
    }

    /// Has in the books what is needed: the newest that there is of it.
    /// - Returns: as a projection's `load`.
    private func load(_ needs: Needs, into books: inout Books) throws -> StoreError? {
        unprojected.load(needs, into: &books)
        if unprojected.hasReferences && !(needs.spends.isEmpty && needs.holds.isEmpty) {
            var named = Needs()
            named.keys = needs.spends + needs.holds
            _ = try projection.load(named, into: &books)
            unprojected.loadReferences(needs, into: &books)
        }
        return try projection.load(needs, into: &books)
    }

    /// What was loaded for a batch is found again where it was, unless the batch changed it.
    private mutating func forgetLoaded(_ books: inout Books, _ rows: BlockRows = BlockRows()) {
        let loaded = books.takeLoaded()
        cache.add(lots: loaded.lots)
        defer {
            cache.bound(&books) { [unprojected] in unprojected.isLacked($0) }
            figures.players.set(Int64(books.players.count))
        }
        if loaded.isEmpty { return }
        for key in loaded.keys { books.forget(key) }
        for uuid in loaded.notifications { books.forget(notification: uuid) }
        if !loaded.calls.isEmpty {
            let changed = Set(rows.calls.map(\.transaction))
            for call in loaded.calls where !changed.contains(call.transaction) { books.forget(call) }
        }
        if !loaded.transactions.isEmpty {
            let changed = Set(rows.evidence.map(\.transaction)).union(rows.assignments.map(\.transaction))
                .union(rows.statements.map(\.transaction))
            for transaction in loaded.transactions where !changed.contains(transaction) { books.forget(transaction) }
        }
        if !loaded.references.isEmpty {
            let changed = Set(rows.transfers.compactMap(\.reference))
            for reference in loaded.references where !changed.contains(reference) {
                books.forget(reference: reference)
            }
        }
        for player in loaded.borrowers {
            cache.remove(lots: books.forgetClosedLots(of: player, through: unprojected.projected.transfer))
        }
    }
}
