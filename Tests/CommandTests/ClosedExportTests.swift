import Foundation
import LedgerClient
import Testing

/// Reports of closed periods: the same bytes for ever, with what fixes them.
@Suite struct ClosedExportTests {
    private static let gems = CurrencyCode("gems")!
    private static let player = AccountName("ann")!

    private static func grant(_ client: LedgerClient, _ key: String) async throws {
        _ = try await client.grant(
            Grant(key: RequestKey(key)!, account: player, currency: gems, amount: Amount(7)!))
    }

    /// A library by which a process's clock is an hour ahead; `nil` where there is no compiler.
    private static func clockAhead(_ folder: TemporaryFolder) throws -> [String: String]? {
        try folder.write(
            "clock.c",
            """
            #define _GNU_SOURCE
            #include <time.h>
            #include <unistd.h>
            #include <sys/syscall.h>
            int clock_gettime(clockid_t id, struct timespec *time) {
                int result = (int)syscall(SYS_clock_gettime, id, time);
                if (result == 0 && id == CLOCK_REALTIME) time->tv_sec += 3600;
                return result;
            }
            """)
        let made = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"),
            ["clang", "-shared", "-fPIC", "-o", folder.path("clock.so"), folder.path("clock.c")])
        return made.status == 0 ? ["LD_PRELOAD": folder.path("clock.so")] : nil
    }

    private static func object(_ text: some StringProtocol) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private static func export(_ arguments: [String]) throws -> Finished {
        let finished = try Command.run(["export"] + arguments)
        #expect(finished.status == 0, "\(finished.error)")
        return finished
    }

    @Test func itsBytesAreTheSameAfterARestartWithTheClockSetBack() async throws {
        let studio = try Studio()
        let ahead = try Self.clockAhead(studio.folder)
        var service = try RunningService(studio.folder, environment: ahead ?? [:])
        var client = try await service.client()
        for number in 1...3 {
            _ = try await client.credit(signedTransaction: try studio.purchase(number), account: Self.player)
        }
        _ = try await client.spend(
            Spend(
                key: RequestKey("s")!, account: Self.player,
                debits: [CurrencyAmount(currency: Self.gems, amount: Amount(600)!)]))
        let end = try await client.head().time
        try await Self.grant(client, "g")
        let closing = try await client.closePeriod(through: end)
        let kinds = ["sales", "deferred", "lots", "rollforward", "balances", "journal", "purchases"]
        let formats = ["csv", "jsonl", "hledger", "beancount"]

        func reports(_ place: [String], into name: String) throws -> [String: String] {
            var reports: [String: String] = [:]
            for kind in kinds {
                for format in formats where kind == "journal" || format == "csv" || format == "jsonl" {
                    let path = studio.folder.path("\(name)-\(kind).\(format)")
                    _ = try Self.export(
                        [kind, "--format", format, "--closed", "--as-of", String(end), "-o", path] + place)
                    reports["\(kind).\(format)"] = try String(contentsOfFile: path, encoding: .utf8)
                    let side = try Self.object(String(contentsOfFile: path + ".meta.json", encoding: .utf8))
                    let header = try #require(side["header"] as? [String: Any])
                    #expect(header["report"] as? String == kind && header["app"] as? String == "com.example.game")
                    #expect(header["environment"] as? String == "Sandbox" && header["cut"] as? String == "posted")
                    #expect(header["block"] as? Int64 == closing.block && header["hash"] as? String == closing.hash)
                    #expect(header["through"] as? String == UTCText.time(end) && header["from"] is NSNull)
                    #expect(side["file"] as? String == "\(name)-\(kind).\(format)" && side["madeAt"] is String)
                    #expect(header["madeAt"] == nil && side["program"] is String && side["rows"] is Int)
                    let text = try #require(reports["\(kind).\(format)"])
                    if format == "jsonl" {
                        let first = try Self.object(text.prefix { $0 != "\n" })
                        #expect(first.keys.sorted() == ["header"])
                        #expect(first["header"] as? NSDictionary == header as NSDictionary)
                    } else if format != "csv" {
                        #expect(text.hasPrefix("; report: journal\n; ledger: -\n; app: com.example.game\n"))
                        #expect(text.contains("\n; hash: \(closing.hash)\n"))
                    }
                }
            }
            return reports
        }
        let first = try reports(["--server", service.address], into: "first")
        // What comes later changes nothing of it.
        _ = try await client.credit(
            signedTransaction: try studio.refund(1, share: nil, after: 1), account: Self.player)
        try await Self.grant(client, "h")
        let later = try await client.closePeriod(through: try await client.head().time)
        #expect(later.block > closing.block)
        try await client.close()
        service.kill()

        service = try RunningService(studio.folder)
        client = try await service.client()
        if ahead != nil {
            let set = try await client.journal(after: 0).entries.map(\.time)
            #expect(try #require(set.last) > Int64(Date().timeIntervalSince1970 * 1_000) + 1_800_000)
        }
        #expect(try reports(["--server", service.address], into: "second") == first)
        try await client.close()
        #expect(service.stop() == 0)
        #expect(try reports(["--path", studio.folder.path("ledger")], into: "third") == first)
    }

    @Test func anOpenPeriodIsRefusedByNameAndHasNoHeader() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        try await Self.grant(client, "g")
        let first = try await client.head().time
        _ = try await client.closePeriod(through: first)
        try await Self.grant(client, "h")
        let second = try await client.head().time
        try await client.close()
        let path = studio.folder.path("report.csv")
        let closed = ["balances", "--as-of", String(first), "-o", path, "--server", service.address]
        _ = try Self.export(closed)
        #expect(FileManager.default.fileExists(atPath: path + ".meta.json"))
        let before = try String(contentsOfFile: path, encoding: .utf8)

        for place in [["--server", service.address], ["--path", studio.folder.path("ledger")]] {
            let open = try Command.run(
                ["export", "balances", "--closed", "--as-of", String(second), "-o", path] + place)
            #expect(open.status == 1 && open.error.contains("period_open: the period through"), "\(open.error)")
            #expect(open.error.contains("closed is all through \(UTCText.time(first))"), "\(open.error)")
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == before)
        #expect(FileManager.default.fileExists(atPath: path + ".meta.json"))
        for (arguments, words) in [
            (["sales", "--closed"], "--closed needs --month or --as-of"),
            (["sales", "--closed", "--month", "2020-01", "--by", "effective"], "--by effective is never closed"),
        ] {
            let wrong = try Command.run(["export"] + arguments)
            #expect(wrong.status != 0 && wrong.error.contains(words), "\(wrong.error)")
        }
        // Nothing says of an open report that it is closed, also not what was there before.
        _ = try Self.export(["balances", "--as-of", String(second), "-o", path, "--server", service.address])
        #expect(!FileManager.default.fileExists(atPath: path + ".meta.json"))
        let lines = try Self.export(
            ["balances", "--format", "jsonl", "--as-of", String(second), "--server", service.address])
        #expect(lines.output.hasPrefix(#"{"account":"#))
        #expect(service.stop() == 0)
    }
}
