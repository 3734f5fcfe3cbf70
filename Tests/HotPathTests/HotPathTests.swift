import AppStore
import Foundation
import Ledger
import LedgerEngine
import Testing

@testable import HotPath

/// Each workload of the benchmarks does what it says, so that they measure what they name.
@Suite struct HotPathTests {
    @Test(arguments: HotPath.cases.map(\.name))
    func everyOperationComesOutAsItShould(name: String) throws {
        let measured = try #require(HotPath.cases.first { $0.name == name })
        let workload = try measured.make()
        // Not a multiple of any batch, twice: what one run leaves is no trouble to the next.
        #expect(try workload.run(19) == 19)
        #expect(try workload.run(70) == 70)
        if let baseline = measured.baseline {
            let plain = try #require(HotPath.cases.first { $0.name == baseline })
            #expect(plain.baseline == nil)
        }
    }

    @Test func namesAreUnique() {
        #expect(Set(HotPath.cases.map(\.name)).count == HotPath.cases.count)
    }

    @Test func whatAnUnknownChainSignedIsRefusedEachTime() throws {
        let workload = try VerifyUnknownChain()
        #expect(workload.run(5) == 5)
    }

    @Test func aKnownChainIsRememberedWithItsTable() throws {
        let workload = try VerifyKnownChain(batch: 8)
        // More than are prepared: it begins again.
        #expect(workload.run(1_100) == 1_100)
        #expect(workload.verifier.cachedChainCount == 1)
        #expect(workload.verifier.preparedChainCount == (Verifier.preparesTables ? 1 : 0))
    }

    @Test func decidingGoesOnAfterTheBooksWereBegunAnew() throws {
        let spends = try DecideSpends()
        let credits = try DecideCredits()
        // More than a turn of the prepared commands, and more turns than the books are kept for.
        #expect(spends.run(1_010) == 1_010)
        #expect(credits.run(1_010) == 1_010)
        for _ in 0..<70 {
            #expect(spends.run(10) == 10)
            #expect(credits.run(10) == 10)
        }
    }

    @Test(arguments: [1, 64, 1_000])
    func whatIsAppendedIsInTheLedger(batch: Int) throws {
        let workload = try AppendCredits(batch: batch)
        #expect(try workload.run(150) == 150)
        let trial = try workload.engine.report(ReportQuery(kind: .trial, asOf: Studio.now + 1_000_000))
        let gems = try #require(CurrencyCode("gems"))
        #expect(
            trial.rows.contains(
                .trial(currency: gems, account: .purchased, debits: 150 * Int128(Studio.units), credits: 0)))
    }

    @Test func bothEncodersWriteTheSameReply() throws {
        let own = try EncodeReply()
        let foundation = try FoundationEncode()
        #expect(own.run(3) == 3)
        #expect(try foundation.run(3) == 3)
        let members = try #require(try JSONSerialization.jsonObject(with: Data(own.line)) as? NSDictionary)
        #expect(members == (try JSONSerialization.jsonObject(with: foundation.line) as? NSDictionary))
    }

    @Test func aRatioIsOfACaseToItsBaseline() throws {
        let encode = try #require(HotPath.cases.first { $0.name == "encode a credit's reply" })
        let ratio = try #require(try HotPathRatio(encode, count: 100, rounds: 3))
        #expect(ratio.nanoseconds > 0)
        #expect(ratio.speed == ratio.baselineNanoseconds / ratio.nanoseconds)
        let baseline = try #require(HotPath.cases.first { $0.baseline == nil })
        #expect(try HotPathRatio(baseline, count: 1, rounds: 1) == nil)
    }
}
