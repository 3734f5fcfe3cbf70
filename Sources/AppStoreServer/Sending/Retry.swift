/// Decides what becomes of one call after each attempt. Time and chance are passed in.
struct Retry {
    enum Step {
        case finish(Result<[UInt8], any Error>)
        case again(afterMilliseconds: Int64)
    }

    let policy: AppStoreServerClient.RetryPolicy
    /// Whether the request may be sent again where nobody knows whether it was carried out.
    let isRepeatable: Bool
    /// When the call began, in milliseconds since the UNIX epoch.
    let startedAt: Int64
    private var attempts = 0

    init(policy: AppStoreServerClient.RetryPolicy, isRepeatable: Bool, startedAt: Int64) {
        self.policy = policy
        self.isRepeatable = isRepeatable
        self.startedAt = startedAt
    }

    mutating func step(after end: AttemptEnd, now: Int64, jitter: (Int64) -> Int64) -> Step {
        attempts += 1
        switch end {
        case .succeeded(let body): return .finish(.success(body))
        case .refused(let refusal):
            let error = AppStoreServerError.refused(refusal)
            // For the rate Apple refuses before it carries anything out; after any other failure nobody knows.
            guard refusal.isOfTheRate || (refusal.isRetryable && isRepeatable) else { return fail(error) }
            return again(after: error, notBefore: refusal.retryAfter, now, jitter)
        case .notConnected(let why): return again(after: .cannotConnect(why), now, jitter)
        case .lost(let why):
            return isRepeatable ? again(after: .connectionLost(why), now, jitter) : fail(.connectionLost(why))
        case .timedOut: return isRepeatable ? again(after: .timedOut, now, jitter) : fail(.timedOut)
        case .failed(let error): return fail(error)
        case .cancelled: return .finish(.failure(CancellationError()))
        }
    }

    private func fail(_ error: AppStoreServerError) -> Step { .finish(.failure(error)) }

    private func again(
        after error: AppStoreServerError, notBefore: Int64? = nil, _ now: Int64, _ jitter: (Int64) -> Int64
    ) -> Step {
        guard attempts < policy.attemptsMax else { return fail(error) }
        let named = max(0, (notBefore ?? now) - now)
        let wait = named + jitter(policy.waitMaxMilliseconds(repetition: attempts))
        guard now - startedAt + wait <= policy.totalMilliseconds else { return fail(error) }
        return .again(afterMilliseconds: wait)
    }
}

/// How one attempt to send a request ended.
enum AttemptEnd: Sendable {
    /// With a status of 200 … 299.
    case succeeded(body: [UInt8])
    /// With any other status; or it was not sent at all, because Apple has said when to come again.
    case refused(AppStoreServerError.Refusal)
    /// Nothing was sent.
    case notConnected(String)
    /// It was sent, and no whole reply came.
    case lost(String)
    /// No whole reply came in time.
    case timedOut
    /// In a way that no repetition changes.
    case failed(AppStoreServerError)
    case cancelled
}
