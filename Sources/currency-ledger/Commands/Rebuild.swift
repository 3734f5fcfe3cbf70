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

/// A line on a terminal that says how far something is; nothing where standard error is no terminal.
final class ProgressBar: Sendable {
    private let what: String

    init(_ what: String) { self.what = what }

    func show(_ done: Int64, of all: Int64) {
        guard Console.errorIsTerminal, all > 0 else { return }
        let width = 40
        let filled = Int(Int64(width) * done / all)
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        FileHandle.standardError.write(Data("\r\(what) [\(bar)] \(done) of \(all)".utf8))
    }

    func end() {
        if Console.errorIsTerminal { FileHandle.standardError.write(Data("\n".utf8)) }
    }
}
