import ArgumentParser
import FileLog
import Foundation
import Ledger

struct Project: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keeps a ledger's tables up to date in PostgreSQL, for others' SQL.",
        discussion: """
            The tables and views are those of the service's own projection.sqlite, in a schema of their own that is \
            made where there is none. They are exact as of the block that the table `projection` names: each step is \
            one transaction. They are only for reading, and the ledger is only read.

            The tables are computed from the ledger's blocks, in a folder of this command's own. That and the schema \
            can be thrown away at any time, and are made anew. It may be interrupted at any time, and goes on behind \
            the block that the schema has.
            """)

    @Argument(help: "Where the ledger's log is: a folder, or a URI of PostgreSQL.", completion: .directory)
    var source: String

    @Option(help: "Where the tables are to be: postgresql://HOST/DATABASE?schema=NAME")
    var to: String

    @Option(
        help: "A folder of this command's own, for the tables that it computes; it is made where there is none.",
        completion: .directory)
    var work: String

    @Option(
        help: "An archive of the ledger, for blocks that are not in its folder any more. May be given several times.",
        completion: .directory)
    var archive: [String] = []

    @Flag(help: "Goes on with what the ledger gets, until it is interrupted.")
    var follow = false

    func validate() throws {
        guard LogPlace.isURI(to) else {
            throw ValidationError("--to is a URI of PostgreSQL: postgresql://HOST/DATABASE?schema=NAME")
        }
    }

    func run() throws {
        #if Postgres
        File.keepFromOthers()
        guard case .postgres(let target) = try LogPlace(to, defaultSchema: PostgresPlace.defaultTablesSchema) else {
            throw ValidationError("--to is a URI of PostgreSQL: postgresql://HOST/DATABASE?schema=NAME")
        }
        let bar = ProgressBar("projecting blocks")
        let projecting = Projecting(
            source: try LogPlace(source), archives: archive.map { LedgerFolder($0) }, target: target, work: work)
        let start = ContinuousClock.now
        do {
            defer { bar.end() }
            try projecting.run(follows: follow) {
                bar.show($0, of: $1)
            } tell: { summary in
                bar.end()
                let seconds = (ContinuousClock.now - start).rounded
                Console.print(
                    """
                    the schema \(target.schema) is exact as of block \(summary.block): \(summary.rows) rows were \
                    written in \(seconds) s
                    """)
            } lost: { error in
                bar.end()
                Console.error("currency-ledger: \(error); it is tried again")
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("\(error)")
        }
        #else
        throw PostgresPlace.absence
        #endif
    }
}
