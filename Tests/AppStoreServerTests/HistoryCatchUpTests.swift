import AppStore
import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import AppStoreServer

/// What a webhook missed, from the history.
@Suite struct HistoryCatchUpTests {
    private static let day: Int64 = 86_400_000
    private static let hour: Int64 = 3_600_000
    private static let start: Int64 = 1_700_000_000_000

    /// Apple's side: notifications, each sent at a time, 20 a page.
    private final class History: Sendable {
        private let sent = NIOLockedValueBox<[(time: Int64, payload: String)]>([])
        /// The times that were asked for, once each.
        let asked = NIOLockedValueBox<[ClosedRange<Int64>]>([])
        let failing = NIOLockedValueBox(false)

        func send(_ payload: String, at time: Int64) { sent.withLockedValue { $0.append((time, payload)) } }

        @Sendable func answer(_ request: TestStore.Request, _ number: Int) -> TestStore.Answer {
            if failing.withLockedValue({ $0 }) { return .reply(400, refusal(4_000_000, "no")) }
            guard let query = try? JSONSerialization.jsonObject(with: Data(request.body.utf8)) as? [String: Int64],
                let from = query["startDate"], let to = query["endDate"], from < to
            else { return .reply(400, refusal(4_000_007)) }
            let skipped = request.target.split(separator: "?paginationToken=").dropFirst().first.flatMap { Int($0) }
            if skipped == nil { asked.withLockedValue { $0.append(from...to) } }
            let all = sent.withLockedValue { $0 }.filter { (from..<to).contains($0.time) }.sorted { $0.time < $1.time }
            let page = all.dropFirst(skipped ?? 0).prefix(20)
            let end = (skipped ?? 0) + page.count
            let items = page.map { #"{"signedPayload":"\#($0.payload)","sendAttempts":[]}"# }.joined(separator: ",")
            return .reply(
                200,
                #"{"notificationHistory":[\#(items)],"paginationToken":"\#(end)","hasMore":\#(end < all.count)}"#)
        }
    }

    /// The ledger's side: knows what it has taken, and takes what it is told to.
    private final class Taker: Sendable {
        struct State {
            var taken: Set<String> = []
            var handedOver: [String] = []
            var postponed: Set<String> = []
            var refused: Set<String> = []
        }

        let state = NIOLockedValueBox(State())

        @Sendable func take(_ page: [String]) -> [HistoryCatchUp.Delivery] {
            state.withLockedValue { state in
                page.map { payload in
                    state.handedOver.append(payload)
                    if state.refused.contains(payload) { return .refused("forged") }
                    if state.postponed.contains(payload) { return .postponed("unknown_product") }
                    return state.taken.insert(payload).inserted ? .new : .known
                }
            }
        }
    }

    @Test func everythingOfManyDaysIsHandedOverOnceAndThenNothingIsNew() async throws {
        let (history, taker) = (History(), Taker())
        for number in 0..<130 { history.send("n\(number)", at: Self.start + Int64(number) * Self.hour) }
        try await withStore(answer: history.answer) { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: .production, position: Self.start, deliver: taker.take)
            let now = Self.start + 6 * Self.day
            let first = try await reconciliation.catchUp(to: now)
            #expect(first.new == 130)
            #expect(first.known == 0)
            #expect(first.readThrough == now)
            #expect(await reconciliation.position == now)
            #expect(taker.state.withLockedValue { $0.taken.count } == 130)
            let second = try await reconciliation.catchUp(to: now + 1_000)
            #expect(second.new == 0)
            // The parts of the time leave no gap, and only a new run reads some of it again.
            let asked = history.asked.withLockedValue { $0 }
            let gaps = zip(asked, asked.dropFirst()).map { $1.lowerBound - $0.upperBound }
            #expect(gaps == [0, 0, 0, 0, 0, -Self.hour])
        }
    }

    @Test func whatAppleListsLateIsFoundWithinTheOverlap() async throws {
        let (history, taker) = (History(), Taker())
        try await withStore(answer: history.answer) { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: .production, position: Self.start, deliver: taker.take)
            _ = try await reconciliation.catchUp(to: Self.start + Self.hour)
            history.send("late", at: Self.start + Self.hour - 1)
            let run = try await reconciliation.catchUp(to: Self.start + Self.hour + 1_000)
            #expect(run.new == 1)
        }
    }

    @Test func whatCannotBeTakenNowIsHandedOverAgainAndHoldsThePosition() async throws {
        let (history, taker) = (History(), Taker())
        history.send("unknown product", at: Self.start + Self.hour)
        history.send("good", at: Self.start + 3 * Self.day)
        taker.state.withLockedValue { $0.postponed = ["unknown product"] }
        try await withStore(answer: history.answer) { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: .production, position: Self.start, deliver: taker.take)
            let now = Self.start + 5 * Self.day
            let first = try await reconciliation.catchUp(to: now)
            #expect(first.new == 1)
            #expect(first.postponed == 1)
            // Another process would read it again.
            #expect(await reconciliation.position <= Self.start + Self.hour)
            let asked = history.asked.withLockedValue { $0.count }
            _ = try await reconciliation.catchUp(to: now + 1_000)
            // It is kept: the days since are not read again.
            #expect(history.asked.withLockedValue { $0.count } == asked + 1)
            taker.state.withLockedValue { $0.postponed = [] }
            let third = try await reconciliation.catchUp(to: now + 2_000)
            #expect(third.new == 1)
            #expect(third.postponed == 0)
            #expect(await reconciliation.position == now + 2_000)
        }
    }

    @Test func whatIsRefusedForEverHoldsNothing() async throws {
        let (history, taker) = (History(), Taker())
        history.send("forged", at: Self.start + 1)
        taker.state.withLockedValue { $0.refused = ["forged"] }
        try await withStore(answer: history.answer) { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: .production, position: Self.start, deliver: taker.take)
            let run = try await reconciliation.catchUp(to: Self.start + Self.hour)
            #expect(run.refused == 1)
            #expect(await reconciliation.position == Self.start + Self.hour)
        }
    }

    @Test func aRunThatFailsGoesOnWhereItWas() async throws {
        let (history, taker) = (History(), Taker())
        history.send("n", at: Self.start + 1)
        history.failing.withLockedValue { $0 = true }
        try await withStore(retries: .none, answer: history.answer) { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: .production, position: Self.start, deliver: taker.take)
            await #expect(throws: AppStoreServerError.self) {
                _ = try await reconciliation.catchUp(to: Self.start + Self.day)
            }
            #expect(await reconciliation.position == Self.start)
            history.failing.withLockedValue { $0 = false }
            let run = try await reconciliation.catchUp(to: Self.start + Self.day)
            #expect(run.new == 1)
        }
    }

    @Test func whatIsBehindTooManyThatWaitIsTakenAllTheSame() async throws {
        let (history, taker) = (History(), Taker())
        let names = (0..<1_040).map { "n\($0)" }
        for name in names { history.send(name, at: Self.start + Self.hour) }
        history.send("later", at: Self.start + 2 * Self.day)
        taker.state.withLockedValue { $0.postponed = Set(names) }
        try await withStore(answer: history.answer) { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: .production, position: Self.start, deliver: taker.take)
            let now = Self.start + 3 * Self.day
            let first = try await reconciliation.catchUp(to: now)
            #expect(first.postponed == 1_000)
            #expect(first.postponementReason == "unknown_product")
            #expect(taker.state.withLockedValue { $0.taken } == ["later"])
            #expect(await reconciliation.position <= Self.start + Self.hour)
            // Those that are not kept are read again, and not the days behind them.
            let asked = history.asked.withLockedValue { $0.count }
            _ = try await reconciliation.catchUp(to: now)
            #expect(history.asked.withLockedValue { $0.count } == asked + 2)
            taker.state.withLockedValue { $0.postponed = [] }
            let last = try await reconciliation.catchUp(to: now)
            #expect(last.new == 1_040)
            #expect(last.postponed == 0 && last.postponementReason == nil)
            #expect(await reconciliation.position == now)
        }
    }

    /// A thousand that nobody will ever take keep no good one behind them from its second chance.
    @Test func whatFailedOnceBehindTooManyThatWaitIsTakenInItsTurn() async throws {
        let (history, taker) = (History(), Taker())
        let names = (0..<1_040).map { "n\($0)" }
        for name in names { history.send(name, at: Self.start + Self.hour) }
        let good = (1...3).map { "good\($0)" }
        for (index, name) in good.enumerated() {
            history.send(name, at: Self.start + Int64(2 * index + 2) * Self.day)
        }
        taker.state.withLockedValue { $0.postponed = Set(names + good) }
        try await withStore(answer: history.answer) { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: .production, position: Self.start, deliver: taker.take)
            let now = Self.start + 8 * Self.day
            _ = try await reconciliation.catchUp(to: now)
            taker.state.withLockedValue { $0.postponed = Set(names) }
            var found = 0
            for run in 1...4 { found += try await reconciliation.catchUp(to: now + Int64(run)).new }
            #expect(found == 3 && taker.state.withLockedValue { $0.taken } == Set(good))
            #expect(await reconciliation.position <= Self.start + Self.hour)
        }
    }

    @Test func whatAppleDoesNotHaveAnyMoreWaitsForNothing() async throws {
        let (history, taker) = (History(), Taker())
        history.send("unknown product", at: Self.start + Self.hour)
        taker.state.withLockedValue { $0.postponed = ["unknown product"] }
        try await withStore(answer: history.answer) { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: .sandbox, position: Self.start, deliver: taker.take)
            #expect(try await reconciliation.catchUp(to: Self.start + 2 * Self.day).postponed == 1)
            let now = Self.start + 32 * Self.day
            let last = try await reconciliation.catchUp(to: now)
            #expect(last.postponed == 0 && last.refused == 1)
            #expect(try #require(last.refusalReason).contains("unknown_product"))
            #expect(await reconciliation.position == now)
        }
    }

    @Test func aHistoryThatDoesNotEndIsGivenUp() async throws {
        let taker = Taker()
        let asked = NIOLockedValueBox(0)
        try await withStore { _, _ in
            let number = asked.withLockedValue { number in
                number += 1
                return number
            }
            return .reply(
                200,
                #"{"notificationHistory":[{"signedPayload":"same","sendAttempts":[]}],"#
                    + #""paginationToken":"\#(number)","hasMore":true}"#)
        } _: { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: .production, position: Self.start, pagesMax: 30, deliver: taker.take)
            await #expect(throws: AppStoreServerError.self) {
                _ = try await reconciliation.catchUp(to: Self.start + Self.day)
            }
            #expect(asked.withLockedValue { $0 } == 31)
            #expect(await reconciliation.position == Self.start)
        }
    }

    /// Apple refuses to be asked for what it does not keep any more, by its own clock.
    @Test(arguments: [(Environment.production, 180 as Int64), (.sandbox, 30)])
    func nothingIsAskedForThatAppleDoesNotKeep(environment: Environment, days: Int64) async throws {
        let (history, taker) = (History(), Taker())
        let now = Self.start + 400 * Self.day
        history.send("kept", at: now - (days - 1) * Self.day)
        history.send("gone", at: now - (days + 1) * Self.day)
        try await withStore(answer: history.answer) { client, _ in
            let reconciliation = HistoryCatchUp(
                client: client, environment: environment, position: Self.start, deliver: taker.take)
            _ = try await reconciliation.catchUp(to: now)
            #expect(taker.state.withLockedValue { $0.handedOver } == ["kept"])
            let earliest = history.asked.withLockedValue { $0.map(\.lowerBound).min() }
            #expect(try #require(earliest) > now - days * Self.day)
            // Nor after a pause of a year.
            _ = try await reconciliation.catchUp(to: now + 365 * Self.day)
            let second = history.asked.withLockedValue { $0.map(\.lowerBound) }.filter { $0 > now }.min()
            #expect(try #require(second) > now + (365 - days) * Self.day)
        }
    }
}
