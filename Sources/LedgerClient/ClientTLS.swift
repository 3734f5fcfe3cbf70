import NIOCore
import NIOSSL

/// How a client speaks TLS: whom it believes, and how it shows who it is.
///
/// The server's certificate must be valid and name the host of the server's address, or its IP address. TLS 1.2 is the
/// least that is spoken. A Unix-domain socket never has TLS.
public struct ClientTLS: Sendable {
    /// What keeps certificates or a key from being used.
    public struct Unusable: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong, for people.
        public let description: String
    }

    let context: NIOSSLContext

    /// TLS with certificates and a key in PEM.
    /// - Parameters:
    ///   - authorities: certificates of which one must stand at the end of the server's.
    ///   - certificate: the client's own certificate, and those that lead from it to an authority of the server's; left
    ///     out where the server asks for none.
    ///   - key: the certificate's private key, without a passphrase.
    public init(
        authorities: [UInt8], certificate: [UInt8]? = nil, key: [UInt8]? = nil
    ) throws(Unusable) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.trustRoots = .certificates(
            try ClientTLS.certificates(authorities, "the authorities' file has no certificate in PEM"))
        switch (certificate, key) {
        case (nil, nil): break
        case (let certificate?, let key?):
            tls.certificateChain = try ClientTLS.certificates(certificate, "the certificate's file has none in PEM")
                .map { .certificate($0) }
            guard let key = try? NIOSSLPrivateKey(bytes: key, format: .pem) else {
                throw Unusable(description: "the key's file has none in PEM that can be read without a passphrase")
            }
            tls.privateKey = .privateKey(key)
        case (nil, _), (_, nil):
            throw Unusable(description: "a client's certificate and its key go together")
        }
        guard let context = try? NIOSSLContext(configuration: tls) else {
            throw Unusable(description: "the key is not that of the certificate, or of a kind that TLS lacks")
        }
        self.context = context
    }

    private static func certificates(_ bytes: [UInt8], _ fault: String) throws(Unusable) -> [NIOSSLCertificate] {
        guard let all = try? NIOSSLCertificate.fromPEMBytes(bytes), !all.isEmpty else {
            throw Unusable(description: fault)
        }
        return all
    }

    /// What speaks TLS on a new connection.
    func makeHandler(host: String) throws -> NIOSSLClientHandler {
        // An address is compared with those that the certificate names; it is no server name (RFC 6066 §3).
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }

    /// What is wrong with a TLS connection, for people; `nil` for errors that are not of TLS.
    static func words(_ error: any Error) -> String? {
        switch error {
        case NIOSSLError.handshakeFailed(let reason): return "TLS: \(words(of: reason))"
        case let error as NIOSSLError: return "TLS: \(error)"
        case let error as BoringSSLError: return "TLS: \(words(of: error))"
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return "TLS: the server's certificate does not name its address"
        case let error as NIOSSLExtraError: return "TLS: \(error)"
        default: return nil
        }
    }

    private static func words(of error: BoringSSLError) -> String {
        guard case .sslError(let errors) = error else { return "\(error)" }
        // BoringSSL's own words, as "… routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at …".
        return errors.map { "\($0)".split(separator: " at ")[0].split(separator: ":").last ?? "" }
            .joined(separator: " ")
    }
}
