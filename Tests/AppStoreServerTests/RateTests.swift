import Testing

@testable import AppStoreServer

/// Apple's limits of requests are kept to (status 429, `Retry-After`).
@Suite struct RateTests {
    private static let found = TestStore.Answer.reply(200, #"{"signedTransactionInfo":"jws","hasMore":false}"#)

    private static func limited(until time: Int64) -> TestStore.Answer {
        .reply(429, refusal(4_290_000, "Rate limit exceeded."), headers: ["Retry-After": String(time)])
    }

    @Test func aCallWaitsUntilTheTimeThatAppleNames() async throws {
        let time = TestTime()
        try await withStore(
            time: time, answer: { _, number in number == 1 ? Self.limited(until: TestTime.start + 60_000) : Self.found }
        ) { client, store in
            let answer = try await client.transactionInfo(transactionID: "1")
            #expect(answer == "jws")
            #expect(time.waits == [60_500] && store.requests.count == 2)
        }
    }

    @Test func withoutATimeItWaitsAsAfterAnyFailure() async throws {
        let time = TestTime()
        try await withStore(
            time: time, answer: { _, number in number == 1 ? .reply(429, "") : Self.found }
        ) { client, _ in
            let answer = try await client.transactionInfo(transactionID: "1")
            #expect(answer == "jws")
            #expect(time.waits == [500])
        }
    }

    /// What waits half an hour is for the caller to plan, who is told until when.
    @Test func aLongTimeIsToldAtOnceAndNothingIsSentBefore() async throws {
        let time = TestTime()
        let until = TestTime.start + 1_800_000
        try await withStore(
            time: time, answer: { _, number in number == 1 ? Self.limited(until: until) : Self.found }
        ) { client, store in
            for number in 1...3 {
                do {
                    _ = try await client.transactionInfo(transactionID: "1")
                    Issue.record("there was an answer")
                } catch AppStoreServerError.refused(let refusal) {
                    #expect(refusal.status == 429 && refusal.code == .rateLimitExceeded)
                    #expect(refusal.retryAfter == until && refusal.isRetryable)
                    #expect((refusal.message == "Rate limit exceeded.") == (number == 1))
                }
            }
            #expect(store.requests.count == 1 && time.waits.isEmpty)
            // Another kind of request has a limit of its own.
            for try await _ in client.refundHistory(transactionID: "1") {}
            #expect(store.requests.count == 2)
            time.advance(1_800_000)
            let answer = try await client.transactionInfo(transactionID: "1")
            #expect(answer == "jws")
            #expect(store.requests.count == 3)
        }
    }

    /// Apple counts by the hour, so a time beyond that is nobody's to believe.
    @Test func aTimeFurtherThanAnHourIsTakenForAnHour() async throws {
        let time = TestTime()
        try await withStore(
            retries: .none, time: time,
            answer: { _, number in
                number == 1 ? Self.limited(until: TestTime.start + 86_400_000) : Self.found
            }
        ) { client, store in
            for wait in [0, 3_599_999] as [Int64] {
                time.advance(wait)
                let error = await #expect(throws: AppStoreServerError.self) {
                    try await client.transactionInfo(transactionID: "1")
                }
                guard case .refused(let refusal) = error else { return unexpected(error) }
                #expect(refusal.retryAfter == TestTime.start + 3_600_000)
            }
            #expect(store.requests.count == 1)
            time.advance(1)
            let answer = try await client.transactionInfo(transactionID: "1")
            #expect(answer == "jws")
        }
    }

    /// Apple refuses for the rate before it carries anything out.
    @Test func aTestNotificationIsAskedForAgainAfterItsTime() async throws {
        let time = TestTime()
        try await withStore(
            time: time,
            answer: { _, number in
                number == 1
                    ? Self.limited(until: TestTime.start + 1_000) : .reply(200, #"{"testNotificationToken":"t"}"#)
            }
        ) { client, store in
            let token = try await client.requestTestNotification()
            #expect(token == "t")
            #expect(store.requests.count == 2 && time.waits == [1_500])
        }
    }

    @Test func othersOfItsKindWaitWithIt() async throws {
        let time = TestTime()
        try await withStore(
            retries: .none, time: time,
            answer: { _, number in number == 1 ? Self.limited(until: TestTime.start + 30_000) : Self.found }
        ) { client, store in
            await #expect(throws: AppStoreServerError.self) { try await client.transactionInfo(transactionID: "1") }
            await withTaskGroup(of: Void.self) { group in
                for number in 2...20 {
                    group.addTask {
                        await #expect(throws: AppStoreServerError.self) {
                            try await client.transactionInfo(transactionID: "\(number)")
                        }
                    }
                }
            }
            #expect(store.requests.count == 1)
        }
    }
}
