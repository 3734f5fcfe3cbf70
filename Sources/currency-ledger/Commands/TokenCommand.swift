import AppStore
import ArgumentParser
import Foundation
import Ledger
import LedgerWire
import StrictJSON

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Makes tokens, with which clients come to the service.",
        subcommands: [New.self])

    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a new token, and the line of configuration that admits it.",
            discussion: """
                The first line of the output is the token, for the client. The second is a member for "tokens" in the \
                service's configuration; it has only the token's SHA-256, so nobody can read the token from there. \
                The token is shown this once and kept nowhere.

                To change a token, put both digests there, as "sha256": ["…", "…"], have the service read its \
                configuration again (SIGHUP), give the new token to the clients, and then take the old digest away.
                """)

        @Argument(help: "The token's name, which each entry keeps that it asks for: letters, digits, _, -, . and :")
        var name: String

        @Option(help: "What it may do: purchases, game, finance, replica or admin. Repeat it for several.")
        var role: [String]

        func run() throws {
            guard StandbyName(name) != nil else {
                throw Failure("NAME must be 1 to \(Limits.standbyNameBytesMax) letters, digits, _, -, . and :")
            }
            var roles: Roles = []
            for name in role {
                guard let role = Role(rawValue: name) else {
                    let names = Role.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Failure("--role must be one of \(names), not \(JSONValue.quoted(name))")
                }
                roles.insert(Roles(role))
            }
            let token = TokenCommand.random()
            Console.print(token)
            Console.print(TokenCommand.configuration(name, roles, token))
        }
    }

    /// 32 random bytes in base64url, behind letters by which programs that look for secrets know it.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let text = Data(bytes).base64EncodedString()
        return "clt_" + text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The member of "tokens".
    static func configuration(_ name: String, _ roles: Roles, _ token: String) -> String {
        let digest = Digest(sha256: SHA256.hash(Array(token.utf8))).hexadecimal
        let names = roles.all.map { JSONValue.quoted($0.rawValue) }
        let role = names.count == 1 ? names[0] : "[\(names.joined(separator: ", "))]"
        return "\(JSONValue.quoted(name)): {\"role\": \(role), \"sha256\": \"\(digest)\"}"
    }
}
