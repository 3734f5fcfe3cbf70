import AppStore
import LedgerEngine
import LineServer

#if Postgres
import PostgresLog
#endif

/// What a configuration names, read and found good: the one place where a start, a reload and `check` look at it, so
/// that none of them finds good what another refuses. Nothing of a ledger is touched.
struct CheckedConfiguration {
    /// Of the ledgers, in their order.
    let catalogs: [CatalogInForce.Edition]
    /// None at a reload.
    let signatures: [Composition.Signatures]
    /// How many days the certificate for TLS is valid yet; `nil` without TLS.
    let certificateDays: Int64?

    /// - Parameter isReload: whether a running service looks only at what it takes over; the rest it has read at its
    ///   start, and some of it, as a pipe, can be read once.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    init(_ settings: Settings, isReload: Bool = false) throws(ConfigurationError) {
        var faults: [String] = []
        func read<Value>(_ body: () throws(ConfigurationError) -> Value) -> Value? {
            do throws(ConfigurationError) { return try body() } catch {
                faults += error.faults
                return nil
            }
        }
        let catalogs = settings.ledgers.compactMap { ledger in
            read { () throws(ConfigurationError) in try CatalogFile.edition(ledger.catalog) }
        }
        if catalogs.count == settings.ledgers.count {
            _ = read { () throws(ConfigurationError) in try settings.check(against: catalogs.map(\.catalog)) }
        }
        let fixed = isReload ? [] : settings.ledgers
        let signatures = fixed.compactMap { ledger in
            read { () throws(ConfigurationError) in try Composition.Signatures(ledger) }
        }
        let server = Composition.server(settings)
        let days = read { () throws(ConfigurationError) -> Int64? in
            do throws(ServerError) { return try server.checkCertificates() } catch {
                throw ConfigurationError(["\(error)"])
            }
        }
        for ledger in fixed {
            _ = read { () throws(ConfigurationError) in try (ledger.follow?.tls ?? ledger.node?.passing?.tls)?.read() }
            if let fault = CheckedConfiguration.fault(of: ledger.node) { faults.append(fault) }
        }
        if !isReload {
            faults += server.exposureFaults(asksClients: settings.tls?.clientAuthorities != nil)
        }
        if !faults.isEmpty { throw ConfigurationError(faults) }
        self.catalogs = catalogs
        self.signatures = signatures
        certificateDays = days ?? nil
    }

    private static func fault(of node: LedgerSettings.Node?) -> String? {
        guard let node else { return nil }
        #if Postgres
        if PostgresLogConfiguration.isSchema(node.schema) { return nil }
        return """
            node.schema: '\(node.schema)' cannot be a schema's name: it has small letters, digits and underscores
            """
        #else
        return "node.log: this program was built without PostgreSQL; `swift build --traits Postgres` builds it with it"
        #endif
    }

    /// Certificates of fewer days are warned of: a month, in which another can be had.
    private static let certificateDaysLow: Int64 = 30

    /// What a deployment should know though nothing is wrong.
    func warnings(_ settings: Settings) -> [String] {
        var warnings: [String] = []
        if case .everyoneOnThisMachine = settings.access {
            warnings.append("no tokens are configured: whoever can connect from this machine has the role admin")
        }
        if let days = certificateDays, days < CheckedConfiguration.certificateDaysLow {
            warnings.append(
                days < 0
                    ? "tls.certificate: has expired: clients refuse it" : "tls.certificate: runs out in \(days) days")
        }
        for (ledger, signatures) in zip(settings.ledgers, signatures) {
            let key = ledger.name.map { "ledgers.\($0)." } ?? ""
            if ledger.environment == .production {
                for anchor in signatures.anchors where !anchor.isAppleRoot {
                    warnings.append(
                        "\(key)anchors: purchases of Production are believed under \(anchor.subject), not Apple's")
                }
            }
            if ledger.node == nil, Composition.isAbsentOrEmpty(ledger.path) {
                warnings.append("\(key)path: there is no ledger in \(ledger.path): the first start needs --create")
            }
        }
        return warnings
    }
}
