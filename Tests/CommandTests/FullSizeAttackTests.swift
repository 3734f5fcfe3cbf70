import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Synchronization
import Testing

/// Requests that ask for much with little, of the built command and as large as they were when they did harm.
@Suite(.serialized) struct FullSizeAttackTests {
    private static let gems = CurrencyCode("gems")!
    private static let ann = AccountName("ann")!

    private static func units(_ number: Int64) -> [CurrencyAmount] {
        [CurrencyAmount(currency: gems, amount: Amount(number)!)]
    }

    /// A line of more than 100 kB asked for gigabytes: each repetition of a spend of 70,000 lots named all that it had
    /// drawn. It takes ten seconds, for with each grant the tests' build adds all lots of the wallet up.
    @Test func aLineThatRepeatsASpendOfSeventyThousandLotsHasABound() async throws {
        let (lots, repetitions) = (70_000, WireLimits.batchRequestsMax)
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        let refused = Mutex(0)
        try await client.pipeline(
            count: lots, inFlight: 1_000, requestsPerLine: 1_000,
            write: { index, id, writer in
                let grant = Grant(
                    key: RequestKey("g\(index)")!, account: Self.ann, currency: Self.gems, amount: Amount(1)!)
                writer.write(Methods.grant, grant, id: id)
            },
            reply: { _, result in if case .failure = result { refused.withLock { $0 += 1 } } })
        #expect(refused.withLock { $0 } == 0)
        let spend = Spend(key: RequestKey("spend")!, account: Self.ann, debits: Self.units(Int64(lots)))
        let first = try await client.spend(spend)
        #expect(first.balances.first?.balance.available == 0)

        // Answered from memory, and from the tables after a start.
        for round in 0..<2 {
            var writer = RequestWriter()
            writer.beginBatch()
            for index in 0..<repetitions { writer.write(Methods.spend, spend, id: .integer(Int64(index))) }
            writer.endBatch()
            #expect((100_000..<150_000).contains(writer.bytes.count), "the line has \(writer.bytes.count) bytes")
            let seen = Mutex((bytes: 0, replayed: 0))
            try await client.pipeline(
                count: repetitions, inFlight: repetitions, requestsPerLine: repetitions,
                write: { _, id, writer in writer.write(Methods.spend, spend, id: id) },
                reply: { _, result in
                    guard case .success(let bytes) = result else { return }
                    let isReplay = MixedLoad.isReplay(String(decoding: bytes, as: UTF8.self))
                    seen.withLock { seen in
                        seen.bytes += bytes.count
                        if isReplay { seen.replayed += 1 }
                    }
                })
            let (bytes, replayed) = seen.withLock { $0 }
            #expect(replayed == repetitions && bytes < 8 << 20, "\(bytes) bytes of \(replayed) repetitions")
            #expect(try await client.balance(Self.ann).balances.first?.balance.available == 0)
            try await client.close()
            #expect(service.stop() == 0)
            if round == 1 { break }
            service = try RunningService(studio.folder)
            client = try await service.client()
        }
    }

    /// A report of which one row was wanted read the whole ledger, and a service that was told to stop did not.
    @Test func reportsOfDebtsKeepNoServiceFromStopping() async throws {
        let debtors = 20_000
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let bought = try (0..<debtors).map { Array(try studio.purchase($0).utf8) }
        let refunded = try (0..<debtors).map { Array(try studio.refund($0, share: nil, after: 1).utf8) }
        let refused = Mutex(0)
        try await client.pipeline(
            count: 3 * debtors, inFlight: 1_000,
            write: { index, id, writer in
                let number = index / 3
                let account = AccountName("player-\(number)")!
                switch index % 3 {
                case 0:
                    writer.write(Methods.credit, Credit(signedTransaction: bought[number], account: account), id: id)
                case 1:
                    let spend = Spend(key: RequestKey("s\(number)")!, account: account, debits: Self.units(500))
                    writer.write(Methods.spend, spend, id: id)
                default:
                    writer.write(Methods.credit, Credit(signedTransaction: refunded[number], account: account), id: id)
                }
            },
            reply: { _, result in if case .failure = result { refused.withLock { $0 += 1 } } })
        #expect(refused.withLock { $0 } == 0)
        let middle = try await client.journal(after: Int64(2 * debtors), limit: 1).entries[0].time
        #expect(try await client.report(.debts, limit: 1).rows.count == 1)

        // Two at once of now and two of a past, and then it is to stop.
        let asks = [nil, nil, middle, middle] as [Timestamp?]
        let answered = Mutex<[Result<Int, WireError>]>([])
        let other = try await service.client()
        let isWritten = Mutex(false)
        async let pages: Void = client.pipeline(
            count: asks.count, inFlight: asks.count,
            write: { index, id, writer in
                writer.write(Methods.report, ReportRequest(kind: .debts, asOf: asks[index], limit: 1), id: id)
                if index == asks.count - 1 { isWritten.withLock { $0 = true } }
            },
            reply: { _, result in
                let rows = result.map { (try? ReportPage(json: Array($0)))?.rows.count ?? 0 }
                answered.withLock { $0.append(rows) }
            })
        #expect(try await eventually { isWritten.withLock { $0 } })
        // Sent behind them, and answered beside them.
        #expect(try await other.balance(AccountName("player-1")!).balances.count == 1)
        kill(service.process.processIdentifier, SIGTERM)
        do {
            try await pages
        } catch is ClientError {
            // It was told to stop before it had read them.
        }
        #expect(service.stop() == 0)
        let said = try service.said
        #expect(!said.contains("connections were closed with requests unanswered"), "\(said.suffix(1_000))")
        for answer in answered.withLock({ $0 }) {
            switch answer {
            case .success(let rows): #expect(rows == 1)
            case .failure(let error): #expect(["overloaded", "shutting_down"].contains(error.reason))
            }
        }
        for client in [client, other] { try? await client.close() }
        // What was posted is there: the next start has it.
        let again = try RunningService(studio.folder)
        let reader = try await again.client()
        #expect(try await reader.report(.debts, limit: 4_000).rows.count == 4_000)
        try await reader.close()
        #expect(again.stop() == 0)
    }
}
