import Foundation
import Ledger
import LedgerClient
import LineServer
import Testing

@testable import currency_ledger

@Suite struct ConfigurationTests {
    private func load(
        _ json: String, flags: [Setting: String] = [:], environment: [String: String] = [:]
    ) throws -> Settings {
        let folder = try TemporaryFolder()
        try folder.write("ledger.json", json)
        return try Settings.load(
            file: folder.path("ledger.json"), flags: flags, environment: Self.open(json, environment))
    }

    private let minimal = #"{"app": {"bundleId": "a.b", "environment": "Sandbox"}, "catalog": "c.json"}"#

    /// Most of these tests are not about who may do what.
    private static func open(_ json: String, _ environment: [String: String]) -> [String: String] {
        if json.contains("tokens") || json.contains("insecureLoopback") || environment["LEDGER_TOKENS"] != nil {
            return environment
        }
        return environment.merging(["LEDGER_INSECURE_LOOPBACK": "true"]) { own, _ in own }
    }

    @Test func defaultsApplyWhereNothingIsSaid() throws {
        let settings = try load(minimal)
        #expect(settings.listen.map(\.description) == ["127.0.0.1:7117"])
        #expect(settings.ledger.path.hasPrefix("/") && settings.ledger.path.hasSuffix("/ledger"))
        #expect(settings.ledger.anchors.isEmpty)
        #expect(settings.tokens.isEmpty)
        #expect(settings.ledger.catalog.hasSuffix("/c.json"))
        #expect(settings.ledger.catalog.hasPrefix("/"))
    }

    @Test func flagsStandOverVariablesAndVariablesOverTheFile() throws {
        let environment = ["LEDGER_APP_BUNDLE_ID": "from.environment", "LEDGER_LISTEN": "127.0.0.1:1,unix:/tmp/x"]
        #expect(try load(minimal, environment: environment).ledger.bundleID == "from.environment")
        #expect(
            try load(minimal, environment: environment).listen.map(\.description) == ["127.0.0.1:1", "unix:/tmp/x"])
        let flags: [Setting: String] = [.bundleID: "from.flag", .listen: "127.0.0.1:2"]
        #expect(try load(minimal, flags: flags, environment: environment).ledger.bundleID == "from.flag")
        #expect(try load(minimal, flags: flags, environment: environment).listen.map(\.description) == ["127.0.0.1:2"])
    }

    private static func node(_ node: String, _ more: String = "") -> String {
        #"{"app": {"bundleId": "a.b", "environment": "Sandbox"}, "catalog": "c.json", "node": {\#(node)}\#(more)}"#
    }

    @Test func aNodeIsRead() throws {
        let settings = try load(
            Self.node(
                #""log": "postgresql://db/games", "name": "n1", "address": "n1.internal:7117", "leads": false, "#
                    + #""leaseMilliseconds": 900, "requireSynchronousStandby": true"#))
        let node = try #require(settings.ledger.node)
        #expect(node.log == "postgresql://db/games" && node.schema == "ledger" && node.name == "n1")
        #expect(node.address.description == "n1.internal:7117")
        #expect(!node.leads && node.leaseMilliseconds == 900 && node.requiresSynchronousStandby)
        #expect(try load(minimal).ledger.node == nil)
    }

    @Test(arguments: [
        (node(#""name": "a""#), "node.name: is of no use without node.log"),
        (node(#""log": "postgresql://u:secret@db/x""#), "node.address: is required where node.log is given"),
        (
            node(#""log": "postgresql://db/x", "address": "a:1""#, #", "follow": {"leader": "b:2"}"#),
            "cannot stand beside node.log: a node follows whichever node leads"
        ),
        (
            node(#""log": "postgresql://db/x", "address": "a:1""#, #", "standbys": {"required": 1}"#),
            "cannot stand beside node.log: set node.requireSynchronousStandby"
        ),
        (
            node(#""log": "postgresql://db/x", "address": "a:1", "leaseMilliseconds": 10"#),
            "must be an integer from 500 to 60000"
        ),
    ])
    func whatANodeCannotBeIsSaid(json: String, words: String) {
        #expect { try load(json) } throws: { error in
            "\(error)".contains(words) && !"\(error)".contains("secret")
        }
    }

    #if !Postgres
    @Test func withoutPostgreSQLANodeIsRefusedByName() throws {
        let folder = try TemporaryFolder()
        try folder.write("c.json", #"{"currencies": {"gems": {}}, "products": {"a": {"gems": 5}}}"#)
        try folder.write(
            "ledger.json", Self.node(#""log": "postgresql://db/x", "address": "a:1""#, #", "insecureLoopback": true"#))
        let ended = try Command.run(["serve", "--create", "--config", folder.path("ledger.json")])
        #expect(ended.status == 78 && ended.error.contains("swift build --traits Postgres"), "\(ended)")
    }
    #endif

    private static func ledger(_ environment: String, _ more: String = "", bundleID: String = "a.b") -> String {
        #"{"app": {"bundleId": "\#(bundleID)", "environment": "\#(environment)"}, "catalog": "c.json"\#(more)}"#
    }

    @Test func severalLedgersAreRead() throws {
        let sandbox = Self.ledger("Sandbox", #", "path": "test", "anchors": ["r.der"], "cache": {"players": 2000}"#)
        let tokens =
            "\"tokens\": {"
            + TokenCommand.configuration("a", .game, "s").replacing("{", with: "{\"ledger\": \"sandbox\", ") + ","
            + TokenCommand.configuration("b", .game, "t") + "}, "
        let settings = try load(
            #"{\#(tokens)"ledgers": {"production": \#(Self.ledger("Production")), "sandbox": \#(sandbox)}}"#)
        #expect(settings.ledgers.map { $0.name?.text } == ["production", "sandbox"])
        #expect(settings.ledgers.map(\.environment.rawValue) == ["Production", "Sandbox"])
        #expect(settings.ledgers[0].path.hasSuffix("/production") && settings.ledgers[1].path.hasSuffix("/test"))
        #expect(settings.ledgers.map(\.cachedPlayers) == [300_000, 2_000])
        #expect(settings.ledgers.map(\.anchors.count) == [0, 1])
        #expect(settings.tokens.map { $0.ledger?.text } == ["sandbox", nil])
        #expect(try settings.ledger(named: "sandbox").path.hasSuffix("/test"))
        for (name, words) in [(nil, "--ledger: is required"), ("x", "x is not a ledger of the configuration")] {
            let error = #expect(throws: ConfigurationError.self) { try settings.ledger(named: name) }
            #expect(error?.faults.count == 1 && error?.faults[0].contains(words) == true)
        }
        #expect(throws: ConfigurationError.self) { try load(minimal).ledger(named: "x") }
        #expect(try load(minimal).ledger(named: nil).bundleID == "a.b")
    }

    @Test func whatIsWrongAboutLedgersIsNamed() throws {
        let one = Self.ledger("Sandbox")
        let other = Self.ledger("Production")
        let token = #"{"role": "game", "sha256": "\#(Self.digest)", "ledger": "b"}"#
        for (json, rule) in [
            (#""ledgers": {}"#, "ledgers: must have a ledger"),
            (#""ledgers": []"#, "ledgers: must be an object"),
            (#""ledgers": {"a b": \#(one)}"#, "must have a name of 1 to 64 letters"),
            (#""ledgers": {"a": \#(one), "b": \#(one)}"#, "has the app and the environment of another ledger"),
            (
                #""ledgers": {"a": \#(one), "b": \#(Self.ledger("Production", #", "path": "./a""#))}"#,
                "has the path of another ledger"
            ),
            (
                #""ledgers": {"a": \#(one), "b": \#(Self.ledger("Production", #", "path": "x/../a/b""#))}"#,
                "has a path that is within another ledger's"
            ),
            (
                #""ledgers": {"a": \#(Self.ledger("Sandbox", #", "path": "c/d""#)), "c": \#(other)}"#,
                "has a path that is within another ledger's"
            ),
            (#""ledgers": {"..": \#(one)}"#, "must have a name of 1 to 64 letters"),
            (#""ledgers": {"a": \#(one)}, "path": "x""#, ": path: is a setting of each ledger"),
            (#""ledgers": {"a": \#(Self.ledger("Sandbox", #", "listen": ["a:1"]"#))}"#, "is a setting of the service"),
            (#""ledgers": {"a": \#(Self.ledger("Sandbox", #", "moon": 1"#))}"#, "is not a setting"),
            (#""ledgers": {"a": \#(Self.ledger("Moon"))}"#, "must be Production, Sandbox"),
            (
                #""ledgers": {"a": {"catalog": "c", "app": {"bundleId": "b"}}}"#,
                "ledgers.a.app.environment: is required"
            ),
            (
                #""ledgers": {"a": \#(other)}, "tokens": {"t": \#(token)}"#,
                "t: there is no ledger b"
            ),
        ] {
            let faults = try faults("{" + json + "}")
            #expect(faults.count == 1 && faults[0].contains(rule), "\(faults)")
        }
        let variable = try faults(#"{"ledgers": {"a": \#(one)}}"#, environment: ["LEDGER_CATALOG": "c"])
        #expect(
            variable.count == 1 && variable[0].contains("LEDGER_CATALOG: is a setting of each ledger"), "\(variable)")
    }

    private static let digest = String(repeating: "0", count: 64)

    @Test func theModeOfASocketIsRead() throws {
        #expect(try load(minimal).socketMode == 0o660)
        for (text, mode) in [("0600", 0o600), ("660", 0o660), ("0777", 0o777)] as [(String, UInt32)] {
            #expect(try load(#"{"socketMode": "\#(text)", "# + minimal.dropFirst()).socketMode == mode)
        }
        #expect(try load(minimal, flags: [.socketMode: "0666"]).socketMode == 0o666)
        for text in ["", "0", "060", "0068", "1660", "00660", "0o660", "rw-rw----", "400", "-660", "+660"] {
            let faults = try faults(#"{"socketMode": "\#(text)", "# + minimal.dropFirst())
            #expect(faults.count == 1 && faults[0].contains("socketMode: must be an octal mode"), "\(faults)")
        }
        let faults = try faults(#"{"socketMode": 660, "# + minimal.dropFirst())
        #expect(faults.count == 1 && faults[0].contains("socketMode"), "\(faults)")
    }

    /// Tokens of which one is known by a certificate.
    private static func tokens(_ certificate: String) -> String {
        #""tokens": {"game": {"role": "game", "certificate": \#(certificate)}}, "#
    }

    @Test func tlsIsRead() throws {
        let tls = #""tls": {"certificate": "s.pem", "key": "/s.key", "clientCA": "ca.pem"}, "#
        let more = #""insecurePlaintext": true, "follow": {"leader": "a:1", "name": "b", "tls": {"ca": "ca.pem"}}, "#
        let settings = try load("{" + Self.tokens(#"["eu-1", "eu-2.example"]"#) + tls + more + minimal.dropFirst())
        let read = try #require(settings.tls)
        #expect(read.certificate.hasSuffix("/s.pem") && read.certificate.hasPrefix("/") && read.key == "/s.key")
        #expect(read.clientAuthorities?.hasSuffix("/ca.pem") == true)
        #expect(settings.tokens.map(\.certificates) == [["eu-1", "eu-2.example"]])
        #expect(settings.allowsInsecurePlaintext && settings.ledger.follow?.tls?.certificate == nil)
        #expect(settings.ledger.follow?.tls?.authorities.hasSuffix("/ca.pem") == true)
        let plain = try load(minimal)
        #expect(plain.tls == nil && !plain.allowsInsecurePlaintext)
        let variables = [
            "LEDGER_TLS_CERTIFICATE": "c", "LEDGER_TLS_KEY": "k", "LEDGER_TLS_CLIENT_CA": "a",
            "LEDGER_TOKENS": #"{"game": {"role": "game", "certificate": "x"}}"#,
            "LEDGER_FOLLOW_LEADER": "a:1", "LEDGER_FOLLOW_NAME": "b", "LEDGER_FOLLOW_TLS_CA": "a",
            "LEDGER_FOLLOW_TLS_CERTIFICATE": "c", "LEDGER_FOLLOW_TLS_KEY": "k",
        ]
        let other = try load(minimal, environment: variables)
        #expect(other.tls?.clientAuthorities == "a" && other.tokens.map(\.certificates) == [["x"]])
        #expect(other.ledger.follow?.tls?.certificate == "c" && other.ledger.follow?.tls?.key == "k")
    }

    @Test func whetherClientsOfHTTPNeedACertificateIsRead() throws {
        let unsaid = try load(minimal)
        #expect(unsaid.httpClientCertificates)
        let file = #"{"http": {"listen": ["127.0.0.1:0"], "clientCertificates": false}, "# + minimal.dropFirst()
        let inFile = try load(file)
        #expect(!inFile.httpClientCertificates)
        let variables = ["LEDGER_HTTP_CLIENT_CERTIFICATES": "false"]
        let inVariable = try load(minimal, environment: variables)
        #expect(!inVariable.httpClientCertificates)
        let byFlag = try load(file, flags: [.httpClientCertificates: "true"])
        #expect(byFlag.httpClientCertificates)
        let faults = try faults(minimal, environment: ["LEDGER_HTTP_CLIENT_CERTIFICATES": "no"])
        #expect(faults == [#"LEDGER_HTTP_CLIENT_CERTIFICATES: must be true or false, not "no""#])
    }

    /// What reads numbers reads more forms than JSON has.
    @Test func aNumberInAVariableIsWrittenAsInTheFile() throws {
        let endpoint = ["LEDGER_TRACING_ENDPOINT": "http://127.0.0.1:4318/v1/traces"]
        for (text, ratio) in [("0", 0), ("1", 1), ("0.25", 0.25), ("5e-2", 0.05)] as [(String, Double)] {
            let settings = try load(minimal, environment: endpoint.merging(["LEDGER_TRACING_RATIO": text]) { $1 })
            #expect(settings.tracing?.ratio == ratio, "\(text)")
        }
        for text in [
            "nan", "inf", "0x1p-1", "0x1", ".5", "1.", "+1", "01", "-0.1", "1.1", "1e400",
            "true", "[1]",
        ] {
            let faults = try faults(minimal, environment: endpoint.merging(["LEDGER_TRACING_RATIO": text]) { $1 })
            #expect(
                faults == [#"LEDGER_TRACING_RATIO: must be a number from 0 to 1, not "\#(text)""#], "\(text)")
        }
    }

    @Test func whatIsWrongAboutTLSIsNamed() throws {
        let files = #""certificate": "c", "key": "k""#
        for (members, rule) in [
            (#""tls": {"certificate": "c"}"#, "tls.key: is required where tls.certificate is given"),
            (#""tls": {"key": "k"}"#, "tls.certificate: is required where tls.key is given"),
            (#""tls": {"clientCA": "a"}"#, "tls.certificate: is required where tls.clientCA is given"),
            (#""tls": {"certificate": "", "key": "k"}"#, "tls.certificate: must not be empty"),
            (#""insecurePlaintext": "true""#, "insecurePlaintext: must be true or false"),
            (#""follow": {"tls": {"ca": "c"}}"#, "follow.tls.ca: is of no use without follow.leader"),
            (
                #""follow": {"leader": "a:1", "name": "b", "tls": {"ca": "c", "key": "k"}}"#,
                "follow.tls.certificate: is required where follow.tls.key is given"
            ),
        ] {
            let faults = try faults("{" + members + ", " + minimal.dropFirst())
            #expect(faults.count == 1 && faults[0].contains(rule), "\(faults)")
        }
        let without = try faults("{" + Self.tokens(#""x""#) + #""tls": {\#(files)}, "# + minimal.dropFirst())
        #expect(without.count == 1 && without[0].contains("tls.clientCA: is required"), "\(without)")
        let mutual = #""tls": {\#(files), "clientCA": "a"}, "#
        for certificate in [#""é""#, #""""#, #"["\#(String(repeating: "a", count: 129))"]"#] {
            let faults = try faults("{" + Self.tokens(certificate) + mutual + minimal.dropFirst())
            #expect(faults.count == 1 && faults[0].contains("must be a name of 1 to 128"), "\(faults)")
        }
        let flag = try self.faults(minimal, environment: ["LEDGER_INSECURE_PLAINTEXT": "yes"])
        #expect(flag == ["LEDGER_INSECURE_PLAINTEXT: must be true or false, not \"yes\""])
    }

    @Test func whomItFollowsAndWhoFollowsIsRead() throws {
        let follow = #""follow": {"leader": "ledger-1:7117", "token": "a standby's secret", "name": "b:1"}, "#
        let standbys = #""standbys": {"required": 2, "timeoutMilliseconds": 100}, "#
        let tokens = "\"tokens\": {\(TokenCommand.configuration("b", .replica, "another standby's secret"))}, "
        let faults = try faults("{" + follow + standbys + tokens + minimal.dropFirst())
        #expect(faults.count == 1 && faults[0].contains("follow.tls.ca: is required, for follow.token goes to other"))
        let safe = #""insecurePlaintext": true, "#
        let settings = try load("{" + safe + follow + standbys + tokens + minimal.dropFirst())
        #expect(settings.ledger.follow?.leader.description == "ledger-1:7117")
        #expect(settings.ledger.follow?.token == "a standby's secret" && settings.ledger.follow?.name.text == "b:1")
        #expect(settings.ledger.standbysRequired == 2 && settings.ledger.standbysTimeoutMilliseconds == 100)
        #expect(settings.tokens.map(\.roles) == [.replica])
        #expect(try load(minimal).ledger.follow == nil && load(minimal).ledger.standbysRequired == 0)
        let environment = [
            "LEDGER_FOLLOW_LEADER": "unix:/run/l", "LEDGER_FOLLOW_TOKEN": "t", "LEDGER_STANDBYS_REQUIRED": "1",
        ]
        let other = try load(minimal, environment: environment)
        #expect(other.ledger.follow?.leader.description == "unix:/run/l" && other.ledger.follow?.token == "t")
        #expect(other.ledger.follow?.name.text.isEmpty == false && other.ledger.standbysRequired == 1)
    }

    /// A token is sent in the first line.
    @Test(arguments: [
        ("127.0.0.1:7", true), ("[::1]:7", true), ("localhost:7", true), ("unix:/run/ledger.sock", true),
        ("10.0.0.1:7", false), ("ledger-1:7", false), ("[2001:db8::1]:7", false), ("127.0.0.1.example:7", false),
    ])
    func aTokenGoesInClearToNoOtherMachine(address: String, isLocal: Bool) throws {
        let tokens = "\"tokens\": {\(TokenCommand.configuration("b", .admin, "another secret"))}, "
        let node = #""node": {"log": "postgresql://db/x", "name": "b", "token": "t", "address""#
        for (member, ca, rest) in [
            (#""follow": {"name": "b", "token": "t", "leader""#, "follow.tls.ca", ""), (node, "node.tls.ca", ""),
            (node, nil, #", "passesOn": false"#), (#""follow": {"name": "b", "leader""#, nil, ""),
        ] {
            // Something else is wrong too, so that there are faults in any case.
            let text = { (more: String) in
                #"{"socketMode": "x", "# + tokens + member + #": "\#(address)"\#(rest)\#(more)}, "#
                    + self.minimal.dropFirst()
            }
            let faults = try faults(text(""))
            if isLocal || ca == nil {
                #expect(!faults.contains { $0.contains("tls.ca") }, "\(faults)")
            } else {
                #expect(faults.contains { $0.contains("\(ca ?? ""): is required, for ") }, "\(faults)")
                let encrypted = try self.faults(text(#", "tls": {"ca": "c"}"#))
                #expect(!encrypted.contains { $0.contains("is required, for ") }, "\(encrypted)")
            }
        }
    }

    @Test func whatIsWrongAboutFollowingIsNamed() throws {
        let secret = "do not show this"
        for (members, rule) in [
            (#""follow": {"leader": "no port"}"#, "follow.leader"),
            (#""follow": {"leader": "a:1", "name": "a b"}"#, "follow.name: must be 1 to 64 letters"),
            (#""follow": {"token": "\#(secret)"}"#, "follow.token: is of no use without follow.leader"),
            (#""standbys": {"required": 9}"#, "standbys.required: must be an integer from 0 to 8"),
            (#""standbys": {"timeoutMilliseconds": 1}"#, "standbys.timeoutMilliseconds: must be an integer from 100"),
            (#""follow": {"who": "a:1"}"#, "follow.who: is not a setting"),
        ] {
            let faults = try faults("{" + members + ", " + minimal.dropFirst())
            #expect(faults.count == 1 && faults[0].contains(rule), "\(faults)")
            #expect(!"\(faults)".contains(secret))
        }
    }

    private func faults(
        _ json: String, flags: [Setting: String] = [:], environment: [String: String] = [:]
    ) throws -> [String] {
        let folder = try TemporaryFolder()
        try folder.write("ledger.json", json)
        let path = folder.path("ledger.json")
        let error = #expect(throws: ConfigurationError.self) {
            try Settings.load(file: path, flags: flags, environment: Self.open(json, environment))
        }
        return try #require(error).faults.map { $0.replacingOccurrences(of: path, with: "ledger.json") }
    }

    private func catalogFaults(_ json: String) throws -> [String] {
        let error = #expect(throws: ConfigurationError.self) {
            try CatalogFile.parse(Array(json.utf8), name: "catalog.json")
        }
        return try #require(error).faults
    }

    @Test(arguments: [
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}}"#,
            "catalog: is required: in the configuration file, or as LEDGER_CATALOG"
        ),
        (
            #"{"app": {"environment": "Sandbox"}, "catalog": "c"}"#,
            "app.bundleId: is required: in the configuration file, or as LEDGER_APP_BUNDLE_ID"
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Moon"}, "catalog": "c"}"#,
            #"1:42: app.environment: must be Production, Sandbox, Xcode or LocalTesting, not "Moon""#
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "ap": {}}"#,
            "1:70: ap: is not a setting"
        ),
        (
            #"{"app": {"bundleId": 5, "environment": "Sandbox"}, "catalog": "c"}"#,
            "1:22: app.bundleId: must be a string, not 5"
        ),
        (#"{"app": 5, "catalog": "c"}"#, "1:9: app: must be an object, not 5"),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "listen": "x"}"#,
            #"1:80: listen: must be an array, not "x""#
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "listen": [1]}"#,
            "1:81: listen[0]: must be a string, not 1"
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "listen": ["nowhere"]}"#,
            "1:81: listen[0]: 'nowhere' is not host:port or unix:/path"
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "a", "catalog": "b"}"#,
            "1:70: catalog: is given twice"
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "", "anchors": []}"#,
            "1:65: catalog: must not be empty"
        ),
        (#"{"catalog": "#, "1:13: is not JSON: the text ends where a value should begin"),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "tokens": {"game": ["a secret"]}}"#,
            #"1:89: tokens.game: must be an object with role and sha256, as "currency-ledger token new" prints it"#
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "tokens": {}}"#,
            "1:80: tokens: must have a token"
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "#
                + #""tokens": {"b": {"share": 0, "role": "game", "sha256": "\#(String(repeating: "0", count: 64))"}}}"#,
            "1:96: tokens.b.share: must be an integer from 1 to 100, not 0"
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "insecureLoopback": "yes"}"#,
            #"1:90: insecureLoopback: must be true or false, not "yes""#
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "cache": {"players": 1}}"#,
            "1:91: cache.players: must be an integer from 1000 to 100000000, not 1"
        ),
    ])
    func aWrongFileSaysWhereAndWhy(json: String, expected: String) throws {
        let separator = expected.first?.isNumber == true ? ":" : ": "
        #expect(try faults(json) == ["ledger.json\(separator)\(expected)"])
    }

    /// One run of the service shows all that is to be mended, in the order of the file, then what is outside of it.
    @Test func everyFaultOfAConfigurationIsSaidAtOnce() throws {
        let faults = try faults(
            """
            {
              "app": {"bundleId": 7, "color": "red"},
            \t"catalog": "c",   "é語": 1,
              "tokens": {"game": ["a-token-of-a-game"], "admin": {"role": "king", "sha256": "a-token-of-admin"}}
            }
            """, flags: [.cachedPlayers: "many", .listen: ","],
            environment: ["LEDGER_LOG_LEVEL": "loud", "LEDGER_TOKENS_GAMES": "secret", "LEDGER_PATH": ""])
        #expect(
            faults == [
                "ledger.json:2:23: app.bundleId: must be a string, not 7",
                "ledger.json:2:26: app.color: is not a setting",
                #"ledger.json:3:20: "é語": is not a setting"#,
                """
                ledger.json:4:22: tokens.game: must be an object with role and sha256, as "currency-ledger token new" \
                prints it
                """,
                """
                ledger.json:4:63: tokens.admin.role: must be one of purchases, game, finance, replica, admin, not "king"
                """,
                "ledger.json:4:81: tokens.admin.sha256: must be a SHA-256: 64 hexadecimal digits",
                "--listen: must name an address",
                #"LEDGER_LOG_LEVEL: must be trace, debug, info, notice, warning, error or critical, not "loud""#,
                "ledger.json: app.environment: is required: in the configuration file, or as LEDGER_APP_ENVIRONMENT",
                "LEDGER_PATH: must not be empty",
                #"--cache-players: must be an integer from 1000 to 100000000, not "many""#,
                "LEDGER_TOKENS_GAMES: is not a variable of a setting",
            ])
    }

    @Test func anAddressIsListenedOnOnce() throws {
        let faults = try faults(
            """
            {
              "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
              "path": "ledger", "catalog": "none.json",
              "listen": ["127.0.0.1:7117", "127.0.0.1:0", "127.0.0.1:0", "unix:/run/a", "127.0.0.1:7117"],
              "http": {"listen": ["127.0.0.1:7118", "127.0.0.1:0"]}, "metrics": {"listen": ["127.0.0.1:7118"]}
            }
            """)
        #expect(
            faults.filter { $0.contains("listened on already") } == [
                "ledger.json: listen: names 127.0.0.1:7117, which is listened on already",
                "ledger.json: metrics.listen: names 127.0.0.1:7118, which is listened on already",
            ])
    }

    @Test func aCurrencyOfATokenThatTheCatalogLacksIsNamedWithItsPlace() throws {
        let digests = ["a", "b", "c"].map { Studio.digest($0) }
        let tokens = """
            {"one": {"role": "game", "sha256": "\(digests[0])", "grantsPerDay": {"gems": 5, "gem": 5000}},
             "two": {"role": "game", "sha256": "\(digests[1])", "currencies": ["tickets", "gems", "coins"]},
             "three": {"role": "game", "sha256": "\(digests[2])"}}
            """
        let catalog = try CatalogFile.parse(
            Array(#"{"currencies": {"gems": {}, "tickets": {}}, "products": {}}"#.utf8), name: "catalog.json")
        let inFile = try load("{\"tokens\":\n" + tokens + ",\n" + minimal.dropFirst())
        let inVariable = try load(minimal, environment: ["LEDGER_TOKENS": tokens])
        for (settings, name, line, path) in [
            (inFile, "ledger.json", 2, "tokens."), (inVariable, "LEDGER_TOKENS", 1, ""),
        ] {
            let error = #expect(throws: ConfigurationError.self) { try settings.check(against: [catalog]) }
            let faults = try #require(error).faults
            let rule = "is not among the catalog's currencies: gems, tickets"
            #expect(faults.count == 2 && faults.allSatisfy { $0.contains(name) }, "\(faults)")
            #expect(faults[0].hasSuffix(":\(line):132: \(path)one.grantsPerDay.gem: gem \(rule)"), "\(faults)")
            #expect(faults[1].hasSuffix(":\(line + 1):138: \(path)two.currencies[2]: coins \(rule)"), "\(faults)")
        }
    }

    @Test func aServiceDoesNotStartWithALimitOfACurrencyThatThereIsNot() throws {
        let studio = try Studio()
        let tokens = #"{"shop": {"role": "game", "sha256": "\#(Studio.digest("s"))", "grantsPerDay": {"gem": 5}}}"#
        let finished = try Command.run(
            ["serve", "--create", "--config", studio.folder.path("ledger.json")],
            environment: ["LEDGER_TOKENS": tokens, "LEDGER_INSECURE_LOOPBACK": "false"])
        #expect(finished.status == 78)
        #expect(
            finished.error.contains("shop.grantsPerDay.gem: gem is not among the catalog's currencies: gems"),
            "\(finished.error)")
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("ledger")), "nothing was made")
    }

    @Test(arguments: [
        ("[]", "1:1: must be an object, not an array"),
        (#"{"currencies": {}, "products": {}}"#, "1:16: currencies: must name a currency"),
        (
            #"{"currencies": {"g s": {}}, "products": {}}"#,
            #"1:17: currencies."g s": is not a currency's code: letters, digits, '_', '-' and '.', at most 100"#
        ),
        (
            #"{"currencies": {"g": {"spendOrder": "x"}}, "products": {}}"#,
            #"1:37: currencies.g.spendOrder: must be one of free_first, paid_first, oldest, dearest_first, not "x""#
        ),
        (
            #"{"currencies": {"g": {"grantMax": 0}}, "products": {}}"#,
            "1:35: currencies.g.grantMax: must be an integer from 1 to 9007199254740991, not 0"
        ),
        (
            #"{"currencies": {"g": {"grantMax": 9007199254740992}}, "products": {}}"#,
            "1:35: currencies.g.grantMax: must be an integer from 1 to 9007199254740991, not 9007199254740992"
        ),
        (
            #"{"currencies": {"g": {"grantMax": "all"}}, "products": {}}"#,
            #"1:35: currencies.g.grantMax: must be an integer from 1 to 9007199254740991, not "all""#
        ),
        (
            #"{"products": {"p": {"h": 1}}, "currencies": {"g": {}}}"#,
            "1:21: products.p.h: is not among the catalog's currencies: g"
        ),
        (
            #"{"currencies": {"gems": {}}, "products": {"com.x": {"gems": "ten"}}}"#,
            #"1:61: products."com.x".gems: must be an integer from 1 to 900719925474099, not "ten""#
        ),
        (
            #"{"currencies": {"g": {}}, "products": {"p": {"g": 0}}}"#,
            "1:51: products.p.g: must be an integer from 1 to 900719925474099, not 0"
        ),
        (
            #"{"currencies": {"g": {}}, "products": {"p": {"g": 1.5}}}"#,
            "1:51: products.p.g: must be an integer from 1 to 900719925474099, not 1.5"
        ),
        (
            #"{"currencies": {"g": {}}, "products": {"p": true}}"#,
            "1:45: products.p: must be the amounts that it grants, a list of offers, or a product with its type, not "
                + "true"
        ),
        (
            #"""
            {"currencies": {"g": {}, "h": {}}, "products": {"p": [{"from": 0, "grants": {"g": 1}, \#
            "priceShares": {"h": 1}}]}}
            """#,
            "1:55: products.p[0]: must give priceShares for just the currencies that it grants"
        ),
        (
            #"""
            {"currencies": {"g": {}}, "products": {}, "refundPreferences": [{"from": 100001, "preference": \#
            "DECLINE"}]}
            """#,
            "1:74: refundPreferences[0].from: must be an integer from 0 to 100000, not 100001"
        ),
        (
            #"{"currencies": {"g": {}}, "products": {}, "refundPreferences": [{"from": 0, "preference": "MAYBE"}]}"#,
            #"1:91: refundPreferences[0].preference: must be one of DECLINE, GRANT_FULL, GRANT_PRORATED, not "MAYBE""#
        ),
        (
            #"{"currencies": {"g": {}}, "products": {"p": [{"grants": {"g": 1}}]}}"#,
            "1:46: products.p[0].from: is missing"
        ),
        (
            #"""
            {"currencies": {"g": {}}, "products": {"p": [{"from": 1, "grants": {"g": 1}}, {"from": 1, \#
            "grants": {"g": 2}}]}}
            """#,
            "1:79: products.p[1]: repeats another offer's from, 1"
        ),
        (#"{"currencies": {"g": {}}, "products": {"p": [}}"#, "1:46: is not JSON: no value begins like this"),
    ])
    func aWrongCatalogSaysWhereAndWhy(json: String, expected: String) throws {
        #expect(try catalogFaults(json) == ["catalog.json:\(expected)"])
    }

    @Test func everyFaultOfACatalogIsSaidAtOnce() throws {
        let faults = try catalogFaults(
            """
            {"currencies": {"gems": {}},
             "products": {
               "com.x": {"gems": "ten"},
               "com.y": {"gems": 1, "gold": 2}, "com.y": {"gems": 2},
               "com.z": [{"from": "now"}, 5]},
             "colour": "red"}
            """)
        #expect(
            faults == [
                #"catalog.json:3:22: products."com.x".gems: must be an integer from 1 to 900719925474099, not "ten""#,
                #"catalog.json:4:25: products."com.y".gold: is not among the catalog's currencies: gems"#,
                #"catalog.json:4:37: products."com.y": is given twice"#,
                #"catalog.json:5:14: products."com.z"[0].grants: is missing"#,
                #"catalog.json:5:23: products."com.z"[0].from: must be an integer, not "now""#,
                #"catalog.json:5:31: products."com.z"[1]: must be an object, not 5"#,
                "catalog.json:6:2: colour: is not a member of a catalog",
            ])
    }

    @Test func aLongListOfFaultsIsShownInPart() throws {
        let products = (0..<500).map { #""p\#($0)": 1"# }.joined(separator: ", ")
        let error = #expect(throws: ConfigurationError.self) {
            try CatalogFile.parse(
                Array(#"{"currencies": {"g": {}}, "products": {\#(products)}}"#.utf8), name: "catalog.json")
        }
        let lines = try #require(error).description.split(separator: "\n")
        #expect(lines.count == 102)
        #expect(lines.first == "there are 500 faults in the configuration" && lines.last == "and 400 more")
    }

    @Test func anOfferAppliesFromItsDateOn() throws {
        let catalog = try CatalogFile.parse(
            Array(
                #"""
                {"currencies": {"g": {}}, "products": {"p": [{"from": 100, "grants": {"g": 2}}, {"from": 0, \#
                "grants": {"g": 1}}]}}
                """#
                .utf8), name: "catalog.json")
        #expect(catalog.products["p"]?.offers.map(\.from) == [0, 100])
    }

    @Test func serveNamesTheWrongSettingAndExitsWithTheStatusForIt() throws {
        let folder = try TemporaryFolder()
        try folder.write(
            "ledger.json",
            #"{"app": {"bundleId": "a", "environment": "Mars"}, "catalog": "c", "insecureLoopback": true}"#)
        let finished = try Command.run(["serve", "--config", folder.path("ledger.json")])
        #expect(finished.status == 78)
        #expect(
            finished.error == """
                currency-ledger: \(folder.path("ledger.json")):1:42: app.environment: must be Production, Sandbox, \
                Xcode or LocalTesting, not "Mars"

                """)
    }

    @Test func aCatalogOfMoreProductsThanAnAppCanHaveIsRefused() throws {
        func catalog(_ count: Int) -> String {
            let products = (0..<count).map { #""p\#($0)": {"g": 1}"# }.joined(separator: ", ")
            return #"{"currencies": {"g": {}}, "products": {\#(products)}}"#
        }
        #expect(try CatalogFile.parse(Array(catalog(10_000).utf8), name: "catalog.json").products.count == 10_000)
        let faults = try catalogFaults(catalog(10_001))
        #expect(faults.count == 1 && faults[0].hasSuffix("has too many members"), "\(faults)")
    }

    /// Every flag of `serve` that a message names is one.
    @Test func theFlagsOfSettingsAreThoseOfServe() throws {
        let help = try Command.run(["serve", "--help"]).output
        for setting in Setting.allCases {
            if let flag = setting.flag {
                #expect(
                    setting.form == .boolean
                        ? help.contains("\(flag) ") || help.contains("\(flag)\n") : help.contains("\(flag) <"),
                    "\(flag)")
            } else {
                #expect(
                    help.contains("LEDGER_" + setting.rawValue.uppercased().replacingOccurrences(of: ".", with: "_")))
            }
        }
    }

    @Test func everyAnchorThatCannotBeReadIsNamed() throws {
        let studio = try Studio()
        let anchors = ["", "/nothing.der", "/catalog.json"].map { studio.folder.url.path + $0 }
        let finished = try Command.run([
            "serve", "--create", "--config", studio.folder.path("ledger.json"), "--anchors",
            anchors.joined(separator: ","),
        ])
        #expect(finished.status == 78)
        #expect(finished.error.contains("there are 3 faults"))
        #expect(finished.error.contains("\(anchors[0]): cannot be read: Is a directory"))
        #expect(finished.error.contains("\(anchors[1]): cannot be read: there is no such file"))
        #expect(finished.error.contains("\(anchors[2]): is not a certificate in DER or PEM"))
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("ledger")))
    }

    /// Certificates of a file are all of them anchors, also of one name.
    @Test func everyCertificateOfAnAnchorsFileIsTrusted() async throws {
        let studio = try Studio(), other = try Studio()
        let both = try [other, studio].flatMap { try $0.chain.root.pem() }
        try Data(both).write(to: studio.folder.url.appendingPathComponent("both.pem"))
        let service = try RunningService(studio.folder, arguments: ["--anchors", studio.folder.path("both.pem")])
        let client = try await service.client()
        for (number, studio) in [studio, other].enumerated() {
            let receipt = try await client.credit(
                signedTransaction: try studio.purchase(number + 1), account: AccountName("player-1")!)
            #expect(receipt.outcome == .credited)
        }
        try? await client.close()
        #expect(service.stop(SIGTERM) == 0)
        #expect(try !service.said.contains("not Apple's"))
    }

    @Test func anAnchorWithWhoseKeyNothingIsVerifiedIsRefusedByName() throws {
        let studio = try Studio()
        try studio.folder.write(
            "ed25519.pem",
            """
            -----BEGIN CERTIFICATE-----
            MIIBXzCCARGgAwIBAgIUGUn330Fo+fiI66kUtuq4hX1z5OUwBQYDK2VwMCQxDTAL
            BgNVBAoMBEdhbWUxEzARBgNVBAMMCk90aGVyIGtpbmQwIBcNMjYxMTIzMTc1NzAw
            WhgPMjEyNjEwMzAxNzU3MDBaMCQxDTALBgNVBAoMBEdhbWUxEzARBgNVBAMMCk90
            aGVyIGtpbmQwKjAFBgMrZXADIQCnJJi8QQ2G/9Et6jPz6drvA2cFrAGQ+secZVGy
            6TVo5qNTMFEwHQYDVR0OBBYEFADGjAusXGO0K5JtnPQHmKo3lpUHMB8GA1UdIwQY
            MBaAFADGjAusXGO0K5JtnPQHmKo3lpUHMA8GA1UdEwEB/wQFMAMBAf8wBQYDK2Vw
            A0EAe2MNjxUZyu4X+ATHtnditcBpsTONhfu8z54JJBvpLw4G6aAdTAYBv6I2I6V/
            /b04rdQDtBm3Z0bMF+oIdt+iBA==
            -----END CERTIFICATE-----

            """)
        let finished = try Command.run([
            "serve", "--create", "--config", studio.folder.path("ledger.json"), "--anchors",
            studio.folder.path("ed25519.pem"),
        ])
        #expect(finished.status == 78)
        #expect(
            finished.error.contains(
                "ed25519.pem: CN=Other kind,O=Game: its key is not on P-256 or P-384, nor one of RSA with 2048 to 4096"
                    + " bits and a public exponent of 17 to 32"), "\(finished.error)")
    }

    @Test func anchorsBesideApplesAreAnnouncedInProduction() throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder, environment: ["LEDGER_APP_ENVIRONMENT": "Production"])
        let fingerprint = studio.chain.root.fingerprint.map { String(format: "%02x", $0) }.joined()
        let line = try #require(try service.said.split(separator: "\n").first { $0.contains("that is not Apple's") })
        #expect(line.contains("warning") && line.contains("Sandbox Root CA") && line.contains(fingerprint))
        #expect(service.stop(SIGTERM) == 0)
    }
}

extension Settings {
    /// Where it is the only one.
    fileprivate var ledger: LedgerSettings { ledgers[0] }

    fileprivate var tokens: [Token] {
        switch access {
        case .everyoneOnThisMachine: []
        case .tokens(let tokens): tokens
        }
    }
}
