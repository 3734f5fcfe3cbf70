import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Testing

/// The load generator, against the real service, in runs that are too small to measure anything.
@Suite(.serialized) struct LoadTests {
    /// What `--json` prints.
    private struct Summary: Decodable {
        struct Latency: Decodable {
            var p50, p90, p99, p99_9, max: Double
        }
        struct Server: Decodable {
            var cpuMicrosecondsPerRequest, writeBytesPerRequest, wcharPerRequest: Double
            var residentBytes, residentPeakBytes: Int
        }
        struct LedgerSize: Decodable {
            var path: String
            var bytesBefore, bytesAfter: Int
            var bytesPerRequest: Double
        }
        struct Machine: Decodable {
            var cores: Int
            var verificationsPerSecondPerCore: Double
            var fdatasyncMicrosecondsP50: Double?
        }
        struct Ratios: Decodable {
            var requestsToVerifications: Double
            var latencyP50ToFdatasyncP50: Double?
        }
        var workload: String
        var requests, credits, spends, errors, warmup, purchasesSigned, wallets: Int
        var seconds, requestsPerSecond, requestBytes, replyBytes, generatorCpuMicrosecondsPerRequest: Double
        var latencyMicroseconds: Latency
        var server: Server?
        var ledger: LedgerSize?
        var machine: Machine
        var ratios: Ratios
        var firstErrors: [String]
    }

    private func summary(_ finished: Finished) throws -> Summary {
        try #require(finished.status == 0, "\(finished.error)")
        #expect(finished.output.split(separator: "\n").count == 1)
        return try JSONDecoder().decode(Summary.self, from: Data(finished.output.utf8))
    }

    /// The trial balance of a ledger's file: debits and credits of each kind of account.
    private func trial(_ path: String) throws -> [String: (debits: Int, credits: Int)] {
        let exported = try Command.run(["export", "trial", "--path", path])
        var trial: [String: (debits: Int, credits: Int)] = [:]
        for line in exported.output.split(whereSeparator: \.isNewline).dropFirst() {
            let fields = line.split(separator: ",")
            trial[String(fields[1])] = (try #require(Int(fields[2])), try #require(Int(fields[3])))
        }
        return trial
    }

    @Test func creditsAreAllInTheBooksOfTheServerThatItStarts() throws {
        let folder = try TemporaryFolder()
        let finished = try Command.run([
            "load", "--workload", "credits", "--count", "300", "--warmup", "50", "--connections", "2", "--in-flight",
            "40", "--wallets", "20", "--path", folder.path("load"), "--json",
        ])
        let summary = try summary(finished)
        #expect(summary.workload == "credits")
        #expect((summary.requests, summary.credits, summary.spends, summary.errors) == (300, 300, 0, 0))
        #expect(summary.purchasesSigned == 350)
        #expect(try trial(folder.path("load"))["purchased"]?.debits == 350 * 500)
        let balances = try Command.run(["export", "balances", "--path", folder.path("load")])
        #expect(balances.output.split(whereSeparator: \.isNewline).count == 1 + 20)

        let latency = summary.latencyMicroseconds
        #expect(latency.p50 > 0 && latency.p50 <= latency.p90 && latency.p90 <= latency.p99)
        #expect(latency.p99 <= latency.p99_9 && latency.p99_9 <= latency.max)
        #expect(abs(summary.requestsPerSecond - 300 / summary.seconds) < 0.01 * summary.requestsPerSecond)
        // A JWS of a chain of three certificates.
        #expect((2_000.0...10_000).contains(summary.requestBytes))
        #expect((100.0...1_000).contains(summary.replyBytes))
        let server = try #require(summary.server)
        // Every request and reply passes the server's hands.
        #expect(server.wcharPerRequest > summary.replyBytes)
        #expect(server.residentBytes > 1_000_000 && server.residentPeakBytes >= server.residentBytes)
        let ledger = try #require(summary.ledger)
        #expect(ledger.path == folder.path("load"))
        #expect(ledger.bytesAfter > 0)
        let sync = try #require(summary.machine.fdatasyncMicrosecondsP50)
        let ratio = try #require(summary.ratios.latencyP50ToFdatasyncP50)
        #expect(abs(ratio - latency.p50 / sync) <= 0.02 * ratio + 0.002)
        let verifications = summary.machine.verificationsPerSecondPerCore * Double(summary.machine.cores)
        #expect(abs(summary.ratios.requestsToVerifications - summary.requestsPerSecond / verifications) < 0.002)
    }

    @Test(arguments: ["time-ordered", "random"])
    func spendsAreTakenFromWalletsThatWereFilled(keys: String) throws {
        let folder = try TemporaryFolder()
        let summary = try summary(
            try Command.run([
                "load", "--workload", "spends", "--count", "400", "--warmup", "100", "--batch", "50", "--connections",
                "2", "--in-flight", "200", "--wallets", "250", "--keys", keys, "--path",
                folder.path("load"), "--json",
            ]))
        #expect((summary.requests, summary.credits, summary.spends, summary.errors) == (400, 0, 400, 0))
        let trial = try trial(folder.path("load"))
        #expect(trial["spent"]?.credits == 500)
        #expect(trial["granted"]?.debits == 250 * 100_000_000)
        #expect(trial["purchased"]?.debits == 0)
    }

    @Test func mixedSendsOneAndTheOtherInTurn() throws {
        let folder = try TemporaryFolder()
        func run(_ count: Int) throws -> Summary {
            try summary(
                try Command.run([
                    "load", "--workload", "mixed", "--count", "\(count)", "--warmup", "11", "--batch", "7",
                    "--wallets", "13", "--path", folder.path("load"), "--json",
                ]))
        }
        let first = try run(300)
        #expect((first.requests, first.credits, first.spends, first.errors) == (300, 150, 150, 0))
        var trial = try trial(folder.path("load"))
        #expect(trial["purchased"]?.debits == 156 * 500)
        #expect(trial["spent"]?.credits == 155)
        // A second run goes on in the same ledger: nothing that it sends was sent before.
        #expect(try run(101).errors == 0)
        trial = try self.trial(folder.path("load"))
        #expect(trial["purchased"]?.debits == (156 + 56) * 500)
        #expect(trial["spent"]?.credits == 155 + 56)
    }

    @Test func aServiceThatStallsShowsUpInTheTail() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let folder = try TemporaryFolder()
        let run = try Command.start(
            [
                "load", "--server", service.address, "--workload", "spends", "--rate", "400", "--duration", "3",
                "--warmup", "10", "--wallets", "10", "--in-flight", "1", "--json",
            ], folder)
        try await run.waits(for: "measuring the service")
        try await Task.sleep(for: .milliseconds(700))
        kill(service.process.processIdentifier, SIGSTOP)
        try await Task.sleep(for: .milliseconds(900))
        kill(service.process.processIdentifier, SIGCONT)
        let summary = try summary(try run.finish())
        #expect(summary.requests == 1_200)
        // With one in flight the stall meets one request; but it delays all 360 that were due in it.
        #expect(summary.latencyMicroseconds.p90 > 200_000)
        #expect(summary.latencyMicroseconds.max > 800_000)
        #expect(summary.server == nil)
        #expect(service.stop() == 0)
    }

    @Test func purchasesOfAChainThatTheServiceTrustsAreCredited() async throws {
        let studio = try Studio()
        #expect(try Command.run(["sandbox", "init", studio.folder.path("chain")]).status == 0)
        let anchors = ["--anchors", studio.folder.path("chain/root.der")]
        let service = try RunningService(
            studio.folder, arguments: anchors,
            environment: [
                "LEDGER_TOKENS": Studio.tokens(("load", "admin", "a token of some length")),
                "LEDGER_INSECURE_LOOPBACK": "false",
            ])
        let arguments = [
            "load", "--server", service.address, "--chain", studio.folder.path("chain"), "--count", "200", "--warmup",
            "0", "--json", "--pid", "\(service.process.processIdentifier)",
        ]
        #expect(try Command.run(arguments).status == 1, "without the token")
        let summary = try summary(try Command.run(arguments + ["--token", "a token of some length"]))
        #expect((summary.requests, summary.errors) == (200, 0))
        #expect(summary.server != nil)
        #expect(summary.ledger == nil)
        #expect(service.stop() == 0)
        #expect(try trial(studio.folder.path("ledger"))["purchased"]?.debits == 200 * 500)
    }

    @Test(arguments: ["1", "8"])
    func errorsAreCountedAndShownAndEndWithOne(batch: String) async throws {
        let studio = try Studio()
        // A chain that the service does not trust.
        #expect(try Command.run(["sandbox", "init", studio.folder.path("other")]).status == 0)
        let service = try RunningService(studio.folder)
        let finished = try Command.run([
            "load", "--server", service.address, "--chain", studio.folder.path("other"), "--count", "100", "--warmup",
            "0", "--batch", batch, "--json",
        ])
        #expect(finished.status == 1)
        #expect(finished.error.contains("100 of 100 requests were answered with an error"))
        #expect(finished.error.contains(#""reason":"verification_failed""#))
        #expect(finished.output.contains(#""errors":100"#))
        #expect(service.stop() == 0)
    }

    @Test func aRunLeavesNothingBehind() throws {
        let folder = try TemporaryFolder()
        let environment = ["TMPDIR": folder.url.path]
        let finished = try Command.run(
            ["load", "--count", "10", "--warmup", "0", "--json"], environment: environment)
        #expect(finished.status == 0, "\(finished.error)")
        // Beside what `Command` itself has there.
        func left() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
                .filter { $0.hasPrefix("currency-ledger-load") }
        }
        #expect(try left() == [])
        let kept = try Command.run(
            ["load", "--count", "10", "--warmup", "0", "--json", "--keep"], environment: environment)
        #expect(kept.status == 0, "\(kept.error)")
        let name = try #require(try left().first)
        #expect(try trial(folder.path("\(name)/ledger"))["purchased"]?.debits == 10 * 500)
    }

    @Test(arguments: [
        (["--connections", "0"], "--connections must be from 1"),
        (["--batch", "1001"], "--batch must be from 1 to 1000"),
        (["--connections", "4", "--batch", "10", "--in-flight", "39"], "--in-flight must be from 40"),
        (["--count", "0"], "--count must be from 1"),
        (["--duration", "0"], "--duration must be more than 0"),
        (["--wallets", "0"], "--wallets must be from 1"),
        (["--first-wallet", "9000000"], "--first-wallet must be from 0"),
        (["--rate", "-5"], "--rate"),
        (["--rate", "nan"], "--rate must be more than 0"),
        (["--warmup", "-1"], "--warmup"),
        (["--workload", "debts"], "--workload"),
        (["--keys", "sorted"], "--keys"),
        (["--currency", "g ms"], "--currency"),
        (["--chain", "x"], "--chain is for a running service"),
        (["--pid", "1"], "--pid is for a running service"),
        (["--token", "x"], "--token is for a running service"),
        (["--server", "nowhere"], "--server: 'nowhere' is not host:port"),
        (["--server", "127.0.0.1:1"], "--chain is needed with --server"),
        (["--server", "127.0.0.1:1", "--workload", "spends"], "--server: no service at 127.0.0.1:1"),
        (["--server", "127.0.0.1:1", "--workload", "spends", "--keep"], "--keep is for the server that is started"),
    ])
    func aWrongFlagIsNamed(arguments: [String], message: String) throws {
        let finished = try Command.run(["load", "--json"] + arguments)
        #expect(finished.status != 0)
        #expect(finished.error.contains(message), "\(finished.error)")
        #expect(finished.output == "")
    }

    @Test func creditsThatMakeTooLongALineAreRefusedBeforeTheLoad() throws {
        let finished = try Command.run(["load", "--batch", "1000", "--count", "1000", "--warmup", "0"])
        #expect(finished.status == 1)
        #expect(finished.error.contains("--batch: 1000 credits make a line of"))
    }
}
