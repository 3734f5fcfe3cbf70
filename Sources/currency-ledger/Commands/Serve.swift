import ArgumentParser
import Foundation
import Ledger
import LedgerEngine
import LineServer
import Logging
import ServiceLifecycle
import UnixSignals

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the service until SIGTERM or SIGINT.",
        discussion: """
            Every setting may stand in the configuration file, in an environment variable over it (LEDGER_…, as \
            LEDGER_APP_BUNDLE_ID for app.bundleId), or in a flag over both.

            Tokens have no flag, which everyone on the machine could see: the configuration (or LEDGER_TOKENS, as \
            JSON) has the SHA-256 of each, by its name, as "currency-ledger token new" prints it. A service without \
            tokens does not start, unless --insecure-loopback says that whoever can connect from this machine may do \
            everything. SIGHUP has the configuration read again, as "currency-ledger reload" does: the catalog, the \
            tokens, the certificates for TLS and the log's level. The token with which a standby comes to its leader \
            is follow.token, or LEDGER_FOLLOW_TOKEN; that of a node that passes on what others \
            ask is node.token, or LEDGER_NODE_TOKEN. Where the log is that nodes share, which may \
            have a password, is node.log, or LEDGER_NODE_LOG.
            """)

    @Option(name: .long, help: "The configuration file (JSON).", completion: .file(extensions: ["json"]))
    var config: String?

    @Option(help: "The ledger's folder. Default: ledger", completion: .directory)
    var path: String?

    @Option(
        help: "Folders of archives, separated by commas, for blocks that the ledger has not any more. Default: none")
    var archive: String?

    @Flag(help: "Make the ledger where there is none. Without it a path that is not there is an error.")
    var create = false

    @Flag(help: "Go on though the clock is far ahead of the ledger's last entry: nobody used the ledger for so long.")
    var acceptClock = false

    @Option(
        help:
            "Addresses, separated by commas: host:port or unix:/path; port 0 picks a free one. Default: 127.0.0.1:7117")
    var listen: String?

    @Option(help: "Addresses for HTTP: the App Store's notifications, and requests. Default: none")
    var httpListen: String?

    @Option(help: "Whether clients of HTTP need a certificate too, where --tls-client-ca is given. Default: true")
    var httpClientCertificates: String?

    @Option(help: "Addresses for the browsers of support and finance: read-only pages. Default: none")
    var consoleListen: String?

    @Option(help: "Addresses for an operator's programs: /metrics and /health, without a token. Default: none")
    var metricsListen: String?

    @Option(help: "The mode of a Unix-domain socket's file, in octal: who may write it may connect. Default: 0660")
    var socketMode: String?

    @Option(
        help: "The server's certificate, and those that lead from it to an authority (PEM): TLS on every TCP address.")
    var tlsCertificate: String?

    @Option(help: "The certificate's key (PEM), readable by its owner alone.", completion: .file())
    var tlsKey: String?

    @Option(help: "The authorities (PEM) of which clients must have a certificate.", completion: .file())
    var tlsClientCa: String?

    @Flag(help: "Listen to other machines without TLS: the network between is trusted, or protected otherwise.")
    var insecurePlaintext = false

    @Option(help: "The app whose purchases are credited.")
    var bundleId: String?

    @Option(help: "Its App Store id; where it is given, notifications must name it.")
    var appAppleId: String?

    @Option(help: "Production, Sandbox, Xcode or LocalTesting.")
    var environment: String?

    @Option(help: "Certificates (DER or PEM files, separated by commas) trusted beside Apple Root CA - G3.")
    var anchors: String?

    @Option(help: "The catalog (JSON).", completion: .file(extensions: ["json"]))
    var catalog: String?

    @Flag(help: "Do without tokens: whoever can connect from this machine may do everything.")
    var insecureLoopback = false

    @Option(help: "host:port or unix:/path of the leader: this service is its standby, and only read.")
    var followLeader: String?

    @Option(help: "The name by which the leader knows this standby. Default: the host's name")
    var followName: String?

    @Option(help: "The authorities (PEM) of the leader's certificate: this standby speaks TLS with it.")
    var followTlsCa: String?

    @Option(help: "This standby's certificate for its leader (PEM).", completion: .file())
    var followTlsCertificate: String?

    @Option(help: "The key of that certificate (PEM).", completion: .file())
    var followTlsKey: String?

    @Option(help: "The schema of the log that nodes share. Default: the ledger's name, or ledger")
    var nodeSchema: String?

    @Option(help: "This node's name, which no other node has. Default: the host's name")
    var nodeName: String?

    @Option(help: "host:port or unix:/path where clients and other nodes reach this node.")
    var nodeAddress: String?

    @Option(help: "false: this node never leads, and is only read. Default: true")
    var nodeLeads: String?

    @Option(help: "Of several ledgers, how many this node is to lead beside what others are. Default: 1")
    var nodeWeight: String?

    @Option(help: "How long a leader that is not heard of is waited for. Default: 2000")
    var nodeLeaseMilliseconds: String?

    @Option(help: "true: no node leads while the database has no synchronous standby. Default: false")
    var nodeRequireSynchronousStandby: String?

    @Option(help: "false: a node that follows passes nothing on. Default: true, where it has a token or needs none")
    var nodePassesOn: String?

    @Option(help: "The authorities (PEM) of the nodes' certificates: this node speaks TLS with the one that leads.")
    var nodeTlsCa: String?

    @Option(help: "This node's certificate for the one that leads (PEM).", completion: .file())
    var nodeTlsCertificate: String?

    @Option(help: "The key of that certificate (PEM).", completion: .file())
    var nodeTlsKey: String?

    @Option(help: "How many standbys must have a block before it is answered. Default: 0")
    var standbysRequired: String?

    @Option(help: "How long they are waited for. Default: 5000")
    var standbysTimeoutMilliseconds: String?

    @Option(help: "The Ed25519 key that signs heads (PKCS #8 in PEM).", completion: .file(extensions: ["pem"]))
    var headKey: String?

    @Option(help: "Where the signed head is written at an interval.", completion: .file())
    var headFile: String?

    @Option(help: "Seconds from one signed head to the next. Default: 60")
    var headSeconds: String?

    @Option(help: "The key that auditors verify heads with (PEM); it must be that of the key that signs.")
    var headPublicKey: String?

    @Option(help: "Players kept in memory. Default: 300000")
    var cachePlayers: String?

    @Option(
        help: "The In-App Purchase key of App Store Connect (.p8), readable by its owner alone.", completion: .file())
    var appStoreKey: String?

    @Option(help: "The id of that key.")
    var appStoreKeyId: String?

    @Option(help: "The issuer id that App Store Connect shows beside its keys.")
    var appStoreIssuerId: String?

    @Option(help: "Where the App Store Server API is asked. Default: Apple's server of the environment")
    var appStoreAddress: String?

    @Option(help: "Seconds from one reading of Apple's notification history to the next; 0: never. Default: 300")
    var appStoreHistorySeconds: String?

    @Option(help: "false: Apple is not told how much was consumed, also where the player has consented. Default: true")
    var appStoreSendConsumption: String?

    @Option(
        help: "From when on the history is read first (ISO 8601). Default: the time at which the ledger was made")
    var appStoreHistoryFrom: String?

    @Option(
        help: "true: Apple is told of each credited purchase that it is finished: the app need not. Default: false")
    var appStoreFinish: String?

    @Option(
        help: "true: Apple is told whose a purchase is, where the app did not say and a credit did. Default: false")
    var appStoreSetAccountTokens: String?

    @Option(help: "How the log is written, to the standard error stream: text or json. Default: text")
    var logFormat: String?

    @Option(help: "trace, debug, info, notice, warning, error or critical. Default: info")
    var logLevel: String?

    @Option(help: "From how many milliseconds on a request or a commit is told of as slow; 0: never. Default: 1000")
    var logSlowMilliseconds: String?

    @Option(help: "The URL of an OTLP receiver to which spans of requests are sent. Default: none")
    var tracingEndpoint: String?

    @Option(help: "From 0 to 1: the part of requests traced, of those whose sender does not decide it. Default: 0.01")
    var tracingRatio: String?

    private var flags: [Setting: String] {
        [
            .path: path, .archive: archive, .listen: listen, .listenHTTP: httpListen,
            .httpClientCertificates: httpClientCertificates, .consoleListen: consoleListen,
            .metricsListen: metricsListen, .socketMode: socketMode,
            .tlsCertificate: tlsCertificate, .tlsKey: tlsKey, .tlsClientCA: tlsClientCa,
            .insecurePlaintext: insecurePlaintext ? "true" : nil,
            .followCA: followTlsCa, .followCertificate: followTlsCertificate, .followKey: followTlsKey,
            .bundleID: bundleId, .appAppleID: appAppleId,
            .environment: environment,
            .anchors: anchors, .catalog: catalog, .followLeader: followLeader, .followName: followName,
            .nodeSchema: nodeSchema, .nodeName: nodeName, .nodeAddress: nodeAddress, .nodeLeads: nodeLeads,
            .nodeWeight: nodeWeight, .nodeLease: nodeLeaseMilliseconds, .nodeSynchronous: nodeRequireSynchronousStandby,
            .nodePassesOn: nodePassesOn, .nodeCA: nodeTlsCa, .nodeCertificate: nodeTlsCertificate,
            .nodeKey: nodeTlsKey,
            .standbysRequired: standbysRequired, .standbysTimeout: standbysTimeoutMilliseconds,
            .headKey: headKey, .headFile: headFile, .headSeconds: headSeconds,
            .headPublicKey: headPublicKey, .cachedPlayers: cachePlayers, .logFormat: logFormat,
            .logLevel: logLevel, .logSlow: logSlowMilliseconds,
            .tracingEndpoint: tracingEndpoint, .tracingRatio: tracingRatio,
            .appStoreKey: appStoreKey, .appStoreKeyID: appStoreKeyId, .appStoreIssuerID: appStoreIssuerId,
            .appStoreAddress: appStoreAddress, .appStoreHistorySeconds: appStoreHistorySeconds,
            .appStoreSendConsumption: appStoreSendConsumption, .appStoreFinish: appStoreFinish,
            .appStoreHistoryFrom: appStoreHistoryFrom, .appStoreAccountTokens: appStoreSetAccountTokens,
            .insecureLoopback: insecureLoopback ? "true" : nil,
        ].compactMapValues { $0 }
    }

    func run() async throws {
        File.keepFromOthers()
        let manager = ServiceManager.take()
        // From now on: what is changed while the ledger is being opened is read again when it serves.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let settings = try Settings.load(
            file: config, flags: flags, environment: ProcessInfo.processInfo.environment)
        let output = LogOutput(settings.logFormat, level: settings.logLevel)
        // What is said behind the log, as why the command fails, comes behind its last lines.
        defer { output.flush() }
        let logger = output.logger("currency-ledger")
        // Until the service group takes them over: nothing was accepted that would have to be answered.
        for ending in [SIGTERM, SIGINT] { signal(ending) { _ in _exit(0) } }
        let checked = try CheckedConfiguration(settings)
        let catalogs = checked.catalogs.map { CatalogInForce($0) }
        let scratch = ScratchFolder()
        defer { scratch.remove() }
        let service: LedgerService
        do {
            service = try Composition.service(
                settings, catalogs: catalogs, signatures: checked.signatures, create: create, acceptsClock: acceptClock,
                scratch: scratch, logger: logger)
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw Failure("\(error)")
        }
        let reconfiguration = Reconfiguration(
            settings, catalogs: catalogs, service: service, output: output, logger: logger
        ) { [config, flags] in
            try Settings.load(file: config, flags: flags, environment: ProcessInfo.processInfo.environment)
        }
        service.lines.takeReloads { reconfiguration.reload() }
        // The last of them is the first to end: the manager hears at once that the service is stopping.
        var services: [any Service] = [
            service, Reloading(hangups: hangups, manager: manager) { reconfiguration.reload() },
        ]
        if let manager { services.append(Supervision(manager: manager, service: service)) }
        let group = ServiceGroup(
            configuration: .init(
                services: services,
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        do {
            try await group.run()
        } catch let error as ServerError where error.kind == .unprotected {
            throw Failure("\(error)", exitCode: .configuration)
        } catch {
            throw Failure("\(error)")
        }
    }
}

/// Has what can change while the service runs read again, at each SIGHUP.
private struct Reloading: Service {
    /// Those that came since the start of the process.
    let hangups: UnixSignalsSequence
    let manager: ServiceManager?
    let reload: @Sendable () -> Void

    func run() async throws {
        for await _ in hangups.cancelOnGracefulShutdown() {
            manager?.reloading()
            reload()
            manager?.reloaded()
        }
    }
}
