import NIOCore
import NIOSSL
import NIOTLS

/// What a connection's handler has to know of TLS, which stands between it and the socket where it is configured.
extension ConnectionHandler {
    /// Whether an error is none to this service: the peer closed TCP without closing TLS first. What it sent until then
    /// is whole lines or is not looked at, so this is no more than the end of what it sends.
    static func isUncleanEnd(_ error: any Error) -> Bool { error as? NIOSSLError == .uncleanShutdown }

    /// Why no TLS connection came about, for people; `nil` for other errors, and for a peer that only closed, as checks
    /// of a load balancer do.
    static func handshakeFailure(_ error: any Error) -> String? {
        guard case .some(.handshakeFailed(let reason)) = error as? NIOSSLError else { return nil }
        guard case .sslError(let errors) = reason else { return "\(reason)" }
        if errors.contains(.eofDuringHandshake) { return nil }
        // BoringSSL's own words, as "… routines:OPENSSL_internal:UNSUPPORTED_PROTOCOL at …".
        let words = errors.map { "\($0)".split(separator: " at ")[0].split(separator: ":").last ?? "" }
        return words.joined(separator: " ")
    }

    static func isHandshakeCompleted(_ event: Any) -> Bool {
        if case .some(.handshakeCompleted) = event as? TLSUserEvent { return true }
        return false
    }

    /// The certificate by which the peer came, which TLS has verified.
    static func peerCertificate(_ context: ChannelHandlerContext) -> NIOSSLCertificate? {
        tls(context).flatMap { ($0.handler as? NIOSSLServerHandler)?.peerCertificate }
    }

    /// Closes the socket. Not by way of TLS, which would wait for the peer's word.
    static func closeSocket(_ context: ChannelHandlerContext) { (tls(context) ?? context).close(promise: nil) }

    private static func tls(_ context: ChannelHandlerContext) -> ChannelHandlerContext? {
        try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
    }
}
