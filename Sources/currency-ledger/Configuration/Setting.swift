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

    var form: Form {
        switch self {
        case .path, .socketMode, .bundleID, .environment, .catalog, .tlsCertificate, .tlsKey, .tlsClientCA,
            .followLeader, .followToken, .followName, .followCA, .followCertificate, .followKey, .headKey, .headFile,
            .headPublicKey, .logFormat, .logLevel, .appStoreKey, .appStoreKeyID, .appStoreIssuerID, .appStoreAddress,
            .appStoreHistoryFrom, .nodeLog, .nodeSchema, .nodeName, .nodeAddress, .nodeToken, .nodeCA, .nodeCertificate,
            .nodeKey, .tracingEndpoint:
            .text
        case .appAppleID, .headSeconds, .cachedPlayers, .standbysRequired, .standbysTimeout, .appStoreHistorySeconds,
            .nodeLease, .nodeWeight, .logSlow:
            .integer
        case .tracingRatio: .number
        case .insecureLoopback, .insecurePlaintext, .httpClientCertificates, .appStoreSendConsumption, .appStoreFinish,
            .appStoreAccountTokens, .nodeLeads, .nodeSynchronous, .nodePassesOn:
            .boolean
        case .listen, .listenHTTP, .consoleListen, .metricsListen, .anchors, .archive: .texts
        case .tokens: .object
        }
    }

    /// Whether no message may repeat its value.
    var isSecret: Bool {
        switch self {
        case .tokens, .followToken, .nodeLog, .nodeToken: true
        case .path, .archive, .listen, .listenHTTP, .consoleListen, .metricsListen, .socketMode, .insecurePlaintext,
            .tlsCertificate,
            .tlsKey, .tlsClientCA, .followCA, .followCertificate, .followKey, .bundleID, .appAppleID, .environment,
            .anchors,
            .catalog,
            .followLeader, .followName, .standbysRequired, .standbysTimeout, .headKey, .headFile, .headSeconds,
            .headPublicKey, .cachedPlayers, .logFormat, .logLevel, .logSlow, .insecureLoopback, .httpClientCertificates,
            .appStoreKey,
            .appStoreKeyID, .appStoreIssuerID, .appStoreAddress, .appStoreHistorySeconds, .appStoreHistoryFrom,
            .appStoreSendConsumption, .appStoreFinish, .appStoreAccountTokens, .nodeSchema, .nodeName, .nodeAddress,
            .nodeLeads, .nodeWeight, .nodeLease, .nodeSynchronous, .nodePassesOn, .nodeCA, .nodeCertificate, .nodeKey,
            .tracingEndpoint, .tracingRatio:
            false
        }
    }

    /// The flag of `serve`; `nil` for tokens, which a flag would show to everyone on the machine, for who has which
    /// role, which stands beside them, and for where a log is that nodes share, which may have a password.
    var flag: String? {
        switch self {
        case .path: "--path"
        case .archive: "--archive"
        case .listen: "--listen"
        case .listenHTTP: "--http-listen"
        case .httpClientCertificates: "--http-client-certificates"
        case .consoleListen: "--console-listen"
        case .metricsListen: "--metrics-listen"
        case .socketMode: "--socket-mode"
        case .insecurePlaintext: "--insecure-plaintext"
        case .tlsCertificate: "--tls-certificate"
        case .tlsKey: "--tls-key"
        case .tlsClientCA: "--tls-client-ca"
        case .followCA: "--follow-tls-ca"
        case .followCertificate: "--follow-tls-certificate"
        case .followKey: "--follow-tls-key"
        case .bundleID: "--bundle-id"
        case .appAppleID: "--app-apple-id"
        case .environment: "--environment"
        case .anchors: "--anchors"
        case .catalog: "--catalog"
        case .headKey: "--head-key"
        case .headFile: "--head-file"
        case .headSeconds: "--head-seconds"
        case .headPublicKey: "--head-public-key"
        case .cachedPlayers: "--cache-players"
        case .appStoreKey: "--app-store-key"
        case .appStoreKeyID: "--app-store-key-id"
        case .appStoreIssuerID: "--app-store-issuer-id"
        case .appStoreAddress: "--app-store-address"
        case .appStoreHistorySeconds: "--app-store-history-seconds"
        case .appStoreHistoryFrom: "--app-store-history-from"
        case .appStoreSendConsumption: "--app-store-send-consumption"
        case .appStoreFinish: "--app-store-finish"
        case .appStoreAccountTokens: "--app-store-set-account-tokens"
        case .logFormat: "--log-format"
        case .logLevel: "--log-level"
        case .logSlow: "--log-slow-milliseconds"
        case .tracingEndpoint: "--tracing-endpoint"
        case .tracingRatio: "--tracing-ratio"
        case .followLeader: "--follow-leader"
        case .followName: "--follow-name"
        case .standbysRequired: "--standbys-required"
        case .standbysTimeout: "--standbys-timeout-milliseconds"
        case .insecureLoopback: "--insecure-loopback"
        case .nodeSchema: "--node-schema"
        case .nodeName: "--node-name"
        case .nodeAddress: "--node-address"
        case .nodeLeads: "--node-leads"
        case .nodeWeight: "--node-weight"
        case .nodeLease: "--node-lease-milliseconds"
        case .nodeSynchronous: "--node-require-synchronous-standby"
        case .nodePassesOn: "--node-passes-on"
        case .nodeCA: "--node-tls-ca"
        case .nodeCertificate: "--node-tls-certificate"
        case .nodeKey: "--node-tls-key"
        case .tokens, .followToken, .nodeLog, .nodeToken: nil
        }
    }

    /// Whether each ledger has its own, where there are several (``SettingsFile/ledgers``).
    var isOfLedger: Bool {
        switch self {
        case .path, .archive, .bundleID, .appAppleID, .environment, .anchors, .catalog, .followLeader, .followToken,
            .followName, .followCA, .followCertificate, .followKey, .standbysRequired, .standbysTimeout, .headKey,
            .headFile,
            .headSeconds, .headPublicKey, .cachedPlayers, .appStoreKey, .appStoreKeyID, .appStoreIssuerID,
            .appStoreAddress, .appStoreHistorySeconds, .appStoreHistoryFrom, .appStoreSendConsumption, .appStoreFinish,
            .appStoreAccountTokens, .nodeLog, .nodeSchema, .nodeName, .nodeAddress, .nodeLeads, .nodeLease,
            .nodeWeight, .nodeSynchronous, .nodePassesOn, .nodeToken, .nodeCA, .nodeCertificate, .nodeKey:
            true
        case .listen, .listenHTTP, .consoleListen, .metricsListen, .socketMode, .insecurePlaintext, .tokens,
            .insecureLoopback,
            .tlsCertificate, .tlsKey, .tlsClientCA, .httpClientCertificates, .logFormat, .logLevel, .logSlow,
            .tracingEndpoint, .tracingRatio:
            false
        }
    }

    /// Whether a running service takes another value over when it reads its configuration again.
    var changesWhileRunning: Bool {
        switch self {
        // Not who needs a token at all, nor whether TLS is spoken: the server compares that.
        case .catalog, .tokens, .insecureLoopback, .tlsCertificate, .tlsKey, .tlsClientCA, .logLevel, .logSlow: true
        case .path, .archive, .listen, .listenHTTP, .httpClientCertificates, .consoleListen, .metricsListen,
            .socketMode, .insecurePlaintext,
            .bundleID, .appAppleID, .environment, .anchors, .followLeader, .followToken, .followName, .followCA,
            .followCertificate, .followKey, .nodeLog, .nodeSchema, .nodeName, .nodeAddress, .nodeLeads, .nodeWeight,
            .nodeLease, .nodeSynchronous, .nodePassesOn, .nodeToken, .nodeCA, .nodeCertificate, .nodeKey,
            .standbysRequired, .standbysTimeout, .headKey, .headFile, .headSeconds, .headPublicKey, .cachedPlayers,
            .appStoreKey, .appStoreKeyID, .appStoreIssuerID, .appStoreAddress, .appStoreHistorySeconds,
            .appStoreHistoryFrom, .appStoreSendConsumption, .appStoreFinish, .appStoreAccountTokens, .logFormat,
            .tracingEndpoint, .tracingRatio:
            false
        }
    }

    /// The names of the key, as they lead to it in the file.
    var names: [String] { rawValue.split(separator: ".").map(String.init) }
}
