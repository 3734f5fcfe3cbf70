/// A setting, by its key in the configuration file.
enum Setting: String, CaseIterable {
    case path
    case archive
    case listen
    case listenHTTP = "http.listen"
    case httpClientCertificates = "http.clientCertificates"
    case consoleListen = "console.listen"
    case metricsListen = "metrics.listen"
    case socketMode
    case insecurePlaintext
    case bundleID = "app.bundleId"
    case appAppleID = "app.appAppleId"
    case environment = "app.environment"
    case anchors
    case catalog
    case tokens
    case insecureLoopback
    case tlsCertificate = "tls.certificate"
    case tlsKey = "tls.key"
    case tlsClientCA = "tls.clientCA"
    case followLeader = "follow.leader"
    case followToken = "follow.token"
    case followName = "follow.name"
    case followCA = "follow.tls.ca"
    case followCertificate = "follow.tls.certificate"
    case followKey = "follow.tls.key"
    case nodeLog = "node.log"
    case nodeSchema = "node.schema"
    case nodeName = "node.name"
    case nodeAddress = "node.address"
    case nodeLeads = "node.leads"
    case nodeWeight = "node.weight"
    case nodeLease = "node.leaseMilliseconds"
    case nodeSynchronous = "node.requireSynchronousStandby"
    case nodePassesOn = "node.passesOn"
    case nodeToken = "node.token"
    case nodeCA = "node.tls.ca"
    case nodeCertificate = "node.tls.certificate"
    case nodeKey = "node.tls.key"
    case standbysRequired = "standbys.required"
    case standbysTimeout = "standbys.timeoutMilliseconds"
    case headKey = "head.key"
    case headFile = "head.file"
    case headSeconds = "head.seconds"
    case headPublicKey = "head.publicKey"
    case cachedPlayers = "cache.players"
    case appStoreKey = "appStore.key"
    case appStoreKeyID = "appStore.keyId"
    case appStoreIssuerID = "appStore.issuerId"
    case appStoreAddress = "appStore.address"
    case appStoreHistorySeconds = "appStore.historySeconds"
    case appStoreHistoryFrom = "appStore.historyFrom"
    case appStoreSendConsumption = "appStore.sendConsumption"
    case appStoreFinish = "appStore.finish"
    case appStoreAccountTokens = "appStore.setAccountTokens"
    case logFormat = "log.format"
    case logLevel = "log.level"
    case logSlow = "log.slowMilliseconds"
    case tracingEndpoint = "tracing.endpoint"
    case tracingRatio = "tracing.ratio"

    /// What the file must have there. A variable and a flag are texts; several are separated by commas, and an object
    /// is written as JSON.
    enum Form {
        case text
        case integer
        /// Perhaps with a fraction.
        case number
        case boolean
        case texts
        case object
    }

    /// What a setting is about.
    private enum Scope {
        case service
        case ledger
    }

    /// What there is to know of a setting.
    private struct Row {
        let form: Form
        let scope: Scope
        /// `nil` for a secret.
        let flag: String?
        let changesWhileRunning: Bool

        init(_ form: Form, of scope: Scope, flag: String, changesWhileRunning: Bool = false) {
            self.form = form
            self.scope = scope
            self.flag = flag
            self.changesWhileRunning = changesWhileRunning
        }

        init(secret form: Form, of scope: Scope, changesWhileRunning: Bool = false) {
            self.form = form
            self.scope = scope
            flag = nil
            self.changesWhileRunning = changesWhileRunning
        }
    }

    private var row: Row {
        switch self {
        case .path: Row(.text, of: .ledger, flag: "--path")
        case .archive: Row(.texts, of: .ledger, flag: "--archive")
        case .listen: Row(.texts, of: .service, flag: "--listen")
        case .listenHTTP: Row(.texts, of: .service, flag: "--http-listen")
        case .httpClientCertificates: Row(.boolean, of: .service, flag: "--http-client-certificates")
        case .consoleListen: Row(.texts, of: .service, flag: "--console-listen")
        case .metricsListen: Row(.texts, of: .service, flag: "--metrics-listen")
        case .socketMode: Row(.text, of: .service, flag: "--socket-mode")
        case .insecurePlaintext: Row(.boolean, of: .service, flag: "--insecure-plaintext")
        case .bundleID: Row(.text, of: .ledger, flag: "--bundle-id")
        case .appAppleID: Row(.integer, of: .ledger, flag: "--app-apple-id")
        case .environment: Row(.text, of: .ledger, flag: "--environment")
        case .anchors: Row(.texts, of: .ledger, flag: "--anchors")
        case .catalog: Row(.text, of: .ledger, flag: "--catalog", changesWhileRunning: true)
        case .tokens: Row(secret: .object, of: .service, changesWhileRunning: true)
        case .insecureLoopback: Row(.boolean, of: .service, flag: "--insecure-loopback", changesWhileRunning: true)
        case .tlsCertificate: Row(.text, of: .service, flag: "--tls-certificate", changesWhileRunning: true)
        case .tlsKey: Row(.text, of: .service, flag: "--tls-key", changesWhileRunning: true)
        case .tlsClientCA: Row(.text, of: .service, flag: "--tls-client-ca", changesWhileRunning: true)
        case .followLeader: Row(.text, of: .ledger, flag: "--follow-leader")
        case .followToken: Row(secret: .text, of: .ledger)
        case .followName: Row(.text, of: .ledger, flag: "--follow-name")
        case .followCA: Row(.text, of: .ledger, flag: "--follow-tls-ca")
        case .followCertificate: Row(.text, of: .ledger, flag: "--follow-tls-certificate")
        case .followKey: Row(.text, of: .ledger, flag: "--follow-tls-key")
        case .nodeLog: Row(secret: .text, of: .ledger)
        case .nodeSchema: Row(.text, of: .ledger, flag: "--node-schema")
        case .nodeName: Row(.text, of: .ledger, flag: "--node-name")
        case .nodeAddress: Row(.text, of: .ledger, flag: "--node-address")
        case .nodeLeads: Row(.boolean, of: .ledger, flag: "--node-leads")
        case .nodeWeight: Row(.integer, of: .ledger, flag: "--node-weight")
        case .nodeLease: Row(.integer, of: .ledger, flag: "--node-lease-milliseconds")
        case .nodeSynchronous: Row(.boolean, of: .ledger, flag: "--node-require-synchronous-standby")
        case .nodePassesOn: Row(.boolean, of: .ledger, flag: "--node-passes-on")
        case .nodeToken: Row(secret: .text, of: .ledger)
        case .nodeCA: Row(.text, of: .ledger, flag: "--node-tls-ca")
        case .nodeCertificate: Row(.text, of: .ledger, flag: "--node-tls-certificate")
        case .nodeKey: Row(.text, of: .ledger, flag: "--node-tls-key")
        case .standbysRequired: Row(.integer, of: .ledger, flag: "--standbys-required")
        case .standbysTimeout: Row(.integer, of: .ledger, flag: "--standbys-timeout-milliseconds")
        case .headKey: Row(.text, of: .ledger, flag: "--head-key")
        case .headFile: Row(.text, of: .ledger, flag: "--head-file")
        case .headSeconds: Row(.integer, of: .ledger, flag: "--head-seconds")
        case .headPublicKey: Row(.text, of: .ledger, flag: "--head-public-key")
        case .cachedPlayers: Row(.integer, of: .ledger, flag: "--cache-players")
        case .appStoreKey: Row(.text, of: .ledger, flag: "--app-store-key")
        case .appStoreKeyID: Row(.text, of: .ledger, flag: "--app-store-key-id")
        case .appStoreIssuerID: Row(.text, of: .ledger, flag: "--app-store-issuer-id")
        case .appStoreAddress: Row(.text, of: .ledger, flag: "--app-store-address")
        case .appStoreHistorySeconds: Row(.integer, of: .ledger, flag: "--app-store-history-seconds")
        case .appStoreHistoryFrom: Row(.text, of: .ledger, flag: "--app-store-history-from")
        case .appStoreSendConsumption: Row(.boolean, of: .ledger, flag: "--app-store-send-consumption")
        case .appStoreFinish: Row(.boolean, of: .ledger, flag: "--app-store-finish")
        case .appStoreAccountTokens: Row(.boolean, of: .ledger, flag: "--app-store-set-account-tokens")
        case .logFormat: Row(.text, of: .service, flag: "--log-format")
        case .logLevel: Row(.text, of: .service, flag: "--log-level", changesWhileRunning: true)
        case .logSlow: Row(.integer, of: .service, flag: "--log-slow-milliseconds", changesWhileRunning: true)
        case .tracingEndpoint: Row(.text, of: .service, flag: "--tracing-endpoint")
        case .tracingRatio: Row(.number, of: .service, flag: "--tracing-ratio")
        }
    }

    var form: Form { row.form }

    /// Whether no message may repeat its value: tokens, with who has which role, which stands beside them, and where a
    /// log is that nodes share, which may have a password.
    var isSecret: Bool { row.flag == nil }

    /// The flag of `serve`; `nil` for a secret, which a flag would show to everyone on the machine.
    var flag: String? { row.flag }

    /// Whether each ledger has its own, where there are several (``SettingsFile/ledgers``).
    var isOfLedger: Bool { row.scope == .ledger }

    /// Whether a running service takes another value over when it reads its configuration again. Who needs a token at
    /// all, and whether TLS is spoken, is not among that: the server compares it.
    var changesWhileRunning: Bool { row.changesWhileRunning }

    /// The names of the key, as they lead to it in the file.
    var names: [String] { rawValue.split(separator: ".").map(String.init) }
}
