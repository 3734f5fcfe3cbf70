import ArgumentParser
import FileLog
import Foundation
import Ledger

struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a ledger of a backup.",
        discussion: """
            While no service has the ledger open. All of the backup is checked before anything is written. A ledger \
            that is there is replaced in one step, and stays beside the new one. One that has blocks which the backup \
            has not is not replaced, unless --lose-from names the first of them.

            The tables are made anew by the next start of the service.
            """)

    @Argument(help: "The backup's folder.", completion: .directory)
    var backup: String

    @Option(help: "Where the ledger is to be. Default: the configuration's", completion: .directory)
    var to: String?

    @Option(
        name: .long, help: "The configuration file of the service (JSON), for the ledger's folder.",
        completion: .file(extensions: ["json"]))
    var config: String?

    @Option(name: .customLong("ledger"), help: "Which ledger of the configuration, where that has several.")
    var name: String?

    @Option(help: "The first block of the ledger that may be lost with all behind it.")
    var loseFrom: Int64?

    @Flag(
        help: """
            The backup is a plain copy of a ledger's files, made while a service wrote them, with head copied before \
            log: what is behind the block that head names is left out.
            """)
    var copy = false

    func validate() throws {
        if to == nil, config == nil {
            throw ValidationError("Say where the ledger is to be: --to FOLDER, or --config FILE.")
        }
        if let loseFrom, loseFrom < 1 {
            throw ValidationError("--lose-from is the number of a block, not \(loseFrom).")
        }
    }

    func run() throws {
        File.keepFromOthers()
        try Composition.checkIsInFiles(
            to, config: config, ledger: name,
            instead: "restore the database with its own tools, or copy a backup into a schema of its own with "
                + "`currency-ledger migrate`")
        let path = try Composition.ledgerPath(to, config: config, ledger: name)
        let bar = PhaseBar<LogRestore.Phase> { phase in
            switch phase {
            case .checking: "checking blocks of the backup"
            case .writing: "writing blocks"
            case .verifying: "verifying blocks"
            }
        }
        let summary: LogRestore.Summary
        do {
            defer { bar.end() }
            summary = try Composition.restore(
                of: path, from: backup, source: copy ? .copy : .backup, lostFrom: loseFrom
            ).run {
                bar.show($0, $1, of: $2)
            } tell: { words in
                bar.end()
                Console.print(words)
            }
        } catch {
            throw Failure("\(error)")
        }
        Console.print("\(path) is \(backup) up to block \(summary.head.number), \(summary.head.hash.hexadecimal)")
        if summary.first > 1 {
            Console.print(
                "it begins with block \(summary.first): the tables cannot be made without the archive that has the "
                    + "blocks before it (the setting archive)")
        }
        if let replaced = summary.replaced {
            Console.print("the old ledger is at \(replaced); remove it when nobody needs it any more")
        }
    }
}
