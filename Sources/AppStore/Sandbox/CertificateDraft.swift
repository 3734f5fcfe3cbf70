internal import COpenSSL

/// A certificate before it is issued.
struct CertificateDraft {
    var commonName: String
    /// Milliseconds since the UNIX epoch.
    var validity: ClosedRange<Int64>
    var isAuthority: Bool
    var marks: [CertificateMark] = []

    init(commonName: String, validity: ClosedRange<Int64>, isAuthority: Bool) {
        self.commonName = commonName
        self.validity = validity
        self.isAuthority = isAuthority
    }

    /// Issues it, by itself where `issuer` is nil, signed with SHA-384 as Apple's are.
    func issue(
        to subjectKey: Key, by issuer: Certificate?, signedBy issuerKey: Key
    ) throws(OpenSSLError) -> Certificate {
        let x509 = X509Handle(owning: try OpenSSLError.check(X509_new(), "make a certificate"))
        let pointer = x509.pointer
        // X.509 counts its versions from 0.
        try OpenSSLError.check(X509_set_version(pointer, 2), "set the version")
        try setSerial(pointer)
        try setName(pointer)
        let issuerName = X509_get_subject_name(issuer?.x509.pointer ?? pointer)
        try OpenSSLError.check(X509_set_issuer_name(pointer, issuerName), "set the issuer")
        try set(X509_getm_notBefore(pointer), validity.lowerBound)
        try set(X509_getm_notAfter(pointer), validity.upperBound)
        try OpenSSLError.check(X509_set_pubkey(pointer, subjectKey.handle), "set the key")
        try addExtensions(pointer, issuer: issuer?.x509.pointer ?? pointer)
        guard X509_sign(pointer, issuerKey.handle, EVP_sha384()) > 0 else { throw OpenSSLError("sign a certificate") }
        return try Certificate(owning: x509)
    }

    private func setSerial(_ certificate: OpaquePointer) throws(OpenSSLError) {
        let number = try OpenSSLError.check(BN_new(), "make a serial number")
        defer { BN_free(number) }
        // RFC 5280 §4.1.2.2: positive and at most 20 octets; random, so that no two of a chain are equal.
        try OpenSSLError.check(BN_rand(number, 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY), "make a serial number")
        let serial = X509_get_serialNumber(certificate)
        _ = try OpenSSLError.check(BN_to_ASN1_INTEGER(number, serial), "set the serial number")
    }

    private func setName(_ certificate: OpaquePointer) throws(OpenSSLError) {
        let name = X509_get_subject_name(certificate)
        for (field, value) in [("CN", commonName), ("O", "currency-ledger sandbox"), ("C", "US")] {
            let bytes = Array(value.utf8)
            let set = X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0)
            try OpenSSLError.check(set, "set the name")
        }
    }

    private func set(_ time: UnsafeMutablePointer<ASN1_TIME>?, _ milliseconds: Int64) throws(OpenSSLError) {
        // Rounded down, also before 1970.
        let seconds = milliseconds >= 0 ? milliseconds / 1_000 : (milliseconds - 999) / 1_000
        _ = try OpenSSLError.check(ASN1_TIME_set(time, time_t(seconds)), "set the validity")
    }

    private func addExtensions(_ certificate: OpaquePointer, issuer: OpaquePointer) throws(OpenSSLError) {
        let isOwnIssuer = certificate == issuer
        try add(NID_subject_key_identifier, "hash", certificate, issuer)
        if !isOwnIssuer { try add(NID_authority_key_identifier, "keyid", certificate, issuer) }
        try add(
            NID_basic_constraints, isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE", certificate, issuer)
        let usage = isAuthority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"
        try add(NID_key_usage, usage, certificate, issuer)
        for mark in marks { try add(mark, certificate) }
    }

    private func add(
        _ nid: Int32, _ value: String, _ certificate: OpaquePointer, _ issuer: OpaquePointer
    ) throws(OpenSSLError) {
        let made = try OpenSSLError.check(ledger_extension(nid, value, issuer, certificate), "make an extension")
        defer { X509_EXTENSION_free(made) }
        try OpenSSLError.check(X509_add_ext(certificate, made, -1), "add an extension")
    }

    /// Apple's marks hold an ASN.1 NULL.
    private func add(_ mark: CertificateMark, _ certificate: OpaquePointer) throws(OpenSSLError) {
        let object = try OpenSSLError.check(OBJ_txt2obj(mark.rawValue, 1), "make a mark")
        defer { ASN1_OBJECT_free(object) }
        let value = try OpenSSLError.check(ASN1_OCTET_STRING_new(), "make a mark")
        defer { ASN1_OCTET_STRING_free(value) }
        try OpenSSLError.check(ASN1_OCTET_STRING_set(value, [0x05, 0x00], 2), "make a mark")
        let made = try OpenSSLError.check(X509_EXTENSION_create_by_OBJ(nil, object, 0, value), "make a mark")
        defer { X509_EXTENSION_free(made) }
        try OpenSSLError.check(X509_add_ext(certificate, made, -1), "add a mark")
    }
}
