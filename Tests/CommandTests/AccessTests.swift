import AppStore
import AsyncHTTPClient
import Foundation
import LedgerClient
import LedgerTestKit
import LedgerWire
import NIOCore
import NIOSSL
import Testing

/// Who may call what, of the built command: every role, every method, every environment of a ledger, alone and beside
/// another in the same service, and every way to reach it.
@Suite(.serialized, .enabled(if: TestAuthority.hasCommand, "openssl is not installed")) struct AccessTests {
    /// What a connection is told.
    private enum Outcome: String {
        /// It may ask: whatever is answered, it is none of those below.
        case yes
        case forbidden
        case unauthenticated
    }

    /// The protocol's table of methods and roles. Nothing of it depends on the ledger's environment, on whether the
    /// service has another ledger, or on the transport; but over HTTP each request shows who sends it, and `nobody` may
    /// ask nothing. `nobody` has shown neither a token nor a certificate that is configured.
    private static let table = """
        method        nobody           purchases  game       finance    replica    admin
        ping          yes              yes        yes        yes        yes        yes
        authenticate  yes              yes        yes        yes        yes        yes
        info          unauthenticated  yes        yes        yes        yes        yes
        credit        unauthenticated  yes        forbidden  forbidden  forbidden  yes
        notify        unauthenticated  yes        forbidden  forbidden  forbidden  yes
        purchase      unauthenticated  yes        forbidden  yes        forbidden  yes
        consumption   unauthenticated  yes        forbidden  forbidden  forbidden  yes
        link          unauthenticated  yes        forbidden  forbidden  forbidden  yes
        relink        unauthenticated  forbidden  forbidden  forbidden  forbidden  yes
        consent       unauthenticated  yes        yes        forbidden  forbidden  yes
        spend         unauthenticated  forbidden  yes        forbidden  forbidden  yes
        grant         unauthenticated  forbidden  yes        forbidden  forbidden  yes
        reverse       unauthenticated  forbidden  yes        forbidden  forbidden  yes
        hold          unauthenticated  forbidden  yes        forbidden  forbidden  yes
        capture       unauthenticated  forbidden  yes        forbidden  forbidden  yes
        release       unauthenticated  forbidden  yes        forbidden  forbidden  yes
        atomic        unauthenticated  forbidden  yes        forbidden  forbidden  yes
        balance       unauthenticated  yes        yes        yes        forbidden  yes
        history       unauthenticated  yes        yes        yes        forbidden  yes
        lots          unauthenticated  yes        yes        yes        forbidden  yes
        holds         unauthenticated  yes        yes        yes        forbidden  yes
        find          unauthenticated  yes        yes        yes        forbidden  yes
        report        unauthenticated  forbidden  forbidden  yes        forbidden  yes
        journal       unauthenticated  forbidden  forbidden  yes        forbidden  yes
        head          unauthenticated  forbidden  forbidden  yes        forbidden  yes
        external      unauthenticated  yes        forbidden  forbidden  forbidden  yes
        close         unauthenticated  forbidden  forbidden  yes        forbidden  yes
        adjust        unauthenticated  forbidden  forbidden  yes        forbidden  yes
        import        unauthenticated  forbidden  forbidden  forbidden  forbidden  yes
        blocks        unauthenticated  forbidden  forbidden  forbidden  yes        yes
        forget        unauthenticated  forbidden  forbidden  forbidden  forbidden  yes
        promote       unauthenticated  forbidden  forbidden  forbidden  forbidden  yes
        step_down     unauthenticated  forbidden  forbidden  forbidden  forbidden  yes
        reload        unauthenticated  forbidden  forbidden  forbidden  forbidden  yes
        """

    /// Those by which standbys follow their leader, or take its place.
    private static let onlyOverLines = ["blocks", "promote", "step_down"]

    /// What the environment decides: whether a JWS is of this ledger. It says so only to who may post one.
    private static let purchases = """
        ledger      signed in   credit             notify
        Sandbox     Sandbox     yes                yes
        Sandbox     Production  wrong_environment  wrong_environment
        Production  Sandbox     wrong_environment  wrong_environment
        Production  Production  yes                yes
        """

    /// Parameters that are read without a fault, so that nothing but the role is in the way.
    private static let params: [String: String] = [
        "ping": "", "info": "", "head": "", "promote": "", "step_down": "", "reload": "",
        // The time of the request: neither future nor before the ledger.
        "close": #"{"through":NOW}"#,
        "external": #"{"source":"shop","transactionId":"1","account":"a","product":"none","purchaseDate":1}"#,
        "import": #"{"key":"i","account":"a","lots":[{"currency":"gems","amount":1}]}"#,
        // Approved by the other of the two who may.
        "adjust": #"""
        {"key":"j","account":"a","currency":"gems","class":"free","amount":1,"reason":"r","approval":"OTHER"}
        """#,
        "authenticate": #"{"token":"\#(token("game"))"}"#,
        "credit": #"{"signedTransaction":"x","account":"a"}"#,
        "notify": #"{"signedPayload":"x"}"#,
        "purchase": #"{"transactionId":"1"}"#,
        "consumption": #"{"transactionId":"1","customerConsented":true}"#,
        "link": #"{"token":"5f0e8c2a-0000-4000-8000-00000000000c","account":"a"}"#,
        "relink": #"{"token":"5f0e8c2a-0000-4000-8000-00000000000c","account":"b"}"#,
        "consent": #"{"key":"y","account":"a","consumption":true}"#,
        "spend": #"{"key":"s","account":"a","debits":[{"currency":"gems","amount":1}]}"#,
        "grant": #"{"key":"g","account":"a","currency":"gems","amount":1}"#,
        "reverse": #"{"key":"r","spendKey":"none"}"#,
        "hold": #"{"key":"h","account":"a","currency":"gems","amount":1,"timeoutMilliseconds":1}"#,
        "capture": #"{"key":"c","holdKey":"none"}"#,
        "release": #"{"key":"l","holdKey":"none"}"#,
        "atomic": #"""
        {"key":"a","operations":[{"method":"release","params":{"holdKey":"none"}},\#
        {"method":"release","params":{"holdKey":"none"}}]}
        """#,
        "balance": #"{"account":"a"}"#, "history": #"{"account":"a"}"#,
        "lots": #"{"account":"a"}"#, "holds": #"{"account":"a"}"#, "find": #"{"account":"a"}"#,
        "report": #"{"kind":"trial"}"#, "journal": #"{"after":0}"#,
        "blocks": #"{"standby":"b","after":0,"hash":"\#(String(repeating: "0", count: 64))"}"#,
        "forget": #"{"account":"nobody"}"#,
    ]

    /// The lines of a table in words.
    private static func rows(_ table: String) -> [[String]] {
        table.split(separator: "\n").map { line in
            line.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        }
    }

    /// - Parameter name: of a role; or of one whose token opens one of two ledgers alone (``boundName(_:)``).
    private static func token(_ name: String) -> String { "the token of \(name)" }

    /// Who has a role in ``Keeping/first`` alone.
    private static func boundName(_ role: Role) -> String { "\(role.rawValue)-of-one" }

    /// Which ledgers a service keeps.
    enum Keeping: String, CaseIterable {
        case sandbox = "Sandbox"
        case production = "Production"
        case both

        static let first = "sandbox"
        static let second = "production"

        /// As requests name them; `nil` where there is one, which has no name.
        var ledgers: [String?] { self == .both ? [Keeping.first, Keeping.second] : [nil] }

        /// A configuration's members.
        fileprivate var configuration: String {
            func members(_ keeping: Keeping) -> String {
                #"""
                "app": {"bundleId": "com.example.game", "environment": "\#(keeping.rawValue)"},
                "anchors": ["root.der"], "catalog": "catalog.json"
                """#
            }
            guard self == .both else { return #""path": "ledger", "# + members(self) }
            return """
                "ledgers": {"\(Keeping.first)": {\(members(.sandbox))}, "\(Keeping.second)": {\(members(.production))}}
                """
        }
    }

    /// How clients reach a service, and how they show who they are.
    enum Way: String, CaseIterable {
        case tcp
        case unix
        case tls
        case tlsWithCertificates
        case http
        case httpsWithCertificates

        var isHTTP: Bool { self == .http || self == .httpsWithCertificates }
        var isTLS: Bool { ![.tcp, .unix, .http].contains(self) }
        var hasCertificates: Bool { self == .tlsWithCertificates || self == .httpsWithCertificates }
    }

    /// A client that asks for one thing after the other.
    private enum Client {
        case lines(LedgerClient)
        case http(HTTPClient, HTTPClientRequest)

        /// The body of a response, as far as it matters here.
        private struct Response: Decodable {
            struct Fault: Decodable {
                struct Data: Decodable { var reason: String }
                var data: Data
            }
            var error: Fault?
        }

        /// What is answered, over HTTP with its envelope; or the reason of the error that it is.
        func ask(_ method: String, _ params: String) async throws -> (answer: String, reason: String?) {
            switch self {
            case .lines(let client):
                do {
                    let result = try await client.call(method: method, params: Array(params.utf8))
                    return (String(decoding: result, as: UTF8.self), nil)
                } catch let error as WireError {
                    return ("\(error)", error.reason)
                }
            case .http(let client, var request):
                let params = params.isEmpty ? "" : #","params":\#(params)"#
                request.body = .bytes(Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)"\#(params)}"#.utf8))
                let response = try await client.execute(request, timeout: .seconds(60))
                let body = Data(try await response.body.collect(upTo: 1 << 20).readableBytesView)
                let reason = try JSONDecoder().decode(Response.self, from: body).error?.data.reason
                #expect((response.status == .unauthorized) == (reason == "unauthenticated"), "\(response.status)")
                return (String(decoding: body, as: UTF8.self), reason)
            }
        }

        func close() async throws {
            switch self {
            case .lines(let client): try await client.close()
            case .http(let client, _): try await client.shutdown()
            }
        }
    }

    /// A service, as `way` reaches it.
    private struct Place {
        let studio: Studio
        /// Of the certificates, where there are any.
        let authority: TestAuthority?
        let way: Way
        let service: RunningService

        init(_ keeping: Keeping, _ way: Way) throws {
            (studio, self.way) = (try Studio(), way)
            authority = way.isTLS ? try AccessTests.authority() : nil
            func token(_ name: String, _ role: Role, ledger: String? = nil) -> String {
                var digest = Studio.digest(AccessTests.token(name))
                // As some tools write it.
                if role == .game { digest = digest.uppercased() }
                let certificate = way.hasCertificates ? #", "certificate": "\#(name)""# : ""
                let bound = ledger.map { #", "ledger": "\#($0)""# } ?? ""
                return #""\#(name)": {"role": "\#(role.rawValue)", "sha256": "\#(digest)"\#(certificate)\#(bound)}"#
            }
            var tokens = Role.allCases.map { token($0.rawValue, $0) }
            if keeping == .both {
                tokens += Role.allCases.map { token(AccessTests.boundName($0), $0, ledger: Keeping.first) }
            }
            let tls = authority.map { authority in
                let clients = way.hasCertificates ? #", "clientCA": "\#(authority.authority)""# : ""
                return """
                    "tls": {"certificate": "\(authority.path("server.pem"))",
                            "key": "\(authority.path("server.key"))"\(clients)},
                    """
            }
            let address = way == .unix ? "unix:\(studio.folder.path("s"))" : "127.0.0.1:0"
            let http = way.isHTTP ? #""http": {"listen": ["127.0.0.1:0"]}, "# : ""
            try studio.folder.write(
                "ledger.json",
                """
                {"listen": ["\(address)"], "tokens": {\(tokens.joined(separator: ", "))}, \(tls ?? "")
                 \(http)\(keeping.configuration)}
                """)
            service = try RunningService(studio.folder)
        }

        /// - Parameter name: of a token; for `nobody` nothing is shown that is configured.
        func withClient<Result>(_ name: String, _ body: (Client) async throws -> Result) async throws -> Result {
            let client = way.isHTTP ? try httpClient(name) : Client.lines(try await lineClient(name))
            do {
                let result = try await body(client)
                try await client.close()
                return result
            } catch {
                try? await client.close()
                throw error
            }
        }

        /// What it shows of itself: a token, where it comes without a certificate.
        private func secret(_ name: String) -> String? {
            name == "nobody" || way.hasCertificates ? nil : AccessTests.token(name)
        }

        func lineClient(_ name: String) async throws -> LedgerClient {
            var tls: ClientTLS?
            if let authority {
                let own = way.hasCertificates ? name : nil
                tls = try ClientTLS(
                    authorities: authority.bytes("ca.pem"),
                    certificate: try own.map { try authority.bytes("\($0).pem") },
                    key: try own.map { try authority.bytes("\($0).key") })
            }
            return try await LedgerClient.connect(
                to: try ServerAddress(service.address), token: secret(name),
                configuration: ClientConfiguration(
                    requestTimeoutMilliseconds: 60_000, connectTimeoutMilliseconds: 60_000, tls: tls))
        }

        private func httpClient(_ name: String) throws -> Client {
            var configuration = HTTPClient.Configuration()
            if let authority {
                var tls = TLSConfiguration.makeClientConfiguration()
                tls.trustRoots = .file(authority.path("ca.pem"))
                if way.hasCertificates {
                    tls.certificateChain = try NIOSSLCertificate.fromPEMFile(authority.path("\(name).pem")).map {
                        .certificate($0)
                    }
                    tls.privateKey = .privateKey(
                        try NIOSSLPrivateKey(file: authority.path("\(name).key"), format: .pem))
                }
                configuration.tlsConfiguration = tls
            }
            let address = try #require(try service.said.firstMatch(of: /addresses=\S+ http=(\S+)/)?.1)
            var request = HTTPClientRequest(url: "\(way.isTLS ? "https" : "http")://\(address)/v1/rpc")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/json")
            if let secret = secret(name) { request.headers.add(name: "Authorization", value: "Bearer \(secret)") }
            return .http(
                HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup, configuration: configuration), request
            )
        }
    }

    private static func authority() throws -> TestAuthority {
        let authority = try TestAuthority()
        try authority.issue("server", name: "ledger")
        for name in ["nobody"] + Role.allCases.flatMap({ [$0.rawValue, boundName($0)] }) {
            try authority.issue(name, name: name)
        }
        return authority
    }

    /// Parameters of a request that is in order.
    private static func params(_ method: String, of ledger: String?, by role: String) throws -> String {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let params = try #require(params[method]).replacingOccurrences(of: "NOW", with: "\(now)")
            .replacingOccurrences(of: "OTHER", with: token(role == "finance" ? "admin" : "finance"))
        guard let ledger else { return params }
        return #"{"ledger":"\#(ledger)""# + (params.isEmpty ? "}" : "," + params.dropFirst())
    }

    /// What is answered to one request of each method that the table has, in its order.
    /// - Parameter expected: what should be, by a line of the table.
    private static func ask(
        _ place: Place, _ name: String, role: String, of ledger: String?, expected: ([String]) throws -> Outcome
    ) async throws {
        let isOutside = place.way.isHTTP && name == "nobody"
        try await place.withClient(name) { client in
            for line in rows(table).dropFirst() {
                let method = line[0]
                let params = try params(method, of: ledger, by: role)
                // Who authenticates is somebody else afterwards.
                let reason =
                    method == "authenticate"
                    ? try await place.withClient(name) { try await $0.ask(method, params).reason }
                    : try await client.ask(method, params).reason
                let outcome = reason.flatMap { Outcome(rawValue: $0) } ?? .yes
                let due = isOutside ? .unauthenticated : try expected(line)
                let what: Comment = "\(name) \(method) \(ledger ?? ""): \(reason ?? "a result")"
                #expect(outcome == due, what)
                let isOfLines = place.way.isHTTP && onlyOverLines.contains(method)
                #expect((reason == "method_not_found") == (isOfLines && outcome == .yes), what)
                #expect(!["invalid_params", "ledger_required", "unknown_ledger"].contains(reason), what)
            }
            let unknown = try await client.ask("mint", "").reason
            #expect(unknown == (isOutside ? "unauthenticated" : "method_not_found"))
        }
    }

    /// A method that is new fails this until it has a line of the table.
    @Test(arguments: Keeping.allCases, Way.allCases)
    func everyMethodIsAnsweredToWhomTheTableSaysAndToNobodyElse(keeping: Keeping, way: Way) async throws {
        let rows = Self.rows(Self.table)
        let (head, lines) = (rows[0], rows.dropFirst())
        #expect(head == ["method", "nobody"] + Role.allCases.map(\.rawValue))
        #expect(lines.map { $0[0] }.sorted() == Methods.all.map(\.description).sorted())
        let place = try Place(keeping, way)
        for ledger in keeping.ledgers {
            for (column, role) in head.enumerated().dropFirst() {
                try await Self.ask(place, role, role: role, of: ledger) {
                    try #require(Outcome(rawValue: $0[column]))
                }
            }
        }
        #expect(place.service.stop() == 0)
    }

    /// In the other ledger it may only say who it is, and is not even told of it.
    @Test(arguments: Way.allCases)
    func whoseTokenOpensOneOfTwoLedgersIsAnsweredByTheTableThereAndForbiddenInTheOther(way: Way) async throws {
        let head = Self.rows(Self.table)[0]
        let place = try Place(.both, way)
        for role in Role.allCases {
            let (name, column) = (Self.boundName(role), try #require(head.firstIndex(of: role.rawValue)))
            try await Self.ask(place, name, role: role.rawValue, of: Keeping.first) {
                // It concerns the other one too.
                if role == .admin && $0[0] == "reload" { return .forbidden }
                return try #require(Outcome(rawValue: $0[column]))
            }
            try await Self.ask(place, name, role: role.rawValue, of: Keeping.second) {
                // That it is not offered is the same for every ledger.
                let isNotOffered = way.isHTTP && Self.onlyOverLines.contains($0[0]) && $0[column] == "yes"
                return ["ping", "authenticate"].contains($0[0]) || isNotOffered ? .yes : .forbidden
            }
        }
        for (ledger, isEmpty) in [(Keeping.first, false), (Keeping.second, true)] {
            let journal = try await place.withClient("admin") {
                try await $0.ask("journal", #"{"after":0,"ledger":"\#(ledger)"}"#).answer
            }
            #expect(journal.contains(#""entries":[]"#) == isEmpty, "\(journal)")
        }
        #expect(place.service.stop() == 0)
    }

    @Test(arguments: [Keeping.sandbox, .production])
    func aLedgerTakesWhatWasSignedInItsOwnEnvironmentAndNothingElse(keeping: Keeping) async throws {
        let environment = keeping.rawValue
        let place = try Place(keeping, .tcp)
        let client = try await place.lineClient("purchases")
        #expect(try await client.info().ledger.environment == environment)
        for (number, line) in Self.rows(Self.purchases).dropFirst().enumerated() where line[0] == environment {
            let signedIn = Environment(rawValue: line[1])
            let payload = TransactionPayload(
                transactionID: "\(number + 1)", bundleID: "com.example.game",
                productID: "com.example.game.gems500", purchaseDate: place.studio.now - 60_000,
                signedDate: place.studio.now - 60_000, environment: signedIn)
            let transaction = try place.studio.chain.sign(payload)
            let notification = try place.studio.chain.sign(
                NotificationPayload(
                    notificationType: .init(rawValue: "ONE_TIME_CHARGE"), notificationUUID: "u-\(number)",
                    signedDate: place.studio.now - 60_000,
                    data: .init(
                        bundleID: "com.example.game", environment: signedIn, signedTransactionInfo: transaction)))
            let requests = [
                ("credit", #"{"signedTransaction":"\#(transaction)","account":"a"}"#, line[2]),
                ("notify", #"{"signedPayload":"\#(notification)","account":"a"}"#, line[3]),
            ]
            for (method, params, expected) in requests {
                #expect(
                    try await Client.lines(client).ask(method, params).reason ?? "yes" == expected, "\(line) \(method)")
            }
            try await place.withClient("finance") { finance in
                for (method, params, _) in requests {
                    let reason = try await finance.ask(method, params).reason
                    #expect(reason == "forbidden", "\(line) \(method)")
                }
            }
        }
        let reader = try await place.lineClient("admin")
        #expect(try await reader.journal(after: 0).entries.count == 1, "the one purchase of its own environment")
        for client in [client, reader] { try await client.close() }
        #expect(place.service.stop() == 0)
    }
}
