import ArgumentParser
import FileLog
import Foundation
import Ledger
import SQLiteProjection

struct Archive: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Moves blocks of closed periods out of a ledger's folder.",
        discussion: """
            Beside the running service or without one. Whole segment files of the log, all of whose blocks lie in \
            periods that were closed by name, are copied to the archive, from the ledger's first one on: each is \
            checked, written, synced, read again and compared, and only then removed from the ledger. Never archived \
            are the two newest files, and blocks that the ledger's tables do not have yet.

            Nothing of a closed period's reports changes: they come from the tables, which stay whole. What reads the \
            blocks themselves (tables that are made anew, audit, a new standby) needs the archive from then on: name \
            it by the setting archive.

            It may be interrupted and run again at any time. A ledger whose log is in PostgreSQL is refused.
            """)

    @Argument(help: "The ledger's folder. Default: the configuration's, or ledger", completion: .directory)
    var ledger: String?

    @Option(
        help: "The archive's folder, of its own: a new one, or the one to which was archived last.",
        completion: .directory)
    var to: String

    @Option(
        help: """
            Up to where at most: the number of a block, or a time as ISO 8601. Default: the end of the last period \
            that was closed
            """)
    var until: String?

    @Flag(help: "Says what would be archived, and does nothing.")
    var dryRun = false

    @Option(
        name: .long, help: "The configuration file of the service (JSON), for the ledger's folder.",
        completion: .file(extensions: ["json"]))
    var config: String?

    @Option(name: .customLong("ledger"), help: "Which ledger of the configuration, where that has several.")
    var name: String?

    /// Up to where blocks may be archived.
    private struct Limit {
        var block = BlockNumber.max
        var time = Timestamp.max
    }

    func validate() throws {
        if let until, Archive.limit(until) == nil {
            throw ValidationError("--until is the number of a block or a time as ISO 8601, not '\(until)'.")
        }
    }

    private static func limit(_ text: String) -> Limit? {
        if let block = BlockNumber(text) { return block > 0 ? Limit(block: block) : nil }
        return TimeText.milliseconds(text).map { Limit(time: $0) }
    }

    func run() throws {
        File.keepFromOthers()
        let folder = LedgerFolder(try place())
        let limit = until.flatMap { Archive.limit($0) } ?? Limit()
        // It is noted in the ledger's folder, for whoever looks for it from anywhere.
        let target = LedgerFolder(URL(fileURLWithPath: to).path)
        let archiver = LogArchiver(of: folder, to: target, hash: Composition.sha256)
        do {
            try folder.check()
            if try folder.isArchive() { throw Failure("\(folder.path) is an archive itself") }
            let mayGo = try closed(folder, limit)
            if dryRun {
                let segments = try archiver.plan { try mayGo($0) }
                for segment in segments {
                    Console.print("blocks \(segment.first) to \(segment.last): \(segment.bytes) bytes")
                }
                Console.print("\(segments.count) segment files would be archived to \(to)")
                return
            }
            let bar = ProgressBar("archiving blocks")
            defer { bar.end() }
            let summary = try archiver.run {
                try mayGo($0)
            } progress: {
                bar.show($0, of: $1)
            }
            bar.end()
            tell(summary, folder)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("\(error)")
        }
    }

    private func tell(_ summary: LogArchiver.Summary, _ folder: LedgerFolder) {
        let bytes = summary.segments.reduce(0) { $0 + $1.bytes }
        Console.print(
            "\(summary.segments.count) segment files (\(bytes) bytes) of \(folder.path) were archived to \(to)")
        if let head = summary.head {
            Console.print(
                "\(to) has blocks \(summary.first) to \(head.number), \(head.hash.hexadecimal); every byte was verified"
            )
        }
        if !summary.segments.isEmpty {
            Console.print("name it by the setting archive, and keep a copy of it elsewhere")
        }
    }

    /// The ledger's folder.
    private func place() throws -> String {
        let sharedLog = Failure("the log is in PostgreSQL: nothing is archived from there, as the page Archive says")
        if let ledger, LogPlace.isURI(ledger) { throw sharedLog }
        if ledger == nil, let config {
            let settings = try Composition.ledgerSettings(config: config, ledger: name)
            if settings.node != nil { throw sharedLog }
        }
        return try Composition.ledgerPath(ledger, config: config, ledger: name)
    }

    /// Whether the blocks up to one may be archived: they are in closed periods, and the tables have them, durably.
    private func closed(_ folder: LedgerFolder, _ limit: Limit) throws -> @Sendable (SealedBlock) throws -> Bool {
        let tables = folder.projection
        guard FileManager.default.fileExists(atPath: tables), try !folder.damageMark.isSet() else {
            throw Failure(
                "the tables of \(folder.path) are missing or damaged: start the service, which makes them anew, first")
        }
        let state = try SQLiteReports(path: tables).state()
        for file in [tables, tables + "-wal"] { try File.sync(file) }
        let applied = state.head?.number ?? 0
        let time = min(state.periods.closedThrough, limit.time)
        return { block in
            guard block.number <= min(applied, limit.block) else { return false }
            do throws(BlockError) {
                return try Block(opening: block, checks: .bodyOnly, evidence: .leftOut).time <= time
            } catch {
                throw LogError(.corrupt, "block \(block.number) of \(folder.log): \(error)")
            }
        }
    }
}
