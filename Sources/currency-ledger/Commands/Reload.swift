import ArgumentParser
import LedgerClient

struct Reload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Has a running service read its configuration again, as SIGHUP does.",
        discussion: """
            Catalogs, tokens, certificates for TLS, the log's level and from when on something is slow hold from then \
            on: all of it, or nothing where something is wrong or needs a restart, which is then said, with the exit \
            status 1. "currency-ledger check" says what is wrong before. See the page Operations.

            The token, of the role admin, stands in LEDGER_TOKEN.
            """)

    @OptionGroup var server: ServerOptions

    func run() async throws {
        let report = try await server.withClient { try await $0.reload() }
        guard report.applied else {
            throw Failure((["nothing has changed:"] + report.faults).joined(separator: "\n"))
        }
        if report.changes.isEmpty { Console.print("read again: nothing is different") }
        for change in report.changes { Console.print(change) }
    }
}
