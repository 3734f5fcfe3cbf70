internal import COpenSSL

/// Decides whether a header's certificates lead to an anchor: whom they name first, and only then who signed them.
///
/// Anybody can send certificates. Up to ``claim(_:)`` nothing of them is used but their bytes; afterwards signatures
/// are checked from the anchor downwards, so that a key verifies something only after a trusted one has signed it.
struct ChainVerifier: Sendable {
    /// SHA-256 of Apple Root CA – G3 (https://www.apple.com/certificateauthority/).
    static let appleRootG3: [UInt8] = [
        0x63, 0x34, 0x3a, 0xbf, 0xb8, 0x9a, 0x6a, 0x03, 0xeb, 0xb5, 0x7e, 0x9b, 0x3f, 0x5f, 0xa7, 0xbe,
        0x7c, 0x4f, 0x5c, 0x75, 0x6f, 0x30, 0x17, 0xb3, 0xa8, 0xc4, 0x88, 0xc3, 0x65, 0x3e, 0x91, 0x79,
    ]

    /// A configured anchor.
    private struct Anchor {
        let certificate: Certificate
        /// `nil` where it is not in DER within; then it is found by its bytes alone.
        let outline: CertificateOutline?
    }

    private let anchors: [Anchor]
    private let environment: Environment

    init(anchors: [Certificate], environment: Environment) {
        self.anchors = anchors.map { Anchor(certificate: $0, outline: CertificateOutline($0.der)) }
        self.environment = environment
    }

    // MARK: Whom they name

    /// What a header's certificates would be, if their signatures are good.
    func claim(_ header: JOSEHeader) throws(VerificationFailure) -> ClaimedPath {
        guard header.algorithm.map({ $0.utf8.elementsEqual("ES256".utf8) }) ?? false else {
            throw VerificationFailure(.unsupportedAlgorithm, "alg must be ES256")
        }
        let list = try header.certificates.get()
        guard list.count == 3 || list.count == 1 && environment.isSignedByDeveloper else {
            throw VerificationFailure(.invalidCertificateChain, "x5c must hold three certificates, not \(list.count)")
        }
        return list.count == 1 ? try developerClaim(list) : try appleClaim(list)
    }

    /// Xcode signs with one certificate of its own, which the developer exports and configures.
    private func developerClaim(_ list: [[UInt8]]) throws(VerificationFailure) -> ClaimedPath {
        guard let anchor = anchor(list[0]) else {
            throw VerificationFailure(.untrustedRoot, "the certificate is not one of the configured anchors")
        }
        return ClaimedPath(certificates: [], end: .itself(anchor))
    }

    private func appleClaim(_ list: [[UInt8]]) throws(VerificationFailure) -> ClaimedPath {
        guard let end = end(of: list) else {
            throw VerificationFailure(
                .untrustedRoot,
                anchors.isEmpty
                    ? "the chain does not end at Apple Root CA - G3" : "the chain does not end at a trusted root")
        }
        var outlines: [CertificateOutline] = []
        for (index, der) in list.enumerated() {
            guard let outline = CertificateOutline(der) else {
                throw VerificationFailure(.invalidCertificateChain, "x5c[\(index)] is not a certificate")
            }
            outlines.append(outline)
        }
        let (leaf, intermediate, top) = (outlines[0], outlines[1], outlines[2])
        func require(_ condition: Bool, _ message: StaticString) throws(VerificationFailure) {
            if !condition { throw VerificationFailure(.invalidCertificateChain, message.description) }
        }
        // RFC 5280 §4.1.2.4 has names compared by rules for texts; who issues writes the same bytes.
        try require(leaf.issuer == intermediate.subject, "the intermediate did not issue the leaf")
        try require(intermediate.issuer == top.subject, "the third certificate did not issue the intermediate")
        try require(leaf.keyKind == .p256, "the leaf's key is not on P-256")
        let kind = intermediate.keyKind
        try require(
            kind == .p256 || kind == .p384 || kind == .rsa && end.isConfigured,
            "the intermediate's key is not on P-256 or P-384")
        for (index, outline) in outlines.enumerated().prefix(2) where !outline.isSignedOverSHA2 {
            throw VerificationFailure(
                .invalidCertificateChain,
                "x5c[\(index)] is not signed by ECDSA or RSA over SHA-256, SHA-384 or SHA-512")
        }
        return ClaimedPath(certificates: Array(list.prefix(end.isSecond ? 1 : 2)), end: end)
    }

    private func anchor(_ der: [UInt8]) -> Certificate? { anchors.first { $0.certificate.der == der }?.certificate }

    /// The anchors that a chain names: by the bytes of one, or configured ones by their name and key, of which there
    /// may be several certificates, each valid at its time. `nil` where it names none.
    private func end(of list: [[UInt8]]) -> ClaimedPath.End? {
        let named = anchors(named: list[2])
        if named.contains(where: { $0.der == list[2] }) { return .third(named) }
        if SHA256.hash(list[2]) == Self.appleRootG3 { return .appleRoot(list[2]) }
        if let anchor = anchor(list[1]) { return .second(anchor) }
        return named.isEmpty ? nil : .third(named)
    }

    private func anchors(named der: [UInt8]) -> [Certificate] {
        guard !anchors.isEmpty, let top = CertificateOutline(der) else { return [] }
        return anchors.filter { anchor in
            anchor.outline.map { $0.subject == top.subject && $0.publicKey == top.publicKey } ?? false
        }.map(\.certificate)
    }

    // MARK: Who signed them

    /// Checks the certificates' signatures, and all that depends on them.
    func verify(_ claim: ClaimedPath) throws(PathRefusal) -> TrustedPath {
        var certificates: [Certificate] = []
        for (index, der) in claim.certificates.enumerated() { certificates.append(try parse(der, index)) }
        switch claim.end {
        case .itself(let anchor): return try TrustedPath([anchor])
        case .second(let anchor): return try path(from: certificates[0], through: nil, to: anchor)
        case .appleRoot(let der): return try path(from: certificates[0], through: certificates[1], to: parse(der, 2))
        case .third(let anchors):
            // Of one name and one key: they differ in their times, mostly.
            var paths: [TrustedPath] = []
            var refusal = PathRefusal("no anchor has this name and key")
            for anchor in anchors {
                do throws(PathRefusal) {
                    paths.append(try path(from: certificates[0], through: certificates[1], to: anchor))
                } catch {
                    // Else what is remembered would lack this one's time.
                    if !error.isLasting { throw error }
                    refusal = error
                }
            }
            guard let path = TrustedPath(paths) else { throw refusal }
            return path
        }
    }

    private func parse(_ der: [UInt8], _ index: Int) throws(PathRefusal) -> Certificate {
        do throws(OpenSSLError) {
            return try Certificate(der: der)
        } catch {
            throw PathRefusal("x5c[\(index)] is not a certificate", isLasting: !error.isOutOfMemory)
        }
    }

    /// The path from the leaf over the intermediate to the anchor, or to the intermediate that is itself the anchor.
    private func path(
        from leaf: Certificate, through other: Certificate?, to anchor: Certificate
    ) throws(PathRefusal) -> TrustedPath {
        let expected = [leaf] + (other.map { [$0] } ?? []) + [anchor]
        // Before any of these keys is used.
        for certificate in expected.dropFirst() {
            guard let key = certificate.publicKey, key.mayIssue else {
                throw PathRefusal("an issuer's key is not on P-256 or P-384, nor of RSA of the sizes that are taken")
            }
        }
        let path = try found(from: leaf, through: other, to: anchor)
        guard path == expected else { throw PathRefusal("the certificates did not issue each other") }
        func require(_ condition: Bool, _ message: String) throws(PathRefusal) {
            if !condition { throw PathRefusal(message) }
        }
        try require(path[0].carries(.receiptSigning), "the leaf lacks Apple's mark for receipt signing")
        try require(path[1].carries(.developerRelations), "the intermediate lacks Apple's mark for it")
        try require(!path[0].isAuthority, "the leaf is an authority")
        try require(path[1].isAuthority, "the intermediate is no authority")
        return try TrustedPath(path)
    }

    /// The path that OpenSSL finds to the one anchor, both ends included. Time is left out: it is judged for each
    /// payload.
    private func found(
        from leaf: Certificate, through other: Certificate?, to anchor: Certificate
    ) throws(PathRefusal) -> [Certificate] {
        defer { ERR_clear_error() }
        let fault = PathRefusal("OpenSSL could not check the chain", isLasting: false)
        guard let store = X509_STORE_new(), let untrusted = ledger_x509_stack_new(), let context = X509_STORE_CTX_new()
        else {
            throw fault
        }
        defer {
            X509_STORE_CTX_free(context)
            ledger_x509_stack_free(untrusted)
            X509_STORE_free(store)
        }
        guard X509_STORE_add_cert(store, anchor.x509.pointer) == 1 else { throw fault }
        if let other, ledger_x509_stack_push(untrusted, other.x509.pointer) <= 0 { throw fault }
        guard X509_STORE_CTX_init(context, store, leaf.x509.pointer, untrusted) == 1 else { throw fault }
        // A configured anchor is trusted for itself, whether or not it is a root.
        X509_STORE_CTX_set_flags(context, UInt(X509_V_FLAG_NO_CHECK_TIME) | UInt(X509_V_FLAG_PARTIAL_CHAIN))
        X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(context), AppStoreLimits.securityLevel)
        guard X509_verify_cert(context) == 1 else {
            throw PathRefusal(openSSL: X509_STORE_CTX_get_error(context))
        }
        guard let found = X509_STORE_CTX_get0_chain(context) else { throw fault }
        var path: [Certificate] = []
        for index in 0..<ledger_x509_stack_count(found) {
            guard let pointer = ledger_x509_stack_at(found, index), X509_up_ref(pointer) == 1 else { throw fault }
            do throws(OpenSSLError) { path.append(try Certificate(owning: X509Handle(owning: pointer))) } catch {
                throw fault
            }
        }
        return path
    }
}

/// A header's certificates that name an anchor, and are of kinds that may be believed; nothing of them is proven.
struct ClaimedPath {
    enum End {
        /// The third certificate is Apple Root CA – G3; its bytes.
        case appleRoot([UInt8])
        /// The third certificate is one of these, or another of the same name and key. They have one name and one key.
        case third([Certificate])
        /// The second certificate.
        case second(Certificate)
        /// The only certificate.
        case itself(Certificate)

        var isConfigured: Bool {
            switch self {
            case .appleRoot: false
            case .third, .second, .itself: true
            }
        }

        var isSecond: Bool { if case .second = self { true } else { false } }

        /// In DER.
        fileprivate var anchors: [[UInt8]] {
            switch self {
            case .appleRoot(let der): [der]
            case .third(let anchors): anchors.map(\.der)
            case .second(let anchor), .itself(let anchor): [anchor.der]
            }
        }
    }

    /// Those below the anchor, in DER, leaf first.
    let certificates: [[UInt8]]
    /// Where they end.
    let end: End

    /// SHA-256 of all that what they prove depends on, and of nothing else: whoever writes something else into a header
    /// has the same path. (Each certificate says how long it is, so that no two paths are one text.)
    var digest: [UInt8] {
        var state = SHA256State()
        for der in certificates + end.anchors { der.withUnsafeBytes { state.add($0) } }
        return state.digest
    }
}

/// Certificates that were found to lead to an anchor: what they prove.
final class TrustedPath: Sendable {
    let leafKey: Key
    /// When all certificates are valid, in milliseconds: with each of the anchors to which they lead.
    private let validities: [ClosedRange<Int64>]

    /// - Parameter path: from the leaf to the anchor, both included, with good signatures.
    init(_ path: [Certificate]) throws(PathRefusal) {
        var from = Int64.min, last = Int64.max
        for certificate in path {
            guard let validity = certificate.validity else {
                throw PathRefusal("a certificate has no readable validity")
            }
            from = max(from, validity.lowerBound)
            last = min(last, validity.upperBound)
            guard let key = certificate.publicKey, key.isValid else {
                throw PathRefusal("a certificate's key is not a point of its curve, or the one at infinity")
            }
        }
        guard let key = path[0].publicKey, key.isOn(.p256) else { throw PathRefusal("the leaf's key is not on P-256") }
        leafKey = key
        validities = from <= last ? [from...last] : []
    }

    /// Paths of one leaf to anchors of one key; `nil` where there are none.
    init?(_ paths: [TrustedPath]) {
        guard let first = paths.first else { return nil }
        leafKey = first.leafKey
        validities = paths.flatMap(\.validities)
    }

    func isValid(at time: Int64) -> Bool { validities.contains { $0.contains(time) } }
}

/// Why certificates that name an anchor are not believed.
struct PathRefusal: Error {
    let failure: VerificationFailure
    /// Whether it is so for ever: false where memory was wanting, and another try may go otherwise.
    let isLasting: Bool

    init(_ message: String, isLasting: Bool = true) {
        failure = VerificationFailure(.invalidCertificateChain, message)
        self.isLasting = isLasting
    }

    /// By the code of OpenSSL's check of a path, before the thread's error queue is cleared.
    init(openSSL code: Int32) {
        let text = X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)"
        switch code {
        case X509_V_ERR_OUT_OF_MEM, X509_V_ERR_UNSPECIFIED, X509_V_ERR_STORE_LOOKUP, X509_V_ERR_INVALID_CALL:
            self.init("the chain: \(text)", isLasting: false)
        default: self.init("the chain: \(text)", isLasting: ledger_is_out_of_memory() == 0)
        }
    }
}
