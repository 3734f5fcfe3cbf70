import Testing

@testable import AppStoreServer

/// What is sent again and after which wait, decided without a network.
@Suite struct RetryTests {
    private typealias Refusal = AppStoreServerError.Refusal

    private static func retry(_ policy: AppStoreServerClient.RetryPolicy = .standard, repeatable: Bool = true) -> Retry
    {
        Retry(policy: policy, isRepeatable: repeatable, startedAt: 0)
    }

    /// Milliseconds until the next attempt, or the error at the end.
    private static func step(
        _ retry: inout Retry, _ end: AttemptEnd, now: Int64 = 0, jitter: (Int64) -> Int64 = { $0 }
    ) -> (wait: Int64?, error: AppStoreServerError?) {
        switch retry.step(after: end, now: now, jitter: jitter) {
        case .again(let milliseconds): (milliseconds, nil)
        case .finish(.failure(let error)): (nil, error as? AppStoreServerError)
        case .finish(.success): (nil, nil)
        }
    }

    private static let failures: [AttemptEnd] = [
        .refused(Refusal(status: 500, code: .generalInternal)), .refused(Refusal(status: 503)),
        .refused(Refusal(status: 500, code: .generalInternalRetryable)),
        .refused(Refusal(status: 404, code: .accountNotFoundRetryable)),
        .refused(Refusal(status: 404, code: .appNotFoundRetryable)),
        .refused(Refusal(status: 404, code: .originalTransactionIDNotFoundRetryable)), .lost("cut"), .timedOut,
    ]

    @Test func whatMayBeRepeatedIsSentAgainAfterAnyFailure() {
        for end in Self.failures + [.notConnected("refused"), .refused(Refusal(status: 429))] {
            var retry = Self.retry()
            #expect(Self.step(&retry, end).wait == 500, "\(end)")
        }
    }

    @Test func whatMayNotBeRepeatedIsSentAgainOnlyWhereItWasNotCarriedOut() {
        for end in Self.failures {
            var retry = Self.retry(repeatable: false)
            #expect(Self.step(&retry, end).error != nil, "\(end)")
        }
        for end in [
            AttemptEnd.notConnected("refused"), .refused(Refusal(status: 429)),
            .refused(Refusal(status: 429, code: .rateLimitExceeded)),
        ] {
            var retry = Self.retry(repeatable: false)
            #expect(Self.step(&retry, end).wait == 500, "\(end)")
        }
    }

    @Test func onlyOneEndpointMayNotBeRepeated() {
        #expect(Endpoint.allCases.filter { !$0.isRepeatable } == [.testNotification])
    }

    @Test(arguments: [
        AppStoreServerError.Refusal(status: 404, code: .transactionIDNotFound),
        AppStoreServerError.Refusal(status: 400, code: .invalidTransactionID),
        AppStoreServerError.Refusal(status: 401), AppStoreServerError.Refusal(status: 302),
        AppStoreServerError.Refusal(status: 404, code: APIErrorCode(rawValue: 4_049_999)),
    ])
    func aRefusalThatNothingChangesIsTheEnd(refusal: AppStoreServerError.Refusal) {
        var retry = Self.retry()
        #expect(Self.step(&retry, .refused(refusal)).error == .refused(refusal))
        #expect(!refusal.isRetryable && !AppStoreServerError.refused(refusal).isRetryable)
    }

    @Test func waitsAreDoubledUpToTheCapAndEndWithTheAttempts() {
        let policy = AppStoreServerClient.RetryPolicy(
            attemptsMax: 6, baseMilliseconds: 100, capMilliseconds: 700, totalMilliseconds: 10_000)
        var retry = Self.retry(policy)
        #expect((1...5).map { _ in Self.step(&retry, .timedOut).wait } == [100, 200, 400, 700, 700])
        #expect(Self.step(&retry, .timedOut).error == .timedOut)
    }

    @Test func theWaitIsAnyTimeUpToThat() {
        var retry = Self.retry()
        #expect(Self.step(&retry, .timedOut, jitter: { _ in 0 }).wait == 0)
        #expect(Self.step(&retry, .timedOut, jitter: { $0 / 2 }).wait == 500)
        let policy = AppStoreServerClient.RetryPolicy(
            attemptsMax: .max, baseMilliseconds: .max / 2, capMilliseconds: .max / 2)
        #expect(policy.waitMaxMilliseconds(repetition: 1_000) == .max / 2)
    }

    @Test func aNamedTimeIsWaitedForFirst() {
        var retry = Self.retry()
        let refusal = Refusal(status: 429, code: .rateLimitExceeded, retryAfter: 61_000)
        #expect(Self.step(&retry, .refused(refusal), now: 1_000).wait == 60_500)
        // One that is over costs no more than any.
        #expect(Self.step(&retry, .refused(refusal), now: 61_500).wait == 1_000)
    }

    @Test func aWaitBeyondTheTotalIsNotBegun() {
        var retry = Self.retry()
        let refusal = Refusal(status: 429, retryAfter: 119_500)
        #expect(Self.step(&retry, .refused(refusal)).wait == 120_000)
        retry = Self.retry()
        let later = Refusal(status: 429, retryAfter: 119_501)
        #expect(Self.step(&retry, .refused(later)).error == .refused(later))
        retry = Self.retry()
        #expect(Self.step(&retry, .timedOut, now: 119_501).error == .timedOut)
    }

    @Test func noPolicySendsOnce() {
        var retry = Self.retry(.none)
        #expect(Self.step(&retry, .notConnected("refused")).error == .cannotConnect("refused"))
    }

    // MARK: Retry-After

    @Test(arguments: [
        // Apple's form: a UNIX time in milliseconds.
        ("1777248060000", 1_777_248_060_000), ("1777247999999", 1_777_247_999_999),
        // One that is long over.
        ("100000000000", 100_000_000_000),
        // RFC 9110's: seconds.
        ("120", 1_777_248_120_000), ("0", 1_777_248_000_000), ("3600", 1_777_251_600_000),
        // An hour at most.
        ("1999999999999", 1_777_251_600_000), ("99999999999", 1_777_251_600_000), ("3601", 1_777_251_600_000),
        ("9223372036854775807", 1_777_251_600_000),
    ])
    func aTimeToComeAgainIsRead(header: String, time: Int64) {
        #expect(RateLimits.time(ofHeader: header, now: TestTime.start) == time)
    }

    @Test(arguments: ["", "-1", "soon", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT", "9223372036854775808", " 1"])
    func whatIsNoSuchTimeSaysNothing(header: String) {
        #expect(RateLimits.time(ofHeader: header, now: TestTime.start) == nil)
    }

    @Test func anEndpointWaitsAndTheOthersDoNot() {
        let limits = RateLimits()
        limits.note(1_000, for: .refundHistory)
        #expect(limits.wait(for: .refundHistory, now: 999) == 1_000)
        #expect(limits.wait(for: .transactionHistory, now: 999) == nil)
        #expect(limits.wait(for: .refundHistory, now: 1_000) == nil)
        // It is forgotten then.
        #expect(limits.wait(for: .refundHistory, now: 0) == nil)
        // A clock that is set back by years does not close an endpoint for years.
        limits.note(10_000_000_000, for: .refundHistory)
        #expect(limits.wait(for: .refundHistory, now: 0) == nil)
    }
}
