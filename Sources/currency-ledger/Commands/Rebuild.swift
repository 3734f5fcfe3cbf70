import ArgumentParser
import Foundation

struct Rebuild: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Computes a ledger's tables anew from its log.",
        discussion: """
            While no service has the ledger open. The log is only read; the old tables stay until the new ones are \
            whole.
            """)

    @Option(name: .long, help: "The configuration file of the service (JSON).", completion: .file(extensions: ["json"]))
    var config: String?

    @Option(help: "The ledger's folder. Default: the configuration's", completion: .directory)
    var path: String?

    @Option(name: .customLong("ledger"), help: "Which ledger of the configuration, where that has several.")
    var name: String?

    func run() throws {
        File.keepFromOthers()
        try Composition.checkIsInFiles(
            path, config: config, ledger: name,
            instead: "stop the node, move the folder of its tables away, and start it: it makes them anew")
        let settings = try Composition.ledgerSettings(config: config, ledger: name, path: path)
        do {
            let blocks = try Composition.rebuild(settings)
            Console.print("the tables of \(settings.path) were made anew from \(blocks) blocks")
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("\(error)")
        }
    }
}
