import ArgumentParser
import Foundation
import Ledger
import LedgerClient

struct Close: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Closes a period of a ledger for ever.",
        discussion: """
            Nothing is posted up to that time any more, whatever the clock says later: what comes late is posted in \
            the period that is open. Prints the block that fixes the period, and its hash, which covers everything \
            before. The same time again prints the same.

            Needs a token with the role finance in LEDGER_TOKEN.
            """)

    @Option(
        help: """
            The last millisecond of the period: milliseconds since 1970 or ISO 8601, as 2026-01-31T23:59:59.999Z. A \
            day alone is its beginning.
            """
    )
    var through: String

    @OptionGroup var server: ServerOptions

    func validate() throws {
        if TimeText.milliseconds(through) == nil {
            throw ValidationError("--through must be milliseconds since 1970 or ISO 8601, not '\(through)'.")
        }
    }

    func run() async throws {
        guard let time = TimeText.milliseconds(through) else { throw Failure("\(through) is no time") }
        let closing = try await server.withClient { client in try await client.closePeriod(through: time) }
        Console.print("closed through \(UTCText.time(closing.through)) by block \(closing.block) \(closing.hash)")
    }
}
