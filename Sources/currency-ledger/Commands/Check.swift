import ArgumentParser
import Foundation

struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says everything that is wrong with a configuration, and starts nothing.",
        discussion: """
            What "currency-ledger serve" would refuse is refused here: settings of the file and of environment \
            variables, files that cannot be read or that others may read, the catalog, tokens, anchors, certificates \
            and keys. The ledger is not touched, no address is bound, and no other service is asked. The exit status \
            is 0 where a service would start, and 1 where not; warnings change nothing of that.
            """)

    @Option(name: .long, help: "The configuration file (JSON).", completion: .file(extensions: ["json"]))
    var config: String

    func run() throws {
        let settings: Settings
        let checked: CheckedConfiguration
        do throws(ConfigurationError) {
            settings = try Settings.load(
                file: config, flags: [:], environment: ProcessInfo.processInfo.environment)
            checked = try CheckedConfiguration(settings)
        } catch {
            let count = error.faults.count
            Console.print("\(config): \(count) \(count == 1 ? "fault" : "faults")")
            for fault in error.faults { Console.print("  \(fault)") }
            throw ExitCode.failure
        }
        for warning in checked.warnings(settings) { Console.print("warning: \(warning)") }
        Console.print("\(config): a service would start with it")
    }
}
