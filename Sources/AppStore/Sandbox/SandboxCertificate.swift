/// One self-signed certificate that signs, as StoreKit Testing in Xcode has it: exported, it is its own anchor.
public final class SandboxCertificate: Sendable {
    /// The anchor to configure, for a ``Verifier`` of the environment Xcode or LocalTesting.
    public let certificate: Certificate
    private let key: Key
    private let headerSegment: [UInt8]

    /// Makes a new key and certificate, valid from `notBefore` to `notAfter`, in milliseconds since the UNIX epoch
    /// (whole seconds count).
    public init(notBefore: Int64, notAfter: Int64) throws(OpenSSLError) {
        key = try Key.generate(.p256)
        let draft = CertificateDraft(
            commonName: "StoreKit Testing in Xcode", validity: notBefore...notAfter, isAuthority: true)
        certificate = try draft.issue(to: key, by: nil, signedBy: key)
        headerSegment = SandboxChain.headerSegment(algorithm: "ES256", certificates: [certificate])
    }

    /// Signs any payload: the bytes of the JWS in compact form.
    public func jws(payload: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        try key.jws(headerSegment: headerSegment, payload: payload)
    }
}
