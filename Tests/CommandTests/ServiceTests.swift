import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Synchronization
import Testing

/// The built command as a process: started, talked to, killed, started again.
@Suite(.serialized) struct ServiceTests {
    @Test func theDemoTellsItsStoryAndExitsWithZero() throws {
        let folder = try TemporaryFolder()
        let finished = try Command.run(["demo", "--keep", folder.path("demo")])
        #expect(finished.status == 0, "\(finished.output)\(finished.error)")
        #expect(finished.output.contains("Every step came out as it should."))
        #expect(!finished.output.contains("   ! "))
        // What it kept is a ledger that can be read without a service.
        let exported = try Command.run(
            ["export", "balances", "--path", folder.path("demo/ledger"), "--format", "jsonl"])
        #expect(exported.status == 0, "\(exported.error)")
        #expect(exported.output.contains(#""account":"player-1","currency":"gems","available":120"#))
        // A purchase that its webhook lost is there.
        let account = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
        #expect(exported.output.contains(#""account":"\#(account)","currency":"gems","available":375"#))
        #expect(try Command.run(["demo", "--keep", folder.path("demo")]).status == 1)
        // And one that a program of another language finds whole, from the pages of the format alone.
        let verified = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"),
            [
                "python3", Command.root.appendingPathComponent("Schema/verify/verify_log.py").path,
                folder.path("demo/ledger"),
            ])
        #expect(verified.status == 0, "\(verified.output)\(verified.error)")
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalStopsTheServiceWithStatusZero(signal: Int32) async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let receipt = try await client.credit(
            signedTransaction: try studio.purchase(1), account: AccountName("player-1")!)
        #expect(receipt.outcome == .credited)
        #expect(service.stop(signal) == 0)
        try? await client.close()
        let exported = try Command.run(["export", "trial", "--path", studio.folder.path("ledger")])
        #expect(exported.output.contains("gems,purchased,500,0,500"))
        #expect(exported.output.contains("gems,wallet,0,500,-500"))
    }

    @Test func callPrintsTheReplyAndExitsWithOneForAnError() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        try studio.folder.write("purchase.jws", try studio.purchase(1) + "\n")
        let credited = try Command.run([
            "call", "credit", "account=7", "signedTransaction=@\(studio.folder.path("purchase.jws"))", "--server",
            service.address,
        ])
        #expect(credited.status == 0, "\(credited.error)")
        #expect(credited.output.contains(#""outcome": "credited""#))
        let refused = try Command.run([
            "call", "spend", "--server", service.address, "key=k", "account=7",
            #"debits=[{"currency":"gems","amount":501}]"#,
        ])
        #expect(refused.status == 1)
        #expect(refused.output.contains(#""reason": "insufficient_funds""#))
        for (address, why) in [
            ("127.0.0.1:1", "Connection refused"), ("unix:\(studio.folder.path("none"))", "No such file or directory"),
            ("nobody.invalid:1", "the host nobody.invalid is not known"),
        ] {
            let absent = try Command.run(["call", "ping", "--server", address])
            #expect(absent.status == 1)
            #expect(absent.error == "currency-ledger: no service at \(address): cannot connect: \(why)\n")
        }
        #expect(service.stop() == 0)
    }

    /// A mistyped path must not become an empty ledger, which would credit every old purchase again.
    @Test func aLedgerIsMadeOnlyWhenTold() throws {
        let studio = try Studio()
        let refused = try Command.run(["serve", "--config", studio.folder.path("ledger.json")])
        #expect(refused.status == 1)
        #expect(refused.error.contains("there is no ledger at \(studio.folder.path("ledger"))"), "\(refused.error)")
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("ledger")))
        #expect(try RunningService(studio.folder).stop() == 0)
        let other = try Command.run([
            "serve", "--config", studio.folder.path("ledger.json"), "--bundle-id", "com.example.another",
        ])
        #expect(other.status == 1 && !other.error.contains("listening"), "\(other.error)")
    }

    @Test func aLedgerIsMadeInAnEmptyFolderAndInNoOther() throws {
        let studio = try Studio()
        let folder = studio.folder.url.appendingPathComponent("ledger")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        #expect(try RunningService(studio.folder).stop() == 0)
        #expect(try RunningService(studio.folder).stop() == 0)
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try studio.folder.write("ledger/notes.txt", "somebody's")
        let refused = try Command.run(["serve", "--create", "--config", studio.folder.path("ledger.json")])
        #expect(refused.status == 1 && refused.error.contains(folder.path), "\(refused.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes.txt"])
    }

    /// The tables can be taken away, or spoiled, at any time: the log has everything.
    @Test(arguments: ["removed", "spoiled", "cut"])
    func tablesAreMadeAnewFromTheLog(how: String) async throws {
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        for number in 0..<20 {
            _ = try await client.credit(
                signedTransaction: try studio.purchase(number), account: AccountName("player-\(number % 3)")!)
        }
        try await client.close()
        #expect(service.stop() == 0)
        let path = studio.folder.path("ledger/projection.sqlite")
        switch how {
        case "removed": try FileManager.default.removeItem(atPath: path)
        case "spoiled": try Data(repeating: 7, count: 20_000).write(to: URL(fileURLWithPath: path))
        default:
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: path))
        }
        service = try RunningService(studio.folder)
        client = try await service.client()
        let again = try await client.credit(
            signedTransaction: try studio.purchase(0), account: AccountName("player-0")!)
        #expect(again.outcome == .alreadyCredited)
        let balance = try await client.balance(AccountName("player-0")!)
        #expect(balance.balances.first?.balance.available == Int64(3_500))
        #expect(try await client.journal(after: 0).entries.count == 20)
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// Tables to which the next blocks cannot be applied: the log has everything, so they are made anew.
    @Test func tablesThatBlocksDoNotFitAreMadeAnew() async throws {
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: AccountName("player-1")!)
        try await client.close()
        #expect(service.stop() == 0)
        let spoiled = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"),
            [
                "python3", "-c",
                """
                import sqlite3, sys
                tables = sqlite3.connect(sys.argv[1])
                tables.execute("UPDATE projection SET entry_time = entry_time + 1000000000")
                tables.execute("DELETE FROM wallet")
                tables.commit()
                """, studio.folder.path("ledger/projection.sqlite"),
            ])
        #expect(spoiled.status == 0, "\(spoiled.error)")
        service = try RunningService(studio.folder)
        client = try await service.client()
        let balance = try await client.balance(AccountName("player-1")!)
        #expect(balance.balances.first?.balance.available == Int64(500))
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// Damage that is met in use is mended, at the latest by the next start. The service reads all tables once: it may
    /// meet it first.
    @Test func damageThatWasMetIsMendedByTheNextStart() async throws {
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        let account = AccountName("player-1")!
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: account)
        try await client.close()
        #expect(service.stop() == 0)
        let spoiled = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"),
            [
                "python3", "-c",
                """
                import sqlite3, sys
                tables = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
                root, = tables.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'wallet'").fetchone()
                tables.close()
                with open(sys.argv[1], "r+b") as file:
                    file.seek((root - 1) * 4096 + 2000)
                    file.write(b"?")
                """, studio.folder.path("ledger/projection.sqlite"),
            ])
        #expect(spoiled.status == 0, "\(spoiled.error)")
        service = try RunningService(studio.folder)
        client = try await service.client()
        let spend = Spend(
            key: RequestKey("s")!, account: account,
            debits: [CurrencyAmount(currency: CurrencyCode("gems")!, amount: Amount(1)!)])
        do { _ = try await client.spend(spend) } catch let error as WireError {
            #expect(error.reason == "storage_corrupt")
        }
        try await client.close()
        #expect(service.stop() == 0)
        service = try RunningService(studio.folder)
        client = try await service.client()
        #expect(try await client.spend(spend).balances.first?.balance.available == Int64(499))
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// What says of the tables that they are damaged is an empty file; anything else of its name is somebody's.
    @Test(arguments: ["folder", "text", "fifo", "link"])
    func whatHasTheNameOfTheDamageMarkIsLeftAsItIs(kind: String) throws {
        let studio = try Studio()
        #expect(try RunningService(studio.folder).stop() == 0)
        let mark = studio.folder.path("ledger/projection.damaged")
        let inside = mark + "/notes"
        switch kind {
        case "folder":
            try FileManager.default.createDirectory(atPath: mark, withIntermediateDirectories: false)
            #expect(FileManager.default.createFile(atPath: inside, contents: Data("mine".utf8)))
        case "text": #expect(FileManager.default.createFile(atPath: mark, contents: Data("mine".utf8)))
        case "fifo": #expect(mkfifo(mark, 0o600) == 0)
        default: try FileManager.default.createSymbolicLink(atPath: mark, withDestinationPath: "/nowhere")
        }
        let refused = try Command.run(["serve", "--config", studio.folder.path("ledger.json")])
        #expect(refused.status == 1 && refused.error.contains("projection.damaged is not the empty file"))
        var status = stat()
        #expect(lstat(mark, &status) == 0)
        if kind == "folder" { #expect(FileManager.default.contents(atPath: inside) == Data("mine".utf8)) }
        if kind == "text" { #expect(FileManager.default.contents(atPath: mark) == Data("mine".utf8)) }
        try FileManager.default.removeItem(atPath: mark)
        #expect(try RunningService(studio.folder).stop() == 0)
    }

    /// New tables take the place of damaged ones only when they are whole: where the log cannot be read, the old ones
    /// are all that is left.
    @Test func tablesAreNotThrownAwayForALogThatCannotBeRead() async throws {
        let studio = try Studio()
        #expect(try RunningService(studio.folder).stop() == 0)
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: AccountName("player-1")!)
        try await client.close()
        #expect(service.stop() == 0)
        // The damage is in a block that a start does not read by itself.
        let segment = studio.folder.url.appendingPathComponent("ledger/log/00000000000000000001")
        var bytes = try Data(contentsOf: segment)
        let place = try #require(bytes.range(of: Data("com.example".utf8))).lowerBound
        bytes[place] ^= 1
        try bytes.write(to: segment)
        let mark = studio.folder.path("ledger/projection.damaged")
        #expect(FileManager.default.createFile(atPath: mark, contents: nil))
        let tables = URL(fileURLWithPath: studio.folder.path("ledger/projection.sqlite"))
        let before = try Data(contentsOf: tables)
        for arguments in [["serve"], ["rebuild"], ["serve"]] {
            let refused = try Command.run(arguments + ["--config", studio.folder.path("ledger.json")])
            #expect(refused.status == 1 && refused.error.contains("block 1"), "\(refused.error)")
            #expect(try Data(contentsOf: tables) == before)
            #expect(FileManager.default.fileExists(atPath: mark))
        }
    }

    /// Tables that have what the log lacks: what was acknowledged is missing, so nothing is served, and nothing
    /// written.
    @Test func aLogThatWentBackInTimeIsRefusedUntilTheTablesAreMadeAnew() async throws {
        let studio = try Studio()
        #expect(try RunningService(studio.folder).stop() == 0)
        for name in ["log", "head"] {
            try FileManager.default.copyItem(
                atPath: studio.folder.path("ledger/\(name)"), toPath: studio.folder.path("old-\(name)"))
        }
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: AccountName("player-1")!)
        try await client.close()
        #expect(service.stop() == 0)
        for name in ["log", "head"] {
            try FileManager.default.removeItem(atPath: studio.folder.path("ledger/\(name)"))
            try FileManager.default.moveItem(
                atPath: studio.folder.path("old-\(name)"), toPath: studio.folder.path("ledger/\(name)"))
        }
        for _ in 0..<5 {
            let refused = try Command.run(["serve", "--config", studio.folder.path("ledger.json")])
            #expect(refused.status == 1 && refused.error.contains("went back in time"), "\(refused.error)")
        }
        let rebuilt = try Command.run(["rebuild", "--config", studio.folder.path("ledger.json")])
        #expect(rebuilt.status == 0 && rebuilt.output.contains("made anew"), "\(rebuilt.error)")
        let again = try RunningService(studio.folder)
        let other = try await again.client()
        #expect(try await other.balance(AccountName("player-1")!).balances.isEmpty)
        try await other.close()
        #expect(again.stop() == 0)
    }

    @Test func aSecondServiceOnTheSameDatabaseIsRefused() throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let second = try Command.run(["serve", "--config", studio.folder.path("ledger.json")])
        #expect(second.status == 1)
        #expect(second.error.contains("open for writing in another process"))
        #expect(service.stop() == 0)
    }

    /// What players have of a currency that the catalog lost is theirs; the operator is told.
    @Test func aCurrencyThatLeftTheCatalogIsNamedAtTheStart() async throws {
        let studio = try Studio()
        try studio.folder.write(
            "catalog.json",
            """
            {"currencies": {"gems": {}, "coins": {"spendOrder": "paid_first"}, "tickets": {}},
             "products": {"com.example.game.gems500": {"gems": 500, "coins": 7}}}
            """)
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let account = AccountName("player-1")!
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: account)
        try await client.close()
        #expect(try !service.said.contains("the catalog lacks a currency"))
        #expect(service.stop() == 0)
        // Nobody has tickets.
        try studio.folder.write(
            "catalog.json", #"{"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}"#)
        let without = try RunningService(studio.folder)
        let lines = try without.said.split(separator: "\n").filter { $0.contains("the catalog lacks a currency") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("warning") == true)
        #expect(lines.first?.contains("available=7 currency=coins debt=0 held=0") == true, "\(lines)")
        let again = try await without.client()
        let spend = Spend(
            key: RequestKey("s")!, account: account,
            debits: [CurrencyAmount(currency: CurrencyCode("coins")!, amount: Amount(7)!)])
        #expect(try await again.spend(spend).balances.first?.balance.available == 0)
        try await again.close()
        #expect(without.stop() == 0)
        let spent = try RunningService(studio.folder)
        #expect(try !spent.said.contains("the catalog lacks a currency"))
        #expect(spent.stop() == 0)
    }

    /// SIGKILL in the middle of pipelined credits; then everything is sent again.
    @Test func aKilledServiceLosesNothingItAcknowledgedAndCreditsNothingTwice() async throws {
        let count = Int(ProcessInfo.processInfo.environment["LEDGER_KILL_CREDITS"] ?? "") ?? 20_000
        let studio = try Studio()
        let purchases = try (0..<count).map { try studio.purchase($0) }
        @Sendable func account(_ number: Int) -> AccountName { AccountName("player-\(number % 500)")! }

        let first = try RunningService(studio.folder)
        let client = try await first.client()
        let heard = Mutex<Set<Int>>([])
        let process = first.process.processIdentifier
        // A thousand in flight: the kill comes in the middle, however fast the service is.
        await #expect(throws: ClientError.self) {
            try await client.pipeline(
                count: count, inFlight: 1_000,
                write: { index, id, writer in
                    writer.write(
                        Methods.credit,
                        Credit(signedTransaction: Array(purchases[index].utf8), account: account(index)), id: id)
                },
                reply: { index, result in
                    if case .success = result { heard.withLock { _ = $0.insert(index) } }
                    if index == count / 4 { Foundation.kill(process, SIGKILL) }
                })
        }
        first.kill()
        let acknowledged = heard.withLock { $0 }
        try? await client.close()
        #expect(acknowledged.count >= count / 4)
        #expect(acknowledged.count < count, "the service was not killed in the middle")

        let second = try RunningService(studio.folder)
        let again = try await second.client()
        var credited = 0
        try await withThrowingTaskGroup(of: (Int, PurchaseOutcome).self) { group in
            for number in 0..<count {
                group.addTask {
                    (
                        number,
                        try await again.credit(signedTransaction: purchases[number], account: account(number)).outcome
                    )
                }
            }
            for try await (number, outcome) in group {
                switch outcome {
                case .credited:
                    credited += 1
                    #expect(
                        !acknowledged.contains(number), "purchase \(number) was acknowledged before the kill and lost")
                case .alreadyCredited: break
                case .reversed, .alreadyReversed, .reinstated, .unassigned:
                    Issue.record("purchase \(number): \(outcome)")
                }
            }
        }
        #expect(credited <= count - acknowledged.count)
        let trial = try await again.report(.trial)
        var sums: Int128 = 0
        for row in trial.rows {
            guard case .trial(_, let kind, let debits, let credits) = row else { continue }
            sums += debits - credits
            if kind == .purchased { #expect(debits == Int64(count) * 500) }
        }
        #expect(sums == 0)
        for number in 0..<min(count, 500) {
            let balances = try await again.balance(account(number))
            #expect(balances.balances.first?.balance.available == Int64((count - number + 499) / 500) * 500)
        }
        try await again.close()
        #expect(second.stop() == 0)
    }

    /// Every reply of a long pipeline comes in order, and the books are exact.
    @Test func aLongPipelineOfCreditsIsAnsweredInOrderAndTheTrialBalanceIsExact() async throws {
        let count = Int(ProcessInfo.processInfo.environment["LEDGER_PIPELINE_CREDITS"] ?? "") ?? 100_000
        let studio = try Studio()
        let purchases = try (0..<count).map { Array(try studio.purchase($0).utf8) }
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let replies = Mutex<[TransactionID]>([])
        try await client.pipeline(
            count: count, inFlight: 1_000,
            write: { index, id, writer in
                writer.write(
                    Methods.credit,
                    Credit(signedTransaction: purchases[index], account: AccountName("player-\(index % 1_000)")),
                    id: id)
            },
            reply: { index, result in
                guard case .success(let bytes) = result, let receipt = try? PurchaseReceipt(json: Array(bytes)) else {
                    Issue.record("credit \(index): \(result)")
                    return
                }
                if receipt.outcome != .credited { Issue.record("credit \(index): \(receipt.outcome)") }
                replies.withLock { $0.append(receipt.transaction) }
            })
        let expected = (0..<count).map { TransactionID(String(2_000_000_000_000_000 + $0)) }
        #expect(replies.withLock { $0 } == expected)
        let trial = try await client.report(.trial)
        #expect(
            trial.rows.contains(
                .trial(currency: CurrencyCode("gems")!, account: .purchased, debits: Int128(count) * 500, credits: 0)))
        #expect(
            trial.rows.contains(
                .trial(currency: CurrencyCode("gems")!, account: .wallet, debits: 0, credits: Int128(count) * 500)))
        try await client.close()
        #expect(service.stop() == 0)
    }
}
