package import LedgerMetrics
package import LedgerWire
import NIOCore
package import Tracing

/// What the composition tells the server.
package struct ServerConfiguration: Sendable {
    /// Who may do what.
    package enum Access: Sendable {
        /// Whoever can connect may do everything, and only this machine can.
        case everyoneOnThisMachine
        /// Whoever sends one of them, what it may.
        case tokens([Token])
    }

    /// TLS on every TCP address; Unix-domain sockets never have it.
    package struct TLS: Sendable {
        /// Texts in PEM.
        package struct Files: Sendable {
            /// The server's certificate, and those that lead from it to an authority.
            package var certificate: [UInt8]
            package var key: [UInt8]
            /// Of those whose certificates clients must have; `nil` where clients need none.
            package var clientAuthorities: [UInt8]?

            package init(certificate: [UInt8], key: [UInt8], clientAuthorities: [UInt8]?) {
                self.certificate = certificate
                self.key = key
                self.clientAuthorities = clientAuthorities
            }
        }

        /// Reads the files.
        package var read: @Sendable () throws -> Files

        package init(read: @escaping @Sendable () throws -> Files) { self.read = read }
    }

    /// What of it can change while the server runs.
    package struct Renewal: Sendable {
        package var access: Access
        package var tls: TLS?
        /// What is different from what holds now.
        package var changes: [SettingChange]
        /// Lets all that holds which is not the server's. Called once, when everything was found good.
        package var apply: @Sendable () -> Void

        package init(
            access: Access, tls: TLS?, changes: [SettingChange] = [], apply: @escaping @Sendable () -> Void = {}
        ) {
            self.access = access
            self.tls = tls
            self.changes = changes
            self.apply = apply
        }
    }

    /// Where requests are traced.
    package struct Traces: Sendable {
        package var tracer: any Tracer
        /// Adds what became of the spans.
        package var measure: @Sendable (inout Exposition) -> Void

        package init(tracer: any Tracer, measure: @escaping @Sendable (inout Exposition) -> Void) {
            self.tracer = tracer
            self.measure = measure
        }
    }

    package var listen: [ServerAddress]
    /// Where it speaks HTTP.
    package var listenHTTP: [ServerAddress]
    /// Where people's browsers read the console.
    package var listenConsole: [ServerAddress]
    /// Where an operator's programs read metrics and health.
    package var listenMetrics: [ServerAddress]
    package var access: Access
    /// Without it, only this machine may connect, unless ``allowsInsecurePlaintext``.
    package var tls: TLS?
    /// Whether clients need a certificate over HTTP too, where ``TLS/Files/clientAuthorities`` are given. The App Store
    /// has none.
    package var needsCertificatesOverHTTP: Bool
    /// Whether other machines may connect without TLS: the network between is trusted, or protected otherwise.
    package var allowsInsecurePlaintext: Bool
    /// The mode of a Unix-domain socket's file: who may write it may connect.
    package var socketMode: UInt32
    package var limits: ServerLimits
    /// `nil` where nothing is traced.
    package var traces: Traces?
    /// Nanoseconds that never go back, by which requests of a second are counted.
    package var clock: @Sendable () -> UInt64

    /// By default the service's user and group may connect to a Unix-domain socket.
    package static let socketModeDefault: UInt32 = 0o660

    package init(
        listen: [ServerAddress], listenHTTP: [ServerAddress] = [], listenConsole: [ServerAddress] = [],
        listenMetrics: [ServerAddress] = [], access: Access, tls: TLS? = nil,
        needsCertificatesOverHTTP: Bool = true, allowsInsecurePlaintext: Bool = false,
        socketMode: UInt32 = socketModeDefault, limits: ServerLimits = ServerLimits(), traces: Traces? = nil,
        clock: @escaping @Sendable () -> UInt64 = { NIODeadline.now().uptimeNanoseconds }
    ) {
        self.listen = listen
        self.listenHTTP = listenHTTP
        self.listenConsole = listenConsole
        self.listenMetrics = listenMetrics
        self.access = access
        self.tls = tls
        self.needsCertificatesOverHTTP = needsCertificatesOverHTTP
        self.allowsInsecurePlaintext = allowsInsecurePlaintext
        self.socketMode = socketMode
        self.limits = limits
        self.traces = traces
        self.clock = clock
    }
}

extension ServerConfiguration {
    /// - Returns: for how many days the server's certificate is valid; `nil` without TLS.
    /// - Throws: ``ServerError`` where the certificates or keys for TLS cannot be used.
    @discardableResult
    package func checkCertificates() throws(ServerError) -> Int64? { try ServerCertificates(self)?.daysLeft }

    /// Why addresses are not listened to that other machines can reach, for what protects them is missing; a host that
    /// cannot be looked up is passed over. May block.
    /// - Parameter asksClients: whether clients need a certificate.
    package func exposureFaults(asksClients: Bool) -> [String] {
        let watched = watchProtectionLacking(asksClients: asksClients)
        let all =
            (listen + listenHTTP + listenConsole).map { ($0, protectionLacking) } + listenMetrics.map { ($0, watched) }
        return all.compactMap { address, lacks in
            guard case .tcp(let host, let port) = address, !lacks.isEmpty,
                let socket = try? SocketAddress.makeAddressResolvingHost(host, port: port), !socket.isLocal
            else { return nil }
            return ServerError(.unprotected, address, lacks: lacks).description
        }
    }

    /// What is missing for other machines to be let in, each with what to do about it.
    var protectionLacking: [String] {
        var lacking: [String] = []
        if case .everyoneOnThisMachine = access { lacking.append("no tokens are configured: configure tokens") }
        if tls == nil && !allowsInsecurePlaintext {
            lacking.append(
                "TLS is not configured: configure tls, or set insecurePlaintext where the network is safe without it"
            )
        }
        return lacking
    }

    /// The same for those that watch, who show no token.
    /// - Parameter asksClients: whether clients need a certificate.
    func watchProtectionLacking(asksClients: Bool) -> [String] {
        if asksClients || allowsInsecurePlaintext { return [] }
        return [
            """
            metrics are told without a token: configure tls.clientCA, or set insecurePlaintext where the network is \
            safe without it
            """
        ]
    }
}
