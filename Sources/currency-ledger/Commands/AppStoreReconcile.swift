import AppStore
import AppStoreServer
import ArgumentParser
import Ledger
import LedgerClient

extension AppStoreCommand {
    struct Reconcile: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Carries out notifications that never arrived, from Apple's notification history.",
            discussion: """
                Each is handed to the running service, as "notify" does. What was new is printed, one line of JSON \
                each, and at the end how many there were. The service does the same by itself \
                (appStore.historySeconds); by hand it goes back as far as --since says. The token (LEDGER_TOKEN) needs \
                the role purchases.

                With --deep Apple is also asked of each purchase that was recorded since then what of its customer's \
                purchases was refunded, and that is taken back, whether or not a notification says so. Then the token \
                needs the role finance as well.

                With --ledger all of it is for that ledger, which refuses what another app or environment is for.

                The exit status is 1 where something could not be carried out yet: it is to be run again then. It is \
                2 where all was read, and something of it is refused for ever: the books and Apple do not agree then. \
                Where it ends early, by Ctrl-C or SIGTERM as well (exit status 130 and 143), it says on standard \
                error from when on it is to be run again.

                currency-ledger app-store reconcile --config ledger.json --since 2026-11-01
                """)

        @Option(help: "From when on: milliseconds since 1970 or ISO 8601, as 2026-11-01 or 2026-11-01T12:00:00Z.")
        var since: String

        @Flag(help: "Ask for the refunds of each purchase since then, too.")
        var deep = false

        @OptionGroup var appStore: AppStoreOptions
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard let time = TimeText.milliseconds(since) else {
                throw ValidationError("--since must be milliseconds since 1970 or ISO 8601, not '\(since)'.")
            }
            guard time < Clock.now() else { throw ValidationError("--since must be in the past, not '\(since)'.") }
        }

        func run() async throws {
            let outcome = try await appStore.withClient(ledger: server.ledger) { appStore, ledger in
                let start = try earliest(ledger)
                return try await server.withClient { client in
                    let missed = MissedByHand(
                        appStore: appStore, environment: ledger.environment, ledger: client,
                        name: server.ledger.flatMap { LedgerName($0) }, since: start,
                        deep: deep
                    ) { Console.print($0) }
                    let deep = deep
                    try await Interruptible.run { try await Reconcile.carryOut(missed, deep: deep) }
                    return missed.counts
                }
            }
            if outcome.postponed > 0 { throw ExitCode(1) }
            if outcome.refused > 0 { throw ExitCode(2) }
        }

        /// Says at the end what was done, also where that is not all.
        private static func carryOut(_ missed: MissedByHand, deep: Bool) async throws {
            do {
                try await showing("reading notifications, hours") { bar in
                    try await missed.readNotifications { bar.show($0, of: $1) }
                }
                if deep {
                    try await showing("reading refunds, entries") { bar in
                        try await missed.readRefunds { bar.show($0, of: $1) }
                    }
                }
            } catch {
                Console.print(missed.counts.json)
                Console.error("this is not all: go on with --since \(missed.place)\(deep ? " --deep" : "")")
                throw error
            }
            Console.print(missed.counts.json)
        }

        private static func showing(_ what: String, _ body: (ProgressBar) async throws -> Void) async throws {
            let bar = ProgressBar(what)
            defer { bar.end() }
            try await body(bar)
        }

        /// - Throws: ``Failure`` where Apple has no history of that time any more.
        private func earliest(_ ledger: LedgerSettings) throws -> Timestamp {
            let start = TimeText.milliseconds(since) ?? 0
            let span = AppStoreServerLimits.historyMilliseconds(ledger.environment)
            guard start >= Clock.now() - span else {
                throw Failure(
                    "--since is too early: Apple keeps notifications of \(ledger.environment.rawValue) for "
                        + "\(span / 86_400_000) days", exitCode: .validationFailure)
            }
            return start
        }
    }
}
