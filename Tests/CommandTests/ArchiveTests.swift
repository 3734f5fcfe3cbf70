import FileLog
import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Testing

/// `archive` of a real ledger, beside its service: nothing is credited twice, whatever is missing afterwards.
@Suite struct ArchiveTests {
    private static let purchases = 40

    private static func player(_ number: Int) throws -> AccountName {
        try #require(AccountName("player-\(number)-of-this-test"))
    }

    /// A ledger in small segments, of which all but the newest are of a closed period; nobody serves it.
    private static func filled(_ studio: Studio) async throws {
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        for number in 0..<purchases {
            let account = try player(number)
            _ = try await client.credit(signedTransaction: try studio.purchase(number), account: account)
        }
        _ = try await client.closePeriod(through: try await client.head().time)
        for number in purchases..<2 * purchases {
            let account = try player(number)
            _ = try await client.credit(signedTransaction: try studio.purchase(number), account: account)
        }
        try await client.close()
        #expect(service.stop() == 0)
        try studio.cutLogIntoSmallSegments()
    }

    private static func archive(_ studio: Studio, _ more: [String] = []) throws -> Finished {
        try Command.run(
            ["archive", "--config", studio.folder.path("ledger.json"), "--to", studio.folder.path("archive")] + more)
    }

    private static func audit(_ studio: Studio, _ more: [String] = []) throws -> Finished {
        try Command.run(["audit", "--config", studio.folder.path("ledger.json")] + more)
    }

    private static func rebuild(_ studio: Studio) throws -> Finished {
        try Command.run(["rebuild", "--config", studio.folder.path("ledger.json")])
    }

    private static func segments(_ studio: Studio, _ name: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: studio.folder.path(name + "/log"))
            .filter { $0.count == 20 }.sorted()
    }

    /// Each purchase once more: none is credited again.
    private static func repeated(_ studio: Studio, _ client: LedgerClient) async throws {
        for number in 0..<2 * purchases {
            let account = try player(number)
            let again = try await client.credit(signedTransaction: try studio.purchase(number), account: account)
            #expect(again.outcome == .alreadyCredited && again.posted.isEmpty, "purchase \(number)")
        }
        #expect(try await client.balance(try player(3)).balances.map(\.balance.available) == [500])
    }

    @Test func nothingIsCreditedTwiceBecauseItsBlockWasArchived() async throws {
        let studio = try Studio()
        try await Self.filled(studio)
        let before = try Self.segments(studio, "ledger")
        var service = try RunningService(studio.folder)
        let planned = try Self.archive(studio, ["--dry-run"])
        #expect(planned.status == 0 && planned.output.contains("blocks 1 to "), "\(planned)")
        #expect(try Self.segments(studio, "ledger") == before)
        let archived = try Self.archive(studio)
        #expect(archived.status == 0 && archived.output.contains("every byte was verified"), "\(archived)")
        let moved = try Self.segments(studio, "archive")
        #expect(moved.count > 1 && before.prefix(moved.count) == moved[...])
        #expect(try Self.segments(studio, "ledger") == Array(before.dropFirst(moved.count)))
        // An open period stays.
        #expect(before.count - moved.count > FileLogLimits.segmentsKept)

        // The service goes on, and so does one that is started without the archive.
        for _ in 0..<2 {
            let client = try await service.client()
            try await Self.repeated(studio, client)
            try await client.close()
            #expect(service.stop() == 0)
            service = try RunningService(studio.folder)
        }
        #expect(service.stop() == 0)

        // Tables are not made without the blocks that were archived, and stay as they are.
        let refused = try Self.rebuild(studio)
        let file = studio.folder.path("archive/log/00000000000000000001")
        #expect(refused.status == 1 && refused.error.contains(file), "\(refused)")
        service = try RunningService(studio.folder)
        var client = try await service.client()
        try await Self.repeated(studio, client)
        try await client.close()
        #expect(service.stop() == 0)
        for name in try FileManager.default.contentsOfDirectory(atPath: studio.folder.path("ledger"))
        where name.hasPrefix("projection") {
            try FileManager.default.removeItem(atPath: studio.folder.path("ledger/" + name))
        }
        for _ in 0..<2 {
            let unserved = try Command.run(["serve", "--config", studio.folder.path("ledger.json")])
            #expect(unserved.status == 1 && unserved.error.contains(file), "\(unserved)")
        }

        // With it they are, and have all purchases.
        try studio.configure(archive: ["archive"])
        service = try RunningService(studio.folder)
        client = try await service.client()
        try await Self.repeated(studio, client)
        try await client.close()
        #expect(service.stop() == 0)
        let rebuilt = try Self.rebuild(studio)
        #expect(rebuilt.status == 0, "\(rebuilt)")
        let audited = try Self.audit(studio)
        #expect(audited.status == 0 && audited.output.hasSuffix("everything holds\n"), "\(audited)")
        #expect(audited.output.contains("\(2 * Self.purchases) signatures verified"), "\(audited.output)")
        #expect(audited.output.contains("rows of the tables compared"), "\(audited.output)")
    }

    @Test func anAuditSaysFromWhereOnItLookedAndWithTheArchiveLooksAtAll() async throws {
        let studio = try Studio()
        try await Self.filled(studio)
        #expect(try Self.archive(studio).status == 0)
        let alone = try Self.audit(studio)
        #expect(alone.status == 0 && alone.output.contains("audited from block "), "\(alone)")
        #expect(alone.output.contains("name their archive by --archive"), "\(alone.output)")
        let named = ["--archive", studio.folder.path("archive")]
        let whole = try Self.audit(studio, named)
        #expect(whole.status == 0 && whole.output.contains("rows of the tables compared"), "\(whole)")

        let script = Command.root.appendingPathComponent("Schema/verify/verify_log.py").path
        func verify(_ folders: [String]) throws -> Finished {
            try Command.run(
                URL(fileURLWithPath: "/usr/bin/env"), ["python3", script] + folders.map { studio.folder.path($0) })
        }
        let verified = try verify(["archive", "ledger"])
        #expect(verified.status == 0 && verified.output.contains("signed: \(2 * Self.purchases)"), "\(verified)")
        let later = try verify(["ledger"])
        #expect(later.status == 1 && later.error.contains("name the archives before it"), "\(later)")

        // A bit of each file of the archive.
        let archive = LedgerFolder(studio.folder.path("archive"))
        let segments = try Self.segments(studio, "archive").map { archive.log + "/" + $0 }
        for path in [archive.headFile, archive.manifest] + segments {
            let url = URL(fileURLWithPath: path)
            let bytes = try Data(contentsOf: url)
            var damaged = bytes
            damaged[bytes.count * 2 / 3] ^= 1
            try damaged.write(to: url)
            let found = try Self.audit(studio, named)
            #expect(found.status == 1, "\(path): \(found)")
            #expect((found.output + found.error).contains(archive.path), "\(path): \(found)")
            try bytes.write(to: url)
        }
        #expect(try Self.audit(studio, named).status == 0)
        // No service is started on an archive.
        let served = try Command.run(
            ["serve", "--config", studio.folder.path("ledger.json"), "--path", archive.path])
        #expect(served.status == 1 && served.error.contains("is an archive"), "\(served)")
    }

    @Test func aNameIsErasedInTheArchive() async throws {
        let studio = try Studio()
        try await Self.filled(studio)
        let name = try Self.player(5)
        #expect(try Self.archive(studio).status == 0)
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        await #expect(throws: WireError.self) { try await client.forget(name) }
        // One whose name stands in the ledger is forgotten all the same.
        #expect(try await client.forget(try Self.player(2 * Self.purchases - 1)))
        try await client.close()
        #expect(service.stop() == 0)
        try studio.configure(archive: ["archive"])
        service = try RunningService(studio.folder)
        client = try await service.client()
        #expect(try await client.forget(name))
        try await client.close()
        #expect(service.stop() == 0)
        for folder in ["archive", "ledger"] {
            let files = FileManager.default.enumerator(
                at: studio.folder.url.appendingPathComponent(folder), includingPropertiesForKeys: nil)
            for file in files?.compactMap({ $0 as? URL }) ?? [] where !file.hasDirectoryPath {
                #expect(try Data(contentsOf: file).range(of: Data(name.text.utf8)) == nil, "\(file.path)")
            }
        }
        let audited = try Self.audit(studio)
        #expect(audited.status == 0, "\(audited)")
    }

    @Test func aBackupHasArchivedBlocksAndIsRestored() async throws {
        let studio = try Studio()
        try await Self.filled(studio)
        #expect(try Self.archive(studio).status == 0)
        func backup(_ name: String) throws -> Finished {
            try Command.run(
                ["backup", "--config", studio.folder.path("ledger.json"), "--to", studio.folder.path(name)])
        }
        let later = try backup("later")
        #expect(later.status == 0 && later.output.contains("it begins with block "), "\(later)")
        try studio.configure(archive: ["archive"])
        let whole = try backup("whole")
        #expect(whole.status == 0 && !whole.output.contains("it begins with block "), "\(whole)")
        for name in ["later", "whole"] {
            try FileManager.default.moveItem(
                atPath: studio.folder.path("ledger"), toPath: studio.folder.path("before-" + name))
            if name == "whole" { try studio.configure(archive: []) }
            let restored = try Command.run(
                ["restore", studio.folder.path(name), "--config", studio.folder.path("ledger.json")])
            #expect(restored.status == 0, "\(restored)")
            let service = try RunningService(studio.folder)
            let client = try await service.client()
            try await Self.repeated(studio, client)
            try await client.close()
            #expect(service.stop() == 0)
            let audited = try Self.audit(studio)
            #expect(audited.status == 0 && audited.output.contains("rows of the tables compared"), "\(audited)")
        }
    }

    @Test func whatCannotBeArchivedIsSaid() async throws {
        let studio = try Studio()
        try await Self.filled(studio)
        let early = try Self.archive(studio, ["--until", "2001-01-01"])
        #expect(early.status == 0 && early.output.hasPrefix("0 segment files"), "\(early)")
        for until in ["soon", "0"] { #expect(try Self.archive(studio, ["--until", until]).status == 64) }
        let shared = try Command.run(["archive", "postgresql://localhost/db", "--to", studio.folder.path("archive")])
        #expect(shared.status == 1 && shared.error.contains("PostgreSQL"), "\(shared)")
        let within = try Command.run(
            ["archive", studio.folder.path("ledger"), "--to", studio.folder.path("ledger/archive")])
        #expect(within.status == 1 && within.error.contains("is within the ledger"), "\(within)")
        let tables = studio.folder.path("ledger/projection.sqlite")
        try FileManager.default.moveItem(atPath: tables, toPath: tables + ".away")
        let untabled = try Self.archive(studio)
        #expect(untabled.status == 1 && untabled.error.contains("start the service"), "\(untabled)")
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("archive")))
    }
}
