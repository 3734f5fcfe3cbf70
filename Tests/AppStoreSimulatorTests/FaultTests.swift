import AppStore
import AppStoreServer
import LedgerTestKit
import Testing

@testable import AppStoreSimulator

/// An App Store that has too much to do, or fails.
@Suite struct FaultTests {
    @Test func beyondItsRateACallIsRefusedUntilTheNextHour() async throws {
        try await Store.run(configure: { $0.requestsPerHour = 3 }) { store in
            let id = try await store.buy().transactionID
            for _ in 1...3 { _ = try await store.client.transactionInfo(transactionID: id) }
            let before = SystemTime.now()
            let refused = try await refusal { _ = try await store.client.transactionInfo(transactionID: id) }
            #expect(refused.status == 429 && refused.code == .rateLimitExceeded)
            let time = try #require(refused.retryAfter)
            #expect(time > before && time <= SystemTime.now() + 3_600_000)
            // Each kind is counted by itself, and commands are not.
            try await store.client.finishTransaction(transactionID: id)
            for _ in 1...5 { try await store.buy() }
        }
    }

    @Test func theHourIsOneOfSimulatedTime() async throws {
        // An hour of 36 milliseconds: the client waits for its end by itself.
        try await Store.run(
            retries: .standard,
            configure: {
                $0.requestsPerHour = 1
                $0.speed = 100_000
            }
        ) { store in
            let id = try await store.buy().transactionID
            for _ in 1...4 { _ = try await store.client.transactionInfo(transactionID: id) }
        }
    }

    @Test func countsBeginAnewWithEachHour() {
        var rates = RequestRates()
        #expect(rates.count(.orderLookup, max: 2, hour: 1_000, now: 10_000) == nil)
        #expect(rates.count(.orderLookup, max: 2, hour: 1_000, now: 10_900) == nil)
        #expect(rates.count(.orderLookup, max: 2, hour: 1_000, now: 10_999) == 11_000)
        #expect(rates.count(.transactionInfo, max: 2, hour: 1_000, now: 10_999) == nil)
        #expect(rates.count(.orderLookup, max: 2, hour: 1_000, now: 11_000) == nil)
        // The clock was set back.
        #expect(rates.count(.orderLookup, max: 1, hour: 1_000, now: 5_000) == nil)
    }

    @Test func everyKindOfFailureIsOneThatAClientMayTryAgain() async throws {
        let seed = Seed.drawn()
        try await Store.run(configure: {
            $0 = SimulatorConfiguration(bundleID: Store.bundleID, environment: .sandbox, seed: seed)
            $0.failing = Share("100%") ?? .none
        }) { store in
            let id = try await store.buy().transactionID
            var ends: Set<String> = []
            for _ in 1...60 {
                do {
                    try await store.client.finishTransaction(transactionID: id)
                    Issue.record("it was answered")
                } catch let error as AppStoreServerError {
                    #expect(error.isRetryable)
                    switch error {
                    case .refused(let refusal): ends.insert("\(refusal.status) \(refusal.code?.rawValue ?? 0)")
                    case .connectionLost: ends.insert("lost")
                    default: Issue.record("\(error)")
                    }
                }
            }
            #expect(ends == ["500 5000001", "503 0", "lost"])
            // Some of them were carried out, though nobody was told.
            let state = try await store.state(of: id)
            #expect(state["finished"] == "true")
            let calls = try #require(state["finishCalls"])
            #expect((1..<60).contains(calls.matches(of: /"calledAt":\d+,"replyLost":true/).count), "\(calls)")
            #expect(!calls.contains("false"), "\(calls)")
        }
    }

    @Test func aClientComesThroughWhereAShareFails() async throws {
        let seed = Seed.drawn()
        try await Store.run(
            retries: AppStoreServerClient.RetryPolicy(attemptsMax: 30, baseMilliseconds: 1, capMilliseconds: 4),
            configure: {
                $0 = SimulatorConfiguration(bundleID: Store.bundleID, environment: .sandbox, seed: seed)
                $0.failing = Share("30%") ?? .none
            }
        ) { store in
            var ids: [String] = []
            for _ in 0..<30 { ids.append(try await store.buy().transactionID) }
            for id in ids { try await store.client.finishTransaction(transactionID: id) }
            var found: [String] = []
            for try await page in store.client.transactionHistory(transactionID: ids[0]) {
                found += try page.signedTransactions.map { try store.read($0).transactionID }
            }
            #expect(found == ids)
            let states = await store.simulator.state.purchases.values.map(\.isFinished)
            #expect(states.count == 30 && states.allSatisfy { $0 })
        }
    }

    @Test func theSameSeedFailsTheSame() {
        let seed = Seed.drawn()
        func draws(_ seed: UInt64) -> [RequestFault?] {
            var faults = FaultInjection(Share("5%") ?? .none, seed: seed)
            return (0..<1_000).map { _ in faults.next() }
        }
        #expect(draws(seed) == draws(seed) && draws(seed) != draws(seed &+ 1))
        let count = draws(seed).compactMap { $0 }.count
        #expect((10...120).contains(count), "\(count)")
        var never = FaultInjection(.none, seed: seed)
        #expect((0..<100).allSatisfy { _ in never.next() == nil })
    }
}
