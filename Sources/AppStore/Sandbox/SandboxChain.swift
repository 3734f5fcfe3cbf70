/// A signing chain shaped like Apple's, for tests and for games that are developed without the App Store: a P-384
/// root and intermediate and a P-256 leaf, with Apple's marks, signed with SHA-384. What it signs is accepted by a
/// ``Verifier`` that has its root among its anchors, and by no other.
public final class SandboxChain: Sendable {
    /// The anchor to configure.
    public let root: Certificate
    /// Issued by the root.
    public let intermediate: Certificate
    /// Issued by the intermediate; signs.
    public let leaf: Certificate
    private let rootKey: Key
    private let intermediateKey: Key
    private let leafKey: Key
    /// The header segment of everything that the leaf signs.
    private let headerSegment: [UInt8]

    /// Makes new keys and certificates, all valid from `notBefore` to `notAfter`, in milliseconds since the UNIX
    /// epoch (whole seconds count).
    public convenience init(notBefore: Int64, notAfter: Int64) throws(OpenSSLError) {
        try self.init(Options(validity: notBefore...notAfter))
    }

    package init(_ options: Options) throws(OpenSSLError) {
        rootKey = try Key.generate(.p384)
        intermediateKey = try Key.generate(.p384)
        leafKey = try Key.generate(options.leafCurve)
        let rootDraft = CertificateDraft(
            commonName: "Sandbox Root CA", validity: options.rootValidity ?? options.validity, isAuthority: true)
        root = try rootDraft.issue(to: rootKey, by: nil, signedBy: rootKey)
        var draft = CertificateDraft(
            commonName: "Sandbox Worldwide Developer Relations",
            validity: options.intermediateValidity ?? options.validity,
            isAuthority: options.intermediateIsAuthority)
        if options.intermediateIsMarked { draft.marks.append(.developerRelations) }
        intermediate = try draft.issue(to: intermediateKey, by: root, signedBy: rootKey)
        draft = CertificateDraft(
            commonName: "Sandbox Receipt Signing", validity: options.leafValidity ?? options.validity,
            isAuthority: options.leafIsAuthority)
        if options.leafIsMarked { draft.marks.append(.receiptSigning) }
        leaf = try draft.issue(to: leafKey, by: intermediate, signedBy: intermediateKey)
        headerSegment = Self.headerSegment(algorithm: "ES256", certificates: [leaf, intermediate, root])
    }

    /// A chain's parts as files hold them.
    public struct Parts: Sendable {
        /// In PEM.
        public var rootCertificate: [UInt8]
        /// In PEM.
        public var intermediateCertificate: [UInt8]
        /// In PEM.
        public var leafCertificate: [UInt8]
        /// PKCS #8 in PEM, not encrypted: it protects nothing but test data.
        public var rootKey: [UInt8]
        /// PKCS #8 in PEM, not encrypted.
        public var intermediateKey: [UInt8]
        /// PKCS #8 in PEM, not encrypted.
        public var leafKey: [UInt8]

        /// Collects the parts.
        public init(
            rootCertificate: [UInt8], intermediateCertificate: [UInt8], leafCertificate: [UInt8], rootKey: [UInt8],
            intermediateKey: [UInt8], leafKey: [UInt8]
        ) {
            self.rootCertificate = rootCertificate
            self.intermediateCertificate = intermediateCertificate
            self.leafCertificate = leafCertificate
            self.rootKey = rootKey
            self.intermediateKey = intermediateKey
            self.leafKey = leafKey
        }
    }

    /// The chain's parts, to be kept in files.
    public func parts() throws(OpenSSLError) -> Parts {
        Parts(
            rootCertificate: try root.pem(), intermediateCertificate: try intermediate.pem(),
            leafCertificate: try leaf.pem(), rootKey: try rootKey.pem(), intermediateKey: try intermediateKey.pem(),
            leafKey: try leafKey.pem())
    }

    /// Takes a chain up again from its parts; certificates may be PEM or DER. It fails if the leaf's key is not the
    /// certificate's.
    public init(_ parts: Parts) throws(OpenSSLError) {
        root = try Certificate(file: parts.rootCertificate)
        intermediate = try Certificate(file: parts.intermediateCertificate)
        leaf = try Certificate(file: parts.leafCertificate)
        rootKey = try Key(pem: parts.rootKey)
        intermediateKey = try Key(pem: parts.intermediateKey)
        leafKey = try Key(pem: parts.leafKey)
        for (key, certificate) in [(rootKey, root), (intermediateKey, intermediate), (leafKey, leaf)] {
            try key.checkBelongs(to: certificate)
        }
        headerSegment = Self.headerSegment(algorithm: "ES256", certificates: [leaf, intermediate, root])
    }

    /// Signs any payload: the JWS in compact form.
    public func sign(payload: [UInt8]) throws(OpenSSLError) -> String {
        String(decoding: try jws(payload: payload), as: UTF8.self)
    }

    /// Signs a transaction: the JWS in compact form.
    public func sign(_ transaction: TransactionPayload) throws(OpenSSLError) -> String {
        try sign(payload: transaction.json())
    }

    /// Signs a notification: the JWS in compact form. The transaction that it carries must be signed already.
    public func sign(_ notification: NotificationPayload) throws(OpenSSLError) -> String {
        try sign(payload: notification.json())
    }

    /// Signs a subscription's renewal: the JWS in compact form.
    public func sign(_ renewal: RenewalPayload) throws(OpenSSLError) -> String { try sign(payload: renewal.json()) }

    /// Signs any payload: the bytes of the JWS in compact form.
    public func jws(payload: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        try jws(headerSegment: headerSegment, payload: payload)
    }

    func jws(headerSegment: [UInt8], payload: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        try leafKey.jws(headerSegment: headerSegment, payload: payload)
    }
}
