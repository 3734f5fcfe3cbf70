import ArgumentParser
import FileLog
import Ledger
import LedgerEngine

struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copies a ledger's log into PostgreSQL, or back into a folder.",
        discussion: """
            Each of the two is a ledger's folder, or postgresql://HOST/DATABASE?schema=NAME; the schema is `ledger` \
            where none is named. Every block of the source that is durable is read, checked, and appended to the \
            target, which is made where there is none. Names that were erased in the source are erased in the target.

            Run it beside the service first: that copies nearly all. Then stop the service, run it with --final, which \
            copies the rest, lets no service in meanwhile, and notes in the source where the ledger is now, so that \
            none is started there again. Then start the service on the target.

            It may be interrupted and run again at any time, and goes on behind the last block that the target has. A \
            target with another ledger, or with blocks that the source has not, is refused.
            """)

    @Argument(help: "Where the ledger's log is: a folder, or a URI of PostgreSQL.", completion: .directory)
    var source: String

    @Argument(help: "Where it is to be: a folder, or a URI of PostgreSQL.", completion: .directory)
    var target: String

    @Option(
        help: "An archive of the source, whose blocks are copied too. May be given several times.",
        completion: .directory)
    var archive: [String] = []

    @Flag(
        help: """
            This is the last run: it is refused while a service has the source open, and lets none open it any more.
            """)
    var final = false

    func run() throws {
        File.keepFromOthers()
        let (source, target) = (try LogPlace(source), try LogPlace(target))
        let bar = ProgressBar("copying blocks")
        let start = ContinuousClock.now
        let (summary, isLed): (LogCopy.Summary, Bool)
        do {
            defer { bar.end() }
            (summary, isLed) = try Composition.migrate(
                source, archive.map { LedgerFolder($0) }, to: target, isFinal: final
            ) {
                bar.show($0, of: $1)
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("\(error)")
        }
        let seconds = (ContinuousClock.now - start).rounded
        Console.print(
            """
            \(target) has \(source) up to block \(summary.head.number), \(summary.head.hash.hexadecimal): \
            \(summary.blocks) blocks (\(summary.bytes) bytes) were copied in \(seconds) s
            """)
        if final {
            Console.print("start the service on \(target), and none on \(source) any more")
        } else {
            Console.print(
                isLed
                    ? "a service has \(source) open: stop it, and run this again with --final for the rest"
                    : "before a service is started on \(target), run this again with --final")
        }
    }
}
