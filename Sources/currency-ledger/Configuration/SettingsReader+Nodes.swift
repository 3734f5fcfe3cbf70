import Foundation
import LedgerWire

/// What a service needs that follows another, or that is one node of several.
extension SettingsReader {
    /// How another service is reached; `nil` where without TLS.
    private mutating func clientTLS(_ ca: Setting, _ certificate: Setting, _ key: Setting) -> ClientTLSFiles? {
        let authorities = sources.filled(ca).map { sources.path($0) }
        let ownCertificate = sources.filled(certificate).map { sources.path($0) }
        let ownKey = sources.filled(key).map { sources.path($0) }
        sources.requireTogether(certificate, key)
        if sources.given(certificate) != nil { sources.require(ca, because: "\(certificate.rawValue) is") }
        return authorities.map { ClientTLSFiles(authorities: $0, certificate: ownCertificate, key: ownKey) }
    }

    mutating func follow() -> LedgerSettings.Follow? {
        let leader = sources.filled(.followLeader).flatMap { address($0) }
        let token = sources.filled(.followToken)?.text
        let named = sources.filled(.followName)
        let name = StandbyName(named?.text ?? ProcessInfo.processInfo.hostName)
        if name == nil {
            let rule = "1 to \(Limits.standbyNameBytesMax) letters, digits, _, -, . and :"
            if let named {
                sources.mustBe(rule, named)
            } else if leader != nil {
                sources.note("is required, for this host's own name is none: \(rule)", .followName)
            }
        }
        if sources.lacks(.followLeader) {
            for setting in [Setting.followToken, .followName, .followCA] where sources.given(setting) != nil {
                sources.note("is of no use without follow.leader", setting)
            }
        }
        let tls = clientTLS(.followCA, .followCertificate, .followKey)
        refuseClear(.followToken, sentTo: leader, tls, .followCA)
        guard let leader, let name else { return nil }
        return LedgerSettings.Follow(leader: leader, token: token, name: name, tls: tls)
    }

    /// `nil` where the log is in files.
    /// - Parameter schema: the one by default.
    mutating func node(schema: String) -> LedgerSettings.Node? {
        let log = sources.filled(.nodeLog)?.text
        let name = sources.filled(.nodeName)?.text ?? ProcessInfo.processInfo.hostName
        let address = sources.filled(.nodeAddress).flatMap { self.address($0) }
        let ownSchema = sources.filled(.nodeSchema)?.text
        let leads = sources.boolean(.nodeLeads) ?? true
        let weight = sources.integer(.nodeWeight, in: 1...100)
        let lease = sources.integer(.nodeLease, in: 500...60_000)
        let requiresStandby = sources.boolean(.nodeSynchronous) ?? false
        let passing = passing(from: address)
        guard sources.given(.nodeLog) != nil || sources.isFaulty(.nodeLog) else {
            for setting in Setting.allCases where setting.names[0] == "node" && sources.given(setting) != nil {
                sources.note("is of no use without node.log", setting)
            }
            return nil
        }
        if sources.lacks(.nodeAddress) {
            sources.note(
                "is required where node.log is given: where clients and other nodes reach this one", .nodeAddress)
        }
        if sources.given(.followLeader) != nil {
            sources.note("cannot stand beside node.log: a node follows whichever node leads", .followLeader)
        }
        if let required = sources.scalar(.standbysRequired), required.text != "0" {
            sources.note(
                "cannot stand beside node.log: set node.requireSynchronousStandby, for there the database has standbys",
                .standbysRequired)
        }
        if sources.given(.archive) != nil {
            sources.note("cannot stand beside node.log: of a log in PostgreSQL nothing is archived", .archive)
        }
        guard let log, let address else { return nil }
        var node = LedgerSettings.Node(log: log, schema: ownSchema ?? schema, name: name, address: address)
        node.leads = leads
        if let weight { node.weight = Int(weight) }
        if let lease { node.leaseMilliseconds = Int(lease) }
        node.requiresSynchronousStandby = requiresStandby
        node.passing = passing
        return node
    }

    /// A token goes to another machine in clear only where the operator says that the network is safe.
    /// - Parameter ca: the setting that is missing then.
    private mutating func refuseClear(
        _ token: Setting, sentTo address: ServerAddress?, _ tls: ClientTLSFiles?, _ ca: Setting
    ) {
        guard let address, !address.isLocal, tls == nil, !allowsInsecurePlaintext, sources.given(token) != nil else {
            return
        }
        if sources.isFaulty(ca) { return }
        sources.note(
            """
            is required, for \(token.rawValue) goes to other machines: or set insecurePlaintext where the network is \
            safe without it
            """, ca)
    }

    /// `nil` where a node passes nothing on.
    /// - Parameter address: this node's. Where other machines reach it, other nodes are on other machines.
    private mutating func passing(from address: ServerAddress?) -> LedgerSettings.Passing? {
        let passesOn = sources.boolean(.nodePassesOn)
        let token = sources.filled(.nodeToken)?.text
        let tls = clientTLS(.nodeCA, .nodeCertificate, .nodeKey)
        if passesOn == true, needsTokens {
            sources.require(.nodeToken, because: "node.passesOn is true, and tokens are")
        }
        let passes = passesOn ?? (token != nil || !needsTokens)
        if passes { refuseClear(.nodeToken, sentTo: address, tls, .nodeCA) }
        return passes ? LedgerSettings.Passing(token: token, tls: tls) : nil
    }
}
