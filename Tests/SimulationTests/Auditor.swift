import Ledger
import LedgerTestKit

@testable import LedgerEngine

/// What a client of the simulation asks.
enum Ask {
    /// The balance of an account that nobody has, named for the connection: the first of everything that is submitted
    /// together, so that it can be told in which order the ledger took it.
    case probe(AccountName)
    case signed(SignedItem, account: AccountName?)
    case keyed(KeyedOperation)
    case atomic(Atomic)
    case link(Link)
    case consent(Consent)
    case balance(AccountName, CurrencyCode?)
    case forget(AccountName)
    case query(Query)

    var isProbe: Bool {
        if case .probe = self { return true }
        return false
    }

    var isQuery: Bool {
        if case .query = self { return true }
        return false
    }

    var endsSubmission: Bool {
        if case .forget = self { return true }
        return isQuery
    }

    func operation(by actor: String) -> LedgerOperation {
        switch self {
        case .probe(let account): .command(.balance(account: account, currency: nil))
        case .signed(let item, let account):
            .signed(
                item.notification == nil ? .transaction(item.jws) : .notification(item.jws), account: account,
                by: actor)
        case .keyed(let operation): .command(.keyed(operation), by: actor)
        case .atomic(let atomic): .command(.atomic(atomic), by: actor)
        case .link(let link): .command(.link(link), by: actor)
        case .consent(let consent): .command(.consent(consent), by: actor)
        case .balance(let account, let currency): .command(.balance(account: account, currency: currency))
        case .forget(let account): .command(.forget(account), by: actor)
        case .query(let query): .query(query)
        }
    }
}

/// One connection of a client, as both ends see it.
final class Connection: @unchecked Sendable {
    enum Expectation {
        case answer(Answer)
        /// Of the ledger as it is in a state from this one on.
        case read(Query, since: Int)
    }

    let probe: AccountName
    let actor: String
    var session: LedgerSession?
    /// What was sent and has no answer, and what of it the ledger has not decided.
    var unanswered: [Ask] = []
    var undecided: [Ask] = []
    /// What is decided and has not been delivered.
    var expected: [Expectation] = []
    var readsTaken = 0

    init(_ number: Int, actor: String) {
        probe = AccountName("probe-\(number)")!
        self.actor = actor
    }
}

/// Predicts every answer. It learns from the ledger only in which order, at which time and together with what requests
/// were decided; what they are answered it says itself, and where nobody can know whether a block is durable it keeps
/// both worlds, until an answer fits one of them only.
final class Auditor: @unchecked Sendable {
    private struct Item {
        /// `nil` for the ledger's own sweep.
        var connection: Connection?
        var ask: Ask?
    }

    private struct Batch {
        var number: Int
        var items: [Item]
        var time: Timestamp
        /// Whether nothing could be made durable when it was decided.
        var isReading: Bool
        /// Those of the items that were not carried out, since what they need is damaged.
        var damaged: Set<Int> = []
    }

    private enum Result {
        case answer(Answer)
        case read(Query)
    }

    /// When the ledger says that it began, once it was asked for an earlier time.
    private var began: Timestamp?

    private struct OpenRead {
        var query: Query
        var outcome: Outcome
        var since: Int
    }

    private(set) var worlds = [World()]
    /// What is not as it must be: the first only.
    private(set) var problem: String?
    private var undone: [Batch] = []
    private var batches = 0
    /// Who is alive: what a process that was killed still does is nobody's.
    private(set) var life = 0
    var connections: [AccountName: Connection] = [:]
    var lastTime: Timestamp = 0
    var lastFault = false
    /// Whether somebody's rows may be damaged, so that sweeps leave them out.
    var mayLeaveOut = false
    /// Every state since the oldest read that is not decided on.
    private var states: [[World]] = []
    private var firstState = 0
    private var openReads: [OpenRead] = []
    private var expectedReads = 0
    private(set) var counts: [String: Int] = [:]
    /// Whether all worlds there ever were are kept, for a disk that lies may go back to any.
    var keepsPast = false
    private(set) var past: [World] = []
    /// Whether each world keeps the one before its last block, for a log that may lose that one; where it is not known
    /// which batches the last block has, all that it may be.
    var keepsBefore = false
    /// The block of the batch that was done last.
    private var lastBlock: BlockNumber = 0
    /// What the worlds are if all that failed last is durable all the same, and which batches were decided before that
    /// was known: of these only a beginning can be.
    private var doubt: (worlds: [World], through: Int)?

    func count(_ what: String) { counts[what, default: 0] += 1 }

    func fail(_ text: String) {
        if problem == nil { problem = text }
    }

    // MARK: What the ledger does

    /// A batch is about to be decided.
    func decided(_ needs: [Needs]) -> Int {
        var items: [Item] = []
        var connection: Connection?
        for need in needs {
            if let name = need.wallets.first, let probed = connections[name] {
                connection = probed
                guard probed.undecided.first?.isProbe == true else {
                    fail("\(name) was decided where nothing was sent")
                    continue
                }
            } else if connection?.undecided.first?.isProbe ?? true {
                // Everything that was sent with the last probe has been taken.
                items.append(Item())
                continue
            }
            if let connection { items.append(Item(connection: connection, ask: connection.undecided.removeFirst())) }
        }
        batches += 1
        undone.append(Batch(number: batches, items: items, time: lastTime, isReading: lastFault))
        return batches
    }

    /// The ledger tells who decides a batch what of it cannot be carried out, since what it needs is damaged.
    func isDeciding(_ number: Int, of life: Int, faults: [StoreError?]) {
        guard life == self.life, !faults.isEmpty, let index = undone.firstIndex(where: { $0.number == number }) else {
            return
        }
        undone[index].damaged = Set(faults.indices.filter { faults[$0] != nil })
    }

    /// A batch is done.
    /// - Parameter block: the last one that is durable.
    func done(_ number: Int, of life: Int, _ result: Swift.Result<[Decision], StoreError>, block: BlockNumber) {
        guard life == self.life, problem == nil else { return }
        guard !undone.isEmpty, undone[0].number == number else { return fail("batches are done in another order") }
        let batch = undone.removeFirst()
        switch result {
        case .success(let decisions):
            let results = decisions.flatMap { decision in
                decision.answers.map { Result.answer($0) } + (decision.read.map { [.read($0)] } ?? [])
            }
            guard results.count == batch.items.count else {
                return fail("\(batch.items.count) requests have \(results.count) answers")
            }
            take(batch, results, isOfLastBlock: block == lastBlock)
            lastBlock = block
            for (item, result) in zip(batch.items, results) {
                switch result {
                case .answer(let answer): item.connection?.expected.append(.answer(answer))
                case .read(let query):
                    expectedReads += 1
                    item.connection?.expected.append(.read(query, since: firstState + states.count))
                }
            }
            keepState()
        case .failure(let error):
            count("batch \(error.kind)")
            if error.kind == .unknown {
                let before = doubt.flatMap { number <= $0.through ? $0.worlds : nil }
                let imagined = imagine(batch, in: before ?? worlds)
                worlds = Auditor.distinct(worlds + imagined)
                doubt = (imagined, before == nil ? batches : doubt?.through ?? batches)
            }
            for item in batch.items {
                // What is only read, or refused by its signature, is never in doubt.
                var isForged = false
                if case .signed(let signed, _) = item.ask { isForged = signed.isForged }
                let isDoubt = error.kind == .unknown && item.ask?.operation(by: "").mayWrite == true && !isForged
                let told = isDoubt || error.kind != .unknown ? error : StoreError(.notReady, error.description)
                item.connection?.expected.append(.answer(.failure(.store(told))))
            }
            keepState()
        }
    }

    private func keepState() {
        if keepsPast { past += worlds }
        if expectedReads == 0 && openReads.isEmpty {
            firstState += states.count + 1
            states = []
            return
        }
        states.append(worlds)
        decideReads()
    }

    /// The process or the machine ends: of what was decided and not done any beginning may be durable.
    func crash() {
        life += 1
        lastBlock = 0
        var reached = worlds
        for batch in undone {
            let imagined = imagine(batch, in: reached)
            worlds = Auditor.distinct(worlds + imagined)
            // What only fell due while nothing could be appended may have been dropped.
            reached = batch.isReading ? Auditor.distinct(reached + imagined) : imagined
            if !openReads.isEmpty { states.append(worlds) }
        }
        decideReads()
        if let read = openReads.first { failRead(read) }
        undone = []
        openReads = []
        expectedReads = 0
        connections = [:]
        keepState()
    }

    /// The disk lied: what is there may be of any moment.
    func goBack() { worlds = past.reversed() }

    /// The power was cut, so that the head file may not say which block was the last, and the log was damaged: where
    /// that was in the last block, nothing tells it from one that the power cut has torn.
    func mayLoseLastBlock() { worlds += worlds.flatMap(\.before) }

    /// Whether nothing is under way: then every read has to be that of a state there was.
    var isIdle: Bool { undone.isEmpty && expectedReads == 0 }

    func expectIdle() {
        decideReads()
        if let read = openReads.first { failRead(read) }
        if !undone.isEmpty { fail("batches are never done") }
    }

    // MARK: What clients are told

    func delivered(_ answers: [Answer], to connection: Connection) {
        guard problem == nil else { return }
        for answer in answers {
            guard !connection.expected.isEmpty, !connection.unanswered.isEmpty else {
                return fail("\(connection.probe) is answered what it did not ask: \(answer)")
            }
            let ask = connection.unanswered.removeFirst()
            if ask.isQuery { connection.readsTaken += 1 }
            switch connection.expected.removeFirst() {
            case .answer(let expected):
                if !Auditor.isSame(expected, answer) { fail("\(ask) was answered \(answer), decided as \(expected)") }
            case .read(let query, let since):
                expectedReads -= 1
                switch answer {
                case .success(let outcome):
                    openReads.append(OpenRead(query: query, outcome: outcome, since: since))
                    count("read")
                    decideReads()
                case .failure(.store): count("read failed")
                case .failure(let fault): fail("\(ask) was answered \(fault)")
                }
            }
        }
    }

    private static func isSame(_ left: Answer, _ right: Answer) -> Bool {
        switch (left, right) {
        case (.success(let left), .success(let right)): Comparison.isSame(left, right)
        case (.failure(.store(let left)), .failure(.store(let right))): left.kind == right.kind
        case (.failure(let left), .failure(let right)): "\(left)" == "\(right)"
        default: false
        }
    }

    // MARK: Reads

    private func decideReads() {
        openReads.removeAll { read in
            // Oldest states last: most reads see the newest.
            states.indices.reversed().contains { index in
                firstState + index >= read.since
                    && states[index].contains { Comparison.isSame(Auditor.page(read.query, in: $0), read.outcome) }
            }
        }
        if openReads.isEmpty && expectedReads == 0 {
            firstState += states.count
            states = []
        }
    }

    private func failRead(_ read: OpenRead) {
        let expected = states.last?.first.map { "\(Auditor.page(read.query, in: $0))" } ?? "nothing"
        fail("\(read.query) was answered \(read.outcome), not \(expected)")
    }

    static func page(_ query: Query, in world: World) -> Outcome {
        switch query {
        case .history(let query): .history(world.history(query))
        case .lots(let query, let time): .lots(world.lots(query, at: time ?? 0))
        case .holds(let query, let time): .holds(world.holds(query, at: time ?? 0))
        case .report(let request):
            .report(
                ReportPage(
                    kind: request.kind, asOf: request.asOf ?? 0,
                    rows: world.report(request.kind, asOf: request.asOf ?? 0, request.currency, in: world.whole),
                    next: nil))
        case .balances(let query, let asOf): .balance(world.balances(query.account, query.currency, asOf: asOf))
        case .journal(let query): .journal(world.journal(query))
        case .purchase(let query):
            world.view(query.transaction, purchaseDate: SandboxApp.date - 1_000).map { .purchaseView($0) }
                ?? .refused(Refusal(.unknownPurchase))
        case .find(let query): .finding(world.find(query))
        case .appStoreWork, .head, .blocks, .closing, .stepDown:
            preconditionFailure("no client of the simulation asks for it")
        }
    }

    // MARK: Worlds

    /// Keeps the worlds in which the ledger has answered as it must.
    private func take(_ batch: Batch, _ results: [Result], isOfLastBlock: Bool) {
        var kept: [World] = []
        var reason: String?
        for before in worlds {
            for choice in choices(before, batch) {
                leftOut = choice
                var world = before
                var mismatch: String?
                for (index, (item, result)) in zip(batch.items, results).enumerated() {
                    if case .answer(.failure(.store)) = result {
                        if batch.isReading || batch.damaged.contains(index) { continue }
                        let ask = item.ask.map { "\($0)" } ?? "the sweep"
                        mismatch = "nothing kept \(ask) from being carried out, but \(result)"
                        break
                    }
                    guard let text = step(&world, item, result, batch) else { continue }
                    mismatch = text
                    break
                }
                if let mismatch {
                    reason = reason ?? mismatch
                    continue
                }
                remember(before, in: &world, isOfLastBlock: isOfLastBlock)
                kept.append(world)
                // What only fell due while nothing could be appended may have been dropped.
                let isDropped = batch.isReading && world.entries.count > before.entries.count
                if isDropped { kept.append(before) }
            }
        }
        if kept.isEmpty { return fail(reason ?? "no world is left") }
        // While nothing can be made durable, what is in doubt is not shown; it may come to be all the same.
        if batch.isReading { kept = worlds + kept }
        worlds = Auditor.distinct(kept)
    }

    private static func distinct(_ worlds: [World]) -> [World] {
        var seen: Set<Int> = []
        return worlds.count == 1 ? worlds : worlds.filter { seen.insert($0.digest).inserted }
    }

    /// - Parameter isOfLastBlock: whether the batch is of the same block as the one before it; `nil` where that is not
    ///   known.
    private func remember(_ before: World, in world: inout World, isOfLastBlock: Bool?) {
        guard keepsBefore, world.digest != before.digest else { return }
        world.before = isOfLastBlock == false ? [] : before.before
        if isOfLastBlock == true && !world.before.isEmpty { return }
        world.before.append(before)
        world.before[world.before.count - 1].before = []
    }

    /// Whom the sweep of the batch leaves out.
    private var leftOut: Set<Int> = []

    /// Whom the sweep of a batch may leave out: those whose rows may be damaged, and those who are not in memory and
    /// expire while the batch is decided. They are looked for before it, and each request in it may make the time of
    /// entries a millisecond later.
    private func choices(_ world: World, _ batch: Batch) -> [Set<Int>] {
        guard batch.items.contains(where: { $0.ask == nil }) else { return [[]] }
        let time = world.entryTime(batch.time)
        let earliest = mayLeaveOut ? Timestamp.min : time + 1
        return world.due(in: earliest...time + Timestamp(batch.items.count)).prefix(5).reduce([[]]) { sets, account in
            sets + sets.map { $0.union([account]) }
        }
    }

    /// What may become of the worlds if a batch became durable of which nothing was told.
    private func imagine(_ batch: Batch, in worlds: [World]) -> [World] {
        let imagined = worlds.flatMap { before in
            choices(before, batch).map { choice in
                leftOut = choice
                var world = before
                for (index, item) in batch.items.enumerated() where !batch.damaged.contains(index) {
                    _ = step(&world, item, nil, batch)
                }
                remember(before, in: &world, isOfLastBlock: nil)
                return world
            }
        }
        return Auditor.distinct(imagined)
    }

    /// Takes one request.
    /// - Parameter result: what the ledger says of it; `nil` where nobody knows.
    /// - Returns: how that differs from what it must say.
    private func step(_ world: inout World, _ item: Item, _ result: Result?, _ batch: Batch) -> String? {
        let now = batch.time
        world.actor = item.connection?.actor
        let expected: Outcome
        switch item.ask {
        case nil: return sweep(&world, result, now)
        case .probe(let account), .balance(let account, nil):
            world.settle(world.whose(account), at: now)
            expected = .balance(world.balances(account, nil))
        case .balance(let account, let currency):
            world.settle(world.whose(account), at: now)
            expected =
                currency.map { World.settings[$0] == nil } == true
                ? .refused(Refusal(.unknownCurrency(currency: currency!)))
                : .balance(world.balances(account, currency))
        case .signed(let item, let account):
            if item.isForged {
                guard let result else { return nil }
                if case .answer(.failure(.verification)) = result { return nil }
                return "a forged JWS was answered \(result)"
            }
            expected = world.take(item, named: account, at: now)
        case .keyed(let operation): expected = world.take(operation, at: now)
        case .atomic(let atomic): expected = world.take(atomic, at: now)
        case .link(let link): expected = world.take(link, at: now)
        case .consent(let consent): expected = world.take(consent, at: now)
        case .forget(let account): expected = .forgotten(world.forget(account))
        case .query(let query): return prepare(query, &world, result, now, mayClose: !batch.isReading)
        }
        guard let result else { return nil }
        guard case .answer(.success(let outcome)) = result, Comparison.isSame(expected, outcome) else {
            return "\(item.ask!) at \(now) was answered \(result), not \(expected)"
        }
        if case .refused(let refusal) = outcome { count("refused \("\(refusal.reason)".prefix { $0 != "(" })") }
        count("\(outcome)".prefix { $0 != "(" }.description)
        return nil
    }

    private func sweep(_ world: inout World, _ result: Result?, _ now: Timestamp) -> String? {
        guard let result else {
            _ = world.sweep(at: now, but: leftOut)
            return nil
        }
        guard case .answer(.success(.expired(let told))) = result else { return "a sweep was answered \(result)" }
        let due = world.due(at: now)
        let out = leftOut.intersection(due)
        guard told == due.count - out.count else {
            return "a sweep at \(now) told of \(told) players, not of \(due.count)"
        }
        _ = world.sweep(at: now, but: out)
        if told > 0 { count("sweep") }
        return nil
    }

    private func prepare(
        _ query: Query, _ world: inout World, _ result: Result?, _ now: Timestamp, mayClose: Bool
    ) -> String? {
        let latest = world.latestTime(now)
        var prepared = query
        var refusal: Refusal?
        switch query {
        case .history(let query): if mayClose { world.settle(world.whose(query.account), at: now) }
        case .lots(let query, _):
            if mayClose { world.settle(world.whose(query.account), at: now) }
            prepared = .lots(query, at: now)
        case .holds(let query, _):
            if mayClose { world.settle(world.whose(query.account), at: now) }
            prepared = .holds(query, at: now)
        case .purchase(let query):
            if mayClose { world.settle(world.purchases[query.transaction]?.account.map { world.owner($0) }, at: now) }
            if world.purchases[query.transaction] == nil { refusal = Refusal(.unknownPurchase) }
        case .journal, .find, .appStoreWork, .head, .blocks, .closing, .stepDown: break
        case .report(var request):
            let time = request.asOf ?? latest
            request.asOf = time
            prepared = .report(request)
            if time > latest { return future(result) }
            if case .answer(.failure(.timeBeforeLedger(_, let told)))? = result {
                defer { began = told }
                return time < told && told == began ?? told ? nil : "the ledger began at \(told), and not after \(time)"
            }
            if let began, time < began, result != nil { return "\(query) is of a time before the ledger began" }
            if mayClose { world.close(through: time) }
        case .balances(_, let asOf):
            if asOf > latest { return future(result) }
            if mayClose { world.close(through: asOf) }
        }
        guard let result else { return nil }
        switch (result, refusal) {
        case (.read(let query), nil):
            return query == prepared ? nil : "\(query) is read instead of \(prepared)"
        case (.answer(.success(.refused(let told))), .some(let refusal)):
            return told == refusal ? nil : "\(query) was refused: \(told), not \(refusal)"
        default: return "\(query) at \(now) was answered \(result)"
        }
    }

    private func future(_ result: Result?) -> String? {
        guard let result else { return nil }
        if case .answer(.failure(.futureTime)) = result { return nil }
        return "a time that has not come was answered \(result)"
    }
}

/// A store whose batches are told to an auditor.
final class ObservedStore: Store {
    private let base: Engine
    private let auditor: Auditor
    private let life: Int

    init(_ base: Engine, _ auditor: Auditor) {
        self.base = base
        self.auditor = auditor
        life = auditor.life
    }

    var engine: String { base.engine }

    func time(at clock: Timestamp) -> Timestamp {
        let time = base.time(at: clock)
        auditor.lastTime = time
        return time
    }

    func fault() -> StoreError? {
        let fault = base.fault()
        auditor.lastFault = fault != nil
        return fault
    }

    func commit<Result: Sendable>(
        _ needs: Needs, each: () -> [Needs], isLast: Bool, _ decide: (inout Books, [StoreError?]) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        let batch = auditor.life == life ? auditor.decided(each()) : 0
        base.commit(
            needs, each: each, isLast: isLast,
            { books, faults in
                auditor.isDeciding(batch, of: life, faults: faults)
                return decide(&books, faults)
            }
        ) { [auditor, life, base] result in
            // What the sequencer decides is generic to a store.
            let decisions = result.map { Mirror(reflecting: $0).children.first?.value as? [Decision] ?? [] }
            auditor.done(batch, of: life, decisions, block: base.standing.block)
            done(result)
        }
    }

    func history(_ query: HistoryQuery) throws -> HistoryPage { try base.history(query) }
    func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot> {
        try base.lots(query, at: time)
    }
    func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView> {
        try base.holds(query, at: time)
    }
    func balances(_ account: AccountName, currency: CurrencyCode?, asOf: Timestamp) throws -> [CurrencyBalance] {
        try base.balances(account, currency: currency, asOf: asOf)
    }
    func report(_ query: ReportQuery) throws -> ReportPage { try base.report(query) }
    func journal(_ query: JournalQuery) throws -> JournalPage { try base.journal(query) }
    func purchase(_ query: PurchaseQuery) throws -> PurchaseView { try base.purchase(query) }
    func find(_ query: FindQuery) throws -> Finding { try base.find(query) }
    func closing(through time: Timestamp) throws -> PeriodClosing? { try base.closing(through: time) }
    func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork { try base.appStoreWork(query) }
    func projectedState() throws -> ProjectedState { try base.projectedState() }
    func blocks(_ query: BlocksQuery) throws -> BlocksPage { try base.blocks(query) }
    func promote() throws(StoreError) -> Promotion { try base.promote() }
    func stepDown() throws -> Handover { try base.stepDown() }
    func close() throws { try base.close() }
}
