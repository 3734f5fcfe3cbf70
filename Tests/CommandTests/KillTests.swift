import Foundation
import LedgerClient
import LedgerTestKit
import LedgerWire
import Synchronization
import Testing

/// SIGKILL again and again while everything is asked of the service at once: nothing that was acknowledged is lost,
/// nothing is done twice, and another program finds the log whole each time.
@Suite struct KillTests {
    @Test func aMixedLoadSurvivesManyKills() async throws {
        let count = Int(ProcessInfo.processInfo.environment["LEDGER_KILL_REQUESTS"] ?? "") ?? 30_000
        let kills = Int(ProcessInfo.processInfo.environment["LEDGER_KILLS"] ?? "") ?? 6
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let studio = try Studio()
        let purchases = try (0...count / 5).map { Array(try studio.purchase($0).utf8) }
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        try await MixedLoad.begin(client)
        let acknowledged = Mutex<Set<Int>>([])
        for round in 0...kills {
            let isLast = round == kills
            // What was not acknowledged, and some of what was: that must be known.
            let known = acknowledged.withLock { $0 }
            let wanted = (0..<count).filter { !known.contains($0) || random.chance(5) }
            let killAt = isLast ? Int.max : Int.random(in: 0...wanted.count / (kills - round + 1), using: &random)
            let process = service.process.processIdentifier
            let failures = Mutex<[String]>([])
            do {
                try await client.pipeline(
                    count: wanted.count, inFlight: 2_000,
                    write: { index, id, writer in
                        MixedLoad.write(wanted[index], purchases, id, to: &writer)
                    },
                    reply: { index, result in
                        if index == killAt { Foundation.kill(process, SIGKILL) }
                        let number = wanted[index]
                        switch result {
                        case .success(let json):
                            let text = String(decoding: json, as: UTF8.self)
                            let isNew = acknowledged.withLock { $0.insert(number).inserted }
                            if !isNew && known.contains(number) && !MixedLoad.isReplay(text) {
                                failures.withLock { $0.append("request \(number) was done twice: \(text)") }
                            }
                        case .failure(let error):
                            // Killed at that moment, or answered by a service that was dying.
                            if error.reason != "outcome_unknown" && error.reason != "storage_unavailable" {
                                failures.withLock { $0.append("request \(number): \(error)") }
                            }
                        }
                    })
                #expect(isLast, "seed \(seed): round \(round) was not killed")
            } catch is ClientError where !isLast {}
            #expect(failures.withLock { $0 } == [], "seed \(seed)")
            if isLast { break }
            service.kill()
            try? await client.close()
            if ChainVerifier.isThere {
                // What was never acknowledged may stand torn at the end until the next start.
                service = try RunningService(studio.folder)
                let verified = try ChainVerifier.run(studio.folder.path("ledger"))
                #expect(verified.status == 0, "seed \(seed), round \(round): \(verified.output)")
            } else {
                service = try RunningService(studio.folder)
            }
            client = try await service.client()
        }
        #expect(acknowledged.withLock { $0.count } == count, "seed \(seed)")
        #expect(try await MixedLoad.differences(client, after: count) == [], "seed \(seed)")
        let sums = try await client.report(.trial).rows.reduce(into: Int128(0)) { sum, row in
            if case .trial(_, _, let debits, let credits) = row { sum += debits - credits }
        }
        #expect(sums == 0, "seed \(seed)")
        try await client.close()
        #expect(service.stop() == 0)
    }
}
