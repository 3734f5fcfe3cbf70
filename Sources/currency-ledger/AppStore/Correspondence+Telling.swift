import AppStoreServer
import Ledger
import LedgerEngine

/// What Apple is told, a call each, and how it ended.
extension Correspondence {
    /// What became of a row.
    enum Told {
        /// Apple took what it was told, or refused it for good.
        case told
        /// There is nothing to tell any more.
        case settled
        /// There may be something to tell later.
        case open
    }

    /// Milliseconds that a call which is under way may still take when the service is shut down: container runtimes
    /// kill it after ten seconds.
    private static let partingMilliseconds: Int64 = 5_000

    /// Answers how much of a purchase was consumed: with consent, when the delay is over, and before Apple's deadline.
    func answer(_ request: AppStoreWork.ConsumptionRequest) async throws -> Told {
        if request.isSettled { return .settled }
        let now = Clock.now()
        if now >= Questions.end(request) {
            // A player who consented later did not have Apple told.
            if request.consent == true {
                logger.warning(
                    "Apple was not told in time how much of a purchase was consumed",
                    metadata: ["transaction": "\(request.transaction)"])
                try await record(.consumption, request.transaction, request.notificationUUID, .expired)
            }
            return .settled
        }
        guard request.consent == true, now >= request.signedDate + consumptionDelay() else { return .open }
        switch await caller.answer(
            to: .command(.consumption(ConsumptionQuery(transaction: request.transaction))))
        {
        case .success(.consumption(let body)):
            let information = ConsumptionInformation(body)
            try await tell(
                .consumption, request.transaction, request.notificationUUID, body: information.json()
            ) {
                // What is tried again is decided by each look.
                try await client.sendConsumption(
                    information, transactionID: "\(request.transaction)", retries: AppStoreServerClient.RetryPolicy.none
                )
            }
            return .told
        case .success(let outcome): preconditionFailure("consumption was answered \(outcome)")
        case .failure(let fault): throw fault
        }
    }

    /// One that found its account later is among the assignments.
    func isOpen(_ purchase: AppStoreWork.Purchase) -> Bool {
        purchase.isCredited && !purchase.isFinished && purchase.refusalCode == nil
    }

    func finish(_ purchase: AppStoreWork.Purchase) async throws { try await finish(purchase.transaction) }

    func lacksFinish(_ assignment: AppStoreWork.Assignment) -> Bool { !assignment.isFinishTold }

    func finish(_ assignment: AppStoreWork.Assignment) async throws { try await finish(assignment.transaction) }

    private func finish(_ transaction: TransactionID) async throws {
        try await tell(.finish, transaction) {
            try await client.finishTransaction(
                transactionID: "\(transaction)", retries: AppStoreServerClient.RetryPolicy.none)
        }
    }

    func lacksToken(_ assignment: AppStoreWork.Assignment) -> Bool {
        !assignment.isTold && assignment.refusalCode == nil && assignment.token != nil
    }

    func tellToken(_ assignment: AppStoreWork.Assignment) async throws {
        guard let token = assignment.token else { return }
        try await tell(.accountToken, assignment.transaction) {
            try await client.setAppAccountToken(
                "\(token)", originalTransactionID: "\(assignment.originalTransaction ?? assignment.transaction)",
                retries: AppStoreServerClient.RetryPolicy.none)
        }
    }

    /// Makes a call, and records how it ended. A call that was begun goes on for a while when the service is shut down:
    /// an answer that was on its way would be lost, and the call made again.
    /// - Throws: where it has no end: it is to be made again.
    private func tell(
        _ kind: AppStoreCall.Kind, _ transaction: TransactionID, _ notification: String? = nil, body: [UInt8] = [],
        _ call: @escaping @Sendable () async throws -> Void
    ) async throws {
        try Task.checkCancellation()
        let task = Task {
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
        }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            Task {
                try await Task.sleep(for: .milliseconds(Correspondence.partingMilliseconds))
                task.cancel()
            }
        }
    }

    /// Records how calls ended that could not be recorded when they did.
    /// - Throws: ``Fault`` where the ledger still cannot be written.
    func recordWhatEnded() async throws {
        for call in unrecorded.all { try await record(call) }
    }

    private func record(
        _ kind: AppStoreCall.Kind, _ transaction: TransactionID, _ notification: String?, body: [UInt8] = [],
        _ end: AppStoreCall.End
    ) async throws {
        try await record(
            AppStoreCall(transaction: transaction, kind: kind, notificationUUID: notification, body: body, end: end))
    }

    private func record(_ call: AppStoreCall) async throws {
        switch await caller.answer(to: .command(.record(call))) {
        case .success(.recorded): unrecorded.forget(call)
        case .success(let outcome): preconditionFailure("what Apple was told was answered \(outcome)")
        case .failure(let fault):
            unrecorded.keep(call)
            throw fault
        }
    }
}

extension ConsumptionInformation {
    fileprivate init(_ body: ConsumptionBody) {
        self.init(
            deliveryStatus: DeliveryStatus(rawValue: body.deliveryStatus.rawValue),
            consumptionPercentage: body.consumptionPercentage,
            refundPreference: body.refundPreference.map { RefundPreference(rawValue: $0.rawValue) },
            sampleContentProvided: body.sampleContentProvided)
    }
}
