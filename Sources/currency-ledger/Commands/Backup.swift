import ArgumentParser
import FileLog
import Foundation
import Ledger

struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Brings a backup of a ledger up to date.",
        discussion: """
            Beside the running service or without one; the ledger is only read. Every block of the ledger is read and \
            checked, and what the backup lacks of it is written: new blocks, and those in which names were erased. \
            Then every byte of the backup is read and checked.

            It may be interrupted and run again at any time: the backup is good at every moment. A damaged block of \
            the ledger is named, and what the backup has stays. A backup of another ledger, or with blocks that the \
            ledger has not, is refused.
            """)

    @Argument(help: "The ledger's folder. Default: the configuration's, or ledger", completion: .directory)
    var ledger: String?

    @Option(
        help: """
            An archive of the ledger, whose blocks come into the backup too, beside those of the configuration. May be \
            given several times.
            """, completion: .directory)
    var archive: [String] = []

    @Option(help: "The backup's folder, of its own; it is made where there is none.", completion: .directory)
    var to: String

    @Option(
        name: .long, help: "The configuration file of the service (JSON), for the ledger's folder.",
        completion: .file(extensions: ["json"]))
    var config: String?

    @Option(name: .customLong("ledger"), help: "Which ledger of the configuration, where that has several.")
    var name: String?

    func run() throws {
        File.keepFromOthers()
        try Composition.checkIsInFiles(
            ledger, config: config, ledger: name,
            instead: "back the database up with its own tools, or copy the log into a folder with `currency-ledger "
                + "migrate`, again and again")
        let path = try Composition.ledgerPath(ledger, config: config, ledger: name)
        let archives = try Composition.archives(archive, config: config, ledger: name)
        let bar = PhaseBar<LogBackup.Phase> { $0 == .copying ? "copying blocks" : "verifying blocks" }
        let summary: LogBackup.Summary
        do throws(LogError) {
            defer { bar.end() }
            summary = try Composition.backup(of: path, in: to, archives: archives).run { bar.show($0, $1, of: $2) }
        } catch {
            throw Failure("\(error)")
        }
        Console.print(
            """
            \(to) has \(path) up to block \(summary.head.number), \(summary.head.hash.hexadecimal): \
            \(summary.segments) segments, of which \(summary.written) were written (\(summary.writtenBytes) bytes); \
            every byte was verified
            """)
        if summary.first > 1 {
            Console.print(
                "it begins with block \(summary.first): those before were archived, and are in it only where their "
                    + "archive is named")
        }
        guard summary.headFaults.isEmpty else {
            throw Failure(
                """
                \(summary.headFaults.joined(separator: "; ")). The backup is good, but the block that was acknowledged \
                last may not be in it: run it again when the service has written another one, which mends a slot, and \
                audit where this stays
                """)
        }
    }
}

/// A progress bar that begins anew with each phase.
final class PhaseBar<Phase: Equatable> {
    private let words: (Phase) -> String
    private var current: (phase: Phase, bar: ProgressBar)?

    init(_ words: @escaping (Phase) -> String) { self.words = words }

    func show(_ phase: Phase, _ done: Int64, of all: Int64) {
        if current?.phase != phase {
            end()
            current = (phase, ProgressBar(words(phase)))
        }
        current?.bar.show(done, of: all)
    }

    func end() {
        current?.bar.end()
        current = nil
    }
}
