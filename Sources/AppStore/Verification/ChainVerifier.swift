internal import COpenSSL

/// Decides whether a header's certificates lead to an anchor.
struct ChainVerifier: Sendable {
    /// SHA-256 of Apple Root CA – G3 (https://www.apple.com/certificateauthority/).
    static let appleRootG3: [UInt8] = [
        0x63, 0x34, 0x3a, 0xbf, 0xb8, 0x9a, 0x6a, 0x03, 0xeb, 0xb5, 0x7e, 0x9b, 0x3f, 0x5f, 0xa7, 0xbe,
        0x7c, 0x4f, 0x5c, 0x75, 0x6f, 0x30, 0x17, 0xb3, 0xa8, 0xc4, 0x88, 0xc3, 0x65, 0x3e, 0x91, 0x79,
    ]

    let anchors: [Certificate]
    let environment: Environment

    func verify(_ header: JOSEHeader, segment: [UInt8]) throws(VerificationFailure) -> VerifiedChain {
        guard header.algorithm == "ES256" else {
            throw VerificationFailure(.unsupportedAlgorithm, "alg must be ES256")
        }
        let chain = try parse(try header.certificates.get())
        let path = chain.count == 1 ? try developerPath(chain[0]) : try applePath(chain)
        guard let key = chain[0].publicKey, key.isOn(.p256) else {
            throw VerificationFailure(.invalidCertificateChain, "the leaf's key is not on P-256")
        }
        return VerifiedChain(header: JWSHeader(segment: segment), leafKey: key, validity: try Self.common(path))
    }

    private func parse(_ list: [[UInt8]]) throws(VerificationFailure) -> [Certificate] {
        guard list.count == 3 || list.count == 1 && environment.isSignedByDeveloper else {
            throw VerificationFailure(.invalidCertificateChain, "x5c must hold three certificates, not \(list.count)")
        }
        var chain: [Certificate] = []
        for (index, der) in list.enumerated() {
            do throws(OpenSSLError) {
                chain.append(try Certificate(der: der))
            } catch {
                throw VerificationFailure(.invalidCertificateChain, "x5c[\(index)] is not a certificate")
            }
        }
        return chain
    }

    /// Xcode signs with one certificate of its own, which the developer exports and configures.
    private func developerPath(_ certificate: Certificate) throws(VerificationFailure) -> [Certificate] {
        guard anchors.contains(certificate) else {
            throw VerificationFailure(.untrustedRoot, "the certificate is not one of the configured anchors")
        }
        return [certificate]
    }

    private func applePath(_ chain: [Certificate]) throws(VerificationFailure) -> [Certificate] {
        let (leaf, intermediate, top) = (chain[0], chain[1], chain[2])
        func require(_ condition: Bool, _ message: StaticString) throws(VerificationFailure) {
            if !condition { throw VerificationFailure(.invalidCertificateChain, message.description) }
        }
        try require(leaf.carries(.receiptSigning), "the leaf lacks Apple's mark for receipt signing")
        try require(intermediate.carries(.developerRelations), "the intermediate lacks Apple's mark for it")
        try require(!leaf.isAuthority, "the leaf is an authority")
        try require(intermediate.isAuthority, "the intermediate is no authority")
        if top.fingerprint == Self.appleRootG3 {
            // With one root and one intermediate at hand, a path that OpenSSL accepts has checked both signatures.
            let path: [Certificate]
            do throws(VerificationFailure) {
                path = try self.path(from: leaf, through: [intermediate], to: [top])
            } catch {
                throw VerificationFailure(.invalidCertificateChain, error.message)
            }
            try require(path == chain, "the certificates did not issue each other")
            return path
        }
        try require(leaf.isIssued(by: intermediate), "the intermediate did not issue the leaf")
        try require(intermediate.isIssued(by: top), "the third certificate did not issue the intermediate")
        guard !anchors.isEmpty else {
            throw VerificationFailure(.untrustedRoot, "the chain does not end at Apple Root CA - G3")
        }
        return try path(from: leaf, through: [intermediate, top], to: anchors)
    }

    /// The path that OpenSSL finds from the leaf to an anchor, both included. Time is left out: it is judged for each
    /// payload.
    private func path(
        from leaf: Certificate, through others: [Certificate], to anchors: [Certificate]
    ) throws(VerificationFailure) -> [Certificate] {
        defer { ERR_clear_error() }
        let fault = VerificationFailure(.invalidCertificateChain, "OpenSSL could not check the chain")
        guard let store = X509_STORE_new(), let untrusted = ledger_x509_stack_new(), let context = X509_STORE_CTX_new()
        else {
            throw fault
        }
        defer {
            X509_STORE_CTX_free(context)
            ledger_x509_stack_free(untrusted)
            X509_STORE_free(store)
        }
        for anchor in anchors where X509_STORE_add_cert(store, anchor.x509.pointer) != 1 { throw fault }
        for other in others where ledger_x509_stack_push(untrusted, other.x509.pointer) <= 0 { throw fault }
        guard X509_STORE_CTX_init(context, store, leaf.x509.pointer, untrusted) == 1 else { throw fault }
        // A configured anchor is trusted for itself, whether or not it is a root.
        X509_STORE_CTX_set_flags(context, UInt(X509_V_FLAG_NO_CHECK_TIME) | UInt(X509_V_FLAG_PARTIAL_CHAIN))
        guard X509_verify_cert(context) == 1 else { throw Self.failure(X509_STORE_CTX_get_error(context)) }
        return try Self.certificates(of: context)
    }

    private static func certificates(of context: OpaquePointer) throws(VerificationFailure) -> [Certificate] {
        let fault = VerificationFailure(.invalidCertificateChain, "OpenSSL could not read the chain")
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

    private static func failure(_ code: Int32) -> VerificationFailure {
        switch code {
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED,
            // The chain's own signatures were good: this is one by an anchor of the same name and another key.
            X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return VerificationFailure(.untrustedRoot, "the chain does not end at a trusted root")
        default:
            let text = X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)"
            return VerificationFailure(.invalidCertificateChain, "the chain: \(text)")
        }
    }

    /// When all of them are valid; nil where never.
    private static func common(_ path: [Certificate]) throws(VerificationFailure) -> ClosedRange<Int64>? {
        var from = Int64.min, last = Int64.max
        for certificate in path {
            guard let validity = certificate.validity else {
                throw VerificationFailure(.invalidCertificateChain, "a certificate has no readable validity")
            }
            from = max(from, validity.lowerBound)
            last = min(last, validity.upperBound)
        }
        return from <= last ? from...last : nil
    }
}
