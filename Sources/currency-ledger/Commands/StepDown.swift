import ArgumentParser
import LedgerClient

struct StepDown: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "step-down",
        abstract: "Has the node that leads give the lead to another.",
        discussion: """
            Any node may be asked: one that follows passes it on. What the leader accepted before is answered; who \
            asks meanwhile is served by the next leader, some hundredths of a second later. Where no other node may \
            lead, the same one leads again a second later. See the page Nodes.

            The token, of the role admin, stands in LEDGER_TOKEN.
            """)

    @OptionGroup var server: ServerOptions

    func run() async throws {
        let handover = try await server.withClient { try await $0.stepDown() }
        Console.print(
            handover.steppedDown
                ? "it leads no more, after block \(handover.block)"
                : "the ledger is not one of several nodes: it leads still")
    }
}
