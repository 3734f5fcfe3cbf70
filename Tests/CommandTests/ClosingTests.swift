import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Testing

/// `close`: a period is closed for ever.
@Suite struct ClosingTests {
    private static let gems = CurrencyCode("gems")!

    private static func refusal(_ client: LedgerClient, _ through: Timestamp) async -> WireError? {
        await #expect(throws: WireError.self) { try await client.closePeriod(through: through) }
    }

    private static func grant(_ client: LedgerClient, _ key: String) async throws -> EntryID {
        try await client.grant(
            Grant(key: RequestKey(key)!, account: AccountName("ann")!, currency: gems, amount: Amount(7)!)
        ).entry
    }

    @Test func aClosedPeriodHasTheSameAnswerForEver() async throws {
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        let began = Int64(Date().timeIntervalSince1970 * 1_000)
        _ = try await Self.grant(client, "g1")
        let first = try await client.head()
        let january = try await client.closePeriod(through: first.time)
        _ = try await Self.grant(client, "g2")
        // The clock may not have gone on since the grant.
        let later = try await client.journal(after: 0).entries.map(\.time)
        #expect(later.count == 2 && later[0] <= january.through && later[1] > january.through)
        let february = try await client.closePeriod(through: later[1])
        #expect(february.block > january.block)
        #expect(try await client.closePeriod(through: january.through) == january)

        let earlier = await Self.refusal(client, january.through - 1)
        #expect(earlier?.reason == "period_closed" && earlier?["closedThrough"] == .integer(february.through))
        let future = await Self.refusal(client, began + 3_600_000)
        #expect(future?.reason == "invalid_params" && future?["path"] == .string("through"))
        #expect(future?.message.contains("is in the future") == true)
        let before = await Self.refusal(client, began - 3_600_000)
        #expect(before?.reason == "invalid_params" && before?["path"] == .string("through"))
        #expect(before?.message.contains("before the ledger began") == true)
        let rows = try await client.report(.closings).rows
        #expect(rows.count == 2)
        try await client.close()

        service.kill()
        #expect(try Command.run(["rebuild", "--config", studio.folder.path("ledger.json")]).status == 0)
        service = try RunningService(studio.folder)
        client = try await service.client()
        for closing in [january, february] {
            #expect(try await client.closePeriod(through: closing.through) == closing)
        }
        #expect(try await client.report(.closings).rows == rows)
        try await client.close()
        let printed = try Command.run(
            ["close", "--through", String(february.through), "--server", service.address])
        #expect(printed.status == 0, "\(printed.error)")
        #expect(printed.output.hasSuffix(" by block \(february.block) \(february.hash)\n"))
        let exported = try Command.run(["export", "closings", "--server", service.address])
        let line = "\(UTCText.time(january.through)),\(january.block),"
        #expect(exported.output.hasPrefix("through,block,hash,time,actor\r\n" + line))
        #expect(service.stop() == 0)
        let offline = try Command.run(["export", "closings", "--path", studio.folder.path("ledger")])
        #expect(offline.output == exported.output)
        let audited = try Command.run(["audit", "--config", studio.folder.path("ledger.json")])
        #expect(audited.status == 0 && audited.output.hasSuffix("everything holds\n"), "\(audited.output)")
    }

    @Test func theCommandSaysWhatIsWrong() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        for (arguments, words) in [
            (["--through", "yesterday"], "--through must be milliseconds since 1970 or ISO 8601"),
            (["--through", "2100-01-01"], "through is in the future"),
            (["--through", "2001-01-01"], "through is before the ledger began"),
            ([], "--through"),
        ] {
            let finished = try Command.run(["close", "--server", service.address] + arguments)
            #expect(finished.status != 0 && finished.error.contains(words), "\(arguments): \(finished.error)")
        }
        #expect(service.stop() == 0)
    }
}
