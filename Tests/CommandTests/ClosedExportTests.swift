import AppStore
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

    private static let compiler = URL(fileURLWithPath: "/usr/bin/env")

    /// Whether a process's clock can be set, and its disk be made to fail: that takes a compiler of C.
    private static let canCompile =
        NeededPrograms.contain("clang") || (try? Command.run(compiler, ["clang", "--version"]))?.status == 0

    /// What loads a library of this source into a process.
    private static func loading(_ name: String, _ source: String, _ folder: TemporaryFolder) throws -> [String: String]
    {
        try folder.write("\(name).c", source)
        let made = try Command.run(
            compiler, ["clang", "-shared", "-fPIC", "-o", folder.path("\(name).so"), folder.path("\(name).c")])
        try #require(made.status == 0, "\(made.error)")
        return ["LD_PRELOAD": folder.path("\(name).so")]
    }

    /// By this a process's clock is an hour ahead.
    private static func clockAhead(_ folder: TemporaryFolder) throws -> [String: String] {
        try loading(
            "clock",
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
            """, folder)
    }

    private static func object(_ text: some StringProtocol) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private static func export(_ arguments: [String]) throws -> Finished {
        let finished = try Command.run(["export"] + arguments)
        #expect(finished.status == 0, "\(finished.error)")
        return finished
    }

    @Test(.enabled(if: canCompile, "there is no clang that makes a clock to be set"))
    func itsBytesAreTheSameAfterARestartWithTheClockSetBack() async throws {
        let studio = try Studio()
        var service = try RunningService(studio.folder, environment: try Self.clockAhead(studio.folder))
        var client = try await service.client()
        for number in 1...3 {
            _ = try await client.credit(signedTransaction: try studio.purchase(number), account: Self.player)
        }
        _ = try await client.spend(
            Spend(
                key: RequestKey("s")!, account: Self.player,
                debits: [CurrencyAmount(currency: Self.gems, amount: Amount(600)!)]))
        // One more purchase is a token's, which is nobody's yet.
        let token = AppAccountToken("5f0e8c2a-0000-4000-8000-00000000000c")!
        var payload = TransactionPayload(
            transactionID: "2000000000000009", bundleID: "com.example.game", productID: "com.example.game.gems500",
            purchaseDate: studio.now - 60_000, signedDate: studio.now - 60_000, environment: .sandbox)
        payload.appAccountToken = token.text
        _ = try await client.credit(signedTransaction: try studio.chain.sign(payload))
        let end = try await client.head().time
        try await Self.grant(client, "g")
        let closing = try await client.closePeriod(through: end)
        let kinds = ReportKind.allCases.map(\.rawValue)
        let formats = ["csv", "jsonl", "hledger", "ledger", "beancount"]

        func reports(_ place: [String], into: String) throws -> [String: String] {
            var reports: [String: String] = [:]
            for kind in kinds {
                for format in formats where kind == "journal" || format == "csv" || format == "jsonl" {
                    let path = studio.folder.path("\(into)-\(kind).\(format)")
                    _ = try Self.export(
                        [kind, "--format", format, "--closed", "--as-of", String(end), "-o", path] + place)
                    let text = try String(contentsOfFile: path, encoding: .utf8)
                    reports["\(kind).\(format)"] = text
                    let side = try Self.object(String(contentsOfFile: path + ".meta.json", encoding: .utf8))
                    let header = try #require(side["header"] as? [String: Any])
                    #expect(header["report"] as? String == kind && header["app"] as? String == "com.example.game")
                    #expect(header["environment"] as? String == "Sandbox" && header["cut"] as? String == "posted")
                    #expect(header["block"] as? Int64 == closing.block && header["hash"] as? String == closing.hash)
                    #expect(header["through"] as? String == UTCText.time(end) && header["from"] is NSNull)
                    #expect(side["file"] as? String == "\(into)-\(kind).\(format)" && side["madeAt"] is String)
                    #expect(header["madeAt"] == nil && side["program"] is String && side["rows"] is Int)
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
            // The page, and what commands of their own write.
            for (name, arguments) in [
                (
                    "month",
                    ["export", "month", "--closed", "--from", "\(UTCText.day(of: studio.now))", "--as-of", String(end)]
                )
            ] {
                let path = studio.folder.path("\(into)-\(name).html")
                let finished = try Command.run(arguments + place + ["-o", path])
                #expect(finished.status == 0, "\(finished.error)")
                let text = try String(contentsOfFile: path, encoding: .utf8)
                reports[name] = text
                #expect(text.contains("by block \(closing.block), <bdi>\(closing.hash)</bdi>"), "\(name)")
                let side = try Self.object(String(contentsOfFile: path + ".meta.json", encoding: .utf8))
                let header = try #require(side["header"] as? [String: Any])
                #expect(header["report"] as? String == name && header["hash"] as? String == closing.hash)
            }
            return reports
        }
        let first = try reports(["--server", service.address], into: "first")
        // What comes later changes nothing of it.
        _ = try await client.credit(
            signedTransaction: try studio.refund(1, share: nil, after: 1), account: Self.player)
        try await Self.grant(client, "h")
        _ = try await client.link(token, to: Self.player)
        let later = try await client.closePeriod(through: try await client.head().time)
        #expect(later.block > closing.block)
        try await client.close()
        service.kill()

        service = try RunningService(studio.folder)
        client = try await service.client()
        let set = try await client.journal(after: 0).entries.map(\.time)
        #expect(try #require(set.last) > Int64(Date().timeIntervalSince1970 * 1_000) + 1_800_000)
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

    /// Where the disk does not take the new report, the old one stays, with what fixes it.
    @Test(.enabled(if: canCompile, "there is no clang that makes a disk to fail"))
    func aReportThatTheDiskDoesNotTakeLeavesTheOldOneAndItsHeader() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        try await Self.grant(client, "g")
        let end = try await client.head().time
        _ = try await client.closePeriod(through: end)
        try await client.close()
        let path = studio.folder.path("report.csv")
        let arguments = ["balances", "-o", path, "--server", service.address]
        _ = try Self.export(arguments + ["--as-of", String(end)])
        let before = try [path, path + ".meta.json"].map { try String(contentsOfFile: $0, encoding: .utf8) }
        let failing = try Self.loading(
            "disk",
            """
            #include <errno.h>
            int fsync(int file) { errno = EIO; return -1; }
            """, studio.folder)
        for more in [[], ["--as-of", String(end)]] {
            let failed = try Command.run(["export"] + arguments + more, environment: failing)
            #expect(failed.status == 1 && failed.error.contains("report.csv: cannot be written"), "\(failed)")
            #expect(try [path, path + ".meta.json"].map { try String(contentsOfFile: $0, encoding: .utf8) } == before)
        }
        #expect(service.stop() == 0)
    }

    /// A currency of which there was nothing by a time is in no file of that time, also where the catalog had it.
    @Test func aCurrencyThatTheCatalogGetsLaterChangesNoReportOfAClosedPeriod() async throws {
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        try await Self.grant(client, "g")
        let end = try await client.head().time
        _ = try await client.closePeriod(through: end)
        let day = UTCText.day(of: end)
        func reports(_ place: [String], into: String) throws -> [String] {
            let periods = [
                ["trial"], ["rollforward"], ["rollforward", "--from", day], ["month", "--from", day],
                ["trial", "--format", "jsonl"],
            ]
            return try periods.enumerated().map { number, arguments in
                let path = studio.folder.path("\(into)-\(number)")
                _ = try Self.export(arguments + ["--closed", "--as-of", String(end), "-o", path] + place)
                return try String(contentsOfFile: path, encoding: .utf8)
            }
        }
        let first = try reports(["--server", service.address], into: "first")
        #expect(first[0].contains("gems,granted,7,0,7"))
        try await client.close()
        #expect(service.stop() == 0)

        let catalog = #"{"currencies": {"gems": {}, "coins": {}, "zzz": {}}, "products": {}}"#
        try studio.folder.write("catalog.json", catalog)
        service = try RunningService(studio.folder)
        client = try await service.client()
        #expect(try await client.info().ledger.currencies.map(\.text).sorted() == ["coins", "gems", "zzz"])
        _ = try await client.grant(
            Grant(
                key: try #require(RequestKey("c")), account: Self.player, currency: try #require(CurrencyCode("coins")),
                amount: try #require(Amount(3))))
        #expect(try reports(["--server", service.address], into: "second") == first)
        // Now it has what was used, and not what was not.
        for kind in ["trial", "rollforward"] {
            let now = try Self.export([kind, "--server", service.address]).output
            #expect(now.contains("\r\ncoins,") && now.contains("\r\ngems,") && !now.contains("zzz"), "\(now)")
        }
        let effective = try Self.export(["rollforward", "--by", "effective", "--server", service.address]).output
        #expect(effective.contains("\r\ncoins,") && !effective.contains("zzz"), "\(effective)")
        try await client.close()
        #expect(service.stop() == 0)
        #expect(try reports(["--path", studio.folder.path("ledger")], into: "third") == first)
    }

    /// A report that is cut by the dates of what happened may change at any time, so nothing fixes it.
    @Test func whatIsCutByOtherDatesHasNoHeader() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: Self.player)
        let end = try await client.head().time
        _ = try await client.closePeriod(through: end)
        try await client.close()
        let path = studio.folder.path("sales.jsonl")
        let arguments = [
            "sales", "--format", "jsonl", "--as-of", String(end), "-o", path, "--server", service.address,
        ]
        _ = try Self.export(arguments + ["--by", "posted"])
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix(#"{"header":{"report":"sales","#))
        #expect(FileManager.default.fileExists(atPath: path + ".meta.json"))
        _ = try Self.export(arguments + ["--by", "effective"])
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix(#"{"day":"#))
        #expect(!FileManager.default.fileExists(atPath: path + ".meta.json"))
        #expect(service.stop() == 0)
    }

    /// From a folder the ledger's name is told, as a service tells it.
    @Test func aFolderOfAServiceOfSeveralLedgersIsNamed() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        try await Self.grant(client, "g")
        let end = try await client.head().time
        _ = try await client.closePeriod(through: end)
        try await client.close()
        #expect(service.stop() == 0)
        let arguments = [
            "balances", "--format", "jsonl", "--as-of", String(end), "--path", studio.folder.path("ledger"),
        ]
        #expect(try Self.export(arguments).output.contains(#""ledger":null"#))
        #expect(try Self.export(arguments + ["--ledger", "games"]).output.contains(#""ledger":"games""#))
    }

    /// What stands beside a report and is not this program's is neither taken away nor written over.
    @Test func aFileOfOthersBesideAReportStays() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        try await Self.grant(client, "g")
        let end = try await client.head().time
        _ = try await client.closePeriod(through: end)
        try await Self.grant(client, "h")
        try await client.close()
        let path = studio.folder.path("report.csv")
        try studio.folder.write("report.csv.meta.json", #"{"title": "ours"}"#)
        let now = ["balances", "-o", path, "--server", service.address]
        _ = try Self.export(now)
        let open = try String(contentsOfFile: path, encoding: .utf8)
        for arguments in [
            ["export"] + now + ["--as-of", String(end)],
            ["export", "month", "--from", UTCText.day(of: studio.now), "--as-of", String(end)] + now.dropFirst(),
        ] {
            let refused = try Command.run(arguments)
            #expect(refused.status == 1 && refused.error.contains("was not written by this program"), "\(refused)")
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == open)
        #expect(try String(contentsOfFile: path + ".meta.json", encoding: .utf8) == #"{"title": "ours"}"#)
        try FileManager.default.removeItem(atPath: path + ".meta.json")
        _ = try Self.export(now + ["--as-of", String(end)])
        #expect(try String(contentsOfFile: path + ".meta.json", encoding: .utf8).contains(#""report":"balances""#))
        #expect(service.stop() == 0)
    }

    /// What Japan asks for, and a month beside Apple's reports: which block, and which files.
    @Test func otherReportsOfClosedPeriodsSayTheSameBesideThem() async throws {
        let studio = try Studio()
        let first: Int64 = 1_757_894_400_000
        let folder = try GeneratedGame.write(300, seed: 5, from: first, days: 20, to: studio)
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let closing = try await client.closePeriod(through: try await client.head().time)
        try await client.close()
        #expect(service.stop() == 0)
        try FileManager.default.createDirectory(
            atPath: studio.folder.path("evidence"), withIntermediateDirectories: false)
        for (name, arguments) in [
            ("base-date", ["base-date", "2025-09-30"]),
            ("reconcile-month", ["reconcile", "month", "2025-09", "--evidence", studio.folder.path("evidence")]),
        ] {
            let path = studio.folder.path("\(name).csv")
            let finished = try Command.run(arguments + ["--path", folder, "-o", path])
            #expect(finished.status == 0, "\(finished.error)")
            let side = try Self.object(String(contentsOfFile: path + ".meta.json", encoding: .utf8))
            let header = try #require(side["header"] as? [String: Any])
            #expect(header["report"] as? String == name && header["hash"] as? String == closing.hash)
            #expect(header["block"] as? Int64 == closing.block && header["version"] as? Int == 5)
            #expect((header["evidence"] as? [String] == []) == (name == "reconcile-month"), "\(header)")
            let rows = try CSVTable(String(contentsOfFile: path, encoding: .utf8)).rows
            #expect(side["rows"] as? Int == rows.count && !rows.isEmpty)
        }
    }
}
