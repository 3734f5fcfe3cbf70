import ArgumentParser
import Foundation
import LedgerClient
import LedgerWire
import StrictJSON

struct Call: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends one request and prints the reply.",
        discussion: """
            Parameters are given as name=value: a value that is JSON (a number, true, false, null, an object or an \
            array) is sent as such, anything else as a string; name=@FILE sends the file's text, without a newline at \
            its end. Or all of them at once with --json.

            currency-ledger call balance account=player-1
            currency-ledger call credit account=player-1 signedTransaction=@purchase.jws
            currency-ledger call spend key=k-1 account=player-1 'debits=[{"currency":"gems","amount":50}]'

            The exit status is 1 where the reply is an error.
            """)

    @Argument(help: "The method, as ping, info, credit, spend, hold, balance, find, journal, …")
    var method: String

    @Argument(help: "name=value")
    var parameters: [String] = []

    @Option(help: "All parameters as one JSON object, instead of name=value.")
    var json: String?

    @OptionGroup var server: ServerOptions

    func validate() throws {
        if json != nil && !parameters.isEmpty { throw ValidationError("Give name=value or --json, not both.") }
        for parameter in parameters where !parameter.contains("=") {
            throw ValidationError("'\(parameter)' is not name=value.")
        }
    }

    func run() async throws {
        let params = try json.map { Array($0.utf8) } ?? object()
        let result = try await server.withClient { client in
            do {
                return try await client.call(method: method, params: params)
            } catch let error as WireError {
                Console.print(try JSONPrinter().print(error.json))
                throw ExitCode(1)
            }
        }
        Console.print(try JSONPrinter().print(result))
    }

    private func object() throws -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for parameter in parameters {
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            writer.key(String(parts[0]))
            let value = String(parts[1])
            if value.hasPrefix("@") {
                writer.string(try text(of: String(value.dropFirst())))
            } else if let raw = Call.json(value, isText: Call.textMembers.contains(String(parts[0]))) {
                writer.raw(raw)
            } else {
                writer.string(value)
            }
        }
        writer.endObject()
        return writer.bytes
    }

    /// Members that are always text, also where the text happens to be a number.
    private static let textMembers: Set<String> = [
        "account", "currency", "key", "holdKey", "spendKey", "note", "transactionId", "token", "after", "kind", "funds",
        "signedTransaction", "signedPayload", "source", "product", "priceCurrency", "class", "reason", "approval",
    ]

    private static func json(_ value: String, isText: Bool) -> [UInt8]? {
        if isText { return nil }
        var value = value
        return value.withUTF8 { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                try reader.skip()
                try reader.end()
                return Array(bytes)
            } catch {
                return nil
            }
        }
    }

    private func text(of path: String) throws -> String {
        let bytes = try File.read(path, bytesMax: WireLimits.lineBytesMax, secondsMax: nil)
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
}
