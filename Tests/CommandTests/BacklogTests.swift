import Ledger
import Testing

@testable import currency_ledger

/// What waits until Apple can be told of it, when it is tried again, and when Apple is taken to be unreachable.
@Suite struct BacklogTests {
    private struct Failure: Error {}
    private static let earliest: Timestamp = 1_000
    private static let now: Timestamp = 1_000_000_000

    private static func row(_ number: Int64, time: Timestamp = 2_000) -> Backlog.Row {
        Backlog.Row(number: number, time: time)
    }

    /// The longest wait that may be drawn.
    @Sendable private static func longest(_ bound: Int64) -> Int64 { bound }

    private static func fail(_ backlog: inout Backlog, _ numbers: ClosedRange<Int64>, at now: Timestamp = now) {
        for number in numbers { backlog.fail(row(number), "no", at: now, jitter: longest) }
        backlog.pass(numbers.upperBound)
    }

    // MARK: Waits

    /// Failures before, and the milliseconds below which the next wait is.
    @Test(arguments: [(0, 5_000), (1, 10_000), (2, 20_000), (6, 320_000), (7, 640_000), (8, 900_000), (200, 900_000)])
    func aRowWaitsTwiceAsLongEachTimeUpToAQuarterOfAnHour(failures: Int, bound: Int64) {
        var attempts = Attempts()
        for _ in 0..<failures { attempts.fail(1, "no", at: 0) { _ in 0 } }
        var drawn: Int64?
        attempts.fail(1, "no", at: 100) { max in
            drawn = max
            return max / 2
        }
        #expect(drawn == bound)
        #expect(attempts.waits[1]?.notBefore == 101 + bound / 2)
        #expect(!attempts.isDue(1, at: 100 + bound / 2) && attempts.isDue(1, at: 101 + bound / 2))
        #expect(attempts.isDue(2, at: 0))
        attempts.settle(1)
        #expect(attempts.isDue(1, at: 0))
    }

    @Test func whatFailedIsNotDueInTheSameMomentWhateverIsDrawn() {
        var attempts = Attempts()
        attempts.fail(1, "no", at: 7) { _ in 0 }
        #expect(!attempts.isDue(1, at: 7) && attempts.isDue(1, at: 8))
    }

    /// Milliseconds until Apple asks to be told again, and until the row is told again of which 2,000 were drawn.
    @Test(arguments: [(nil, 2_000), (-7, 2_000), (1_000, 2_000), (60_000, 60_000), (3_600_000, 900_000)])
    func whereAppleSaysWhenTheRowIsNotToldBefore(until: Int64?, wait: Int64) {
        var attempts = Attempts()
        attempts.fail(1, "no", at: Self.now, until: until.map { Self.now + $0 }) { _ in 2_000 }
        #expect(attempts.waits[1]?.notBefore == Self.now + 1 + wait)
        // But before a deadline.
        attempts.fail(2, "no", at: Self.now, until: until.map { Self.now + $0 }, waitMax: 5_000) { _ in 2_000 }
        #expect(attempts.waits[2]?.notBefore == Self.now + 1 + min(wait, 5_000))
    }

    /// Rows that failed again and again, what was said last, and what is said then.
    @Test(
        arguments: [
            (0, 0, nil), (1, 0, 1), (1, 1, nil), (3, 2, nil), (4, 2, 4), (9, 4, 9), (1, 9, nil), (0, 9, 0),
        ] as [(Int64, Int, Int?)])
    func theOperatorIsToldWhenTheyBeginWhenTheyHaveDoubledAndWhenTheyEnd(rows: Int64, said: Int, news: Int?) {
        var attempts = Attempts()
        for number in 0..<rows {
            for _ in 0..<Attempts.lastingFailures { attempts.fail(number, "no", at: 0) { _ in 0 } }
        }
        // One that failed less often may be an accident.
        attempts.fail(-1, "no", at: 0) { _ in 0 }
        #expect(attempts.news(since: said) == news)
    }

    /// Failures in a row, the milliseconds until the deadline, and the wait.
    @Test(
        arguments: [
            (0, nil, 5_000), (1, nil, 10_000), (5, nil, 160_000), (6, nil, 300_000), (99, nil, 300_000),
            (6, 3_600_000, 300_000), (6, 600_000, 300_000), (6, 100_000, 50_000), (6, 8_000, 5_000), (6, -1, 5_000),
            (0, 100_000, 5_000),
        ] as [(Int, Int64?, Int64)])
    func theNextLookIsTheNearerTheNearerADeadlineIs(failures: Int, left: Int64?, wait: Int64) {
        #expect(Pace.wait(failures: failures, deadline: left.map { Self.now + $0 }, at: Self.now) == wait)
    }

    // MARK: Backlog

    @Test func whatFailsWaitsAndTheOrderGoesOn() {
        var backlog = Backlog()
        backlog.begin(at: Self.now, earliest: Self.earliest)
        Self.fail(&backlog, 3...5)
        backlog.pass(9)
        #expect(backlog.place == 9 && backlog.count == 3 && backlog.unkeptFrom == nil)
        #expect(backlog.isWaiting(4) && !backlog.isWaiting(9))
        #expect(backlog.due(at: Self.now + 5_000).isEmpty)
        #expect(backlog.due(at: Self.now + 5_001).map(\.number) == [3, 4, 5])
        // What fails again comes behind what has waited longer.
        backlog.fail(Self.row(3), "no", at: Self.now + 5_001, jitter: Self.longest)
        backlog.settle(Self.row(4))
        #expect(backlog.due(at: Self.now + 100_000).map(\.number) == [5, 3])
        #expect(backlog.place == 9)
    }

    @Test func whatIsTooMuchToBeKeptIsReadAgainAndNothingIsLeftOut() {
        var backlog = Backlog(waitingMax: 4)
        backlog.begin(at: Self.now, earliest: Self.earliest)
        Self.fail(&backlog, 1...7)
        #expect(backlog.count == 4 && backlog.place == 7 && backlog.unkeptFrom == 4)
        // Where none of those that are kept is told, after some time.
        backlog.begin(at: Self.now + Backlog.rereadMilliseconds - 1, earliest: Self.earliest)
        #expect(backlog.place == 7)
        backlog.begin(at: Self.now + Backlog.rereadMilliseconds, earliest: Self.earliest)
        #expect(backlog.place == 4 && backlog.unkeptFrom == nil)
        Self.fail(&backlog, 5...6, at: Self.now + Backlog.rereadMilliseconds)
        backlog.pass(7)
        #expect(backlog.unkeptFrom == 4 && backlog.place == 7)
        // As soon as half of them are told.
        for number in 1...2 as ClosedRange<Int64> { backlog.settle(Self.row(number)) }
        backlog.begin(at: Self.now + Backlog.rereadMilliseconds + 1, earliest: Self.earliest)
        #expect(backlog.place == 4)
        Self.fail(&backlog, 5...6)
        #expect(backlog.count == 4 && backlog.unkeptFrom == nil)
    }

    @Test func ofWhatIsTooOldNothingWaits() {
        var backlog = Backlog()
        backlog.fail(Self.row(1, time: Self.earliest - 1), "no", at: Self.now, jitter: Self.longest)
        backlog.fail(Self.row(2, time: Self.earliest), "no", at: Self.now, jitter: Self.longest)
        backlog.begin(at: Self.now, earliest: Self.earliest)
        #expect(!backlog.isWaiting(1) && backlog.isWaiting(2) && backlog.attempts.waits.count == 1)
    }

    /// A thousand purchases that Apple never takes, in an order of two thousand, and room for a hundred.
    @Test func thousandsThatFailKeepNoOtherFromBeingTold() {
        var backlog = Backlog(waitingMax: 100)
        var told: Set<Int64> = []
        var now = Self.now
        for look in 0..<40 {
            backlog.begin(at: now, earliest: Self.earliest)
            let rows = (1...2_000 as ClosedRange<Int64>).filter { $0 > backlog.place && !backlog.isWaiting($0) }
            for number in rows + backlog.due(at: now).map(\.number) where !told.contains(number) {
                // Those of the first half fail until Apple takes them, in the twentieth look.
                if number <= 1_000 && look < 20 {
                    backlog.fail(Self.row(number), "no", at: now) { $0 / 2 }
                } else {
                    told.insert(number)
                    backlog.settle(Self.row(number))
                }
                backlog.pass(number)
            }
            backlog.pass(2_000)
            #expect(backlog.count <= 100)
            if look == 0 { #expect(told.count == 1_000) }
            now += 300_000
        }
        #expect(told.count == 2_000 && backlog.count == 0 && backlog.unkeptFrom == nil)
    }

    // MARK: Questions

    private static func question(_ number: Int64, signed: Timestamp = now) -> AppStoreWork.ConsumptionRequest {
        AppStoreWork.ConsumptionRequest(
            number: number, notificationUUID: "u\(number)", transaction: TransactionID(number: number),
            signedDate: signed, time: signed, consent: true, isEnded: false, refusalCode: nil)
    }

    @Test func aQuestionThatIsOpenIsMetAgainAndOneThatFailedHoldsUpNone() {
        var questions = Questions()
        questions.begin()
        questions.settle(Self.question(1))
        questions.leave(Self.question(2))
        questions.fail(Self.question(3), "no", at: Self.now, jitter: Self.longest)
        questions.settle(Self.question(4))
        #expect(questions.place == 1 && questions.after == 4)
        questions.begin()
        #expect(questions.after == 1)
        #expect(!questions.isWaiting(Self.question(2), at: Self.now))
        #expect(questions.isWaiting(Self.question(3), at: Self.now + 5_001))
        #expect(questions.due(at: Self.now + 5_000).isEmpty && questions.due(at: Self.now + 5_001) == [3])
        for number in 2...4 as ClosedRange<Int64> { questions.settle(Self.question(number)) }
        #expect(questions.place == 4 && questions.attempts.waits.isEmpty)
    }

    /// Three that fail, of which each is tried before one that was tried later is tried again; and one that comes then.
    @Test func thoseThatHaveWaitedComeBehindAllOthersTheOneThatWaitedLongestFirst() {
        var questions = Questions()
        func look(at now: Timestamp, _ rows: ClosedRange<Int64>) -> [Int64] {
            questions.begin()
            var tried: [Int64] = []
            for number in rows where number > questions.after {
                if questions.isWaiting(Self.question(number), at: now) {
                    questions.leave(Self.question(number))
                } else {
                    tried.append(number)
                    // The earlier ones wait for longer.
                    questions.fail(Self.question(number), "no", at: now) { _ in 10 - number }
                }
            }
            for number in questions.due(at: now) {
                tried.append(number)
                questions.settle(Self.question(number))
            }
            return tried
        }
        #expect(look(at: Self.now, 1...3) == [1, 2, 3])
        #expect(look(at: Self.now + 11, 1...4) == [4, 3, 2, 1])
        // What was settled in that order is passed in the next look, as far as nothing before it is open.
        questions.begin()
        for number in 1...3 as ClosedRange<Int64> { questions.settle(Self.question(number)) }
        #expect(questions.place == 3)
        questions.forget(4)
        #expect(questions.attempts.waits.isEmpty)
    }

    @Test func theDeadlineIsThatOfTheOpenQuestionWhoseTimeEndsFirst() {
        var questions = Questions()
        questions.begin()
        questions.settle(Self.question(1, signed: Self.now - 9_000_000))
        questions.leave(Self.question(2))
        questions.fail(Self.question(3, signed: Self.now - 600_000), "no", at: Self.now, jitter: Self.longest)
        #expect(questions.deadline == Questions.end(Self.question(3, signed: Self.now - 600_000)))
        questions.begin()
        #expect(questions.deadline == nil)
    }

    /// Milliseconds until an answer is not sent any more, and below which the wait of one that failed often is.
    @Test(arguments: [(43_000_000, 900_000), (1_000_000, 500_000), (60_000, 30_000), (9_000, 5_000)])
    func anAnswerIsTriedTheMoreOftenTheLessTimeItHas(left: Int64, bound: Int64) {
        let question = Self.question(1, signed: Self.now)
        let now = Questions.end(question) - left
        var questions = Questions()
        for _ in 0..<20 { questions.fail(question, "no", at: now, jitter: Self.longest) }
        #expect(questions.attempts.waits[1]?.notBefore == now + 1 + bound)
        // That its time is over is not waited for.
        #expect(!questions.isWaiting(question, at: Questions.end(question)))
    }

    // MARK: Reach

    /// What the calls of each group came to: `+` an answer, `~` a refusal of this purchase, `5` a failure of Apple's
    /// server, `-` a failure.
    @Test(
        arguments: [
            (["++++++++"], true, nil), (["--------", "+"], true, nil), (["--------", "~"], true, nil),
            (["--------", "-"], false, 1), (["-------+", "--------", "+", "++++++++"], true, nil),
            (["++++++++", "--------", "-"], true, 2), (["~~~~~~~~", "~~~~~~~~"], true, nil),
            // One row alone says nothing of others; two do.
            (["55555555", "55555555", "5555555+"], true, nil), (["55555555", "--------", "-"], false, 2),
            (["--------", "5", "--------", "5"], false, nil),
            (["-"], false, nil), (["--"], false, 1), (["+", "-"], true, nil), ([""], false, nil),
        ] as [([String], Bool, Int?)])
    func appleIsUnreachableWhereRowsFromFurtherOnFailToo(groups: [String], hasAnswered: Bool, endsAt: Int?) {
        var reach = Reach()
        var end: Int?
        for (index, group) in groups.enumerated() where end == nil {
            #expect(group.count <= reach.groupMax)
            do {
                try reach.note(
                    group.map { letter in
                        switch letter {
                        case "+": .answered
                        case "~": .refused(Failure())
                        case "5": .serverFailed(Failure())
                        default: .failed(Failure())
                        }
                    })
            } catch { end = index }
        }
        if end == nil {
            do { try reach.end() } catch { end = groups.count }
        }
        #expect(end == endsAt && reach.hasAnswered == hasAnswered)
    }

    @Test func oneServerFailureAfterTheOtherIsOfAllInTheEnd() throws {
        var reach = Reach()
        let group = Array(repeating: Reach.End.serverFailed(Failure()), count: Reach.groupMax)
        try reach.note([.answered])
        for _ in 1..<Reach.serverFailuresMax / Reach.groupMax { try reach.note(group) }
        let unreachable = #expect(throws: Reach.Unreachable.self) { try reach.note(group) }
        #expect(unreachable?.hasAnswered == true)
        // Rows without any answer beside one that has a failure take their time as well.
        var slow = Reach()
        let hanging = Array(repeating: Reach.End.failed(Failure()), count: Reach.groupMax - 1)
        for _ in 1..<Reach.serverFailuresMax / Reach.groupMax { try slow.note(hanging + [.serverFailed(Failure())]) }
        #expect(throws: Reach.Unreachable.self) { try slow.note(hanging + [.serverFailed(Failure())]) }
        // One answer between them, and it is of these purchases.
        var other = Reach()
        for _ in 0..<100 { try other.note(group.dropLast() + [.answered]) }
        try other.end()
    }

    @Test func tooManyCallsEndALookAndAreNoFailureOfTheRows() throws {
        var reach = Reach()
        let limited = #expect(throws: Reach.Limited.self) {
            try reach.note([.answered, .limited(until: 7), .limited(until: nil), .limited(until: 9)])
        }
        #expect(limited?.until == 9 && limited?.hasAnswered == true && reach.hasAnswered)
        var backlog = Backlog(waitingMax: 1)
        backlog.begin(at: Self.now, earliest: Self.earliest)
        backlog.keep(Self.row(3))
        backlog.keep(Self.row(4))
        backlog.pass(4)
        #expect(backlog.due(at: Self.now).map(\.number) == [3] && backlog.unkeptFrom == 3)
        #expect(backlog.attempts.waits.isEmpty)
    }

    // MARK: Course

    /// Milliseconds after which Apple takes calls again, where it says so, how often it took none before, the
    /// milliseconds until a deadline, and the wait.
    @Test(
        arguments: [
            (nil, 0, nil, 10_000), (nil, 1, nil, 20_000), (nil, 5, nil, 300_000), (nil, 99, nil, 300_000),
            (nil, 5, 100_000, 50_000), (500, 0, nil, 1_000), (-9, 5, nil, 1_000), (60_000, 5, nil, 60_000),
            (9_000_000, 0, nil, 300_000),
        ] as [(Int64?, Int, Int64?, Int64)])
    func whereAppleTakesNoMoreCallsAndSaysNoTimeTheNextLookIsEverLater(
        until: Int64?, before: Int, left: Int64?, wait: Int64
    ) {
        var course = Course()
        for _ in 0..<before { #expect(course.note(.limited(until: nil, hasAnswered: false)).isEmpty) }
        #expect(course.note(.limited(until: until.map { Self.now + $0 }, hasAnswered: false)).isEmpty)
        let deadline = left.map { Self.now + $0 }
        #expect(course.wait(deadline: deadline, at: Self.now) == wait)
        #expect(course.note(.told(hasAnswered: false)).isEmpty)
        #expect(course.wait(deadline: deadline, at: Self.now) == 5_000)
    }

    @Test func theOperatorIsToldOnceOfEachThatFailsAndThatItWorks() {
        var course = Course()
        let unreachable = Course.End.unreachable(hasAnswered: false)
        #expect(course.note(unreachable) == [.unreachable] && course.note(unreachable).isEmpty)
        #expect(course.wait(deadline: nil, at: Self.now) == 20_000)
        // That nothing was to be told says nothing of Apple.
        #expect(course.note(.told(hasAnswered: false)).isEmpty)
        #expect(course.note(.told(hasAnswered: true)) == [.reachable])
        #expect(course.note(unreachable) == [.unreachable])
        #expect(course.note(.limited(until: nil, hasAnswered: false)) == [.reachable])
    }

    /// As where a gateway takes so many calls in a second, and names no time.
    @Test func whereAppleTakesSomeCallsTheNextLookIsNoLater() {
        var course = Course()
        for _ in 0..<9 {
            #expect(course.note(.limited(until: nil, hasAnswered: true)).isEmpty)
            #expect(course.wait(deadline: nil, at: Self.now) == 5_000)
        }
        // Where it named times before, none of these made it later.
        for _ in 0..<9 { #expect(course.note(.limited(until: Self.now + 1, hasAnswered: false)).isEmpty) }
        #expect(course.note(.limited(until: nil, hasAnswered: false)).isEmpty)
        #expect(course.wait(deadline: nil, at: Self.now) == 10_000)
    }

    @Test func aLedgerThatFailsIsNoFailureOfApples() {
        var course = Course()
        #expect(course.note(.ledgerFailed) == [.ledgerFailed] && course.note(.ledgerFailed).isEmpty)
        #expect(course.wait(deadline: nil, at: Self.now) == 20_000)
        #expect(course.note(.unreachable(hasAnswered: true)) == [.ledgerWorks, .unreachable])
        #expect(course.note(.ledgerFailed) == [.ledgerFailed])
        #expect(course.note(.told(hasAnswered: true)) == [.ledgerWorks, .reachable])
        #expect(course.wait(deadline: nil, at: Self.now) == 5_000)
    }

    @Test func afterAGroupThatFailedOneRowIsTried() throws {
        var reach = Reach()
        #expect(reach.groupMax == 8)
        try reach.note(Array(repeating: .failed(Failure()), count: 8))
        #expect(reach.groupMax == 1)
        try reach.note([.answered])
        #expect(reach.groupMax == 8)
    }
}
