import FileLog
import Foundation
import LedgerClient
import Testing

/// A report up to a time is made of a folder's tables only where nothing of that time can be missing in them.
@Suite struct TablesBehindTests {
    private static let gems = CurrencyCode("gems")!

    /// - Returns: the time of the last block, which is not before the grant's.
    private static func grant(_ client: LedgerClient, _ key: String) async throws -> Int64 {
        _ = try await client.grant(
            Grant(key: RequestKey(key)!, account: AccountName("ann")!, currency: gems, amount: Amount(7)!))
        return try await client.head().time
    }

    /// Puts copies of the tables, with all that stands beside them, where `target` says, in place of what is there.
    private static func copyTables(_ source: String, _ target: String) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: target, withIntermediateDirectories: true)
        for (folder, copies) in [(target, false), (source, true)] {
            for name in try files.contentsOfDirectory(atPath: folder) where name.hasPrefix("projection.") {
                if copies {
                    try files.copyItem(atPath: "\(folder)/\(name)", toPath: "\(target)/\(name)")
                } else {
                    try files.removeItem(atPath: "\(folder)/\(name)")
                }
            }
        }
    }

    @Test func whatTheLogHasMoreIsNeverLeftOutInSilence() async throws {
        let studio = try Studio()
        let (ledger, old) = (studio.folder.path("ledger"), studio.folder.path("old"))
        func export(_ arguments: String..., asOf time: Int64? = nil) throws -> Finished {
            let time = time.map { ["--as-of", String($0)] } ?? []
            return try Command.run(["export"] + arguments + time + ["--path", ledger])
        }
        func whole(_ arguments: String..., asOf time: Int64) throws -> String {
            let finished = try Command.run(["export"] + arguments + ["--as-of", String(time), "--path", ledger])
            #expect(finished.status == 0, "\(finished.error)")
            return finished.output
        }

        var service = try RunningService(studio.folder)
        var client = try await service.client()
        let early = try await Self.grant(client, "a")
        // Until the clock has gone on, and then one whose entry is later for certain.
        for number in 0... where try await Self.grant(client, "b\(number)") > early { break }
        _ = try await Self.grant(client, "c")
        try await client.close()
        #expect(service.stop() == 0)
        try Self.copyTables(ledger, old)

        service = try RunningService(studio.folder)
        client = try await service.client()
        let late = try await Self.grant(client, "d")
        // The running service brings its tables forward meanwhile.
        let all = try whole("trial", asOf: late)
        try await client.close()
        #expect(service.stop() == 0)
        #expect(try whole("trial", asOf: late) == all)
        let first = try whole("trial", asOf: early)
        #expect(first != all)

        try Self.copyTables(old, ledger)
        #expect(try whole("trial", asOf: early) == first)
        // By when it happened, what is missing may be of any time; and so may a closing be missing.
        for refused in [
            try export("trial", asOf: late), try export("sales", "--by", "effective", asOf: early),
            try export("trial", "--closed", asOf: early),
        ] {
            #expect(refused.status == 1 && refused.output.isEmpty, "\(refused)")
            let said = /the tables have all up to block (\d+), and the log has block (\d+): entries may be missing/
            let blocks = try #require(refused.error.firstMatch(of: said), "\(refused)")
            #expect(Int(blocks.1) ?? 0 < Int(blocks.2) ?? 0, "\(refused)")
            #expect(refused.error.contains("Start the service") && refused.error.contains("currency-ledger rebuild"))
        }
        // Of now it is what the tables have, and says up to where.
        let now = try export("trial")
        #expect(now.status == 0 && now.output != all && now.error.contains("the tables have all up to block"))

        service = try RunningService(studio.folder)
        #expect(service.stop() == 0)
        #expect(try whole("trial", asOf: late) == all)
        #expect(try whole("trial", asOf: early) == first)
    }

    /// The tables end ten days before the base date; whether the log has more until then they cannot say.
    @Test func aBaseDateThatTheTablesHaveNotPassedIsRefused() async throws {
        let studio = try Studio()
        let path = try GeneratedGame.write(60, seed: 9, from: 1_757_894_400_000, days: 5, to: studio)
        func baseDate() throws -> Finished { try Command.run(["base-date", "2025-09-30", "--path", path]) }
        let whole = try baseDate()
        #expect(whole.status == 0, "\(whole.error)")
        let old = studio.folder.path("old")
        try Self.copyTables(path, old)
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        _ = try await Self.grant(client, "a")
        try await client.close()
        #expect(service.stop() == 0)
        // The ledger's clock goes on from its last entry, so what is granted now is of a time before the base date.
        let later = try baseDate()
        #expect(later.status == 0 && later.output != whole.output, "\(later)")
        try Self.copyTables(old, path)
        let refused = try baseDate()
        #expect(refused.status == 1 && refused.output.isEmpty, "\(refused)")
        #expect(refused.error.contains("entries may be missing"), "\(refused)")
    }

    /// What is left of a ledger that was moved, and a node's tables, have no log that says whether they are complete.
    @Test func tablesWithoutTheirLogAreNamed() async throws {
        let studio = try Studio()
        let ledger = studio.folder.path("ledger")
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let time = try await Self.grant(client, "a")
        try await client.close()
        #expect(service.stop() == 0)
        try LedgerFolder(ledger).movedMark.write("the schema ledger")
        let moved = try Command.run(["export", "trial", "--as-of", String(time), "--path", ledger])
        #expect(moved.status == 1 && moved.error.contains("was moved away from"), "\(moved)")
        #expect(moved.error.contains("the schema ledger") && moved.error.contains("--server"), "\(moved)")
        let node = studio.folder.path("node")
        try Self.copyTables(ledger, node)
        let alone = try Command.run(["export", "trial", "--path", node])
        #expect(alone.status == 1 && alone.error.contains("has tables and no log"), "\(alone)")
    }
}
