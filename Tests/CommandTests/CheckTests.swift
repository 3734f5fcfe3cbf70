import Foundation
import LedgerTestKit
import Testing

/// What `check` says of a configuration, and that a start says the same.
@Suite(.serialized) struct CheckTests {
    /// A configuration with one fault.
    struct Faulty: Sendable, CustomTestStringConvertible {
        let name: String
        /// Replaces in a good configuration.
        let old: String
        let new: String
        /// What is said.
        let words: String
        var testDescription: String { name }
    }

    private static let good = """
        {"path": "ledger", "listen": ["127.0.0.1:0"],
         "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
         "anchors": ["root.der"], "catalog": "catalog.json", "insecureLoopback": true, "log": {"level": "info"}}
        """

    static let faulty: [Faulty] = [
        Faulty(name: "a setting that there is not", old: "\"path\"", new: "\"paht\"", words: "is not a setting"),
        Faulty(name: "an address", old: "127.0.0.1:0", new: "127.0.0.1", words: "listen"),
        Faulty(name: "an open address", old: "127.0.0.1:0", new: "0.0.0.0:0", words: "can be reached from other"),
        Faulty(
            name: "an open address of the console", old: "\"listen\"",
            new: "\"console\": {\"listen\": [\"0.0.0.0:0\"]}, \"listen\"", words: "can be reached from other"),
        Faulty(name: "an environment", old: "Sandbox", new: "sandbox", words: "must be Production, Sandbox"),
        Faulty(name: "no anchor", old: "root.der", new: "no.der", words: "there is no such file"),
        Faulty(name: "an anchor that is none", old: "root.der", new: "catalog.json", words: "is not a certificate"),
        Faulty(name: "no catalog", old: "catalog.json", new: "none.json", words: "there is no such file"),
        Faulty(name: "a catalog that is none", old: "catalog.json", new: "bad.json", words: "must name a currency"),
        Faulty(name: "a level", old: "\"info\"", new: "\"loud\"", words: "must be trace, debug, info"),
        Faulty(
            name: "a limit", old: "{\"level\"", new: "{\"slowMilliseconds\": -1, \"level\"",
            words: "must be an integer from 0 to 3600000"),
        Faulty(
            name: "a form", old: "{\"level\"", new: "{\"format\": \"xml\", \"level\"", words: "must be text or json"),
        Faulty(
            name: "an address of a collector without its path", old: "\"insecureLoopback\"",
            new: "\"tracing\": {\"endpoint\": \"http://127.0.0.1:4318\"}, \"insecureLoopback\"",
            words: "tracing.endpoint: must be http or https, a host, perhaps a port, and the path"),
        Faulty(
            name: "a collector to which others could listen", old: "\"insecureLoopback\"",
            new: "\"tracing\": {\"endpoint\": \"http://10.0.0.7:4318/v1/traces\"}, \"insecureLoopback\"",
            words: "tracing.endpoint: must be https on another machine: set insecurePlaintext"),
        Faulty(
            name: "a ratio above 1", old: "\"insecureLoopback\"",
            new: """
                "tracing": {"endpoint": "http://127.0.0.1:4318/v1/traces", "ratio": 1.5}, "insecureLoopback"
                """, words: "tracing.ratio: must be a number from 0 to 1"),
        Faulty(
            name: "a ratio without a collector", old: "\"insecureLoopback\"",
            new: "\"tracing\": {\"ratio\": 0.5}, \"insecureLoopback\"",
            words: "tracing.endpoint: is required where tracing.ratio is given"),
        Faulty(
            name: "no tokens", old: "\"insecureLoopback\": true", new: "\"insecureLoopback\": false",
            words: "is required"),
        Faulty(
            name: "a token of a currency that there is not", old: "\"insecureLoopback\": true",
            new: #""tokens": {"game": {"role": "game", "sha256": "\#(Studio.digest("t"))", "currencies": ["gold"]}}"#,
            words: "gold is not among the catalog's currencies: gems"),
        Faulty(
            name: "the same token twice", old: "\"insecureLoopback\": true",
            new: #"""
                "tokens": {"a": {"role": "game", "sha256": "\#(Studio.digest("t"))"},
                           "b": {"role": "game", "sha256": "\#(Studio.digest("t"))"}}
                """#,
            words: "has the SHA-256 of a token that is given before"),
        Faulty(
            name: "a certificate without its key", old: "\"insecureLoopback\"",
            new: "\"tls\": {\"certificate\": \"root.der\"}, \"insecureLoopback\"",
            words: "is required where tls.certificate is given"),
        Faulty(
            name: "certificates that are none", old: "\"insecureLoopback\"",
            new: "\"tls\": {\"certificate\": \"catalog.json\", \"key\": \"secret.pem\"}, \"insecureLoopback\"",
            words: "tls.certificate"),
        Faulty(
            name: "a key that others may read", old: "\"insecureLoopback\"",
            new: "\"head\": {\"key\": \"open.pem\"}, \"insecureLoopback\"",
            words: "is a secret that others may read or change"),
    ]

    private static func studio(_ configuration: String) throws -> Studio {
        let studio = try Studio()
        try studio.folder.write("ledger.json", configuration)
        try studio.folder.write("bad.json", #"{"currencies": {}, "products": {}}"#)
        for (name, mode) in [("open.pem", 0o644), ("secret.pem", 0o600)] {
            try studio.folder.write(name, "no key")
            try FileManager.default.setAttributes(
                [.posixPermissions: mode], ofItemAtPath: studio.folder.path(name))
        }
        return studio
    }

    @Test(arguments: faulty)
    func whatAStartRefusesCheckRefusesInTheSameWords(of faulty: Faulty) throws {
        let studio = try Self.studio(Self.good.replacing(faulty.old, with: faulty.new))
        let file = studio.folder.path("ledger.json")
        let checked = try Command.run(["check", "--config", file])
        #expect(checked.status == 1)
        #expect(checked.output.contains(faulty.words), "\(checked.output)")
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("ledger")), "it touched the ledger")
        let started = try Command.run(["serve", "--create", "--config", file])
        #expect(started.status == 78)
        #expect(started.error.contains(faulty.words), "\(started.error)")
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("ledger")))
        // Each fault of one is a fault of the other.
        for line in checked.output.split(separator: "\n").dropFirst() {
            #expect(started.error.contains(line.trimmingCharacters(in: .whitespaces)), "\(line)")
        }
    }

    @Test func allFaultsAreSaidAtOnce() throws {
        var configuration = Self.good
        for (old, new) in [("root.der", "no.der"), ("catalog.json", "none.json")] {
            configuration = configuration.replacing(old, with: new)
        }
        let studio = try Self.studio(configuration)
        let checked = try Command.run(["check", "--config", studio.folder.path("ledger.json")])
        #expect(checked.status == 1 && checked.output.contains("2 faults"), "\(checked.output)")
        #expect(checked.output.contains("no.der") && checked.output.contains("none.json"), "\(checked.output)")
    }

    @Test func aVariableThatIsSpeltWrongIsAFault() throws {
        let studio = try Self.studio(Self.good)
        let checked = try Command.run(
            ["check", "--config", studio.folder.path("ledger.json")], environment: ["LEDGER_TOKENS_GAMES": "info"])
        #expect(checked.status == 1)
        #expect(checked.output.contains("LEDGER_TOKENS_GAMES: is not a variable of a setting"), "\(checked.output)")
    }

    @Test func whatIsGoodIsSaidWithWhatToKnow() throws {
        let studio = try Self.studio(Self.good)
        let checked = try Command.run(["check", "--config", studio.folder.path("ledger.json")])
        #expect(checked.status == 0, "\(checked.output)\(checked.error)")
        #expect(checked.output.contains("a service would start with it"))
        #expect(checked.output.contains("warning: no tokens are configured"))
        #expect(checked.output.contains("the first start needs --create"))
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("ledger")))
    }
}
