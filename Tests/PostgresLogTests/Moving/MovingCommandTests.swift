#if Postgres
import Foundation
import Ledger
import LedgerTestKit
import PostgresLog
import Testing

/// The commands `migrate`, `audit` and `project`, run as their user runs them.
@Suite struct MovingCommandTests {
    private let folder: TemporaryFolder
    private let source: TestFolder
    /// Schemas that nothing has made yet.
    private let log: String
    private let tables: String
    private let server: PostgresServer

    init() throws {
        folder = try TemporaryFolder()
        source = try TestFolder(folder.path("source"))
        server = try PostgresServer.shared.get()
        let name = UInt32.random(in: 0 ... .max)
        log = "moved_\(name)"
        tables = "tables_of_\(name)"
    }

    private func place(_ schema: String) -> String { server.uri() + "&schema=\(schema)" }

    private func command(_ arguments: String..., status: Int32 = 0) throws -> String {
        let finished = try BuiltCommand.run(arguments)
        #expect(finished.status == status, "\(arguments): \(finished.output)")
        return finished.output
    }

    private func audit(_ arguments: String...) throws {
        let output = try BuiltCommand.run(["audit"] + arguments + ["--since", "1000000"]).output
        #expect(output.contains("everything holds"), "\(output)")
        if arguments.contains("--tables") { #expect(output.contains(" rows of the tables compared"), "\(output)") }
    }

    private func play(_ commands: Int, seed: UInt64) throws {
        let game = try RandomGame(try source.open(), seed: seed)
        try game.play(commands)
        try game.linkAndForget()
        try game.close()
    }

    @Test func aLedgerMovesThereAndBack() throws {
        let game = try RandomGame(try source.open(), seed: 41)
        try game.play(100)
        // Beside a service.
        var said = try command("migrate", source.folder.path, place(log))
        #expect(said.contains("a service has \(source.folder.path) open: stop it"), "\(said)")
        said = try command("migrate", source.folder.path, place(log), "--final", status: 1)
        #expect(said.contains("is open for writing in another process"), "\(said)")
        try game.linkAndForget()
        try game.close()
        said = try command("migrate", source.folder.path, place(log), "--final")
        let last = try #require(try source.blocks().last)
        #expect(said.contains("up to block \(last.number), \(last.hash.hexadecimal): "), "\(said)")
        #expect(said.contains("start the service on the schema \(log)"), "\(said)")
        try audit(place(log))
        #expect(try source.folder.movedMark.read() == "the schema \(log)")
        try #"{"currencies": {"gems": {}}, "products": {}}"#.write(
            toFile: folder.path("catalog.json"), atomically: true, encoding: .utf8)
        try """
        {"path": "source", "listen": ["unix:\(folder.path("socket"))"], "insecureLoopback": true,
         "app": {"bundleId": "com.example.game", "environment": "Sandbox"}, "catalog": "catalog.json"}
        """.write(toFile: folder.path("old.json"), atomically: true, encoding: .utf8)
        let old = try BuiltCommand.run(["serve", "--config", folder.path("old.json")], killedAfter: 5_000)
        #expect(old.output.contains("it is in the schema \(log) now"), "a service was started on what was left")
        // A second run has nothing to do.
        #expect(try command("migrate", source.folder.path, place(log), "--final").contains(": 0 blocks (0 bytes)"))
        _ = try command("migrate", place(log), folder.path("back"), "--final")
        #expect(try blocks(in: folder.path("back")) == source.blocks())
        try audit(folder.path("back"))
        let node = PostgresLogConfiguration(uri: server.uri(), schema: log, node: "a")
        let left = logError { _ = try PostgresLog.open(node, identity: RandomGame.identity, hash: testSHA256) }
        #expect(left?.description.contains("it is in \(folder.path("back")) now") == true, "\(left as Any)")
        // And there once more.
        _ = try command("migrate", folder.path("back"), place(log), "--final")
        try PostgresLog.open(node, identity: RandomGame.identity, hash: testSHA256).close()
        let verified = try ChainVerifier.isThere ? ChainVerifier.run(folder.path("back")).status : 0
        #expect(verified == 0)
    }

    private func blocks(in path: String) throws -> [SealedBlock] {
        try TestFolder(there: path).blocks()
    }

    @Test func anotherLedgerIsRefused() throws {
        try play(10, seed: 42)
        let ledger = try TestLedger()
        let said = try command("migrate", source.folder.path, ledger.place, status: 1)
        #expect(said.contains("the schema \(ledger.schema) has another ledger than \(source.folder.path)"), "\(said)")
        let missing = try command("migrate", place("nothing"), folder.path("x"), status: 1)
        #expect(missing.contains("there is no ledger in the schema nothing"), "\(missing)")
    }

    @Test func placesThatCannotBeMeantAreRefused() throws {
        let two = try command("audit", place(log) + "&schema=other", status: 1)
        #expect(two.contains("the URI names 2 schemas (\(log), other): it names one"), "\(two)")
        let mysql = try command("migrate", source.folder.path, "mysql://u:topsecret@localhost/x", status: 1)
        #expect(mysql.contains("mysql://… is no place of a ledger's log"), "\(mysql)")
        #expect(!mysql.contains("topsecret"))
        let backup = try command("backup", place(log), "--to", folder.path("backup"), status: 1)
        #expect(backup.contains("this ledger's log is in PostgreSQL: back the database up"), "\(backup)")
        try play(3, seed: 45)
        let work = try command(
            "project", source.folder.path, "--to", place(tables), "--work", "/proc/nope", status: 1)
        #expect(work.contains("/proc/nope: cannot be made a folder") && !work.contains("NSCocoa"), "\(work)")
        let own = try command(
            "project", source.folder.path, "--to", place(tables), "--work", source.folder.path, status: 1)
        #expect(own.contains("is a ledger's own folder"), "\(own)")
    }

    /// A node leads the source: the last run is refused, any other copies what there is.
    @Test func aSourceThatANodeLeadsIsNotCopiedForTheLastTime() throws {
        let ledger = try TestLedger(identity: RandomGame.identity)
        let node = try ledger.open(ledger.configuration(node: "b"))
        let game = try RandomGame(node, seed: 43)
        try game.play(30)
        let refused = try command("migrate", ledger.place, folder.path("out"), "--final", status: 1)
        #expect(refused.contains("node b leads, at b:7000"), "\(refused)")
        let said = try command("migrate", ledger.place, folder.path("out"))
        #expect(said.contains("a service has the schema \(ledger.schema) open"), "\(said)")
        try game.close()
        _ = try command("migrate", ledger.place, folder.path("out"), "--final")
        #expect(try blocks(in: folder.path("out")) == ledger.blocks())
    }

    /// Each run is killed when it has copied something; the next one waits for its lease.
    @Test func aMigrationThatIsKilledAgainAndAgainEndsWell() throws {
        var chain = GameChain(seed: 44)
        for _ in 0..<6000 {
            chain.credit(chain.player())
            chain.seal()
        }
        let made = try source.open()
        for block in chain.blocks { try made.append(block) }
        made.close()
        let session = try PlainSession(server.uri())
        func copied() -> Int { (try? session.run("SELECT count(*) FROM \(log).block")).flatMap { Int($0[0][0]) } ?? 0 }
        var cuts: [Int] = []
        for _ in 0..<2 {
            let (process, _) = try BuiltCommand.start(["migrate", source.folder.path, place(log)])
            while copied() <= cuts.last ?? 0, process.isRunning { usleep(5_000) }
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            cuts.append(copied())
        }
        #expect(cuts[0] > 0 && cuts[0] < chain.blocks.count, "no run was killed within its work: \(cuts)")
        _ = try command("migrate", source.folder.path, place(log), "--final")
        _ = try command("migrate", place(log), folder.path("back"), "--final")
        #expect(try blocks(in: folder.path("back")) == chain.blocks)
    }

    // MARK: - project

    @Test func tablesAreKeptUpToDate() throws {
        let game = try RandomGame(try source.open(), seed: 50)
        for round in 0..<4 {
            try game.play(100)
            try game.linkAndForget()
            let said = try command("project", source.folder.path, "--to", place(tables), "--work", folder.path("work"))
            let last = try source.blocks().count
            #expect(said.contains("the schema \(tables) is exact as of block \(last): "), "\(said)")
            try audit(source.folder.path, "--tables", place(tables))
            // What is in the folder can be thrown away.
            if round == 2 { try FileManager.default.removeItem(atPath: folder.path("work")) }
        }
        try game.close()
        // From a log in PostgreSQL, into the same tables: it is the same ledger.
        _ = try command("migrate", source.folder.path, place(log), "--final")
        let again = try command("project", place(log), "--to", place(tables), "--work", folder.path("work2"))
        #expect(again.contains(": 0 rows were written"), "\(again)")
        try audit(place(log), "--tables", place(tables))
    }

    @Test func tablesThatAreWrittenByRunsThatAreKilledAreExact() throws {
        var random = SplitMix64(seed: Seed.drawn())
        let game = try RandomGame(try source.open(), seed: 60)
        for _ in 0..<8 {
            try game.play(60)
            try game.linkAndForget()
            _ = try BuiltCommand.run(
                ["project", source.folder.path, "--to", place(tables), "--work", folder.path("work")],
                killedAfter: Int.random(in: 30...500, using: &random))
            let there = try? PlainSession(server.uri()).run("SELECT block FROM \(tables).projection")
            if there != nil, there != [["0"]] { try audit(source.folder.path, "--tables", place(tables)) }
        }
        try game.close()
        _ = try command("project", source.folder.path, "--to", place(tables), "--work", folder.path("work"))
        try audit(source.folder.path, "--tables", place(tables))
    }

    /// While it follows, whoever reads in one statement sees the rows of one block, and no half of a step.
    @Test func whoReadsWhileItFollowsSeesOneBlock() throws {
        let game = try RandomGame(try source.open(), seed: 71)
        try game.play(30)
        let (process, _) = try BuiltCommand.start([
            "project", source.folder.path, "--to", place(tables), "--work", folder.path("work"), "--follow",
        ])
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        let reader = try PlainSession(server.uri())
        var seen: Set<String> = []
        let end = Date() + 60
        var head = BlockNumber(0)
        while Date() < end, seen.count < 6 || !seen.contains("\(head)") {
            if seen.count < 6 { try game.play(10) }
            head = try BlockNumber(source.blocks().count)
            let rows = try? reader.run(
                """
                SELECT p.block, p.block = (SELECT max(number) FROM \(tables).block),
                    p.entry = (SELECT max(id) FROM \(tables).entry),
                    p.transfer = (SELECT max(id) FROM \(tables).transfer),
                    (SELECT sum(available + held) FROM \(tables).wallet)
                        = (SELECT sum(remaining + held) FROM \(tables).lot),
                    (SELECT sum(debits) = sum(credits) FROM \(tables).total)
                FROM \(tables).projection p WHERE p.block > 0
                """)
            if let row = rows?.first {
                seen.insert(row[0])
                #expect(row.dropFirst().allSatisfy { $0 == "t" }, "\(row)")
            }
            usleep(100_000)
        }
        #expect(seen.contains("\(head)"), "it did not follow: \(seen), not \(head)")
        try game.close()
    }

    @Test func aRoleThatOnlyReadsSeesTheTables() throws {
        try play(30, seed: 72)
        _ = try command("project", source.folder.path, "--to", place(tables), "--work", folder.path("work"))
        let owner = try PlainSession(server.uri())
        let role = "bi_\(UInt32.random(in: 0 ... .max))"
        try owner.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(tables) TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA \(tables) TO \(role)
            """)
        let session = try PlainSession(server.uri(user: role))
        #expect(try session.run("SELECT count(*) > 0 FROM \(tables).balance") == [["t"]])
        #expect(throws: (any Error).self) { try session.run("UPDATE \(tables).wallet SET available = 1") }
    }

    @Test func aSchemaThatIsOfAnotherPastIsRefused() throws {
        try play(30, seed: 73)
        _ = try command("project", source.folder.path, "--to", place(tables), "--work", folder.path("work"))
        let other = try TestFolder(folder.path("other"))
        let game = try RandomGame(try other.open(), seed: 74)
        try game.play(60)
        try game.close()
        let said = try command(
            "project", other.folder.path, "--to", place(tables), "--work", folder.path("work2"), status: 1)
        #expect(said.contains("of another past than \(other.folder.path)"), "\(said)")
    }
}
#endif
