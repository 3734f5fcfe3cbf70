import AppStore
import ArgumentParser
import Foundation

struct Sandbox: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Signs what the App Store could sign, with a chain of your own.",
        discussion: """
            For games that are developed and tested without the App Store. A service accepts what the chain signs when \
            its root is among the service's anchors. "serve" runs a simulator of the App Store, and the commands from \
            "buy" on drive it.
            """,
        subcommands: [
            Init.self, Sign.self, Notify.self, Serve.self, Buy.self, Refund.self, Decline.self, Reverse.self,
            Revoke.self, Renew.self, RequestConsumption.self, State.self, Reports.self,
        ])

    struct Init: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a signing chain shaped like Apple's.",
            discussion: "Writes root.der (the anchor to configure), the certificates and their keys as PEM.")

        @Argument(help: "The folder; made where there is none. One that holds a chain is left as it is.")
        var folder: String

        @Option(help: "Days for which the certificates are valid, from yesterday on.")
        var days = ChainFolder.usualDays

        func validate() throws {
            guard !folder.isEmpty else { throw ValidationError("The folder must have a name; \".\" is this one.") }
            guard (1...36_500).contains(days) else { throw ValidationError("--days must be from 1 to 36500.") }
        }

        func run() throws {
            try ChainFolder(folder).make(days: days)
            Console.error("wrote a signing chain to \(folder); configure \(folder)/root.der as an anchor")
        }
    }

    struct Sign: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a signed transaction (a JWS).",
            discussion: """
                Without options the purchase of a consumable. What Apple could never sign is refused. Times are \
                milliseconds since 1970 or ISO 8601, as 2026-01-31T23:59:59Z.
                """)

        @Argument(help: "The folder of the chain.")
        var folder: String

        @OptionGroup var transaction: TransactionOptions

        func run() throws {
            Console.print(try ChainFolder(folder).read().sign(try transaction.purchase()))
        }
    }
}
