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
    /// Milliseconds for which Apple is told of a purchase that it is in the books, and whose it is.
    static let tellingMilliseconds: Int64 = 7 * 86_400_000

    /// Up to where in each order everything was told, or will never be.
    private struct Places {
        var requests: Int64
        var purchases: Int64
        var assignments: Int64
    }

    /// Goes on until its task is cancelled.
    func run() async {
        var places: Places?
        var failures = 0
        while !Task.isCancelled {
            do {
                if leads() {
                    var current = try await places ?? start()
                    defer { places = current }
                    try await tell(&current)
                    if failures > 0 { logger.notice("Apple can be told of purchases again") }
                    failures = 0
                } else {
                    places = nil
                }
            } catch is CancellationError {
                return
            } catch {
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

    private func tell(_ places: inout Places) async throws {
        if settings.answersConsumption {
            try await scan(&places.requests, requests, \.number) { try await answer($0) }
        }
        if settings.finishes {
            try await scan(&places.purchases, purchases, \.number) { try await finish($0) }
        }
        if settings.finishes || settings.setsAccountTokens {
            try await scan(&places.assignments, assignments, \.number) { try await tell($0) }
        }
    }

    // MARK: What there is to tell

    /// Goes through all rows after a place.
    /// - Parameters:
    ///   - place: moves to the last row before which every one is done with.
    ///   - read: a page of them after a number; a page that is not full is the last.
    ///   - settle: does what there is to do for a row, and says whether it is done with.
    /// - Throws: what `settle` throws for as many at once as are tried at once: then it would for the others too.
    private func scan<Row: Sendable>(
        _ place: inout Int64, _ read: (Int64) async throws -> [Row], _ number: (Row) -> Int64,
        _ settle: @escaping @Sendable (Row) async throws -> Bool
    ) async throws {
        var after = place
        var areAllSettled = true
        var page: [Row]
        repeat {
            page = try await read(after)
            for start in stride(from: 0, to: page.count, by: Correspondence.concurrencyMax) {
                let rows = Array(page[start..<min(page.count, start + Correspondence.concurrencyMax)])
                let ends = await settleAll(rows, settle)
                for (row, end) in zip(rows, ends) {
                    after = number(row)
                    areAllSettled = areAllSettled && (try? end.get()) == true
                    if areAllSettled { place = after }
                }
                try Task.checkCancellation()
                let failed = ends.compactMap { end in if case .failure(let error) = end { error } else { nil } }
                if let error = failed.first, failed.count == ends.count { throw error }
            }
        } while page.count == Limits.appStoreWorkMax
    }

    private func settleAll<Row: Sendable>(
        _ rows: [Row], _ settle: @escaping @Sendable (Row) async throws -> Bool
    ) async -> [Result<Bool, any Error>] {
        await withTaskGroup { tasks in
            for (index, row) in rows.enumerated() {
                tasks.addTask {
                    do { return (index, Result.success(try await settle(row))) } catch {
                        return (index, Result.failure(error))
                    }
                }
            }
            var ends = [Result<Bool, any Error>](repeating: .success(false), count: rows.count)
            for await (index, end) in tasks { ends[index] = end }
            return ends
        }
    }

    private func requests(after number: Int64) async throws -> [AppStoreWork.ConsumptionRequest] {
        guard case .consumptionRequests(let rows) = try await work(.consumptionRequests(after: number)) else {
            preconditionFailure("a page of consumption requests was asked for")
        }
        return rows
    }

    private func purchases(after number: Int64) async throws -> [AppStoreWork.Purchase] {
        guard case .purchases(let rows) = try await work(.purchases(after: number)) else {
            preconditionFailure("a page of purchases was asked for")
        }
        return rows
    }

    private func assignments(after number: Int64) async throws -> [AppStoreWork.Assignment] {
        guard case .assignments(let rows) = try await work(.assignments(after: number)) else {
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
            return try await tell(
                .consumption, request.transaction, request.notificationUUID, body: information.json()
            ) { try await client.sendConsumption(information, transactionID: "\(request.transaction)") }
        case .success(let outcome): preconditionFailure("consumption was answered \(outcome)")
        case .failure(let fault): throw fault
        }
    }

    private func finish(_ purchase: AppStoreWork.Purchase) async throws -> Bool {
        // One without an account comes again when it has one, among the assignments.
        if !purchase.isCredited || purchase.isFinished || purchase.refusalCode != nil { return true }
        return try await finish(purchase.transaction)
    }

    private func finish(_ transaction: TransactionID) async throws -> Bool {
        try await tell(.finish, transaction) { try await client.finishTransaction(transactionID: "\(transaction)") }
    }

    private func tell(_ assignment: AppStoreWork.Assignment) async throws -> Bool {
        if settings.finishes, !assignment.isFinished { _ = try await finish(assignment.transaction) }
        guard settings.setsAccountTokens, !assignment.isTold, assignment.refusalCode == nil,
            let token = assignment.account.flatMap({ AppAccountToken($0) })
        else { return true }
        return try await tell(.accountToken, assignment.transaction) {
            try await client.setAppAccountToken(
                "\(token)", originalTransactionID: "\(assignment.originalTransaction ?? assignment.transaction)")
        }
    }

    /// Makes a call, and records how it ended.
    /// - Returns: `true`, for it has ended.
    /// - Throws: where it has not: it is to be made again.
    private func tell(
        _ kind: AppStoreCall.Kind, _ transaction: TransactionID, _ notification: String? = nil, body: [UInt8] = [],
        _ call: () async throws -> Void
    ) async throws -> Bool {
        do {
            try await call()
            try await record(kind, transaction, notification, body: body, .accepted)
        } catch AppStoreServerError.refused(let refusal) where !refusal.isRetryable && refusal.status != 401 {
            let code = refusal.code?.rawValue ?? Int64(refusal.status)
            logger.warning(
                "Apple refuses what it is told of a purchase",
                metadata: ["transaction": "\(transaction)", "call": "\(kind)", "reason": "\(refusal)"])
            try await record(kind, transaction, notification, body: body, .refused(code: code))
        }
        return true
    }

    private func record(
        _ kind: AppStoreCall.Kind, _ transaction: TransactionID, _ notification: String?, body: [UInt8] = [],
        _ end: AppStoreCall.End
    ) async throws {
        let call = AppStoreCall(
            transaction: transaction, kind: kind, notificationUUID: notification, body: body, end: end)
        if case .failure(let fault) = await caller.answer(to: .command(.record(call))) { throw fault }
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
