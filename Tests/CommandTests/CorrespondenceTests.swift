import AppStore
import Foundation
import LedgerClient
import LedgerWire
import Testing

/// Apple is told what it asks, and what it can be told, once it is in the books.
@Suite struct CorrespondenceTests {
    private static let hour: Int64 = 3_600_000

    /// What the App Store was told: how often what was told at which path, and with which status it answered.
    private static func told(_ stand: AppStoreStand) throws -> [AppStoreStand.Request] {
        try stand.requests().filter { $0.status != nil }
    }

    private static func waits(for count: Int, _ stand: AppStoreStand) async throws {
        for _ in 0..<1_200 where try told(stand).count < count { try await Task.sleep(for: .milliseconds(50)) }
        #expect(try told(stand).count == count)
    }

    /// Whether it comes to be so within five minutes: what failed some times waits for one or two of them.
    private static func eventually(_ condition: () throws -> Bool) async throws -> Bool {
        for _ in 0..<600 {
            if try condition() { return true }
            try await Task.sleep(for: .milliseconds(500))
        }
        return false
    }

    /// Without the spaces between them.
    private static func events(_ service: RunningService, _ transaction: Int) throws -> String {
        let finished = try Command.run(
            ["call", "--server", service.address, "purchase", "transactionId=\(transaction)"])
        #expect(finished.status == 0, "\(finished)")
        return finished.output.filter { !$0.isWhitespace }
    }

    private static func call(_ service: RunningService, _ arguments: String...) throws {
        let finished = try Command.run(["call", "--server", service.address] + arguments)
        #expect(finished.status == 0, "\(finished)")
    }

    @Test func aQuestionIsAnsweredOnceWithConsentAndNeverWithout() async throws {
        let stand = try await AppStoreStand(historySeconds: 1)
        for number in 1...2 {
            try stand.lose(.oneTimeCharge, try stand.transaction(number), before: 2 * Self.hour)
            try stand.lose(.consumptionRequest, try stand.transaction(number), before: Self.hour)
        }
        var service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 1_000, at: service)
        try Self.call(
            service, "spend", "key=s", "account=\(AppStoreStand.player)",
            #"debits=[{"currency": "gems", "amount": 125}]"#)
        // Some looks at the ledger later nothing was told.
        try await Task.sleep(for: .seconds(6))
        #expect(try Self.told(stand).isEmpty)
        try Self.call(service, "consent", "key=c", "account=\(AppStoreStand.player)", "consumption=true")
        try await Self.waits(for: 2, stand)
        let told = try Self.told(stand).sorted { $0.path < $1.path }
        #expect(told.map(\.path) == [1, 2].map { "/inApps/v2/transactions/consumption/\($0)" })
        #expect(
            told[0].body == #"{"consumptionPercentage": 25000, "customerConsented": true, "#
                + #""deliveryStatus": "DELIVERED", "sampleContentProvided": false}"#)
        #expect(told[1].body.contains(#""consumptionPercentage": 0,"#))
        for _ in 0..<200 where try !Self.events(service, 1).contains("consumption_sent") {
            try await Task.sleep(for: .milliseconds(50))
        }
        let events = try Self.events(service, 1)
        #expect(events.contains(#""kind":"consumption_sent""#) && events.contains(#""end":"accepted""#), "\(events)")

        // Nor does a service that starts anew tell it again.
        #expect(service.stop() == 0)
        service = try RunningService(stand.studio.folder)
        try stand.lose(.oneTimeCharge, try stand.transaction(3), before: 10_000)
        try stand.lose(.consumptionRequest, try stand.transaction(3), before: 5_000)
        try await Self.waits(for: 3, stand)
        #expect(try Self.told(stand)[2].path == "/inApps/v2/transactions/consumption/3")
        // Nor in the next looks.
        try await Task.sleep(for: .seconds(11))
        #expect(try Self.told(stand).count == 3)
        #expect(service.stop() == 0)
        try stand.audits()
    }

    @Test func aQuestionIsNotAnsweredAfterItsTimeNorBeforeItsDelay() async throws {
        let stand = try await AppStoreStand(historySeconds: 1)
        try stand.studio.folder.write(
            "catalog.json",
            #"""
            {"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}},
             "consumptionDelayMinutes": 60}
            """#)
        for number in 1...4 { try stand.lose(.oneTimeCharge, try stand.transaction(number), before: 20 * Self.hour) }
        // An answer to the first would come too late, and the player consents to the last when its time is over.
        try stand.lose(.consumptionRequest, try stand.transaction(1), before: 12 * Self.hour - 50_000)
        try stand.lose(.consumptionRequest, try stand.transaction(4), before: 12 * Self.hour)
        try stand.lose(.consumptionRequest, try stand.transaction(2), before: 2 * Self.hour)
        try stand.lose(.consumptionRequest, try stand.transaction(3), before: Self.hour - 600_000)
        let service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 2_000, at: service)
        try Self.call(service, "consent", "key=c", "account=\(AppStoreStand.player)", "consumption=true")
        try await Self.waits(for: 1, stand)
        #expect(try Self.told(stand)[0].path == "/inApps/v2/transactions/consumption/2")
        for _ in 0..<200 where try !Self.events(service, 1).contains("consumption_sent") {
            try await Task.sleep(for: .milliseconds(50))
        }
        let late = try Self.events(service, 1)
        #expect(late.contains(#""end":"expired""#), "\(late)")
        #expect(try service.said.contains("Apple was not told in time how much of a purchase was consumed"))
        #expect(try Self.told(stand).count == 1)
        #expect(try !Self.events(service, 4).contains("consumption_sent"))
        #expect(service.stop() == 0)
        try stand.audits()
    }

    @Test func whatAppleRefusesIsRecordedAndNotToldAgainAndWhatFailsIs() async throws {
        let stand = try await AppStoreStand(historySeconds: 1)
        let paths = [1, 2, 3].map { "/inApps/v2/transactions/consumption/\($0)" }
        // The last one comes from something on the way to Apple.
        try stand.studio.folder.write(
            "refusals.json",
            #"{"\#(paths[0])": [400, 4000047], "\#(paths[1])": [500, 5000001], "\#(paths[2])": [403, null]}"#)
        for number in 1...3 {
            try stand.lose(.oneTimeCharge, try stand.transaction(number), before: 2 * Self.hour)
            try stand.lose(.consumptionRequest, try stand.transaction(number), before: Self.hour)
        }
        let service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 1_500, at: service)
        try Self.call(service, "consent", "key=c", "account=\(AppStoreStand.player)", "consumption=true")
        for _ in 0..<1_200 where try Set(Self.told(stand).map(\.path)) != Set(paths) {
            try await Task.sleep(for: .milliseconds(50))
        }
        for _ in 0..<200 where try !service.said.contains("Apple cannot be told of purchases") {
            try await Task.sleep(for: .milliseconds(50))
        }
        try stand.studio.folder.write("refusals.json", "{}")
        for _ in 0..<1_200 where try Self.told(stand).filter({ $0.status == 202 }).count < 2 {
            try await Task.sleep(for: .milliseconds(50))
        }
        let told = try Self.told(stand)
        #expect(told.filter { $0.path == paths[0] }.map(\.status) == [400])
        for path in paths[1...] { #expect(told.last { $0.path == path }?.status == 202) }
        #expect(try Self.events(service, 1).contains(#""end":"refused","code":4000047"#))
        #expect(try service.said.contains("Apple refuses what it is told of a purchase"))
        #expect(service.stop() == 0)
        try stand.audits()
    }

    /// More of them than are told of at the same time, for which the App Store, or something before it, always fails.
    @Test func purchasesThatAlwaysFailKeepNoOtherWaiting() async throws {
        let stand = try await AppStoreStand(historySeconds: 1, more: #", "finish": true"#)
        let failing = (1...8).flatMap {
            ["/inApps/v1/transactions/\($0)/finish", "/inApps/v2/transactions/consumption/\($0)"]
        }
        let members = failing.enumerated().map {
            $0.offset % 4 < 2 ? #""\#($0.element)": [503, null]"# : #""\#($0.element)": [404, 4040002]"#
        }
        try stand.studio.folder.write("refusals.json", "{\(members.joined(separator: ", "))}")
        for number in 1...9 {
            try stand.lose(.oneTimeCharge, try stand.transaction(number), before: 2 * Self.hour)
            try stand.lose(.consumptionRequest, try stand.transaction(number), before: Self.hour)
        }
        let service = try RunningService(stand.studio.folder)
        try await stand.waits(for: 4_500, at: service)
        try Self.call(service, "consent", "key=c", "account=\(AppStoreStand.player)", "consumption=true")
        let good = ["/inApps/v1/transactions/9/finish", "/inApps/v2/transactions/consumption/9"]
        func isTold(_ path: String) throws -> Bool {
            try Self.told(stand).contains { $0.path == path && $0.status == 202 }
        }
        #expect(try await Self.eventually { try good.allSatisfy(isTold) })
        // They are tried again, each after its own wait, and the operator is told how many they are.
        #expect(try await Self.eventually { try service.said.contains("of some purchases") })
        let line = try #require(try service.said.split(separator: "\n").first { $0.contains("of some purchases") })
        #expect(line.contains("waiting=") && line.contains("reason="), "\(line)")
        #expect(try failing.allSatisfy { path in try Self.told(stand).count { $0.path == path } < 12 })
        try stand.studio.folder.write("refusals.json", "{}")
        #expect(try await Self.eventually { try failing.allSatisfy(isTold) })
        #expect(try await Self.eventually { try service.said.contains("no purchase waits any more for Apple") })
        #expect(
            try (failing + good).allSatisfy { path in
                try Self.told(stand).count { $0.path == path && $0.status == 202 } == 1
            })
        #expect(service.stop() == 0)
        try stand.audits()
    }

    /// A container that is not gone after ten seconds is killed.
    @Test func aServiceStopsSoonWhereTheAppStoreSaysNothing() async throws {
        let stand = try await AppStoreStand(historySeconds: 1, more: #", "finish": true"#)
        try stand.studio.folder.write("refusals.json", #"{"/inApps/v1/transactions/1/finish": [0, null]}"#)
        try stand.lose(.oneTimeCharge, try stand.transaction(1), before: 10_000)
        let service = try RunningService(stand.studio.folder)
        try await Self.waits(for: 1, stand)
        let begin = ContinuousClock.now
        #expect(service.stop() == 0)
        #expect(ContinuousClock.now - begin < .seconds(9))
    }

    /// Its leader does that.
    @Test func aStandbyTellsAppleNothingUntilItLeads() async throws {
        let stand = try await AppStoreStand(historySeconds: 1, more: #", "finish": true"#)
        let (a, b) = (try Node(stand.studio, "a"), try Node(stand.studio, "b"))
        let leader = try a.start()
        let client = try await leader.client()
        _ = try await client.credit(signedTransaction: try stand.transaction(1))
        let key = stand.studio.folder.path("AuthKey.p8")
        let standby = try b.start(
            following: a.address, more: #""appStore": \#(stand.appStore.replacing("AuthKey.p8", with: key)),"#)
        let reader = try await standby.client()
        try await reader.waits(for: Int64(try a.blocks().count))
        try await Task.sleep(for: .seconds(8))
        #expect(try stand.requests().isEmpty)
        leader.kill()
        _ = try await reader.promote()
        try await Self.waits(for: 1, stand)
        #expect(try Self.told(stand)[0].path == "/inApps/v1/transactions/1/finish")
        try? await client.close()
        try await reader.close()
        #expect(standby.stop() == 0)
    }

    /// Apple takes no finishes for now, of three times as many purchases as are told of at the same time.
    @Test func aLimitOfOneKindSlowsNoOther() async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        var service = try RunningService(stand.studio.folder)
        let client = try await service.client()
        let player = try #require(AccountName(AppStoreStand.player))
        let numbers = 1...24
        for number in numbers {
            let nameless = try stand.transaction(number, account: nil)
            _ = try await client.notify(
                signedPayload: try stand.notification(.oneTimeCharge, nameless, before: 1_000))
            _ = try await client.credit(signedTransaction: nameless, account: player)
        }
        try await client.close()
        #expect(service.stop() == 0)
        let refusals = numbers.map { #""/inApps/v1/transactions/\#($0)/finish": [429, 4290000]"# }
        try stand.studio.folder.write("refusals.json", "{\(refusals.joined(separator: ", "))}")
        service = try RunningService(
            stand.studio.folder,
            arguments: ["--app-store-finish", "true", "--app-store-set-account-tokens", "true"])
        func isToken(_ request: AppStoreStand.Request) -> Bool { request.path.hasSuffix("/appAccountToken") }
        #expect(try await Self.eventually { try Self.told(stand).count(where: isToken) == numbers.count })
        let told = try Self.told(stand)
        let last = try #require(told.lastIndex(where: isToken))
        // Each look ends with the first calls that are refused, and the next one comes ten seconds later.
        let finishes = told[..<last].count { !isToken($0) }
        #expect(finishes <= 16, "\(finishes)")
        #expect(service.stop() == 0)
    }

    @Test func aPurchaseIsFinishedAndItsOwnerToldOnceItIsCredited() async throws {
        let stand = try await AppStoreStand(
            historySeconds: 0, more: #", "finish": true, "setAccountTokens": true"#)
        let service = try RunningService(stand.studio.folder)
        let (named, nameless) = (try stand.transaction(1), try stand.transaction(2, account: nil))
        try stand.studio.folder.write("named.jws", named)
        try stand.studio.folder.write("nameless.jws", nameless)
        let unknown = try Command.run(
            ["call", "--server", service.address, "credit", "signedTransaction=\(nameless)"])
        #expect(unknown.output.contains("account_required"), "\(unknown)")
        try Self.call(service, "credit", "signedTransaction=\(named)")
        try await Self.waits(for: 1, stand)
        #expect(try Self.told(stand)[0].path == "/inApps/v1/transactions/1/finish")
        // Held without an account by Apple's word, and credited at once, when the pipeline says whose it is.
        try stand.studio.folder.write("notification.jws", try stand.notification(.oneTimeCharge, nameless, before: 0))
        try Self.call(service, "notify", "signedPayload=@\(stand.studio.folder.path("notification.jws"))")
        try Self.call(service, "credit", "signedTransaction=\(nameless)", "account=\(AppStoreStand.player)")
        for _ in 0..<200 where try !["finished", "account_token_set"].allSatisfy(Self.events(service, 2).contains) {
            try await Task.sleep(for: .milliseconds(50))
        }
        // Nor is the same told in the next look.
        try await Task.sleep(for: .seconds(6))
        #expect(try Self.told(stand).count == 3)
        let later = try Self.told(stand)[1...].sorted { $0.path < $1.path }
        #expect(
            later.map(\.path) == ["/inApps/v1/transactions/2/appAccountToken", "/inApps/v1/transactions/2/finish"])
        #expect(later[0].body == #"{"appAccountToken": "\#(AppStoreStand.player)"}"#)
        #expect(service.stop() == 0)
        try stand.audits()
    }
}
