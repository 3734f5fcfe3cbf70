import Ledger

/// How far Apple's questions, how much of a purchase was consumed, are settled. Those that are not are met again in
/// each look, for a player may consent meanwhile; those that could not be answered wait, and hold up no other: a look
/// first goes through all that do not wait, and then through those that have waited (``due(at:)``).
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

    /// Whether the question is not looked at where the look meets it, for it could not be answered, and waits.
    func isWaiting(_ request: AppStoreWork.ConsumptionRequest, at now: Timestamp) -> Bool {
        // One whose time is over has nothing to wait for.
        attempts.waits[request.number] != nil && now < Questions.end(request)
    }

    /// The numbers of questions that have waited, the one whose wait was over first before all others.
    func due(at now: Timestamp) -> [Int64] {
        attempts.waits.filter { $0.value.notBefore <= now }
            .sorted { ($0.value.notBefore, $0.key) < ($1.value.notBefore, $1.key) }.map(\.key)
    }

    /// It is answered, or cannot be answered any more.
    mutating func settle(_ request: AppStoreWork.ConsumptionRequest) {
        if request.number > after {
            after = request.number
            if isSettledSoFar { place = after }
        }
        attempts.settle(request.number)
    }

    /// There is none of that number any more.
    mutating func forget(_ number: Int64) { attempts.settle(number) }

    /// It is not answered yet: it has no consent, or waits.
    mutating func leave(_ request: AppStoreWork.ConsumptionRequest) {
        after = max(after, request.number)
        isSettledSoFar = false
        deadline = min(deadline ?? .max, Questions.end(request))
    }

    /// It could not be answered.
    /// - Parameters:
    ///   - until: when Apple asks to be told again, where it says so.
    ///   - jitter: a random number within 0 … its argument.
    mutating func fail(
        _ request: AppStoreWork.ConsumptionRequest, _ reason: String, at now: Timestamp, until: Timestamp? = nil,
        jitter: (Int64) -> Int64
    ) {
        attempts.fail(
            request.number, reason, at: now, until: until,
            waitMax: Pace.milliseconds(before: Questions.end(request), at: now), jitter: jitter)
        leave(request)
    }
}
