import ArgumentParser
import LedgerClient

struct Promote: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Has a standby lead.",
        discussion: """
            From then on it follows nobody and takes writes, also after a restart. Make sure first that the old leader \
            is stopped, or cannot be reached by anybody: see the page Standby.

            The token, of the role admin, stands in LEDGER_TOKEN.
            """)

    @OptionGroup var server: ServerOptions

    func run() async throws {
        let promotion = try await server.withClient { try await $0.promote() }
        let what = promotion.promoted ? "it leads now" : "it was no standby: it led already"
        Console.print("\(what), in term \(promotion.term), from block \(promotion.block) on")
    }
}
