import ArgumentParser

struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a ledger where there is none.",
        discussion: """
            A service that is started without --create then serves it, and never takes a disk that is not mounted, or \
            a mistyped path, for a new ledger, which would credit every old purchase again.
            """)

    @Option(name: .long, help: "The configuration file of the service (JSON).", completion: .file(extensions: ["json"]))
    var config: String

    @Option(name: .customLong("ledger"), help: "Which ledger of the configuration, where that has several.")
    var name: String?

    func run() throws {
        File.keepFromOthers()
        let settings = try Composition.ledgerSettings(config: config, ledger: name)
        do {
            try Composition.make(settings)
            Console.print("made a new ledger at \(settings.path)")
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("\(error)")
        }
    }
}
