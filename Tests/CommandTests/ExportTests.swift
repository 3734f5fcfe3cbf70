import AppStore
import Foundation
import LedgerClient
import LedgerWire
import Testing

@testable import currency_ledger

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// `export` writes a report or leaves everything as it was.
@Suite struct ExportTests {
    private static let header = "account,currency,available,held,debt,paid,free\r\n"

    /// A ledger with 500 gems, that nobody serves.
    private static func ledger() async throws -> Studio {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: AccountName("player-1")!)
        try await client.close()
        #expect(service.stop() == 0)
        return studio
    }

    private static func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private static func names(_ folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    }

    /// A shell's line with the command as `"$0"` and the folder as `"$1"`.
    private static func shell(_ line: String, _ folder: TemporaryFolder) throws -> Finished {
        try Command.run(URL(fileURLWithPath: "/bin/sh"), ["-c", line, Command.executable.path, folder.url.path])
    }

    @Test func anOldFileStaysWhereNoServiceAnswers() throws {
        let folder = try TemporaryFolder()
        try folder.write("report.csv", "old")
        let finished = try Command.run([
            "export", "balances", "-o", folder.path("report.csv"), "--server", "127.0.0.1:1",
        ])
        #expect(finished.status == 1)
        #expect(
            finished.error == "currency-ledger: no service at 127.0.0.1:1: cannot connect: Connection refused\n")
        #expect(try Self.text(folder.path("report.csv")) == "old")
        #expect(try Self.names(folder) == ["report.csv"])
    }

    @Test func aReportTakesThePlaceOfTheOldFileAndKeepsItsMode() async throws {
        let studio = try await Self.ledger()
        let (path, link) = (studio.folder.path("report.csv"), studio.folder.path("link.csv"))
        try studio.folder.write("report.csv", "old")
        chmod(path, 0o640)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "report.csv")
        let finished = try Command.run(["export", "balances", "-o", link, "--path", studio.folder.path("ledger")])
        #expect(finished.status == 0, "\(finished.error)")
        #expect(try Self.text(path) == Self.header + "player-1,gems,500,0,0,500,0\r\n")
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "report.csv")
        #expect(try !Self.names(studio.folder).contains { $0.hasPrefix(".currency-ledger") })
    }

    /// What a redirection has written already stays, and what reads a pipe gets it all.
    @Test func devicesAndPipesAreWrittenTo() async throws {
        let studio = try await Self.ledger()
        let report = Self.header + "player-1,gems,500,0,0,500,0\r\n"
        let redirected = try Self.shell(
            #"cd "$1"; (echo first; "$0" export balances -o /dev/stdout --path ledger; echo last) > both"#,
            studio.folder)
        #expect(redirected.status == 0, "\(redirected.error)")
        #expect(try Self.text(studio.folder.path("both")) == "first\n\(report)last\n")
        let piped = try Self.shell(
            #"cd "$1"; mkfifo pipe; cat pipe > read & "$0" export balances -o pipe --path ledger; wait; test -p pipe"#,
            studio.folder)
        #expect(piped.status == 0, "\(piped.error)")
        #expect(try Self.text(studio.folder.path("read")) == report)
    }

    /// The limit of a file's size stands for a full disk.
    @Test func aDiskWithoutRoomLeavesTheOldFile() async throws {
        let studio = try await Self.ledger()
        try studio.folder.write("report.csv", "old")
        // The service is outside of the limit, and so is the end of the pipe.
        let service = try RunningService(studio.folder)
        let line = #""$0" export balances -o report.csv --server \#(service.address) 2>&1; echo "status $?""#
        let cut = try Self.shell(#"cd "$1"; (trap '' XFSZ; ulimit -f 0; \#(line)) | cat"#, studio.folder)
        #expect(service.stop() == 0)
        #expect(cut.output == "currency-ledger: report.csv: cannot be written: File too large\nstatus 1\n")
        #expect(try Self.text(studio.folder.path("report.csv")) == "old")
        #expect(try !Self.names(studio.folder).contains { $0.hasPrefix(".currency-ledger") })
        let full = try Self.shell(#"cd "$1"; "$0" export balances --path ledger > /dev/full"#, studio.folder)
        #expect(full.status == 1)
        #expect(full.error.hasSuffix("currency-ledger: standard output: cannot be written: No space left on device\n"))
        let printed = try Self.shell(
            #""$0" sandbox init "$1/chain"; "$0" sandbox sign "$1/chain" > /dev/full"#, studio.folder)
        #expect(printed.status == 1)
        #expect(printed.error.hasSuffix("standard output: cannot be written: No space left on device\n"))
    }

    /// What Apple told and asks, straight from the tables and from a service.
    @Test func notificationsAndQuestionsAreExported() async throws {
        let studio = try await Self.ledger()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let told = [
            ("u-1", "REFUND", try studio.refund(1, share: 20_000, after: 1)),
            ("u-2", "CONSUMPTION_REQUEST", try studio.purchase(1)), ("u-3", "RESCIND_CONSENT", nil),
        ]
        for (uuid, type, transaction) in told {
            let payload = NotificationPayload(
                notificationType: .init(rawValue: type), notificationUUID: uuid, signedDate: studio.now - 1_000,
                data: .init(
                    bundleID: "com.example.game", environment: .sandbox, signedTransactionInfo: transaction))
            _ = try await client.notify(signedPayload: try studio.chain.sign(payload))
        }
        try await client.close()
        func export(_ arguments: String...) throws -> [[String]] {
            let finished = try Command.run(["export"] + arguments)
            #expect(finished.status == 0, "\(finished.error)")
            return finished.output.components(separatedBy: "\r\n").map { $0.components(separatedBy: ",") }
        }
        let notifications = try export("notifications", "--server", service.address)
        let questions = try export("consumption_requests", "--server", service.address)
        #expect(service.stop() == 0)
        #expect(notifications.map { $0.first ?? "" } == ["notificationUUID", "u-1", "u-2", "u-3", ""])
        #expect(notifications[0].count == 10 && notifications.dropFirst().dropLast().allSatisfy { $0.count == 10 })
        #expect(notifications[1].suffix(5) == ["2000000000000001", "player-1", "reversed", "2", "gems:-100"])
        #expect(notifications[2].suffix(5) == ["2000000000000001", "player-1", "unchanged", "", ""])
        #expect(notifications[3].suffix(5) == ["", "", "recorded", "", ""])
        #expect(questions.count == 3 && questions[0].count == 12 && questions[0].last == "code")
        #expect(
            questions[1].prefix(4) == ["u-2", "2000000000000001", "com.example.game.gems500", "player-1"]
                && questions[1].suffix(5)
                    == [UTCText.time(studio.now - 1_000 + 43_200_000), "none", "open", "", ""]
        )
        let path = studio.folder.path("ledger")
        #expect(try export("notifications", "--path", path) == notifications)
        #expect(try export("consumption_requests", "--scope", "all", "--path", path) == questions)
        let now = String(Int64(Date().timeIntervalSince1970 * 1_000))
        #expect(try export("notifications", "--from", now, "--path", path).count == 2)
        let late = try Command.run(["export", "notifications", "--from", "2100-01-01", "--path", path])
        #expect(late.status == 1 && late.error.contains("is in the future"), "\(late.error)")
    }

    @Test(arguments: [
        (["trial", "--from", "1"], "trial is of one time: give --as-of"),
        (["lots", "--month", "2026-01"], "lots is of one time: give --as-of"),
        (["sales", "--month", "2026-13"], "--month must be as 2026-01, not '2026-13'"),
        (["sales", "--month", "2026-01", "--from", "1"], "Give --month, or --from and --as-of"),
        (["balances", "--by", "effective"], "--by is not of balances"),
        (["sales", "--currency", "gems"], "--currency is not of sales"),
        (["nothing"], "- rollforward\n"),
        (["trial", "--format", "hledger"], "--format hledger is of journal only"),
        (["notifications", "--scope", "all"], "--scope is of consumption_requests and lots only"),
        (["notifications", "--currency", "gems"], "--currency is not of notifications"),
        (["notifications", "--from", "soon"], "--from must be milliseconds since 1970 or ISO 8601, not 'soon'"),
    ])
    func whatAReportHasNotIsRefused(arguments: [String], why: String) throws {
        let finished = try Command.run(["export"] + arguments)
        #expect(finished.status != 0 && finished.error.contains(why), "\(finished.error)")
    }

    @Test(arguments: [
        ("", "Is a directory"), ("/nothing/report.csv", "there is no folder"), ("/report.csv/x", "Not a directory"),
    ])
    func whereNothingCanBeWrittenIsSaid(path: String, why: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("report.csv", "old")
        let finished = try Command.run(["export", "trial", "-o", folder.url.path + path, "--server", "127.0.0.1:1"])
        #expect(finished.status == 1)
        #expect(finished.error.contains("\(folder.url.path + path): cannot be written: \(why)"), "\(finished.error)")
    }

    /// A service that answers the first page, and never the second one.
    @Test(arguments: [SIGTERM, SIGINT])
    func anInterruptedExportLeavesTheOldFileAndNoOther(ending: Int32) async throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &place) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                #expect(bind(listener, $0, size) == 0 && listen(listener, 1) == 0)
                #expect(getsockname(listener, $0, &size) == 0)
            }
        }
        let folder = try TemporaryFolder()
        let reports = folder.url.appendingPathComponent("reports")
        try FileManager.default.createDirectory(at: reports, withIntermediateDirectories: false)
        try folder.write("reports/report.csv", "old")
        let export = try Command.start(
            [
                "export", "balances", "-o", folder.path("reports/report.csv"), "--server",
                "127.0.0.1:\(UInt16(bigEndian: place.sin_port))",
            ], folder)
        try Self.answerOnePage(to: listener)
        var sizes: [Int] = []
        for _ in 0..<600 where sizes != [3, Self.page.utf8.count] {
            try await Task.sleep(for: .milliseconds(50))
            let names = try FileManager.default.contentsOfDirectory(atPath: reports.path)
            sizes = try names.map { name in
                let path = reports.appendingPathComponent(name).path
                return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            }.sorted()
        }
        #expect(sizes == [3, Self.page.utf8.count], "a page is not written beside the old report: \(sizes)")
        kill(export.process.processIdentifier, ending)
        export.process.waitUntilExit()
        #expect(export.process.terminationReason == .uncaughtSignal && export.process.terminationStatus == ending)
        #expect(try FileManager.default.contentsOfDirectory(atPath: reports.path) == ["report.csv"])
        #expect(try Self.text(folder.path("reports/report.csv")) == "old")
    }

    private static let page = header + "player-1,gems,500,0,0,500,0\r\n"

    /// Reads a request for a report, and answers that there is a row, and more.
    private static func answerOnePage(to listener: Int32) throws {
        let connection = accept(listener, nil, nil)
        try #require(connection >= 0)
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n") {
            var byte: UInt8 = 0
            try #require(recv(connection, &byte, 1, 0) == 1)
            line.append(byte)
        }
        let request = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
        let id = try #require(request["id"] as? Int)
        let reply = """
            {"jsonrpc":"2.0","id":\(id),"result":{"kind":"balances","asOf":1790000000000,"rows":[{"account":"player-1",\
            "currency":"gems","available":500,"held":0,"debt":0,"paid":500,"free":0}],"next":"balances.1.1"}}

            """
        // The connection stays open as long as the test's process.
        #expect(send(connection, reply, reply.utf8.count, 0) == reply.utf8.count)
    }

    @Test func aLineOnATerminalSaysHowFarItIs() {
        let half = String(repeating: "#", count: 20) + String(repeating: ".", count: 20)
        #expect(ProgressBar.line("auditing blocks", "5 of 10", 5, of: 10) == "auditing blocks [\(half)] 5 of 10")
        #expect(ProgressBar.line("exporting lots", "7 rows", 0, of: 0) == "exporting lots: 7 rows")
        let whole = String(repeating: "#", count: 40)
        #expect(ProgressBar.line("a", "b", 11, of: 10) == "a [\(whole)] b")
        #expect(ProgressBar.line("a", "b", -1, of: 10) == "a [\(String(repeating: ".", count: 40))] b")
    }

    /// By the times of the rows, where they are in that order.
    @Test func howFarAReportIsFollowsFromItsRows() {
        func row(_ kind: ReportKind, _ time: Int64) -> ReportRow {
            .line(
                ReportLine(
                    kind,
                    kind.columns.map { column in
                        switch column.type {
                        case .text, .day: .text("x")
                        case .time, .integer: .integer(time)
                        case .units, .money: .sum(0)
                        }
                    }))
        }
        var reach = ReportReach(ReportRequest(kind: .journal, asOf: 1_100, from: 100))
        #expect(reach.all == 0)
        reach.add([row(.journal, 150), row(.journal, 350)])
        #expect(reach.done == 250 && reach.all == 1_000)
        var whole = ReportReach(ReportRequest(kind: .lots, asOf: 1_000))
        whole.add([row(.lots, 600), row(.lots, 700)])
        whole.add([row(.lots, 800)])
        #expect(whole.done == 200 && whole.all == 400)
        var sums = ReportReach(ReportRequest(kind: .sales, asOf: 1_000))
        sums.add([row(.sales, 1)])
        #expect(sums.all == 0)
    }

    /// The check that stands in `export deferred`.
    @Test func aReportThatDoesNotAddUpIsRefused() throws {
        func line(_ figures: [String: Int128]) -> ReportLine {
            ReportLine(
                .deferred, ReportKind.deferred.columns.map { $0.isSum ? .sum(figures[$0.name] ?? 0) : .text("x") })
        }
        let right: [String: Int128] = [
            "opening": 100, "sold": 30, "imported": 7, "refunded": 20, "recognised": 50, "closing": 67,
        ]
        try ReportFile.check(line(right))
        for (column, figure) in right {
            #expect(throws: Failure.self, "\(column)") {
                try ReportFile.check(line(right.merging([column: figure + 1]) { $1 }))
            }
        }
    }

    /// Each currency has one name in beancount, whichever others an export has, and its own.
    @Test func aCommodityOfBeancountFollowsFromTheCodeAlone() {
        #expect(JournalText.commodity("gems") == "GEMS" && JournalText.commodity("GEMS") == "GAME.GEMS")
        #expect(JournalText.commodity("GLD") == "GAME.GLD" && JournalText.commodity("gld") == "GAME.'G'L'D")
        #expect(JournalText.commodity("a_b-c.d1") == "A_B-C.D1" && JournalText.commodity("Gold2") == "GAME.G'O'L'D2")
        var codes = ["1up", "-", "gems.", "GAME.GEMS", "game.gems", "game-0123456789abcdef01", "g", "gem", "Gem"]
        codes += ["gems", "Gems", "gEms", "GEMS"] + (1...100).map { String(repeating: "a", count: $0) }
        codes += (1...100).map { String(repeating: "B", count: $0) }
        let names = codes.map { JournalText.commodity($0) }
        #expect(Set(names).count == Set(codes).count)
        for name in names {
            #expect(name.wholeMatch(of: /[A-Z][A-Z0-9'._-]{0,22}[A-Z0-9]/) != nil && name.utf8.count != 3, "\(name)")
        }
    }

    /// As a service does.
    @Test func whatTheLedgerCannotReportIsRefused() async throws {
        let studio = try await Self.ledger()
        try studio.folder.write("report.csv", "old")
        let arguments = [
            "export", "trial", "--path", studio.folder.path("ledger"), "-o", studio.folder.path("report.csv"),
        ]
        let unknown = try Command.run(arguments + ["--currency", "coins"])
        #expect(unknown.status == 1)
        #expect(unknown.error == "currency-ledger: the ledger has no currency coins, but gems\n")
        let future = try Command.run(arguments + ["--as-of", "2999-01-01"])
        #expect(future.status == 1)
        #expect(future.error.hasPrefix("currency-ledger: 2999-01-01T00:00:00.000Z is in the future: it is 2"))
        #expect(try Self.text(studio.folder.path("report.csv")) == "old")
        let known = try Command.run(arguments + ["--currency", "gems"])
        #expect(known.status == 0, "\(known.error)")
    }
}
