import LedgerTestKit
import NIOCore
import Testing

@testable import LedgerClient

/// What becomes of a call after each attempt, decided without time or sockets.
@Suite struct RetryTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private static let lost = ClientError.connectionLost("cut")

    private static func retry(_ policy: RetryPolicy = .standard, isRepeatable: Bool = true) -> Retry {
        Retry(policy: policy, isRepeatable: isRepeatable, deadline: start + .seconds(10))
    }

    /// The wait before the next attempt, or the error at the end.
    private static func step(
        _ retry: inout Retry, _ end: AttemptEnd, after: TimeAmount = .zero, jitter: (Int64) -> Int64 = { $0 }
    ) -> Result<Int64, any Error>? {
        switch retry.step(after: end, now: start + after, jitter: jitter) {
        case .again(let wait): .success(wait)
        case .finish(.failure(let error)): .failure(error)
        case .finish(.success): nil
        }
    }

    private static func error(_ step: Result<Int64, any Error>?) -> (any Error)? {
        guard case .failure(let error) = step else { return nil }
        return error
    }

    @Test func waitsDoubleUpToTheCap() {
        let policy = RetryPolicy(attemptsMax: 100, baseMilliseconds: 50, capMilliseconds: 2_000)
        #expect(
            (1...8).map { policy.waitMaxMilliseconds(repetition: $0) } == [50, 100, 200, 400, 800, 1_600, 2_000, 2_000])
        #expect(policy.waitMaxMilliseconds(repetition: 1_000_000) == 2_000)
        let long = RetryPolicy(attemptsMax: 100, baseMilliseconds: .max / 2, capMilliseconds: .max)
        #expect(long.waitMaxMilliseconds(repetition: 64) == .max)
        #expect(RetryPolicy.none.waitMaxMilliseconds(repetition: 1) == 0)
    }

    @Test(arguments: WireReason.allCases)
    func onlyWhatTheServiceItselfRefusesIsRepeated(reason: WireReason) throws {
        var retry = Self.retry()
        let refusal = WireError(reason, "")
        let step = Self.step(&retry, .answered(.failure(refusal)))
        switch reason {
        case .overloaded, .shuttingDown, .storageUnavailable, .outcomeUnknown, .internalError:
            #expect(try step?.get() == 50)
        case .parseError, .invalidRequest, .lineTooLong, .batchTooLong, .methodNotFound, .invalidParams,
            .ledgerRequired, .unknownLedger,
            .unauthenticated, .forbidden, .notLeader, .storageCorrupt, .verificationFailed, .wrongApp,
            .wrongEnvironment, .notConsumable, .wrongProductType, .familyShared,
            .unknownProduct, .accountRequired, .accountMismatch, .purchaseConflict, .chainMismatch, .insufficientFunds,
            .versionMismatch, .minimumRemaining, .grantLimit, .balanceLimit, .keyReused, .unknownSpend,
            .alreadyReversed, .unknownHold, .holdClosed, .holdExpired, .unknownCurrency, .unknownPurchase,
            .periodClosed:
            #expect(Self.error(step) as? WireError == refusal)
        }
    }

    @Test func attemptsAreBoundedAndTheLastErrorIsThrown() throws {
        var retry = Self.retry(RetryPolicy(attemptsMax: 4, baseMilliseconds: 10, capMilliseconds: 25))
        let waits = try (0..<3).map { _ in try Self.step(&retry, .answered(.failure(.overloaded)))?.get() }
        #expect(waits == [10, 20, 25])
        #expect(Self.error(Self.step(&retry, .answered(.failure(.overloaded)))) as? WireError == .overloaded)
        #expect(retry.attempts == 4)
    }

    /// A client of several nodes asks as much oftener as it waits less, and each of them as often.
    @Test func amongNodesThereAreMoreAttemptsWithShorterWaits() {
        let policy = RetryPolicy.standard.among(nodes: 3)
        #expect(policy == RetryPolicy(attemptsMax: 300, baseMilliseconds: 50, capMilliseconds: 200))
        let short = RetryPolicy(attemptsMax: 5, baseMilliseconds: 10, capMilliseconds: 40)
        #expect(short.among(nodes: 2) == RetryPolicy(attemptsMax: 10, baseMilliseconds: 10, capMilliseconds: 40))
        #expect(RetryPolicy.none.among(nodes: 3) == .none)
    }

    /// Without a bound on attempts the timeout alone ends a call, and more than any number of them is no more.
    @Test(arguments: [1, 2, 3])
    func whereAttemptsHaveNoBoundTheTimeoutEndsTheCall(nodes: Int) throws {
        let policy = RetryPolicy(attemptsMax: .max, baseMilliseconds: 100, capMilliseconds: 100).among(nodes: nodes)
        #expect(policy == RetryPolicy(attemptsMax: .max, baseMilliseconds: 100, capMilliseconds: 100))
        var retry = Self.retry(policy)
        let refused = AttemptEnd.answered(.failure(.storageUnavailable))
        for milliseconds in stride(from: Int64(0), to: 9_900, by: 10) {
            #expect(try Self.step(&retry, refused, after: .milliseconds(milliseconds))?.get() == 100)
        }
        let error = Self.error(Self.step(&retry, refused, after: .milliseconds(9_900)))
        #expect(error as? WireError == .storageUnavailable)
    }

    @Test func aWaitThatEndsAfterTheDeadlineIsNotBegun() throws {
        var retry = Self.retry(RetryPolicy(attemptsMax: 100, baseMilliseconds: 1_000, capMilliseconds: 1_000))
        let refused = AttemptEnd.answered(.failure(.storageUnavailable))
        #expect(try Self.step(&retry, refused, after: .milliseconds(8_999))?.get() == 1_000)
        let error = Self.error(Self.step(&retry, refused, after: .milliseconds(9_000)))
        #expect(error as? WireError == .storageUnavailable)
        #expect(try Self.step(&retry, refused, after: .milliseconds(9_000), jitter: { $0 / 2 })?.get() == 500)
    }

    @Test func whatCannotBeRepeatedIsSentAgainOnlyWhereItWasNotSent() throws {
        var retry = Self.retry(isRepeatable: false)
        #expect(try Self.step(&retry, .disconnected(Self.lost, wasSent: false))?.get() == 0)
        #expect(try Self.step(&retry, .answered(.failure(.overloaded)))?.get() == 100)
        #expect(Self.error(Self.step(&retry, .disconnected(Self.lost, wasSent: true))) as? ClientError == Self.lost)
    }

    /// "Nothing was sent" of the last attempt says nothing of the first.
    @Test(arguments: [
        AttemptEnd.disconnected(ClientError.cannotConnect("refused"), wasSent: false),
        .disconnected(WireError.unknownToken, wasSent: false), .answered(.failure(.overloaded)),
        .answered(.failure(.forbidden(Methods.spend.method, .finance))), .answered(.failure(.ledgerRequired([]))),
    ])
    func aLaterErrorDoesNotHideThatAnEarlierAttemptMayHaveBeenCarriedOut(last: AttemptEnd) throws {
        var fresh = Self.retry(.none)
        let plain = Self.error(Self.step(&fresh, last))
        if case .connectionLost = plain as? ClientError { Issue.record("nothing was lost") }
        var retry = Self.retry(RetryPolicy(attemptsMax: 2, baseMilliseconds: 0, capMilliseconds: 0))
        #expect(try Self.step(&retry, .disconnected(Self.lost, wasSent: true))?.get() == 0)
        let error = Self.error(Self.step(&retry, last))
        guard case .connectionLost(let why) = error as? ClientError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(why.contains("the answer did not come"))
    }

    /// "Nothing was changed" of the repetition says nothing of the attempt whose outcome is unknown.
    @Test(arguments: [
        AttemptEnd.answered(.failure(.storageUnavailable)), .answered(.failure(.storageCorrupt)),
        .disconnected(ClientError.cannotConnect("refused"), wasSent: false),
        .disconnected(WireError.unknownToken, wasSent: false),
    ])
    func anUnknownOutcomeStaysUnknownWhereTheRepetitionFails(last: AttemptEnd) throws {
        var fresh = Self.retry(.none)
        let first = Self.error(Self.step(&fresh, last))
        let plain = try #require(first)
        #expect((plain as? WireError)?.reason != "outcome_unknown")
        var retry = Self.retry(RetryPolicy(attemptsMax: 2, baseMilliseconds: 0, capMilliseconds: 0))
        #expect(try Self.step(&retry, .answered(.failure(.outcomeUnknown)))?.get() == 0)
        let thrown = Self.error(Self.step(&retry, last)) as? WireError
        let error = try #require(thrown)
        #expect(error.reason == "outcome_unknown" && error.retryable)
        #expect(error.message.contains("\(plain)"))
    }

    @Test func theLastOfManyAttemptsDoesNotHideAnUnknownOutcome() throws {
        var retry = Self.retry(RetryPolicy(attemptsMax: 4, baseMilliseconds: 0, capMilliseconds: 0))
        for refusal in [WireError.overloaded, .outcomeUnknown, .storageUnavailable] {
            #expect(try Self.step(&retry, .answered(.failure(refusal)))?.get() == 0)
        }
        let error = Self.error(Self.step(&retry, .answered(.failure(.storageUnavailable))))
        #expect((error as? WireError)?.reason == "outcome_unknown")
    }

    @Test func anUnknownOutcomeIsToldByTheRepetition() throws {
        var retry = Self.retry()
        #expect(try Self.step(&retry, .answered(.failure(.outcomeUnknown)))?.get() == 50)
        guard
            case .finish(.success(let replayed)) = retry.step(
                after: .answered(.success([1])), now: Self.start, jitter: { $0 })
        else {
            Issue.record("not finished")
            return
        }
        #expect(replayed == [1])
    }

    @Test func aTimeoutAfterAnUnknownOutcomeSaysThatTheRequestMayHaveBeenCarriedOut() throws {
        var retry = Self.retry()
        #expect(try Self.step(&retry, .answered(.failure(.outcomeUnknown)))?.get() == 50)
        let error = Self.error(Self.step(&retry, .timedOut(wasSent: false)))
        #expect(error as? ClientError == .timedOut(mayHaveBeenCarriedOut: true))
    }

    @Test func whatCannotBeRepeatedIsNotSentAgainWhereItsOutcomeIsUnknown() throws {
        var retry = Self.retry(isRepeatable: false)
        #expect(try Self.step(&retry, .answered(.failure(.storageUnavailable)))?.get() == 50)
        #expect(Self.error(Self.step(&retry, .answered(.failure(.outcomeUnknown)))) as? WireError == .outcomeUnknown)
        #expect(retry.attempts == 2 && retry.mayHaveBeenCarriedOut)
    }

    @Test func theLedgersOwnRefusalStandsWhateverWasLostBefore() throws {
        var retry = Self.retry()
        #expect(try Self.step(&retry, .disconnected(Self.lost, wasSent: true))?.get() == 0)
        let refusal = WireError(.insufficientFunds, "")
        #expect(Self.error(Self.step(&retry, .answered(.failure(refusal)))) as? WireError == refusal)
    }

    @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
    func aTimeoutSaysWhetherTheRequestMayHaveBeenCarriedOut(before: Bool, now: Bool) {
        var retry = Self.retry()
        _ = Self.step(&retry, .disconnected(Self.lost, wasSent: before))
        let error = Self.error(Self.step(&retry, .timedOut(wasSent: now)))
        #expect(error as? ClientError == .timedOut(mayHaveBeenCarriedOut: before || now))
    }

    @Test func whatNoNewConnectionCanMendIsNotRepeated() {
        let ends: [(any Error, Bool)] = [
            (ClientError.closed, false), (ClientError.closed, true), (ClientError.unreadableReply(""), true),
            (WireError.unknownToken, false), (CancellationError(), false),
        ]
        for (error, wasSent) in ends {
            var retry = Self.retry()
            let step = Self.step(&retry, .disconnected(error, wasSent: wasSent))
            #expect(Self.error(step) != nil, "\(error)")
        }
        var retry = Self.retry()
        #expect(Self.error(Self.step(&retry, .cancelled)) is CancellationError)
    }
}
