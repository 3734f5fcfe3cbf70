import LedgerWire
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What the server shows of itself on TLS connections, and whom it believes: read at the start and whenever it is told
/// to. A connection keeps what it began with.
final class ServerCertificates: Sendable {
    /// What was read, and can be used.
    struct Checked: Sendable {
        fileprivate let context: NIOSSLContext
        /// The same, which asks nobody for a certificate; `nil` where the other asks nobody either.
        fileprivate let open: NIOSSLContext?
        /// When the first of the certificates that the server shows runs out, in seconds since the UNIX epoch.
        fileprivate let expires: Int64
        /// The authorities whose certificates clients need; none where they need no certificate.
        fileprivate let authorities: Set<NIOSSLCertificate>
    }

    private let shutdownTimeout: TimeAmount
    private let current: NIOLockedValueBox<(checked: Checked, authorities: Int)>

    /// `nil` without TLS.
    /// - Throws: ``ServerError`` where what is read cannot be used.
    init?(_ configuration: ServerConfiguration) throws(ServerError) {
        guard let tls = configuration.tls else { return nil }
        shutdownTimeout = .milliseconds(configuration.limits.lingerMilliseconds)
        current = NIOLockedValueBox((try ServerCertificates.read(tls, shutdownTimeout), 0))
    }

    /// For how many whole days all certificates that the server shows are valid; negative where one has expired.
    var daysLeft: Int64 {
        let left = Double(current.withLockedValue { $0.checked.expires }) - Double(time(nil))
        return Int64((left / 86_400).rounded(.down))
    }

    /// For how many seconds they are; negative where one has expired.
    var secondsLeft: Int64 { current.withLockedValue { $0.checked.expires } - Int64(time(nil)) }

    /// Reads everything again, and changes nothing.
    /// - Throws: ``ServerError`` where what is read cannot be used.
    func read(_ configuration: ServerConfiguration.TLS) throws(ServerError) -> Checked {
        try ServerCertificates.read(configuration, shutdownTimeout)
    }

    /// Has connections to come begin with these.
    func replace(by new: Checked) {
        current.withLockedValue {
            // Whom those before believed, those of now do too, where none of them is gone.
            if !new.authorities.isSuperset(of: $0.checked.authorities) { $0.authorities += 1 }
            $0.checked = new
        }
    }

    /// Counts how often an authority was taken away. A client's certificate says who it is by those that hold when its
    /// handshake ends: where it began under others, one that is not believed any more may have given it the name.
    var authorities: Int { current.withLockedValue { $0.authorities } }

    /// Whether clients need a certificate of their own.
    var asksClients: Bool { current.withLockedValue { $0.checked.open != nil } }

    /// What speaks TLS on a new connection.
    /// - Parameter asksClients: whether its client needs a certificate, where clients need some.
    func makeHandler(asksClients: Bool) -> NIOSSLServerHandler {
        var configuration = NIOSSLServerHandler.Configuration()
        // A buffer that one long page made large is not kept for the connection's life.
        configuration.maximumPreservedOutboundBufferCapacity = 64 << 10
        let current = current.withLockedValue { $0.checked }
        let context = asksClients ? current.context : current.open ?? current.context
        return NIOSSLServerHandler(context: context, configuration: configuration)
    }

    // MARK: Reading

    private static func read(
        _ configuration: ServerConfiguration.TLS, _ shutdownTimeout: TimeAmount
    ) throws(ServerError) -> Checked {
        let files: ServerConfiguration.TLS.Files
        do {
            files = try configuration.read()
        } catch {
            throw ServerError(.unusableCertificates, "\(error)")
        }
        let chain = try certificates(files.certificate, "tls.certificate")
        guard let key = try? NIOSSLPrivateKey(bytes: files.key, format: .pem) else {
            throw ServerError(
                .unusableCertificates, "tls.key: has no private key in PEM that can be read without a passphrase")
        }
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        // RFC 9325: TLS 1.2 with forward secrecy and authenticated encryption alone, or 1.3, which has nothing else.
        tls.minimumTLSVersion = .tlsv12
        tls.cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"
        tls.renegotiationSupport = .none
        tls.shutdownTimeout = shutdownTimeout
        tls.certificateVerification = .none
        let open = tls
        let authorities = try files.clientAuthorities.map { bytes throws(ServerError) in
            try certificates(bytes, "tls.clientCA")
        }
        if let authorities {
            tls.trustRoots = .certificates(authorities)
            // The path is verified; names of clients are no host names.
            tls.certificateVerification = .noHostnameVerification
            // So that a client with several certificates knows which; a list has 64 KiB at most (RFC 5246 §7.4.4), and
            // with one that is too long no handshake ends.
            tls.sendCANameList = authorities.reduce(0) { $0 + $1.nameBytesMax } < 60_000
        }
        do {
            let expires = chain.reduce(Int64.max) { min($0, Int64($1.notValidAfter)) }
            return Checked(
                context: try NIOSSLContext(configuration: tls),
                open: authorities == nil ? nil : try NIOSSLContext(configuration: open), expires: expires,
                authorities: Set(authorities ?? []))
        } catch {
            throw ServerError(
                .unusableCertificates,
                "tls.key: is not the key of the first certificate of tls.certificate, or of a kind that TLS lacks")
        }
    }

    /// The certificates of a file in PEM: at least one.
    private static func certificates(_ bytes: [UInt8], _ name: String) throws(ServerError) -> [NIOSSLCertificate] {
        do {
            let all = try NIOSSLCertificate.fromPEMBytes(bytes)
            if !all.isEmpty { return all }
        } catch {
            // Said below.
        }
        throw ServerError(.unusableCertificates, "\(name): has no certificate in PEM")
    }
}

extension NIOSSLCertificate {
    /// No fewer bytes than its subject has in a list of names: each part has a value, an identifier, and their frames.
    fileprivate var nameBytesMax: Int { subjectName.reduce(16) { $0 + $1.value.utf8.count + 32 } }

    /// Whom it names: host names of its subject's alternative names (RFC 5280 §4.2.1.6), then its common names.
    var names: [String] {
        let hosts = _subjectAlternativeNames().compactMap { name in
            name.nameType == .dnsName ? String(decoding: name.contents, as: UTF8.self) : nil
        }
        return hosts + subjectName.filter { $0.type == .commonName }.map(\.value)
    }
}
