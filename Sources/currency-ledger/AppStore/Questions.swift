import Ledger

/// How far Apple's questions, how much of a purchase was consumed, are settled. Those that are not are met again in
/// each look, for a player may consent meanwhile; those that could not be answered wait, and hold up no other.
struct Questions: Sendable {
    /// Milliseconds before the deadline of an answer from which on it is not sent: an attempt takes half of them.
    static let marginMilliseconds: Int64 = 60_000

    /// Up to here all are settled.
    private(set) var place: Int64 = 0
    /// Up to here this look has come.
    private(set) var after: Int64 = 0
    /// When the first of those that this look found open may no longer be answered; `nil` where none is open.
    private(set) var deadline: Timestamp?
    private(set) var attempts = Attempts()
    private var isSettledSoFar = true

    /// A look begins.
    mutating func begin() {
        after = place
        deadline = nil
        isSettledSoFar = true
    }

    /// From when on an answer is not sent any more.
    static func end(_ request: AppStoreWork.ConsumptionRequest) -> Timestamp {
        request.signedDate + Limits.consumptionAnswerMilliseconds - marginMilliseconds
    }

    /// Whether the question is looked at now.
    func isDue(_ request: AppStoreWork.ConsumptionRequest, at now: Timestamp) -> Bool {
        // One whose time is over has nothing to wait for.
        attempts.isDue(request.number, at: now) || now >= Questions.end(request)
    }

    /// It is answered, or cannot be answered any more.
    mutating func settle(_ request: AppStoreWork.ConsumptionRequest) {
        after = request.number
        if isSettledSoFar { place = after }
        attempts.settle(request.number)
    }

    /// It is not answered yet: it has no consent, or waits.
    mutating func leave(_ request: AppStoreWork.ConsumptionRequest) {
        after = request.number
        isSettledSoFar = false
        deadline = min(deadline ?? .max, Questions.end(request))
    }

    /// It could not be answered.
    /// - Parameter jitter: a random number within 0 … its argument.
    mutating func fail(
        _ request: AppStoreWork.ConsumptionRequest, _ reason: String, at now: Timestamp, jitter: (Int64) -> Int64
    ) {
        attempts.fail(
            request.number, reason, at: now, waitMax: Pace.milliseconds(before: Questions.end(request), at: now),
            jitter: jitter)
        leave(request)
    }
}
