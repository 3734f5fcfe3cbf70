import FileLog
import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Synchronization
import Testing

/// `backup` and `restore` as an operator runs them, beside a service under load and after its end; and plain copies.
@Suite struct BackupTests {
    private static let gems = CurrencyCode("gems")!

    /// Grants and spends without end, until it is told to stop.
    private final class Load: Sendable {
        private let isStopped = Mutex(false)
        private let granted = Mutex(0)

        /// How many grants were acknowledged.
        var acknowledged: Int { granted.withLock { $0 } }

        func stop() { isStopped.withLock { $0 = true } }

        func run(_ client: LedgerClient) async throws {
            var round = 0
            while !isStopped.withLock({ $0 }) {
                let prefix = "load-\(round)-"
                try await client.pipeline(
                    count: 2_000, inFlight: 200,
                    write: { index, id, writer in
                        let grant = Grant(
                            key: RequestKey("\(prefix)\(index)")!, account: AccountName("player-\(index % 50)")!,
                            currency: BackupTests.gems, amount: Amount(3)!)
                        writer.write(Methods.grant, grant, id: id)
                    }, reply: { _, result in if (try? result.get()) != nil { self.granted.withLock { $0 += 1 } } })
                round += 1
            }
        }
    }

    private static func withLoad(
        _ service: RunningService, _ body: (Load, LedgerClient) async throws -> Void
    ) async throws {
        let load = Load()
        let (client, own) = (try await service.client(), try await service.client())
        async let loading: Void = load.run(client)
        do {
            try await body(load, own)
        } catch {
            load.stop()
            try? await loading
            throw error
        }
        load.stop()
        try await loading
        try await client.close()
        try await own.close()
    }

    private static func audit(_ studio: Studio, _ folder: String) throws -> Finished {
        try Command.run(["audit", studio.folder.path(folder), "--anchors", studio.folder.path("root.der")])
    }

    /// The blocks of a ledger or a backup that nobody writes; nothing of it may be damaged.
    private static func hashes(_ studio: Studio, _ folder: String, _ context: String = "") throws -> [Digest] {
        let ledger = LedgerFolder(studio.folder.path(folder))
        let inspection = try LogInspection(folder: ledger.log, headFile: ledger.headFile, hash: testSHA256)
        var hashes: [Digest] = []
        while let step = inspection.next() {
            switch step {
            case .block(let block): hashes.append(block.hash)
            case .damage(let words, _): Issue.record("\(words) \(context)")
            }
        }
        return hashes
    }

    private static func backup(_ studio: Studio) throws -> Finished {
        try Command.run(["backup", "--config", studio.folder.path("ledger.json"), "--to", studio.folder.path("backup")])
    }

    private static func restore(_ studio: Studio, _ arguments: [String], from: String = "backup") throws -> Finished {
        try Command.run(["restore", studio.folder.path(from)] + arguments)
    }

    @Test func aHeadFileThatIsDamagedIsNamedThoughTheBackupIsGood() throws {
        let studio = try Studio()
        for _ in 0..<2 { #expect(try RunningService(studio.folder).stop() == 0) }
        let blocks = try Self.hashes(studio, "ledger")
        let head = URL(fileURLWithPath: studio.folder.path("ledger/head"))
        var bytes = try Data(contentsOf: head)
        bytes[20] ^= 1
        try bytes.write(to: head)
        let named = try Self.backup(studio)
        #expect(named.status == 1 && named.output.contains("every byte was verified"), "\(named)")
        #expect(named.error.contains("the slot at byte 0 of the head file \(head.path) was torn by a crash, or is"))
        #expect(try Self.hashes(studio, "backup") == blocks)
    }

    @Test func backupsOfABusyServiceThatAreKilledAreGoodAndAreRestored() async throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var length = 0
        var kills = 0
        try await Self.withLoad(service) { load, client in
            for number in 0..<20 {
                _ = try await client.credit(
                    signedTransaction: try studio.purchase(number), account: AccountName("player-\(number)")!)
            }
            for round in 0..<16 {
                let arguments = ["backup", studio.folder.path("ledger"), "--to", studio.folder.path("backup")]
                let running = try Command.start(arguments, try TemporaryFolder())
                let isKilled = round % 4 != 0
                if isKilled {
                    // A run takes some milliseconds on a machine that has nothing else to do, and seconds on others.
                    let most = 4_000 << (round % 5)
                    try await Task.sleep(for: .microseconds(Int.random(in: 0...most, using: &random)))
                    kill(running.process.processIdentifier, SIGKILL)
                }
                let finished = try running.finish()
                if finished.status == 9 { kills += 1 }
                if finished.status != 9 {
                    #expect(finished.status == 0, "seed \(seed), round \(round): \(finished.error)")
                    #expect(finished.output.contains("every byte was verified"))
                }
                guard round > 0 else { continue }
                let found = try Self.hashes(studio, "backup", "seed \(seed), round \(round)").count
                #expect(found >= length, "seed \(seed), round \(round)")
                length = found
            }
            #expect(load.acknowledged > 0)
        }
        #expect(kills > 0)
        let audited = try Self.audit(studio, "backup")
        #expect(audited.status == 0 && audited.output.contains("20 signatures verified"), "\(audited.output)")
        service.kill()
        let last = try Self.backup(studio)
        #expect(last.status == 0, "\(last.error)")

        // The machine is lost. What was acknowledged before the last backup is there.
        try FileManager.default.moveItem(atPath: studio.folder.path("ledger"), toPath: studio.folder.path("lost"))
        let restored = try Self.restore(studio, ["--config", studio.folder.path("ledger.json")])
        #expect(restored.status == 0, "\(restored.error)")
        #expect(try Self.audit(studio, "ledger").status == 0)
        #expect(try Self.hashes(studio, "ledger") == Self.hashes(studio, "backup"))
        service = try RunningService(studio.folder)
        let client = try await service.client()
        let balance = try await client.balance(AccountName("player-0")!).balances.first?.balance
        #expect(balance?.paid == 500 && balance?.available ?? 0 > 500)
        _ = try await client.grant(
            Grant(key: .timeOrdered(), account: AccountName("player-0")!, currency: Self.gems, amount: Amount(1)!))
        let held = try Self.restore(studio, ["--config", studio.folder.path("ledger.json")])
        #expect(held.status == 1 && held.error.contains("is open for writing in another process"), "\(held.error)")
        try await client.close()
        #expect(service.stop() == 0)
        #expect(try Self.audit(studio, "ledger").status == 0)
        // And the backup goes on with it.
        #expect(try Self.backup(studio).status == 0)
    }

    @Test func aLedgerThatHasMoreIsReplacedOnlyByName() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        func grant() async throws {
            _ = try await client.grant(
                Grant(key: .timeOrdered(), account: AccountName("player")!, currency: Self.gems, amount: Amount(1)!))
        }
        try await grant()
        #expect(try Self.backup(studio).status == 0)
        for _ in 0..<3 { try await grant() }
        try await client.close()
        #expect(service.stop() == 0)
        let path = studio.folder.path("ledger")
        let refused = try Self.restore(studio, ["--to", path])
        let first = try Self.hashes(studio, "backup").count + 1
        #expect(refused.status == 1 && refused.error.contains("--lose-from \(first)"), "\(refused.error)")
        let restored = try Self.restore(studio, ["--to", path, "--lose-from", "\(first)"])
        #expect(restored.status == 0 && restored.output.contains("the old ledger is at \(path).replaced-"))
        #expect(try Self.hashes(studio, "ledger").count == first - 1)
        #expect(try Self.restore(studio, []).status == 64)
        #expect(try Self.restore(studio, ["--to", path, "--lose-from", "0"]).status == 64)
        #expect(try Command.run(["backup", path]).status == 64)
        let missing = try Command.run(["backup", studio.folder.path("none"), "--to", studio.folder.path("backup")])
        #expect(missing.status == 1 && missing.error.contains("there is no ledger at"), "\(missing.error)")
        // The tables are made anew.
        let again = try RunningService(studio.folder)
        let other = try await again.client()
        #expect(try await other.balance(AccountName("player")!).balances.first?.balance.available == 1)
        try await other.close()
        #expect(again.stop() == 0)
        #expect(try Self.audit(studio, "ledger").output.contains("rows of the tables compared"))
    }

    @Test func forgottenNamesAreGoneFromTheBackupAfterTheNextRun() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let names = (0..<30).map { "a-player-whom-nobody-will-remember-\($0)" }
        for name in names {
            _ = try await client.grant(
                Grant(key: .timeOrdered(), account: AccountName(name)!, currency: Self.gems, amount: Amount(1)!))
        }
        func found() throws -> Set<String> {
            let folder = studio.folder.url.appendingPathComponent("backup")
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
                .map { folder.appendingPathComponent($0) }.filter { !$0.hasDirectoryPath }
            let bytes = files.map { (try? Data(contentsOf: $0)) ?? Data() }
            return Set(names.filter { name in bytes.contains { $0.range(of: Data(name.utf8)) != nil } })
        }
        #expect(try Self.backup(studio).status == 0)
        #expect(try found() == Set(names))
        for name in names[10...] { #expect(try await client.forget(AccountName(name)!)) }
        #expect(try Self.backup(studio).status == 0)
        #expect(try found() == Set(names[..<10]))
        try await client.close()
        #expect(service.stop() == 0)
        #expect(try Self.audit(studio, "backup").status == 0)
    }

    @Test func anyDamagedByteOfABackupIsFoundByRestore() async throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        try await Self.withLoad(service) { load, _ in
            while load.acknowledged < 3_000 { try await Task.sleep(for: .milliseconds(5)) }
        }
        #expect(service.stop() == 0)
        #expect(try Self.backup(studio).status == 0)
        for round in 0..<12 {
            let name = round % 3 == 0 ? "head" : "log/00000000000000000001"
            let url = studio.folder.url.appendingPathComponent("backup/\(name)")
            let whole = try Data(contentsOf: url)
            var damaged = whole
            let place = Int.random(in: 0..<whole.count, using: &random)
            damaged[place] ^= UInt8.random(in: 1...255, using: &random)
            try damaged.write(to: url)
            let refused = try Self.restore(studio, ["--to", studio.folder.path("new")])
            #expect(refused.status == 1, "seed \(seed): \(name), byte \(place)")
            #expect(refused.error.contains("is damaged") && !refused.output.isEmpty, "\(refused.error)")
            #expect(!FileManager.default.fileExists(atPath: studio.folder.path("new")))
            try whole.write(to: url)
        }
        #expect(try Self.restore(studio, ["--to", studio.folder.path("new")]).status == 0)
    }

    /// `cp` at any moment: the service starts on the copy with a beginning of the chain, or names the block that is not
    /// whole, and `restore --copy` makes a ledger of it.
    @Test func plainCopiesOfABusyLedgerAreRight() async throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let path = studio.folder.url.path
        var acknowledged: [Int] = []
        try await Self.withLoad(service) { load, _ in
            for number in 0..<12 {
                try await Task.sleep(for: .microseconds(Int.random(in: 0...60_000, using: &random)))
                acknowledged.append(load.acknowledged)
                // As the page says.
                let copied = try Command.run(
                    URL(fileURLWithPath: "/bin/sh"),
                    [
                        "-c",
                        "cd '\(path)' && mkdir copy-\(number) && cp ledger/head copy-\(number)/head && "
                            + "cp -r ledger/log copy-\(number)/log",
                    ])
                #expect(copied.status == 0, "\(copied.error)")
            }
        }
        #expect(service.stop() == 0)
        let chain = try Self.hashes(studio, "ledger")
        var refused = 0
        for number in 0..<12 {
            let context = "seed \(seed), copy \(number)"
            var folder = "copy-\(number)"
            let restored = try Self.restore(
                studio, ["--to", studio.folder.path("restored-\(number)"), "--copy"], from: folder)
            #expect(restored.status == 0, "\(context): \(restored.error)")
            do {
                let started = try RunningService(studio.folder, arguments: ["--path", studio.folder.path(folder)])
                #expect(started.stop() == 0)
            } catch let error as CocoaError {
                let log = error.userInfo["log"] as? String ?? ""
                #expect(log.contains("it is damaged; the record of block"), "\(context): \(log)")
                refused += 1
                folder = "restored-\(number)"
                let started = try RunningService(studio.folder, arguments: ["--path", studio.folder.path(folder)])
                #expect(started.stop() == 0)
            }
            let audited = try Self.audit(studio, folder)
            #expect(audited.status == 0, "\(context): \(audited.output)")
            // The start has added a block of its own term.
            let own = try Self.hashes(studio, folder, context)
            let common = zip(own, chain).prefix { $0 == $1 }.count
            #expect(own.count - common <= 2, "\(context)")
            let granted = try #require(audited.output.firstMatch(of: /(\d+) keys/)).1
            #expect(Int(granted) ?? 0 >= acknowledged[number], "\(context): what was acknowledged is in the copy")
        }
        print("BackupTests: of 12 plain copies \(refused) could not be opened as they were")
    }
}
