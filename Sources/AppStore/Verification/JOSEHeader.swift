internal import StrictJSON

/// What a JWS header says about its signature (RFC 7515 §4.1). Members that are not known are passed over.
struct JOSEHeader {
    private(set) var algorithm: String?
    /// The certificates' DER, leaf first; nil where there is no usable `x5c`.
    private(set) var certificates: Result<[[UInt8]], VerificationFailure> = .failure(
        VerificationFailure(.invalidCertificateChain, "the header has no x5c"))

    init(_ json: [UInt8]) throws(VerificationFailure) {
        var failure: JSONError?
        var isExtended = false
        json.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                try reader.object { reader, key throws(JSONError) in
                    switch key {
                    case "alg": algorithm = try reader.string()
                    case "x5c": certificates = try Self.certificates(&reader)
                    case "crit":
                        isExtended = true
                        try reader.skip()
                    default: try reader.skip()
                    }
                }
                try reader.end()
            } catch {
                failure = error
            }
        }
        if let failure { throw VerificationFailure(.malformed, "the header: \(failure.description)") }
        // RFC 7515 §4.1.11: extensions that are marked as critical and not understood make the JWS invalid.
        if isExtended { throw VerificationFailure(.malformed, "the header asks for extensions (crit)") }
        guard algorithm != nil else { throw VerificationFailure(.malformed, "the header: alg is missing") }
    }

    /// §4.1.6: an array of base64 (not base64url) strings.
    private static func certificates(
        _ reader: inout JSONReader
    ) throws(JSONError) -> Result<[[UInt8]], VerificationFailure> {
        guard try reader.peek() == .array else {
            try reader.skip()
            return .failure(VerificationFailure(.invalidCertificateChain, "x5c is not an array"))
        }
        var list: [[UInt8]] = []
        var failure: VerificationFailure?
        try reader.array { reader, index throws(JSONError) in
            guard failure == nil, index < AppStoreLimits.headerCertificatesMax, try reader.peek() == .string else {
                try reader.skip()
                failure =
                    failure
                    ?? VerificationFailure(.invalidCertificateChain, "x5c is not a list of a chain's certificates")
                return
            }
            if let der = try reader.text().withBytes({ Base64.decodeStandard($0) }) {
                list.append(der)
            } else {
                failure = VerificationFailure(.invalidCertificateChain, "x5c[\(index)] is not base64")
            }
        }
        if let failure { return .failure(failure) }
        return .success(list)
    }
}
