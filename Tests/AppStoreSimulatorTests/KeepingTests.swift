import AppStore
import AppStoreServer
import Foundation
import Testing

@testable import AppStoreSimulator

/// What a simulator knows outlives its process.
@Suite struct KeepingTests {
    private let folder: URL
    private var path: String { folder.appendingPathComponent("simulator.jsonl").path }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("simulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func remove() throws { try FileManager.default.removeItem(at: folder) }

    @Test func aRestartKnowsAllAndGoesOn() async throws {
        let webhook = try await Webhook.start()
        let configure: (inout SimulatorConfiguration) -> Void = { $0.webhook = webhook.address }
        var lines: [UInt8] = []
        var first = ""
        try await Store.run(at: path, configure: configure) { store in
            first = try await store.buy { $0.customer = "a" }.transactionID
            for _ in 0..<20 { try await store.buy { $0.customer = "b" } }
            try await store.commands.perform(.requestConsumption(transactionID: first, reason: .other))
            try await store.client.sendConsumption(
                ConsumptionInformation(
                    deliveryStatus: .delivered, consumptionPercentage: 1, sampleContentProvided: true),
                transactionID: first)
            var half = SimulatorCommand.RefundOrder(transactionID: first)
            half.percentage = 50_000
            try await store.commands.perform(.refund(half))
            try await store.client.finishTransaction(transactionID: first)
            #expect(try await eventually { webhook.posts.count == 23 })
            #expect(try await eventually { await store.simulator.state.notifications.allSatisfy(\.hasArrived) })
            lines = try await store.commands.state()
        }
        let kept = String(decoding: lines, as: UTF8.self)
        #expect(kept.split(separator: "\n").count == 21 && kept.contains(#""revoked":50000"#))
        try await Store.run(at: path, configure: configure) { store in
            #expect(try await store.commands.state() == lines)
            let now = SystemTime.now()
            var history: [String] = []
            let query = NotificationHistoryQuery(startDate: now - 3_600_000, endDate: now + 60_000)
            for try await page in store.client.notificationHistory(query) {
                for one in page.notifications {
                    #expect(one.sendAttempts.map(\.result) == [.success])
                    history.append(one.signedPayload)
                }
            }
            #expect(history.sorted() == webhook.posts.sorted())
            let next = try await store.buy { $0.customer = "a" }.transactionID
            #expect(next == "2000000000000022")
            for try await page in store.client.transactionHistory(transactionID: first) {
                #expect(page.signedTransactions.count == 2)
            }
            #expect(try await eventually { webhook.posts.count == 24 })
        }
        try await webhook.stop()
        try remove()
    }

    @Test func whatDidNotArriveIsPostedAgainAfterTheRestart() async throws {
        let webhook = try await Webhook.start()
        let (address, port) = (webhook.address, webhook.port)
        try await webhook.stop()
        try await Store.run(at: path, configure: { $0.webhook = address }) { store in
            for _ in 0..<20 { try await store.buy() }
            #expect(
                try await eventually { await store.simulator.state.notifications.allSatisfy { $0.attempts.count == 1 } }
            )
        }
        let again = try await Webhook.start(port: port)
        // An hour after the first attempt, a million times as fast.
        try await Store.run(
            at: path,
            configure: {
                $0.webhook = address
                $0.speed = SimulatorLimits.speedMax
            }
        ) { store in
            let haveArrived = try await eventually {
                await store.simulator.state.notifications.allSatisfy(\.hasArrived)
            }
            #expect(haveArrived)
            #expect(Set(again.posts).count == 20 && again.posts.count == 20)
        }
        try await again.stop()
        try remove()
    }

    @Test func aLineThatWasCutOffIsForgotten() async throws {
        try await Store.run(at: path) { store in for _ in 0..<2 { try await store.buy() } }
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        try whole.dropLast(10).write(to: URL(fileURLWithPath: path))
        try await Store.run(at: path) { store in
            let kept = await store.simulator.state.purchases.count
            #expect(kept == 1)
            let next = try await store.buy().transactionID
            #expect(next == "2000000000000002")
        }
        try await Store.run(at: path) { store in
            let kept = await store.simulator.state.purchases.count
            #expect(kept == 2)
        }
        try remove()
    }

    private func refusal(
        at path: String, _ configuration: SimulatorConfiguration? = nil
    ) throws -> String {
        let (chain, key) = (try Store.chain, try Store.callerKey)
        do throws(SimulatorError) {
            _ = try Simulator(
                configuration ?? SimulatorConfiguration(bundleID: Store.bundleID, environment: .sandbox, seed: 1),
                chain: chain, key: key, path: path)
            return "it started"
        } catch { return error.description }
    }

    @Test func aFileThatCannotBeUsedIsRefusedByName() async throws {
        try await Store.run(at: path) { store in
            try await store.buy()
            #expect(try refusal(at: path).contains("another simulator has it open"))
        }
        let other = SimulatorConfiguration(bundleID: "com.example.other", environment: .sandbox, seed: 1)
        #expect(try refusal(at: path, other) == "\(path) holds purchases of com.example.game, not of com.example.other")
        var text = try String(contentsOfFile: path, encoding: .utf8)
        text = text.replacing("\"purchase\"", with: "\"purchases\"")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try refusal(at: path).contains("\(path): the line at byte"))
        try text.replacing("\"simulator\":1", with: "\"simulator\":2").write(
            toFile: path, atomically: true, encoding: .utf8)
        #expect(try refusal(at: path).contains("is another version's"))
        #expect(try refusal(at: folder.path).contains("cannot be opened"))
        var nowhere = SimulatorConfiguration(bundleID: Store.bundleID, environment: .sandbox, seed: 1)
        nowhere.webhook = "nowhere"
        #expect(try refusal(at: path, nowhere).contains("the webhook must be http://"))
        try remove()
    }

    @Test func itListensToThisMachineAlone() throws {
        let configuration = SimulatorConfiguration(bundleID: Store.bundleID, environment: .sandbox, seed: 1)
        let simulator = try Simulator(configuration, chain: Store.chain, key: Store.callerKey, path: path)
        #expect(throws: SimulatorError.self) { try SimulatorServer(simulator, host: "0.0.0.0", port: 0) }
        #expect(throws: SimulatorError.self) { try SimulatorServer(simulator, host: "192.0.2.1", port: 0) }
        try remove()
    }
}
