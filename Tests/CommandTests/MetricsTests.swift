import AppStore
import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import Testing

/// What the built command tells an operator's programs.
@Suite(.serialized) struct MetricsTests {
    /// A page of `metrics.listen`: the head of its response, and the rest.
    private static func page(_ path: String, of service: RunningService) throws -> (head: String, body: String) {
        let address = try #require(try service.said.firstMatch(of: /metrics=(\S+)/).map { String($0.1) })
        let got = try Command.run(
            URL(fileURLWithPath: "/bin/bash"),
            [
                "-c", "exec 3<>/dev/tcp/${0%:*}/${0##*:} && printf %s \"$1\" >&3 && cat <&3", address,
                "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ]
        ).output
        let end = try #require(got.range(of: "\r\n\r\n"))
        return (String(got[..<end.lowerBound]), String(got[end.upperBound...]))
    }

    private static func figures(of service: RunningService) throws -> ParsedExposition {
        try ParsedExposition(try page("/metrics", of: service).body)
    }

    @Test func theServiceTellsWhatItHasDone() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder, arguments: ["--metrics-listen", "127.0.0.1:0"])
        let client = try await service.client()
        let (player, gems) = (AccountName("player-1")!, CurrencyCode("gems")!)
        for number in 1...3 {
            _ = try await client.credit(signedTransaction: try studio.purchase(number), account: player)
        }
        _ = try await client.hold(
            Hold(
                key: RequestKey("hold")!, account: player, currency: gems, amount: Amount(40)!,
                timeoutMilliseconds: 600_000))
        await #expect(throws: WireError.self) {
            try await client.credit(signedTransaction: "a.forged.jws", account: player)
        }
        // The tables are at the head soon after the last block.
        var figures = try Self.figures(of: service)
        for _ in 0..<200 where figures["ledger_unprojected_blocks"] != 0 {
            try await Task.sleep(for: .milliseconds(50))
            figures = try Self.figures(of: service)
        }
        #expect(figures["ledger_requests_total", ["method": "credit", "outcome": "ok"]] == 3)
        #expect(figures["ledger_requests_total", ["method": "credit", "outcome": "unverified"]] == 1)
        #expect(figures["ledger_signatures_total", ["judge": "openssl"]] == 3)
        #expect(figures["ledger_refused_signatures_total", ["reason": "malformed"]] == 1)
        #expect(figures["ledger_ready"] == 1 && figures["ledger_leads"] == 1)
        #expect(figures["ledger_append_seconds_count"] ?? 0 >= 4 && figures["ledger_block"] ?? 0 >= 5)
        #expect(figures["ledger_disk_free_bytes"] ?? 0 > 0 && figures["ledger_wal_pages"] ?? 0 > 0)
        #expect(figures["ledger_build_info", ["version": try Self.version()]] == 1)
        #expect(try Self.page("/health/ready", of: service).head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        try? await client.close()
        #expect(service.stop() == 0)

        // What tables hold is told anew after some time; here, after a start.
        let second = try RunningService(studio.folder, arguments: ["--metrics-listen", "127.0.0.1:0"])
        let page = try Self.page("/metrics", of: second).body
        let books = try ParsedExposition(page)
        func units(_ account: String) -> Double? {
            books["ledger_units", ["currency": "gems", "account": account]]
        }
        #expect(units("wallet") == 1_460 && units("held") == 40 && units("receivable") == 0)
        #expect(books["ledger_open_holds"] == 1 && books["ledger_accounts"] == 1)
        #expect(books["ledger_unassigned_purchases"] == 0 && books["ledger_expiry_lag_seconds"] == 0)
        #expect(books["ledger_newest_notification_age_seconds"] == nil, "none came")
        for program in PrometheusProgram.allCases where program.isWanted {
            try program.check(figures: Array(page.utf8))
        }
        #expect(second.stop() == 0)
    }

    private static func version() throws -> String {
        // Behind it stands of what it was made.
        String(try Command.run(["--version"]).output.prefix { $0 != " " })
    }

    @Test func nobodyElseReadsThemUnlessTheyMay() throws {
        let studio = try Studio()
        let finished = try Command.run([
            "serve", "--create", "--config", studio.folder.path("ledger.json"), "--metrics-listen", "0.0.0.0:0",
        ])
        #expect(finished.status == 78 && finished.error.contains("tls.clientCA"), "\(finished.error)")
    }
}
