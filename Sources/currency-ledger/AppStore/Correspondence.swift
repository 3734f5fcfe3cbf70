import AppStore
import AppStoreServer
import Ledger
import LedgerEngine
import Logging

/// Tells Apple of a ledger's purchases what it asks, and what it can be told: how much was consumed, where the player
/// has consented; that a purchase is in the books; and whose it is, where the app did not say.
///
/// What there is to tell is read from the ledger each time, and how a call ended is recorded there. So nothing is lost
/// with the process, and what was recorded is not told again; a call whose end was not recorded any more is made again,
/// which changes nothing at Apple's.
struct Correspondence {
    /// It sends each request once: what is tried again is decided here.
    let client: AppStoreServerClient
    let caller: LedgerCaller
    let settings: AppStoreSettings
    /// How long an answer about consumption waits, in milliseconds: players go on spending.
    let consumptionDelay: Int64
    /// Whether the ledger may be written to: a standby's leader does all this.
    let leads: @Sendable () -> Bool
    let logger: Logger

    /// Seconds from one look at the ledger to the next.
    private static let seconds = 5
    /// Seconds up to which the next look waits while Apple cannot be told.
    private static let secondsMax = 300
    /// Calls that are made at the same time. Apple allows 50 a second of a kind.
    private static let concurrencyMax = 8
    /// Milliseconds before the deadline of an answer from which on it is not sent: an attempt takes half of them.
    private static let marginMilliseconds: Int64 = 60_000
    /// Milliseconds for which Apple is told of what the ledger recorded.
    private static let tellingMilliseconds: Int64 = 7 * 86_400_000
    /// Purchases of which Apple could not be told while it could of others.
    private static let postponedMax = 1_000

    /// How far Apple was told of an order of what there is to tell.
    private struct Backlog<Row: Sendable> {
        /// Up to here Apple was told of all, but of those that are postponed.
        var place: Int64 = 0
        var postponed: [Row] = []
    }

    /// Goes on until its task is cancelled. What cannot be told of one kind keeps no other waiting.
    func run() async {
        await withTaskGroup { tasks in
            if settings.answersConsumption {
                tasks.addTask { await repeating(Int64(0)) { place in try await answerRequests(&place) } }
            }
            if settings.finishes {
                tasks.addTask {
                    await repeating(Backlog<AppStoreWork.Purchase>()) { backlog in
                        try await work(off: &backlog, purchases, \.number) { purchase in
                            if purchase.time >= Correspondence.earliest() { try await finish(purchase) }
                        }
                    }
                }
            }
            if settings.finishes || settings.setsAccountTokens {
                tasks.addTask {
                    await repeating(Backlog<AppStoreWork.Assignment>()) { backlog in
                        try await work(off: &backlog, assignments, \.number) { assignment in
                            if assignment.time >= Correspondence.earliest() { try await tell(assignment) }
                        }
                    }
                }
            }
        }
    }

    /// Looks at the ledger again and again, and the less often the longer it fails.
    /// - Parameter first: where the first look begins, and each that follows a time in which the ledger did not lead.
    private func repeating<Progress>(
        _ first: Progress, _ tell: (inout Progress) async throws -> Void
    ) async {
        var progress = first
        var failures = 0
        while !Task.isCancelled {
            do {
                if leads() {
                    try await tell(&progress)
                    if failures > 0 { logger.notice("Apple can be told of purchases again") }
                } else {
                    progress = first
                }
                failures = 0
            } catch {
                if Task.isCancelled { return }
                if failures == 0 {
                    logger.warning(
                        "Apple cannot be told of purchases; it is tried again", metadata: ["error": "\(error)"])
                }
                failures += 1
            }
            let seconds = min(Correspondence.secondsMax, Correspondence.seconds << min(failures, 6))
            try? await Task.sleep(for: .seconds(seconds))
        }
    }

    // MARK: What there is to tell

    private static func earliest() -> Timestamp { Clock.now() - tellingMilliseconds }

    /// Goes through the questions that may still be answered. Those that wait are met again each time: a player may
    /// consent meanwhile.
    private func answerRequests(_ place: inout Int64) async throws {
        var after = place
        var areAllSettled = true
        var page: [AppStoreWork.ConsumptionRequest]
        repeat {
            page = try await requests(after: after)
            let ends = await results(page[...]) { try await answer($0) }
            for (row, end) in zip(page, ends) {
                after = row.number
                areAllSettled = areAllSettled && (try? end.get()) == true
                if areAllSettled { place = after }
            }
            try Correspondence.check(ends)
        } while page.count == Correspondence.concurrencyMax
    }

    /// Tells Apple of all rows of an order that it was not told of.
    /// - Parameter read: a page of them after a number; a page that is not full is the last.
    /// - Throws: what ``check(_:)`` throws.
    private func work<Row: Sendable>(
        off backlog: inout Backlog<Row>, _ read: (Int64) async throws -> [Row], _ number: (Row) -> Int64,
        _ tell: @escaping @Sendable (Row) async throws -> Void
    ) async throws {
        func untold(_ rows: ArraySlice<Row>) async -> ([Row], [Result<Void, any Error>]) {
            let ends = await results(rows, tell)
            return (zip(rows, ends).compactMap { row, end in (try? end.get()) == nil ? row : nil }, ends)
        }
        var page: [Row]
        repeat {
            page = try await read(backlog.place)
            for start in stride(from: 0, to: page.count, by: Correspondence.concurrencyMax) {
                let rows = page[start..<min(page.count, start + Correspondence.concurrencyMax)]
                let (left, ends) = await untold(rows)
                try Correspondence.check(ends)
                // Rows beyond this limit are tried again only after a restart.
                backlog.postponed += left.prefix(Correspondence.postponedMax - backlog.postponed.count)
                backlog.place = rows.last.map(number) ?? backlog.place
            }
        } while page.count == Limits.appStoreWorkMax
        for _ in 0..<min(backlog.postponed.count, Correspondence.concurrencyMax) {
            let (left, _) = await untold([backlog.postponed.removeFirst()])
            backlog.postponed += left
            try Task.checkCancellation()
        }
    }

    /// - Throws: the first error, where nothing could be told, for reasons that would hold for any purchase: then Apple
    ///   is taken to be unreachable.
    private static func check<End>(_ ends: [Result<End, any Error>]) throws {
        try Task.checkCancellation()
        let failed = ends.compactMap { end in if case .failure(let error) = end { error } else { nil } }
        if failed.count == ends.count, let error = failed.first(where: { !isOfOnePurchase($0) }) { throw error }
    }

    private static func isOfOnePurchase(_ error: any Error) -> Bool {
        guard case AppStoreServerError.refused(let refusal) = error else { return false }
        return refusal.isOfOnePurchase
    }

    /// Does something for each row, for all at once.
    private func results<Row: Sendable, End: Sendable>(
        _ rows: ArraySlice<Row>, _ work: @escaping @Sendable (Row) async throws -> End
    ) async -> [Result<End, any Error>] {
        await withTaskGroup { tasks in
            for (place, row) in zip(rows.indices, rows) {
                tasks.addTask {
                    do { return (place, Result<End, any Error>.success(try await work(row))) } catch {
                        return (place, .failure(error))
                    }
                }
            }
            var ends: [Int: Result<End, any Error>] = [:]
            for await (place, end) in tasks { ends[place] = end }
            return rows.indices.map { ends[$0]! }
        }
    }

    private func requests(after number: Int64) async throws -> [AppStoreWork.ConsumptionRequest] {
        guard
            case .consumptionRequests(let rows) = try await work(
                // As few as are answered at the same time, so that a consent is read just before it is used.
                .consumptionRequests(
                    after: number, since: Correspondence.earliest(), limit: Correspondence.concurrencyMax))
        else {
            preconditionFailure("a page of consumption requests was asked for")
        }
        return rows
    }

    private func purchases(after number: Int64) async throws -> [AppStoreWork.Purchase] {
        guard case .purchases(let rows) = try await work(.purchases(after: number, since: Correspondence.earliest()))
        else {
            preconditionFailure("a page of purchases was asked for")
        }
        return rows
    }

    private func assignments(after number: Int64) async throws -> [AppStoreWork.Assignment] {
        guard
            case .assignments(let rows) = try await work(.assignments(after: number, since: Correspondence.earliest()))
        else {
            preconditionFailure("a page of assignments was asked for")
        }
        return rows
    }

    private func work(_ query: AppStoreWorkQuery) async throws -> AppStoreWork {
        switch await caller.answer(to: .query(.appStoreWork(query))) {
        case .success(.appStoreWork(let work)): return work
        case .success(let outcome): preconditionFailure("work was answered \(outcome)")
        case .failure(let fault): throw fault
        }
    }

    // MARK: What is told

    /// Answers how much of a purchase was consumed: with consent, when the delay is over, and before Apple's deadline.
    private func answer(_ request: AppStoreWork.ConsumptionRequest) async throws -> Bool {
        if request.isEnded || request.refusalCode != nil { return true }
        let now = Clock.now()
        let deadline = request.signedDate + Limits.consumptionAnswerMilliseconds
        if now >= deadline - Correspondence.marginMilliseconds {
            // A player who consented later did not have Apple told.
            if request.consent == true {
                logger.warning(
                    "Apple was not told in time how much of a purchase was consumed",
                    metadata: ["transaction": "\(request.transaction)"])
                try await record(.consumption, request.transaction, request.notificationUUID, .expired)
            }
            return true
        }
        guard request.consent == true, now >= request.signedDate + consumptionDelay else { return false }
        switch await caller.answer(
            to: .command(.consumption(ConsumptionQuery(transaction: request.transaction))))
        {
        case .success(.consumption(let body)):
            let information = ConsumptionInformation(body)
            try await tell(
                .consumption, request.transaction, request.notificationUUID, body: information.json()
            ) { try await client.sendConsumption(information, transactionID: "\(request.transaction)") }
            return true
        case .success(let outcome): preconditionFailure("consumption was answered \(outcome)")
        case .failure(let fault): throw fault
        }
    }

    private func finish(_ purchase: AppStoreWork.Purchase) async throws {
        // One without an account comes again when it has one, among the assignments.
        if !purchase.isCredited || purchase.isFinished || purchase.refusalCode != nil { return }
        try await finish(purchase.transaction)
    }

    private func finish(_ transaction: TransactionID) async throws {
        try await tell(.finish, transaction) { try await client.finishTransaction(transactionID: "\(transaction)") }
    }

    private func tell(_ assignment: AppStoreWork.Assignment) async throws {
        var failure: (any Error)?
        if settings.finishes, !assignment.isFinishTold {
            do { try await finish(assignment.transaction) } catch { failure = error }
        }
        if settings.setsAccountTokens, !assignment.isTold, assignment.refusalCode == nil,
            let token = assignment.token
        {
            try await tell(.accountToken, assignment.transaction) {
                try await client.setAppAccountToken(
                    "\(token)", originalTransactionID: "\(assignment.originalTransaction ?? assignment.transaction)")
            }
        }
        if let failure { throw failure }
    }

    /// Makes a call, and records how it ended. A call that was begun goes on when the service is shut down: an answer
    /// that was on its way would be lost, and the call made again.
    /// - Throws: where it has no end: it is to be made again.
    private func tell(
        _ kind: AppStoreCall.Kind, _ transaction: TransactionID, _ notification: String? = nil, body: [UInt8] = [],
        _ call: @escaping @Sendable () async throws -> Void
    ) async throws {
        try Task.checkCancellation()
        try await Task {
            do {
                try await call()
                try await record(kind, transaction, notification, body: body, .accepted)
            } catch AppStoreServerError.refused(let refusal)
                where !refusal.isRetryable && refusal.isOfOnePurchase
            {
                logger.warning(
                    "Apple refuses what it is told of a purchase",
                    metadata: ["transaction": "\(transaction)", "call": "\(kind)", "reason": "\(refusal)"])
                let code = refusal.code.map(\.rawValue) ?? Int64(refusal.status)
                try await record(kind, transaction, notification, body: body, .refused(code: code))
            }
        }.value
    }

    private func record(
        _ kind: AppStoreCall.Kind, _ transaction: TransactionID, _ notification: String?, body: [UInt8] = [],
        _ end: AppStoreCall.End
    ) async throws {
        let call = AppStoreCall(
            transaction: transaction, kind: kind, notificationUUID: notification, body: body, end: end)
        switch await caller.answer(to: .command(.record(call))) {
        case .success(.recorded): break
        case .success(let outcome): preconditionFailure("what Apple was told was answered \(outcome)")
        case .failure(let fault): throw fault
        }
    }
}

extension ConsumptionInformation {
    init(_ body: ConsumptionBody) {
        self.init(
            deliveryStatus: DeliveryStatus(rawValue: body.deliveryStatus.rawValue),
            consumptionPercentage: body.consumptionPercentage,
            refundPreference: body.refundPreference.map { RefundPreference(rawValue: $0.rawValue) },
            sampleContentProvided: body.sampleContentProvided)
    }
}

extension AppStoreServerError.Refusal {
    /// Whether Apple refuses one purchase, and may take others: by a number of its own (a proxy's refusal has none),
    /// and not because of the app, the key or the rate.
    var isOfOnePurchase: Bool {
        let ofAll: [APIErrorCode] = [.invalidAppIdentifier, .appNotFound, .appNotFoundRetryable, .rateLimitExceeded]
        guard let code, !ofAll.contains(code) else { return false }
        return status != 401 && status != 429 && status < 500
    }
}
