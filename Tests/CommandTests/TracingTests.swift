import Foundation
import LedgerClient
import LedgerTestKit
import LedgerWire
import Testing

/// The built command sends spans of its requests to a collector.
@Suite(.serialized) struct TracingTests {
    @Test func aPurchaseIsFollowedToItsBlock() async throws {
        let collector = try await TraceCollector.start()
        let studio = try Studio()
        let service = try RunningService(
            studio.folder, arguments: ["--tracing-endpoint", collector.endpoint, "--metrics-listen", "127.0.0.1:0"],
            environment: ["LEDGER_TRACING_RATIO": "1"])
        let client = try await service.client()
        let (jws, player) = (try studio.purchase(1), AccountName("player-of-flesh")!)
        _ = try await client.credit(signedTransaction: jws, account: player)
        try? await client.close()
        // It is sent while the service runs.
        let trace = try await collector.trace { $0.name == "credit" }
        func one(_ name: String) throws -> CollectedSpan {
            #expect(trace.count { $0.name == name } == 1, "\(name)")
            return try #require(trace.first { $0.name == name })
        }
        let (credit, commit, append) = (try one("credit"), try one("commit"), try one("append"))
        #expect(trace.count == 4 && trace.allSatisfy(\.isWellFormed))
        #expect(credit.attributes["ledger.outcome"] == "ok" && credit.resource["service.name"] == "currency-ledger")
        #expect(credit.resource["service.version"]?.isEmpty == false && credit.resource["host.name"] != nil)
        #expect(commit.parentID == credit.spanID && append.parentID == commit.spanID)
        #expect(commit.attributes == ["ledger.commit.requests": "1"])
        #expect(append.attributes["ledger.block.entries"] == "1" && append.attributes["ledger.block.transfers"] != nil)
        #expect(Int(append.attributes["ledger.block.number"] ?? "") ?? 0 >= 2)
        #expect(Int(append.attributes["ledger.block.bytes"] ?? "") ?? 0 > 100)
        #expect(credit.begin <= commit.begin && commit.begin <= append.begin)
        #expect(append.begin < append.end && append.end <= commit.end && commit.end <= credit.end)
        #expect(service.stop() == 0)
        #expect(!collector.text.contains("flesh") && !collector.text.contains("eyJ"))
        #expect(try !service.said.contains("spans cannot be sent"))
        try await collector.stop()
    }

    @Test func aServiceWithoutItsCollectorServesAndEnds() async throws {
        let gone = try await TraceCollector.start()
        let endpoint = gone.endpoint
        try await gone.stop()
        let studio = try Studio()
        let service = try RunningService(
            studio.folder, environment: ["LEDGER_TRACING_ENDPOINT": endpoint, "LEDGER_TRACING_RATIO": "1"])
        let client = try await service.client()
        let player = AccountName("player-1")!
        for number in 1...3 {
            _ = try await client.credit(signedTransaction: try studio.purchase(number), account: player)
        }
        for _ in 0..<1_200 where try !service.said.contains("spans cannot be sent; it is tried again") {
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try service.said.contains("spans cannot be sent; it is tried again"))
        try? await client.close()
        #expect(service.stop() == 0)
    }
}
