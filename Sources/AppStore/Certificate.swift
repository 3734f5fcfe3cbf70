internal import COpenSSL

/// An X.509 certificate, kept byte for byte as it came.
public struct Certificate: Sendable {
    /// The certificate's DER encoding.
    public let der: [UInt8]
    let x509: X509Handle

    /// Reads one certificate in DER, with nothing after it.
    public init(der: [UInt8]) throws(OpenSSLError) {
        var next: UnsafePointer<UInt8>?
        var consumed = 0
        let pointer = der.withUnsafeBufferPointer { bytes in
            next = bytes.baseAddress
            let pointer = d2i_X509(nil, &next, bytes.count)
            consumed = next.map { $0 - (bytes.baseAddress ?? $0) } ?? 0
            return pointer
        }
        x509 = X509Handle(owning: try OpenSSLError.check(pointer, "read a certificate"))
        guard consumed == der.count else {
            throw OpenSSLError("read a certificate", reason: "something follows it")
        }
        self.der = der
    }

    /// Reads a certificate file's content, PEM or DER, with one certificate.
    public init(file content: [UInt8]) throws(OpenSSLError) {
        let all = try Certificate.all(file: content)
        guard all.count == 1 else {
            throw OpenSSLError("read a certificate", reason: "there are \(all.count)")
        }
        self = all[0]
    }

    /// Reads all certificates of a file's content: one in DER, or any number in PEM, but not none.
    public static func all(file content: [UInt8]) throws(OpenSSLError) -> [Certificate] {
        // DER of a certificate is a SEQUENCE; PEM is text.
        if content.first == 0x30 { return [try Certificate(der: content)] }
        let bio = try MemoryBIO(content)
        var certificates: [Certificate] = []
        while true {
            guard let pointer = PEM_read_bio_X509(bio.handle, nil, { _, _, _, _ in 0 }, nil) else {
                if !certificates.isEmpty, ledger_is_end_of_pem() == 1 {
                    ERR_clear_error()
                    return certificates
                }
                throw OpenSSLError("read a certificate")
            }
            // From its bytes: PEM may hold notes on trust beside them.
            certificates.append(try Certificate(der: try Certificate(owning: X509Handle(owning: pointer)).der))
        }
    }

    init(owning x509: X509Handle) throws(OpenSSLError) {
        self.x509 = x509
        let length = i2d_X509(x509.pointer, nil)
        guard length > 0 else { throw OpenSSLError("encode a certificate") }
        der = [UInt8](unsafeUninitializedCapacity: Int(length)) { out, count in
            var next = out.baseAddress
            count = max(0, Int(i2d_X509(x509.pointer, &next)))
        }
    }

    /// The certificate in PEM.
    public func pem() throws(OpenSSLError) -> [UInt8] {
        let bio = try MemoryBIO()
        try OpenSSLError.check(PEM_write_bio_X509(bio.handle, x509.pointer), "write a certificate")
        return bio.bytes
    }

    /// SHA-256 of the DER encoding.
    public var fingerprint: [UInt8] { SHA256.hash(der) }

    /// Whether it is Apple Root CA – G3, which a ``Verifier`` trusts without its being configured.
    public var isAppleRoot: Bool { fingerprint == ChainVerifier.appleRootG3 }

    /// The subject's common name, for people; nil where it has none.
    public var commonName: String? {
        guard let name = X509_get_subject_name(x509.pointer) else { return nil }
        let index = X509_NAME_get_index_by_NID(name, NID_commonName, -1)
        guard index >= 0, let entry = X509_NAME_get_entry(name, index), let value = X509_NAME_ENTRY_get_data(entry)
        else { return nil }
        var utf8: UnsafeMutablePointer<UInt8>?
        let length = ASN1_STRING_to_UTF8(&utf8, value)
        guard length >= 0, let utf8 else {
            ERR_clear_error()
            return nil
        }
        defer { CRYPTO_free(utf8, nil, 0) }
        return String(decoding: UnsafeBufferPointer(start: utf8, count: Int(length)), as: UTF8.self)
    }

    /// The subject, for people (RFC 2253).
    public var subject: String {
        guard let name = X509_get_subject_name(x509.pointer), let bio = try? MemoryBIO(),
            ledger_print_name(bio.handle, name) >= 0
        else {
            ERR_clear_error()
            return ""
        }
        return String(decoding: bio.bytes, as: UTF8.self)
    }

    /// Why no chain can end at this one, in words that stand behind its name; nil where one can.
    public var faultAsAnchor: String? {
        guard let key = publicKey, key.mayIssue, key.isValid else {
            let (modulus, exponent) = (AppStoreLimits.rsaModulusBits, AppStoreLimits.rsaExponentBits)
            return "its key is not on P-256 or P-384, nor one of RSA with \(modulus.lowerBound) to"
                + " \(modulus.upperBound) bits and a public exponent of \(exponent.lowerBound) to"
                + " \(exponent.upperBound)"
        }
        return validity == nil ? "its validity cannot be read" : nil
    }

    /// The time within which the certificate is good, both ends included, in milliseconds since the UNIX epoch; nil
    /// where it says none that can be read.
    public var validity: ClosedRange<Int64>? {
        guard let from = Self.milliseconds(X509_get0_notBefore(x509.pointer)),
            let last = Self.milliseconds(X509_get0_notAfter(x509.pointer)), from <= last
        else { return nil }
        // RFC 5280 §4.1.2.5: notAfter, given in whole seconds, is inclusive.
        return from...(last + 999)
    }

    private static func milliseconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else {
            ERR_clear_error()
            return nil
        }
        let days = daysSinceEpoch(
            year: Int64(parts.tm_year) + 1_900, month: Int64(parts.tm_mon) + 1, day: Int64(parts.tm_mday))
        let seconds = days * 86_400 + Int64(parts.tm_hour) * 3_600 + Int64(parts.tm_min) * 60 + Int64(parts.tm_sec)
        return seconds * 1_000
    }

    /// Days from 1970-01-01 in the Gregorian calendar, counted in eras of 400 years that begin in March.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

extension Certificate: Hashable {
    /// Certificates are equal byte for byte.
    public static func == (a: Certificate, b: Certificate) -> Bool { a.der == b.der }
    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}
